package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"

	"codemode/catalog"
)

// The program of the package documentation.
func Example() {
	type In struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	type Out struct {
		Celsius float64 `json:"celsius"`
	}
	c := catalog.New(nil)
	problems := c.Add(catalog.Func("get-weather", "Current weather in a city.",
		func(_ context.Context, in In) (Out, error) { return Out{21.5}, nil }))
	for _, p := range problems {
		fmt.Println(p)
	}

	view := c.Snapshot().View(nil)
	hits, _ := view.Search("will it rain tomorrow?", 3, catalog.SurfaceCatalog)
	for _, e := range hits {
		fmt.Println(e.CallableName(), e.InputHint(), "->", e.OutputHint())
	}

	e, _ := view.Callable("get_weather")
	input := json.RawMessage(`{"city": "Oslo"}`)
	if err := e.CheckInput(input); err != nil {
		panic(err)
	}
	result, err := e.Run(context.Background(), &catalog.Call{Input: input})
	fmt.Println(string(result.JSON()), err)
	// Output:
	// get_weather { city: string } -> { celsius: number }
	// {"celsius":21.5} <nil>
}
