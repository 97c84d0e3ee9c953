package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// streams are the command's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// terminal says whether a person reads or writes this stream.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many columns a terminal has.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns >= 40 {
			return columns
		}
	}
	return 80
}

// logger writes what is of the level or above to standard error, for people.
func (s streams) logger(level zerolog.Level) *zerolog.Logger {
	console := zerolog.ConsoleWriter{Out: s.err, NoColor: !terminal(s.err), FormatTimestamp: func(at any) string { return fmt.Sprint(at) }}
	// zerolog's own timestamp has whole seconds, unless a variable of the package says otherwise.
	stamp := zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		e.Str(zerolog.TimestampFieldName, time.Now().Format("15:04:05.000"))
	})
	log := zerolog.New(console).Level(level).Hook(stamp)
	return &log
}

// progress says on standard error that long work goes on, once it has taken a moment. It returns what is said when
// work begins.
func (s streams) progress() func(what string) {
	return func(what string) {
		fmt.Fprintf(s.err, "codemode: %s (once for this machine, a few seconds)...\n", what)
	}
}
