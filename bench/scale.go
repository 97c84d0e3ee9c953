package bench

import (
	"context"
	"fmt"

	"codemode/limits"
)

// scaleSizes are numbers of tools in a catalog.
var scaleSizes = []int{10, 100, 1000, 10_000}

// measureScale is P5: what a cell pays for tools that it does not use.
func measureScale(ctx context.Context, r *runner) error {
	engine, err := r.engine(ctx)
	if err != nil {
		return err
	}
	for _, cell := range []struct {
		name, title, code string
	}{
		{"cell", "A cell that uses no tool: return 1+2", cellSmall},
		{"call", "A cell that calls one tool", "return (await tool_0({q: 'a'})).n;"},
		{"search", "A cell that searches", "return (await tools.search('does thing 7')).length;"},
	} {
		g := r.group("scale/"+cell.name, cell.title)
		g.share = 0.3
		if cell.name == "cell" {
			g.share = 0.4
		}
		var close []func() error
		for _, tools := range scaleSizes {
			if r.options.tiny && tools > 100 {
				continue
			}
			s, err := newStation(engine, tools, limits.Limits{})
			if err != nil {
				return err
			}
			close = append(close, s.Close)
			id := fmt.Sprintf("scale/%s/%d", cell.name, tools)
			g.add(id, fmt.Sprintf("%d tools", tools), func(n int) (float64, error) {
				return timed(n, func() error { _, err := s.exec(ctx, cell.code); return err })
			})
			if tools != scaleSizes[0] {
				g.compare(fmt.Sprintf("scale/%s/%d/%d", cell.name, tools, scaleSizes[0]), id, fmt.Sprintf("scale/%s/%d", cell.name, scaleSizes[0]))
			}
		}
		err := g.run(ctx)
		for _, f := range close {
			f()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
