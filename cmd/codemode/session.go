package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
)

// catalogFlags say which tools there are.
type catalogFlags struct {
	tools   []string
	verbose bool
}

func (f *catalogFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.tools, "tools", nil, "JSON `FILE` with tools; may be given more than once")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log what happens to standard error")
}

// load makes the catalog. A tool that is wrong is reported and left out.
func (f *catalogFlags) load(s streams) (*catalog.Catalog, error) {
	c := host.NewCatalog(nil)
	for _, path := range f.tools {
		tools, problems, err := catalog.LoadFile(path)
		if err != nil {
			return nil, usageError{err}
		}
		for _, p := range append(problems, c.Add(tools...)...) {
			fmt.Fprintf(s.err, "codemode: %s: %s\n", path, p)
		}
	}
	return c, nil
}

// session is a host with its catalog, for one run of the command.
type session struct {
	host    *host.Host
	catalog *catalog.Catalog
}

func (f *catalogFlags) open(ctx context.Context, s streams, l limits.Limits) (*session, error) {
	c, err := f.load(s)
	if err != nil {
		return nil, err
	}
	h, err := host.New(&host.Options{
		Catalog: c, Limits: l, Logger: s.logger(f.verbose),
		EngineOptions: &quickjs.EngineOptions{Progress: s.progress()},
	})
	if err != nil {
		return nil, err
	}
	return &session{h, c}, nil
}

func (s *session) Close() error { return s.host.Close() }

var errNoTools = errors.New("no tools: name a tools file with --tools FILE")
