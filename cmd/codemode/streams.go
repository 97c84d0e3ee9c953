package main

import (
	"fmt"
	"io"
	"os"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

// streams are the command's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// terminal says whether a person reads w.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// logger writes what is of the level or above to standard error, for people.
func (s streams) logger(level zerolog.Level) *zerolog.Logger {
	log := zerolog.New(zerolog.ConsoleWriter{Out: s.err, NoColor: !terminal(s.err), TimeFormat: "15:04:05.000"}).
		Level(level).With().Timestamp().Logger()
	return &log
}

// progress says on standard error that long work goes on, once it has taken a moment. It returns what is said when
// work begins.
func (s streams) progress() func(what string) {
	return func(what string) {
		fmt.Fprintf(s.err, "codemode: %s (once for this machine, a few seconds)...\n", what)
	}
}
