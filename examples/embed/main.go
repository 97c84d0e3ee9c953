package main

import (
	"context"
	"fmt"
	"log"

	"codemode/catalog"
	"codemode/host"
)

type pair struct{ A, B int }

func main() {
	tools := host.NewCatalog(nil)
	tools.Add(catalog.Func("add", "Add two numbers.", func(_ context.Context, in pair) (int, error) { return in.A + in.B, nil }))
	h, err := host.New(&host.Options{Catalog: tools})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r := h.Exec(context.Background(), host.Scope{Session: "s"}, host.ExecInput{Code: "return await add({A: 1, B: 2})"})
	fmt.Println(r.Status, string(r.Value), r.Error) // completed 3
}
