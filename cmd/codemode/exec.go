package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"codemode/host"
	"codemode/limits"
	"codemode/transpile"
)

type execFlags struct {
	code     string
	language string
	format   string
	noWait   bool
	catalogFlags
	limitFlags
	stateFlags
	runFlags
}

func newExec(s streams) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec [FILE | -]",
		Short: "Run a cell and print its result",
		Long: `Run a cell from FILE, from standard input (-), or from -e CODE, and print its result.

A cell is the body of an async function: it may use await and return, and the value
of its last expression is returned. It finds the tools of --tools as functions:
await name({...}), catalog.search("what to do"), tools.describe(id).

--tools takes a JSON list. Each tool has a name and one of reply (any JSON), error and
run (a program: it gets the argument as JSON on standard input, and prints JSON):

  [{"name": "ping", "description": "Say pong.", "reply": "pong"},
   {"name": "broken", "error": {"message": "no luck", "code": "no_luck"}},
   {"name": "sum", "description": "Add a and b.", "run": {"argv": ["jq", ".a + .b"]}}]

Also: description, inputSchema, outputSchema (JSON Schemas), delayMs, replaySafe, and what
"go doc codemode/catalog LoadFile" lists.

When the cell is suspended, exec waits for it until it has ended; with --no-wait it
prints the waiting result. Output is one line of JSON, or text when a person reads it.

With --state DIR a suspended cell is kept in a folder: codemode wait goes on with it,
also after this process was killed.

Exit codes: 0 completed, 1 failed, 2 waiting, 64 wrong usage.`,
		Example: `  codemode exec -e 'return 1 + 2'
  codemode exec -e 'const n: number = 3; return n' --language typescript
  codemode exec examples/trip.ts --tools examples/tools.json --verbose
  codemode exec cell.js --timeout 500ms --memory 16MiB --format json`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, s) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.code, "eval", "e", "", "run `CODE` instead of a file")
	flags.StringVar(&f.language, "language", "", "javascript or typescript (default: JavaScript first, then TypeScript)")
	flags.StringVar(&f.format, "format", "", "json or text (default: text on a terminal, json elsewhere)")
	flags.BoolVar(&f.noWait, "no-wait", false, "print a waiting result instead of waiting")
	f.catalogFlags.add(cmd)
	f.limitFlags.add(cmd)
	f.runFlags.add(cmd)
	f.stateFlags.add(cmd)
	return cmd
}

func (f *execFlags) run(cmd *cobra.Command, args []string, s streams) error {
	switch f.language {
	case "", string(transpile.JavaScript), string(transpile.TypeScript):
	default:
		return usageError{fmt.Errorf("--language is javascript or typescript, not %q", f.language)}
	}
	format, err := outputFormat(s, f.format)
	if err != nil {
		return err
	}
	code, err := f.source(cmd, args, s)
	if err != nil {
		return err
	}
	cellLimits, err := f.limits(s)
	if err != nil {
		return err
	}
	if f.noWait && f.state == "" {
		fmt.Fprintln(s.err, "codemode: without --state DIR a waiting cell ends with this command")
	}
	session, err := f.open(s, cellLimits, f.stateFlags, f.runFlags)
	if err != nil {
		return err
	}
	defer session.Close()
	return session.follow(cmd.Context(), printer{s, format}, f.noWait, func() *host.Result {
		return session.host.Exec(cmd.Context(), commandScope, host.ExecInput{Code: code, Language: transpile.Language(f.language)})
	})
}

// source reads the cell.
func (f *execFlags) source(cmd *cobra.Command, args []string, s streams) (string, error) {
	if cmd.Flags().Changed("eval") {
		if len(args) > 0 {
			return "", usageError{errors.New("give -e CODE or a file, not both")}
		}
		return f.code, nil
	}
	switch len(args) {
	case 0:
		return "", usageError{errors.New("exec needs a file, - for standard input, or -e CODE")}
	case 1:
	default:
		return "", usageError{fmt.Errorf("exec runs one file, but %d are given", len(args))}
	}
	read := func() (string, error) {
		if args[0] == "-" {
			return readSource(s.in)
		}
		file, err := os.Open(args[0])
		if err != nil {
			return "", err
		}
		defer file.Close()
		return readSource(file)
	}
	type answer struct {
		text string
		err  error
	}
	// A terminal or a pipe may never give an end, and a read of it cannot be interrupted: an interrupt leaves it behind.
	done := make(chan answer, 1)
	go func() {
		text, err := read()
		done <- answer{text, err}
	}()
	select {
	case <-cmd.Context().Done():
		return "", errors.New("interrupted while reading the cell")
	case a := <-done:
		if a.err != nil {
			return "", usageError{a.err}
		}
		return a.text, nil
	}
}

// readSource reads a cell, which may come from what has no end: no more than any limit on sources lets through.
func readSource(r io.Reader) (string, error) {
	most := limits.Limits{MaxSourceBytes: math.MaxInt64}.Clamp().MaxSourceBytes
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return "", err
	}
	if int64(len(text)) > most {
		return "", fmt.Errorf("the cell has more than %d bytes", most)
	}
	return string(text), nil
}

// limitFlags set the limits that people change most, and any other by its name.
type limitFlags struct {
	timeout time.Duration
	memory  string
	fuel    int64
	others  []string
}

func (f *limitFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.timeout, "timeout", 0, "time for the exec and for each wait, 100ms to 60s (default 10s)")
	flags.StringVar(&f.memory, "memory", "", "memory that the cell may add, 1MiB to 1GiB (default 64MiB)")
	flags.Int64Var(&f.fuel, "fuel", 0, "WebAssembly instructions the cell may run (default: not metered)")
	flags.StringArrayVar(&f.others, "limit", nil, "any limit as `NAME=NUMBER`; `codemode limits` lists them")
}

// limits are what the flags say. A value out of range is moved to its bound, and s hears of it.
func (f *limitFlags) limits(s streams) (limits.Limits, error) {
	var l limits.Limits
	given := map[limits.Name]string{}
	for _, text := range f.others {
		if err := l.Set(text); err != nil {
			return l, usageError{err}
		}
		name, _, _ := strings.Cut(text, "=")
		given[limits.Name(name)] = "--limit " + text
	}
	if f.timeout < 0 || f.fuel < 0 {
		return l, usageError{errors.New("--timeout and --fuel cannot be negative")}
	}
	if f.timeout > 0 {
		l.TimeoutMs = max(1, f.timeout.Milliseconds())
		given[limits.Timeout] = "--timeout " + shortDuration(f.timeout)
	}
	if f.fuel > 0 {
		l.Fuel = f.fuel
		given[limits.Fuel] = fmt.Sprintf("--fuel %d", f.fuel)
	}
	if f.memory != "" {
		n, err := parseBytes(f.memory)
		if err != nil {
			return l, usageError{fmt.Errorf("--memory: %w", err)}
		}
		l.MemoryLimitBytes = n
		given[limits.Memory] = "--memory " + f.memory
	}
	for _, m := range l.Moved() {
		bound := fmt.Sprint(m.Used)
		switch flag := given[m.Name]; {
		case strings.HasPrefix(flag, "--timeout"):
			bound = shortDuration(time.Duration(m.Used) * time.Millisecond)
		case strings.HasPrefix(flag, "--memory"):
			bound = shortBytes(m.Used)
		}
		side := "below the least"
		if m.Given > m.Used {
			side = "above the most"
		}
		fmt.Fprintf(s.err, "codemode: %s is %s, %s; %s is used\n", given[m.Name], side, bound, bound)
	}
	return l.Clamp(), nil
}

// shortDuration is 5h for 5h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
