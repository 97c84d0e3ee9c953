package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"codemode/host"
)

// stateFlags say where suspended cells are kept.
type stateFlags struct{ state string }

func (f *stateFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.state, "state", "", "keep suspended cells in this private folder `DIR`")
}

// store opens the folder; the commands that only look at runs need it.
func (f *stateFlags) store() (*host.FileStore, error) {
	if f.state == "" {
		return nil, usageError{fmt.Errorf("name the folder with the suspended cells: --state DIR")}
	}
	// Opening makes the folder, and in one that was just made there is nothing to go on with.
	if _, err := os.Stat(f.state); errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{fmt.Errorf("there is no folder %s", f.state)}
	}
	store, err := host.OpenFileStore(f.state)
	if err != nil {
		return nil, usageError{err}
	}
	return store, nil
}

func newWait(s streams) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "wait RUN_ID --state DIR",
		Short: "Go on with a suspended cell",
		Long: `Go on with a cell that exec --state DIR --no-wait left suspended, in this process, with
the tools given here. Calls that were answered before are not made again. A call that
was under way when its process ended is made again where the tool is marked replaySafe;
otherwise the cell gets an error that says the effect is unknown.

Exit codes: 0 completed, 1 failed, 2 waiting, 64 wrong usage.`,
		Example: "  codemode wait cm_0f9c... --state runs --tools examples/tools.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("wait needs the run id that a waiting result gave")}
			}
			if _, err := f.store(); err != nil {
				return err
			}
			format, err := outputFormat(s, f.format)
			if err != nil {
				return err
			}
			cellLimits, err := f.limits(s)
			if err != nil {
				return err
			}
			session, err := f.open(s, cellLimits, f.stateFlags, f.runFlags)
			if err != nil {
				return err
			}
			defer session.Close()
			return session.follow(cmd.Context(), printer{s, format}, f.noWait, func() *host.Result {
				return session.host.Wait(cmd.Context(), commandScope, host.WaitInput{RunID: args[0]})
			})
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "", "json or text (default: text on a terminal, json elsewhere)")
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "print a waiting result instead of waiting again")
	f.catalogFlags.add(cmd)
	f.runFlags.add(cmd)
	f.stateFlags.add(cmd)
	return cmd
}

func newRuns(s streams) *cobra.Command {
	var f stateFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs --state DIR",
		Short: "List the suspended cells",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := f.runs()
			if err != nil {
				return err
			}
			if asJSON {
				text, err := json.Marshal(runs)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(s.out, "%s\n", text)
				return err
			}
			w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RUN\tAGE\tEXPIRES IN\tPENDING\tTITLE")
			for _, r := range runs {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", r.RunID, time.Since(r.Started).Round(time.Second),
					time.Until(r.Expires).Round(time.Second), len(r.Pending), r.Title)
			}
			return w.Flush()
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newCancel(s streams) *cobra.Command {
	var f stateFlags
	cmd := &cobra.Command{
		Use:   "cancel RUN_ID... --state DIR",
		Short: "End suspended cells and drop their snapshots",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("cancel needs a run id; codemode runs lists them")}
			}
			store, err := f.store()
			if err != nil {
				return err
			}
			missing := 0
			for _, id := range args {
				if ok, err := host.CancelStored(store, id); err != nil {
					return err
				} else if !ok {
					fmt.Fprintf(s.err, "codemode: there is no run %s\n", id)
					missing++
				} else {
					fmt.Fprintf(s.out, "cancelled %s\n", id)
				}
			}
			if missing > 0 {
				return exitCode(exitFailed)
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

// runs lists what is in the folder. It needs no engine.
func (f *stateFlags) runs() ([]host.Run, error) {
	store, err := f.store()
	if err != nil {
		return nil, err
	}
	return host.StoredRuns(store)
}
