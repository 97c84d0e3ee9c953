package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a program gets for each step of its end: after its standard input is closed, after SIGTERM, after SIGKILL.
const (
	closeGrace     = 2 * time.Second
	terminateGrace = 2 * time.Second
	killGrace      = 2 * time.Second
)

// writeTimeout bounds one write to a program that does not read its standard input.
const writeTimeout = 10 * time.Second

// drainTime is how long the output of a program that has ended is still read.
const drainTime = 250 * time.Millisecond

// process is a stdio server: a program in its own process group, the pipes to it, and its end. It is an SDK transport.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *tail
	lines  *lineReader

	exited  chan struct{} // closed when the program has ended and was reaped
	exitErr error         // of Wait; read it after exited
	closing sync.Once
	closed  chan struct{} // closed when close is done
}

// startProcess starts the program. It does not end with any context: only close ends it.
func startProcess(s *ServerConfig, maxMessage int, noise func(line string), stderr func(line string)) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		stdin.Close()
		return nil, err
	}
	p := &process{stdin: stdin, stdout: stdout, stderr: &tail{line: stderr}, exited: make(chan struct{}), closed: make(chan struct{})}
	p.lines = newLineReader(stdout, maxMessage, noise)
	p.cmd = exec.Command(s.Command, s.Args...)
	p.cmd.Env = programEnvironment(s)
	p.cmd.Dir = s.Cwd
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.stderr
	p.cmd.WaitDelay = drainTime // a grandchild may keep standard error open
	ownGroup(p.cmd)
	err = p.cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	go p.reap()
	return p, nil
}

// reap waits for the program. What its group leaves behind ends with it, and reading from it ends soon after.
func (p *process) reap() {
	p.exitErr = p.cmd.Wait()
	signalGroup(p.cmd.Process, killSignal)
	close(p.exited)
	p.stdout.SetReadDeadline(time.Now().Add(drainTime))
}

// Connect makes it an SDK transport.
func (p *process) Connect(ctx context.Context) (sdk.Connection, error) {
	t := &sdk.IOTransport{Reader: p.lines, Writer: pipeWriter{p}, MaxLineLength: -1} // lines bounds them
	return t.Connect(ctx)
}

type pipeWriter struct{ p *process }

func (w pipeWriter) Write(b []byte) (int, error) {
	if err := w.p.stdin.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := w.p.stdin.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the program did not read its standard input for %v", writeTimeout)
	}
	return n, err
}

// Close is the SDK's, when the connection is broken or given up. The program itself is ended by process.close.
func (w pipeWriter) Close() error { return w.p.stdin.Close() }

// close ends the program: its standard input is closed, then come SIGTERM and SIGKILL to its group. It returns when the
// program is gone, or when even SIGKILL did not help within killGrace. Every caller waits for the one end.
func (p *process) close() {
	p.closing.Do(func() {
		defer close(p.closed)
		p.stdin.Close()
		if !p.within(closeGrace) {
			signalGroup(p.cmd.Process, terminateSignal)
			if !p.within(terminateGrace) {
				signalGroup(p.cmd.Process, killSignal)
				p.within(killGrace)
			}
		}
		p.stdout.Close()
	})
	<-p.closed
}

func (p *process) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// end says why the program is not there any more, for people; "" while it is.
func (p *process) end() string {
	select {
	case <-p.exited:
	default:
		return ""
	}
	text := "it ended by itself"
	var exit *exec.ExitError
	if errors.As(p.exitErr, &exit) {
		text = "it ended with " + exit.ProcessState.String()
	}
	return text
}

// tail keeps the end of what is written, and hands on whole lines.
type tail struct {
	line func(string)

	mu      sync.Mutex
	kept    []byte
	partial []byte
}

// maxTail is how much of a program's standard error is kept, and how long a line of it may be.
const maxTail = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if n := len(t.kept) - maxTail; n > 0 {
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	for _, c := range b {
		if c == '\n' || len(t.partial) >= maxTail {
			if t.line != nil {
				t.line(strings.ToValidUTF8(strings.TrimRight(string(t.partial), "\r"), "�"))
			}
			t.partial = t.partial[:0]
		}
		if c != '\n' {
			t.partial = append(t.partial, c)
		}
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "�"))
}

var errMessageTooLarge = errors.New("it sent a message that is larger than the limit")

var _ io.ReadCloser = (*lineReader)(nil)
