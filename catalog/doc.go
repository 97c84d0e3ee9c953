// Package catalog holds the hidden tools of an agent: tools that a model does not see beside exec and wait, but finds,
// reads about and calls from the code it writes. It knows nothing of JavaScript engines and can be used alone.
//
//	package main
//
//	import (
//		"context"
//		"encoding/json"
//		"fmt"
//
//		"codemode/catalog"
//	)
//
//	type In struct {
//		City string `json:"city" jsonschema:"name of the city"`
//	}
//
//	type Out struct {
//		Celsius float64 `json:"celsius"`
//	}
//
//	func main() {
//		c := catalog.New(nil)
//		problems := c.Add(catalog.Func("get-weather", "Current weather in a city.",
//			func(_ context.Context, in In) (Out, error) { return Out{21.5}, nil }))
//		for _, p := range problems {
//			fmt.Println(p) // one bad tool does not keep the others out
//		}
//
//		view := c.Snapshot().View(nil) // what one cell sees
//		hits, _ := view.Search("will it rain tomorrow?", 3, catalog.SurfaceCatalog)
//		for _, e := range hits {
//			fmt.Println(e.CallableName(), e.InputHint(), "->", e.OutputHint())
//		}
//
//		e, _ := view.Callable("get_weather")
//		input := json.RawMessage(`{"city": "Oslo"}`)
//		if err := e.CheckInput(input); err != nil {
//			panic(err)
//		}
//		result, err := e.Run(context.Background(), &catalog.Call{Input: input})
//		fmt.Println(string(result.JSON()), err)
//	}
//
// # From registration to a call
//
//	Catalog ── Add, Replace, Remove ──► Snapshot ── View(policy) ──► View ── Search, Callable, Lookup, Resolve ──► Entry
//	 mutable, locked                     immutable                    one per cell, nanoseconds                  immutable
//
// A [Catalog] changes; what it publishes does not. A cell keeps its [View] to its end, also across a wait. Everything
// whose cost grows with the number of tools (names, search index, quick index, ALL_TOOLS) is made on first use and
// shared by all views of a snapshot with the same policy patterns; declarations and contracts are made for the tool
// that is asked for. So ten thousand tools cost a cell what ten do.
//
// A host that runs a call does, in this order: hooks, [Entry.CheckInput], [Entry.CompileOutput], [Entry.Run], hooks,
// [Entry.CheckOutput]. The catalog's part of the error codes is in [Error].
//
// # Names
//
// Every native and client tool has exactly one callable name, a JavaScript identifier that is never reserved and that
// depends on the set of visible tools alone, not on their order. MCP tools are reached as MCP.<server>.<tool>. The id
// source:owner:name is unique; guests of the callable API never see it.
//
// # Trust
//
// Names, descriptions and schemas of host tools are the embedding program's own. Those of MCP servers and clients are
// not: they never enter the quick index, their parameters are not searched, their schemas are not contracts, and
// [Entry.UntrustedText], [Node].Untrusted and [File].Untrusted say where a guest gets to see them. Schemas are data from
// outside in any case: they are bounded before a validator sees them, nothing they refer to is fetched, and no text in
// them can leave the comment or the string that it is rendered into.
//
// # Concurrency
//
// All methods of all types are safe for concurrent use. The package starts no goroutine; a program of a tools file runs
// in its own process group, which ends with the call.
package catalog
