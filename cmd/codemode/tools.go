package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"codemode/catalog"
	"codemode/host"
)

// The commands for people who set a catalog up: what would a model find?

func newTools(s streams) *cobra.Command {
	var f catalogFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "List the tools that a cell would find",
		Example: "  codemode tools --tools examples/tools.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			view, done, err := f.view(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer done()
			return printEntries(s, view.Entries(catalog.SurfaceCatalog), asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newSearch(s streams) *cobra.Command {
	var f catalogFlags
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Search the catalog as a cell would",
		Example: `  codemode search "convert money" --tools examples/tools.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("search needs a query, such as %q", "send a mail")}
			}
			view, done, err := f.view(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer done()
			hits, err := view.Search(strings.Join(args, " "), limit, catalog.SurfaceCatalog)
			if err != nil {
				return usageError{err}
			}
			if len(hits) == 0 && !asJSON {
				fmt.Fprintln(s.err, "codemode: no tool matches")
				return nil
			}
			return printEntries(s, hits, asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&limit, "limit", 8, "most hits")
	return cmd
}

func newDescribe(s streams) *cobra.Command {
	var f catalogFlags
	cmd := &cobra.Command{
		Use:     "describe NAME",
		Short:   "Print everything the catalog knows of a tool, as JSON",
		Example: "  codemode describe get_weather --tools examples/tools.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("describe needs the name or id of one tool")}
			}
			view, done, err := f.view(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer done()
			entry, err := find(view, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.out, indented(entry.Describe(true)))
			return err
		},
	}
	f.add(cmd)
	return cmd
}

// find takes an id, a name (those of MCP servers are server__tool), or a callable name.
func find(view *catalog.View, name string) (*catalog.Entry, error) {
	entry, err := view.Lookup(name)
	if err == nil {
		return entry, nil
	}
	if e, ok := view.Callable(name); ok {
		return e, nil
	}
	if n, ok := view.Resolve(name); ok && n.Entry != nil {
		return n.Entry, nil
	}
	for _, e := range view.Entries(catalog.SurfaceCatalog) {
		if e.Name() == name || e.ID() == name {
			return e, nil
		}
	}
	if near := view.Nearest(name, 3); len(near) > 0 {
		return nil, fmt.Errorf("there is no tool %s; did you mean %s?", name, strings.Join(near, ", "))
	}
	return nil, fmt.Errorf("there is no tool %s; codemode search finds tools", name)
}

func newTypes(s streams) *cobra.Command {
	var f catalogFlags
	var out string
	cmd := &cobra.Command{
		Use:   "types [FILE...]",
		Short: "Write the TypeScript declarations of the tools",
		Long: `Write the declaration files that a cell can read with API.read: tools/<name>.d.ts and
mcp/<server>.d.ts, and results.d.ts. Without --out they are printed; FILE names some of them.`,
		Example: "  codemode types --tools examples/tools.json --out types",
		RunE: func(cmd *cobra.Command, args []string) error {
			view, done, err := f.view(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer done()
			results := host.ResultsFile()
			if len(args) == 0 {
				args = append(args, results.Path)
				files, err := view.Files("")
				if err != nil {
					return err
				}
				for _, file := range files {
					args = append(args, file.Path)
				}
			}
			for _, path := range args {
				file, err := results, error(nil)
				if path != results.Path {
					file, err = view.ReadFile(path)
				}
				var refused *catalog.Error
				switch {
				case errors.As(err, &refused) && len(refused.Nearest) > 0:
					return usageError{fmt.Errorf("there is no file %s; did you mean %s?", path, strings.Join(refused.Nearest, ", "))}
				case err != nil:
					return usageError{fmt.Errorf("there is no file %s; codemode types without a name prints all", path)}
				}
				if out == "" {
					if _, err := fmt.Fprintf(s.out, "// %s\n%s\n", file.Path, strings.TrimSuffix(file.Content, "\n")); err != nil {
						return err
					}
					continue
				}
				to := filepath.Join(out, filepath.FromSlash(file.Path))
				if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(to, []byte(file.Content), 0o644); err != nil {
					return err
				}
				fmt.Fprintln(s.out, to)
			}
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "write the files into `DIR`")
	return cmd
}

// view is what a cell would see, with the MCP servers connected. done disconnects them.
func (f *catalogFlags) view(ctx context.Context, s streams) (view *catalog.View, done func(), err error) {
	c, upstream, err := f.load(s, nil)
	if err != nil {
		return nil, nil, err
	}
	done = func() {
		if upstream != nil {
			upstream.Close()
		}
	}
	if err := connect(ctx, s, upstream); err != nil {
		done()
		return nil, nil, err
	}
	snapshot, policy := c.Snapshot(), f.policy()
	checkPolicy(s, snapshot, policy)
	view = snapshot.View(policy)
	if view.Len() == 0 {
		done()
		return nil, nil, f.noTools(snapshot, upstream)
	}
	return view, done, nil
}

func printEntries(s streams, entries []*catalog.Entry, asJSON bool) error {
	if asJSON {
		list := []json.RawMessage{}
		for _, e := range entries {
			list = append(list, e.Compact())
		}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s\n", text)
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tINPUT\tDESCRIPTION")
	for _, e := range entries {
		description, _, _ := strings.Cut(e.Description(), "\n")
		input := e.InputHint()
		switch {
		case len(e.Tool().InputSchema) == 0:
			input = "any"
		case input == "unknown": // the schema is not trusted, or too long for a line
			input = "(see describe)"
		}
		fmt.Fprintf(w, "%s\t%s\t%.100s\n", e.CallableName(), input, oneLine(description))
	}
	return w.Flush()
}
