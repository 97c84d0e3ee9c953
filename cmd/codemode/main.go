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
	"github.com/spf13/pflag"

	"codemode/bench"
	"codemode/catalog"
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
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitCompleted
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(s.err, "codemode:", err)
	var usage usageError
	var benchUsage *bench.UsageError
	if errors.As(err, &usage) || errors.As(err, &benchUsage) {
		if cmd == root || cmd.Name() == "help" {
			fmt.Fprintln(s.err, "Try: codemode help")
		} else {
			fmt.Fprintf(s.err, "Try: %s --help\n", cmd.CommandPath())
		}
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
		Version:       version(),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(wrongFlag)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newExec(s), newWait(s), newRuns(s), newCancel(s), newServe(s), newBench(), newTools(s), newSearch(s), newDescribe(s), newTypes(s), newABI(s), newLimits(s), newVersion(s))
	return root
}

// newHelp is cobra's help, but that a command that is not there is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say how the command, or one of its commands, is used",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noArguments(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// wrongFlag is the error for a flag that a command does not have, or with a value that does not fit.
func wrongFlag(cmd *cobra.Command, err error) error {
	// Of a command that is not there the flags are not known either: the command is the mistake.
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return cmd.ValidateArgs(cmd.Flags().Args())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := catalog.Closest(unknown.GetSpecifiedName(), names, 1); len(near) > 0 && len(unknown.GetSpecifiedName()) > 1 {
		return usageError{fmt.Errorf("%w; did you mean --%s?", err, near[0])}
	}
	return usageError{err}
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
