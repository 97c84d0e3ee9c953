package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Program is a command that answers calls: the argument is written to its standard input as one JSON value, and its
// standard output is the value as JSON (nothing is null). An exit status other than 0 fails the call with the end of
// its standard error. It runs in its own process group, which is killed when the call is cancelled or times out.
type Program struct {
	// Argv is the program and its arguments; no shell is involved. A program without a slash is looked up in PATH, a
	// relative one with a slash in Cwd.
	Argv []string `json:"argv"`
	// Cwd is where it runs, relative to the tools file's folder. Default: that folder.
	Cwd string `json:"cwd"`
	// Env is set for it, over a small environment: PATH, HOME, USER, LANG, LC_ALL, TZ, TMPDIR, SHELL of this process.
	Env map[string]string `json:"env"`
	// InheritEnv names further variables of this process that it gets.
	InheritEnv []string `json:"inheritEnv"`
	// TimeoutMS ends it after so many milliseconds, 1 to 86,400,000. Default: 60,000.
	TimeoutMS int `json:"timeoutMs"`
	// MaxOutputBytes is how much it may write, 1 to 256 MiB. Default: 10 MiB.
	MaxOutputBytes int `json:"maxOutputBytes"`
}

var programEnv = strings.Fields("PATH HOME USER LANG LC_ALL TZ TMPDIR SHELL")

const (
	maxStderr      = 4 << 10
	programGrace   = 2 * time.Second // how long pipes may stay open after the group was killed
	defaultTimeout = 60_000
	defaultOutput  = 10 << 20
)

func (p *Program) check() error {
	switch {
	case len(p.Argv) == 0 || p.Argv[0] == "":
		return errors.New(`run has no program; write run as {"argv": ["program", "argument"]}`)
	case p.TimeoutMS < 0 || p.TimeoutMS > 86_400_000:
		return fmt.Errorf("run.timeoutMs is %d; it goes from 1 to 86400000", p.TimeoutMS)
	case p.MaxOutputBytes < 0 || p.MaxOutputBytes > 256<<20:
		return fmt.Errorf("run.maxOutputBytes is %d; it goes from 1 to %d", p.MaxOutputBytes, 256<<20)
	}
	for _, s := range slices.Concat(p.Argv, slices.Collect(maps.Keys(p.Env)), slices.Collect(maps.Values(p.Env)), []string{p.Cwd}) {
		if strings.Contains(s, "\x00") {
			return errors.New("run contains a NUL character")
		}
	}
	for name := range p.Env {
		if name == "" || strings.Contains(name, "=") {
			return fmt.Errorf("run.env has a variable named %s", printable(name))
		}
	}
	return nil
}

func (p *Program) environ() []string {
	env := map[string]string{}
	for _, name := range slices.Concat(programEnv, p.InheritEnv) {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	maps.Copy(env, p.Env)
	var list []string
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}

func (p *Program) run(ctx context.Context, tool, dir string, input json.RawMessage) (*Result, error) {
	timeout := time.Duration(clampOr(p.TimeoutMS, defaultTimeout, 1, 86_400_000)) * time.Millisecond
	limit := clampOr(p.MaxOutputBytes, defaultOutput, 1, 256<<20)
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	if p.Cwd != "" {
		if filepath.IsAbs(p.Cwd) {
			dir = p.Cwd
		} else {
			dir = filepath.Join(dir, p.Cwd)
		}
	}
	program := p.Argv[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		// exec resolves such a path against this process's folder, not against cmd.Dir.
		abs, err := filepath.Abs(filepath.Join(dir, program))
		if err == nil {
			program = abs
		}
	}
	cmd := exec.CommandContext(timed, program, p.Argv[1:]...)
	cmd.Dir, cmd.Env = dir, p.environ()
	cmd.Stdin = bytes.NewReader(input)
	stdout, stderr := &boundedBuffer{limit: limit, full: cancel}, &tailBuffer{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = programGrace
	ownGroup(cmd)
	err := cmd.Run()

	fail := func(format string, args ...any) (*Result, error) {
		return nil, &Error{Code: CodeToolError, Message: fmt.Sprintf("Tool %q: ", tool) + fmt.Sprintf(format, args...), Err: err}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case stdout.over:
		return fail("its program wrote more than %d bytes and was ended.", limit)
	case timed.Err() != nil:
		return fail("its program was ended after %v.", timeout)
	case errors.As(err, &exit):
		if text := stderr.text(); text != "" {
			return fail("its program ended with %v: %s", exit, text)
		}
		return fail("its program ended with %v.", exit)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return fail("its program could not be run: %v.", err)
	}
	out := bytes.TrimSpace(stdout.data)
	if len(out) == 0 {
		return &Result{}, nil
	}
	if !json.Valid(out) {
		return fail("its program wrote something that is not one JSON value (%d bytes); print JSON, a text in quotes.", len(out))
	}
	return &Result{Value: out}, nil
}

// boundedBuffer keeps up to limit bytes; when more come it calls full once and fails the write.
type boundedBuffer struct {
	data  []byte
	limit int
	over  bool
	full  func()
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.over || len(b.data)+len(p) > b.limit {
		if !b.over {
			b.over = true
			b.full()
		}
		return 0, io.ErrShortBuffer
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// tailBuffer keeps the last limit bytes.
type tailBuffer struct {
	data  []byte
	limit int
	cut   bool
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.data = append(b.data, p...)
	if extra := len(b.data) - b.limit; extra > 0 {
		b.data, b.cut = slices.Clone(b.data[extra:]), true
	}
	return len(p), nil
}

// text is the tail as valid UTF-8, beginning with … when something was cut.
func (b *tailBuffer) text() string {
	data := b.data
	for b.cut && len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	text := strings.ToValidUTF8(strings.TrimSpace(string(data)), "�")
	if b.cut {
		return "…" + text
	}
	return text
}
