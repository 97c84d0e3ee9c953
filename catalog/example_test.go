package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"

	"codemode/catalog"
)

func ExampleFunc() {
	type In struct {
		City string `json:"city" jsonschema:"name of the city"`
		Days int    `json:"days,omitempty"`
	}
	type Out struct {
		Celsius float64 `json:"celsius"`
	}
	weather := catalog.Func("get-weather", "Weather forecast for a city.", func(_ context.Context, in In) (Out, error) {
		if in.City == "" {
			return Out{}, &catalog.Error{Code: "no_city", Message: "Which city?"}
		}
		return Out{Celsius: 21.5}, nil
	})

	c := catalog.New(nil)
	c.Add(weather)
	view := c.Snapshot().View(nil)
	e, _ := view.Callable("get_weather")
	fmt.Println(e.InputHint(), "->", e.OutputHint())

	err := e.CheckInput(json.RawMessage(`{"town":"Oslo"}`))
	fmt.Println(err)

	result, _ := e.Run(context.Background(), &catalog.Call{Input: json.RawMessage(`{"city":"Oslo"}`)})
	fmt.Println(string(result.Value))
	// Output:
	// { city: string; days?: number /* integer */ } -> { celsius: number }
	// The argument of "get_weather" does not fit: the argument has no property "town"; city is required. Expected input: { city: string; days?: number /* integer */ }.
	// {"celsius":21.5}
}

func ExampleView_Search() {
	run := func(context.Context, *catalog.Call) (*catalog.Result, error) { return nil, nil }
	c := catalog.New(nil)
	c.Add(
		catalog.Tool{Name: "create_event", Description: "Put a meeting into the calendar.", Run: run},
		catalog.Tool{Name: "send_mail", Description: "Send an e-mail message.", Run: run},
		catalog.Tool{Name: "github__create_issue", Description: "Open an issue.", Source: catalog.SourceMCP,
			MCP: &catalog.MCPTool{Server: "git-hub", Tool: "create_issue"}, Run: run},
	)
	view := c.Snapshot().View(catalog.NewPolicy(nil, []string{"send_*"}))
	for _, query := range []string{"schedule a meeting", "MCP.gitHub.createIssue", "email"} {
		hits, _ := view.Search(query, 1, catalog.SurfaceCatalog)
		for _, e := range hits {
			fmt.Println(query, "->", e.CallableName())
		}
	}
	// Output:
	// schedule a meeting -> create_event
	// MCP.gitHub.createIssue -> MCP.gitHub.createIssue
}

func ExampleView_QuickIndex() {
	c := catalog.New(nil)
	tools, _, _ := catalog.LoadFile("testdata/tools.json")
	c.Add(tools...)
	fmt.Print(c.Snapshot().View(nil).QuickIndex())
	// Output:
	// Tools you can call as async globals (no descriptions here):
	// Each line is `name input -> output`; `-> ?` means that the output is not declared.
	// - get_weather { city: string; unit?: "celsius" | "fahrenheit" } -> { sky: string; temperature: number }
	// - broken unknown -> ?
	// - shout { text: string } -> ?
	// - slow_report unknown -> ?
	//
	// Call them directly. When in doubt which, use catalog.search(query).
}

func ExampleView_ReadFile() {
	c := catalog.New(nil)
	run := func(context.Context, *catalog.Call) (*catalog.Result, error) { return nil, nil }
	c.Add(catalog.Tool{
		Name: "walk", Description: "Walk a tree.", Run: run,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"root":{"$ref":"#/$defs/node","description":"where to begin"}},
			"required":["root"],"additionalProperties":false,
			"$defs":{"node":{"type":"object","properties":{"left":{"$ref":"#/$defs/node"},"name":{"type":"string"}},"additionalProperties":false}}}`),
	})
	f, _ := c.Snapshot().View(nil).ReadFile("tools/walk.d.ts")
	fmt.Print(f.Content)
	// Output:
	// // walk is an async global; catalog.search and catalog.all give the same function as a handle.
	// // It resolves to the tool's value. On failure it rejects with an Error that has a code.
	// // Written from the tool's schemas: unknown is what they leave open.
	// type Node = { left?: Node; name?: string; };
	// /**
	//  * Walk a tree.
	//  *
	//  * @param root where to begin
	//  */
	// declare function walk(input: { root: Node; }): Promise<unknown>;
}
