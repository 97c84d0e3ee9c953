package bench

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

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
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if suiteSet != "" {
				options.Suites = strings.Split(suiteSet, ",")
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
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			old, err := Read(args[0])
			if err != nil {
				return err
			}
			new, err := Read(args[1])
			if err != nil {
				return err
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
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			result, err := Read(args[0])
			if err != nil {
				return err
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
		Args:  cobra.NoArgs,
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
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			code, err := os.ReadFile(args[0])
			if err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			options.Code, options.Progress = string(code), c.ErrOrStderr()
			if len(options.Code) == 0 {
				return errors.New("bench: the cell is empty")
			}
			advice, err := Tune(c.Context(), options)
			if err != nil {
				return err
			}
			return advice.WriteText(c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&options.Tools, "tools", "", "tools file with what the cell calls")
	c.Flags().DurationVar(&options.Budget, "budget", 20*time.Second, "time for all trials together")
	return c
}
