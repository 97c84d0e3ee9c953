package bench

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"codemode/catalog"
)

// UsageError is a command line of Command that cannot be run as it is: nothing was measured.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// takes refuses any other number of arguments, with a sentence on what they are.
func takes(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage("%s takes %s; %d were given", c.CommandPath(), what, len(args))
	}
}

// Command is `codemode bench` with its subcommands compare, report and tune. self is a program with arguments that runs the
// cell given as one more argument and prints its result, such as {"/usr/bin/codemode", "exec", "-e"}; without it the
// time from a process's start is not measured.
func Command(self []string) *cobra.Command {
	var (
		options  = Options{Command: self}
		out      string
		reports  string
		quiet    bool
		asJSON   bool
		suiteSet string
	)
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure start, suspend, resume, snapshots, calls, scale, computing and memory on this machine",
		Long: "bench measures codemode on this machine, beside other engines where they are installed (bench/peers/install.sh).\n" +
			"Suites: " + strings.Join(Suites(), ", ") + ".",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range c.Commands() {
				if sub.Name() != "help" && sub.Name() != "completion" { // cobra's own, where bench is the root
					names = append(names, sub.Name())
				}
			}
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				return usage("there is no command %q of bench; did you mean %q?", args[0], near[0])
			}
			return usage("there is no command %q of bench; there are %s, and without one bench measures (--suites NAMES for a part)", args[0], strings.Join(names, ", "))
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if suiteSet != "" {
				options.Suites = strings.Split(suiteSet, ",")
			}
			if err := checkSuites(options.Suites); err != nil {
				return &UsageError{err}
			}
			// Minutes later would be late to find that there is no such folder.
			if out != "" {
				if err := canWrite(out); err != nil {
					return &UsageError{err}
				}
			}
			if reports != "" {
				if err := os.MkdirAll(reports, 0o755); err != nil {
					return usage("bench: %w", err)
				}
			}
			if !quiet {
				options.Progress = c.ErrOrStderr()
			}
			result, err := Run(c.Context(), options)
			if err != nil {
				return err
			}
			if out != "" {
				if err := result.Write(out); err != nil {
					return err
				}
			}
			if reports != "" {
				if err := WriteReport(reports, result); err != nil {
					return err
				}
			}
			if asJSON {
				text, err := result.JSON()
				if err != nil {
					return err
				}
				_, err = c.OutOrStdout().Write(text)
				return err
			}
			return WriteText(c.OutOrStdout(), result)
		},
	}
	f := c.Flags()
	f.BoolVar(&options.Quick, "quick", false, "finish within a minute, with wider intervals")
	f.StringVar(&suiteSet, "suites", "", "names of suites to run, with commas between them")
	f.DurationVar(&options.Budget, "budget", 0, "time for all suites together (default 4m, with peers 8m, quick 30s)")
	f.BoolVar(&options.Peers, "peers", false, "measure the installed peers beside codemode")
	f.StringVar(&options.PeersDir, "peers-dir", "bench/peers", "folder of the peers")
	f.StringVarP(&out, "out", "o", "", "file for the result as JSON")
	f.StringVar(&reports, "report", "", "folder for the report: report.html, report.md, result.json")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	f.BoolVarP(&quiet, "quiet", "q", false, "say nothing while measuring")
	c.AddCommand(compareCommand(), reportCommand(), tuneCommand(), schemaCommand())
	return c
}

func compareCommand() *cobra.Command {
	var failing bool
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Say what changed between two result files beyond noise",
		Args:  takes(2, "two result files, as `codemode bench -o FILE` writes them: OLD NEW"),
		RunE: func(c *cobra.Command, args []string) error {
			old, err := Read(args[0])
			if err != nil {
				return &UsageError{err}
			}
			new, err := Read(args[1])
			if err != nil {
				return &UsageError{err}
			}
			comparison := Compare(old, new)
			if err := comparison.WriteText(c.OutOrStdout()); err != nil {
				return err
			}
			if worse := comparison.Worse(); failing && worse > 0 {
				return fmt.Errorf("bench: %d cases are worse", worse)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&failing, "fail", false, "fail where something is worse")
	return c
}

func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report RESULT FOLDER",
		Short: "Write the report of a result file again",
		Args:  takes(2, "a result file and the folder for the report: RESULT FOLDER"),
		RunE: func(_ *cobra.Command, args []string) error {
			result, err := Read(args[0])
			if err != nil {
				return &UsageError{err}
			}
			result.Targets = judge(result)
			return WriteReport(args[1], result)
		},
	}
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of result files",
		Args:  takes(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(Schema())
			return err
		},
	}
}

func tuneCommand() *cobra.Command {
	var options TuneOptions
	c := &cobra.Command{
		Use:   "tune CELL",
		Short: "Try limits and settings with a cell on this machine and recommend some",
		Long: `Run a cell under many limits and settings on this machine and recommend some. Each setting
runs the cell at least three times, and fuel some twenty times, so that a cell that takes
longer than a hundredth of --budget takes longer than --budget in all.`,
		Args: takes(1, "one file with a cell: CELL"),
		RunE: func(c *cobra.Command, args []string) error {
			code, err := os.ReadFile(args[0])
			if err != nil {
				return usage("bench: %w", err)
			}
			options.Code, options.Progress = string(code), c.ErrOrStderr()
			if len(options.Code) == 0 {
				return usage("bench: the cell is empty")
			}
			if options.Tools != "" { // Tune's own error would not say whose mistake it is
				if _, _, err := catalog.LoadFile(options.Tools); err != nil {
					return &UsageError{err}
				}
			}
			advice, err := Tune(c.Context(), options)
			if err != nil {
				return err
			}
			return advice.WriteText(c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&options.Tools, "tools", "", "tools file with what the cell calls")
	c.Flags().DurationVar(&options.Budget, "budget", 20*time.Second, "time for all trials together, about")
	return c
}

// canWrite says whether a file can be written, and leaves things as they are.
func canWrite(path string) error {
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	f.Close()
	if missing != nil {
		return os.Remove(path)
	}
	return nil
}
