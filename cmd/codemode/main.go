// Command codemode runs JavaScript and TypeScript cells against a catalog of tools. `codemode help` says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitCompleted = 0
	exitFailed    = 1
	exitWaiting   = 2
	exitUsage     = 64 // EX_USAGE of sysexits.h
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run runs the command and gives its exit code.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitCompleted
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(s.err, "codemode:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintln(s.err, "Try: codemode help")
		return exitUsage
	}
	return exitFailed
}

// exitCode is an error that only sets the exit code: what there is to say was said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "codemode",
		Short: "Run JavaScript and TypeScript cells against a catalog of tools",
		Long: `codemode runs cells: small JavaScript or TypeScript programs that search a catalog
of tools, call tools in parallel, and return what matters. A cell runs in QuickJS
compiled to WebAssembly, with limits on time, memory and output. When it must wait
for its tools it is suspended as a snapshot of a few kilobytes and resumed later.`,
		Example: `  codemode exec -e 'return 1 + 2'
  codemode exec examples/trip.ts --tools examples/tools.json
  echo 'text("hello")' | codemode exec -
  codemode serve --config mcp.json`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newExec(s), newWait(s), newRuns(s), newCancel(s), newServe(s), newBench(), newTools(s), newSearch(s), newDescribe(s), newTypes(s), newABI(s), newLimits(s), newVersion(s))
	return root
}

// noArguments refuses arguments, naming the first.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return usageError{fmt.Errorf("there is no command %q; did you mean %q?", args[0], near[0])}
		}
		return usageError{fmt.Errorf("there is no command %q", args[0])}
	}
	return usageError{fmt.Errorf("%s takes no argument, but has %q", cmd.CommandPath(), args[0])}
}
