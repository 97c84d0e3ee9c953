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
	durable bool
}

func (f *catalogFlags) open(s streams, l limits.Limits, state stateFlags) (*session, error) {
	c, err := f.load(s)
	if err != nil {
		return nil, err
	}
	options := &host.Options{
		Catalog: c, Limits: l, Logger: s.logger(f.verbose),
		EngineOptions: &quickjs.EngineOptions{Progress: s.progress()},
	}
	if state.state != "" {
		if options.Store, err = host.OpenFileStore(state.state); err != nil {
			return nil, usageError{err}
		}
	}
	h, err := host.New(options)
	if err != nil {
		return nil, err
	}
	return &session{h, c, options.Store != nil}, nil
}

func (s *session) Close() error { return s.host.Close() }

// commandScope is the scope of all cells that people run with the command.
var commandScope = host.Scope{Session: "command"}

// follow runs a cell, waits for it unless noWait, prints the last result and gives the exit code.
func (s *session) follow(ctx context.Context, p printer, noWait bool, start func() *host.Result) error {
	result := start()
	for result.Status == host.Waiting && !noWait {
		if p.format == "text" {
			p.output(result) // what it has said so far
		}
		result = s.host.Wait(ctx, commandScope, host.WaitInput{RunID: result.RunID})
	}
	if err := p.result(result); err != nil {
		return err
	}
	switch result.Status {
	case host.Completed:
		return nil
	case host.Failed:
		return exitCode(exitFailed)
	}
	if calls := running(result); s.durable && calls > 0 {
		fmt.Fprintf(p.err, "codemode: %d calls are under way; this command stays until they end, so that their answers are kept (interrupt to leave)\n", calls)
		s.host.Drain(ctx)
	}
	return exitCode(exitWaiting)
}

// running counts the tool calls of a waiting result.
func running(r *host.Result) int {
	n := 0
	for _, call := range r.PendingToolCalls {
		if call.Tool != "" {
			n++
		}
	}
	return n
}

var errNoTools = errors.New("no tools: name a tools file with --tools FILE")
