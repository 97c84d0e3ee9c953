package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/wit"
)

func newABI(s streams) *cobra.Command {
	var check bool
	var guest string
	cmd := &cobra.Command{
		Use:   "abi",
		Short: "Print the host ABI, or check the guest against it",
		Long: `Print wit/codemode.wit, which documents every function that passes between a guest and
its host. With --check, compare the guest module's imports and exports, the Go bindings
and the file, signature by signature; any difference is exit code 1.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !check {
				if guest != "" {
					return usageError{errors.New("--guest FILE goes with --check: without it the ABI is printed, whatever the guest")}
				}
				_, err := fmt.Fprint(s.out, wit.Source)
				return err
			}
			module, err := guestModule(guest)
			if err != nil {
				return err
			}
			report, err := guestabi.Check(module)
			if err != nil {
				return err
			}
			fmt.Fprint(s.out, report)
			if n := len(report.Differences()); n > 0 {
				fmt.Fprintf(s.err, "codemode: %d of %d functions differ\n", n, len(report.Rows))
				return exitCode(exitFailed)
			}
			fmt.Fprintf(s.out, "%d functions agree in the guest, the bindings and the WIT\n", len(report.Rows))
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "compare the guest, the bindings and the file")
	cmd.Flags().StringVar(&guest, "guest", "", "check this module `FILE` instead of the built-in guest")
	return cmd
}

func guestModule(path string) ([]byte, error) {
	if path == "" {
		module, _, err := quickjs.Guest()
		return module, err
	}
	module, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{err}
	}
	return module, nil
}

func newLimits(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "List every limit with its default, range and what a breach returns",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				_, err := fmt.Fprintln(s.out, limits.Default())
				return err
			}
			if terminal(s.out) {
				printLimits(s.out, width(s.out))
				return nil
			}
			w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "LIMIT\tDEFAULT\tFROM\tTO\tUNIT\tMEANING\tBREACH")
			for _, r := range limits.Table() {
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Name, r.Default, r.Min, r.Max, r.Unit, r.Meaning, r.Breach)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the defaults as JSON")
	return cmd
}

// printLimits writes each limit as a paragraph: its row is longer than a terminal is wide.
func printLimits(w io.Writer, columns int) {
	for _, r := range limits.Table() {
		fmt.Fprintf(w, "%s  %d %s (%d to %d)\n", r.Name, r.Default, r.Unit, r.Min, r.Max)
		fmt.Fprint(w, wrapped(r.Meaning, "    ", columns))
		fmt.Fprint(w, wrapped("A breach: "+r.Breach, "    ", columns))
	}
}

// wrapped breaks text into lines of at most so many columns, where its words allow it.
func wrapped(text, indent string, columns int) string {
	var b strings.Builder
	line := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case line == 0:
		case line+1+n > columns:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		if line == 0 {
			b.WriteString(indent)
			line = len(indent)
		}
		b.WriteString(word)
		line += n
	}
	return b.String() + "\n"
}

// about is what version prints.
type about struct {
	Version  string            `json:"version"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Wasmtime string            `json:"wasmtime"`
	Esbuild  string            `json:"esbuild"`
	WIT      string            `json:"wit"`
	Guest    *quickjs.Manifest `json:"guest"`
	NoGuest  string            `json:"noGuest,omitempty"`
}

// version is what Go knows of the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func newVersion(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print versions and hashes of the command, the engine, the guest and the ABI",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			a := about{Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, m := range info.Deps {
					switch m.Path {
					case "github.com/bytecodealliance/wasmtime-go/v39":
						a.Wasmtime = m.Version
					case "github.com/evanw/esbuild":
						a.Esbuild = m.Version
					}
				}
			}
			file, err := wit.Parse(wit.Source)
			if err != nil {
				return err
			}
			a.WIT = file.Package + "@" + file.Version
			if _, a.Guest, err = quickjs.Guest(); err != nil {
				a.NoGuest = err.Error()
			}
			if asJSON {
				text, err := json.Marshal(a)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(s.out, "%s\n", text)
				return err
			}
			w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			row := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, value) }
			row("codemode", a.Version)
			row("go", a.Go+" "+a.Platform)
			row("wasmtime-go", a.Wasmtime)
			row("esbuild", a.Esbuild)
			row("host ABI", a.WIT)
			if a.Guest == nil {
				row("guest", a.NoGuest)
				return w.Flush()
			}
			row("engine", a.Guest.Engine)
			row("engine source", "sha256 "+a.Guest.SourceSHA256)
			row("compiler", a.Guest.Compiler)
			row("image", "sha256 "+a.Guest.ImageSHA256)
			row("WIT", "sha256 "+a.Guest.WITSHA256)
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
