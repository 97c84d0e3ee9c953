package bench

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress says what is being measured: on a terminal in one line that is written over, else in a line for each group.
type progress struct {
	w        io.Writer
	terminal bool
	title    string
	started  time.Time
	last     string
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, started: time.Now()}
	if f, ok := w.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	return p
}

func (p *progress) suite(title string) {
	p.title, p.last = title, ""
	if p.w != nil && !p.terminal {
		fmt.Fprintf(p.w, "%4.0f s  %s\n", time.Since(p.started).Seconds(), title)
	}
}

func (p *progress) warming(g *group, m *measured) {
	if p.terminal {
		p.line("%s: warming up", m.ID)
	} else if p.w != nil && p.last != g.name {
		p.last = g.name
		fmt.Fprintf(p.w, "        %s\n", g.title)
	}
}

func (p *progress) round(g *group, n int) {
	if p.terminal {
		p.line("%s: %s, round %d", p.title, g.title, n)
	}
}

// say shows something that takes a while.
func (p *progress) say(what string) {
	if p.terminal {
		p.line("%s", what)
	} else if p.w != nil {
		fmt.Fprintf(p.w, "        %s\n", what)
	}
}

func (p *progress) line(format string, args ...any) {
	fmt.Fprintf(p.w, "\r\x1b[K%4.0f s  %s", time.Since(p.started).Seconds(), fmt.Sprintf(format, args...))
}

func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
