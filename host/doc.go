// Package host runs cells for an agent: Exec runs a cell against a catalog, Wait goes on with one that was suspended.
//
//	tools := host.NewCatalog(nil)
//	tools.Add(catalog.Func("add", "Add two numbers.", func(ctx context.Context, in struct{ A, B int }) (int, error) {
//		return in.A + in.B, nil
//	}))
//	h, err := host.New(&host.Options{Catalog: tools})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer h.Close()
//	result := h.Exec(ctx, host.Scope{Session: "s"}, host.ExecInput{Code: "return await add({A: 1, B: 2})"})
//	fmt.Println(result.Status, string(result.Value)) // completed 3
//
// Exec and Wait never return a Go error and never panic: whatever goes wrong is a Result with status failed.
//
// The life of a cell:
//
//	Exec ─┬─ completed
//	      ├─ failed
//	      └─ waiting (run id) ── Wait ─┬─ completed, failed
//	                                   └─ waiting, with the same run id
//
// A Host is safe for concurrent use. Nested tool calls run in goroutines of their own, under a context that carries the
// values of Exec's and ends when the cell ends: they go on while a cell is suspended, and their answers are kept.
package host
