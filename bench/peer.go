package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// The operations that a peer can be asked for. See peers/README.md for the protocol.
const (
	opStart   = "start"   // a new cell, run and thrown away
	opSuspend = "suspend" // a cell until it waits for a tool, then with the answer until it has completed
	opCalls   = "calls"   // a cell that calls tools in the peer's process
	opCompute = "compute" // one kernel of the JavaScript benchmark
	opFirst   = "first"   // a new process that runs one cell
)

// request is one line to a peer.
type request struct {
	Op     string `json:"op"`
	N      int    `json:"n"`               // how often
	Tools  int    `json:"tools,omitempty"` // in the catalog
	Code   string `json:"code"`
	Kernel string `json:"kernel,omitempty"`
	Value  string `json:"value,omitempty"` // what the cell must return, as JSON
}

// reply is one line from a peer: a time in nanoseconds for each of n.
type reply struct {
	NS     []float64 `json:"ns"`
	Resume []float64 `json:"resume"` // opSuspend: the times of going on
	Bytes  float64   `json:"bytes"`  // opSuspend: the size of the snapshot
	Value  string    `json:"value"`  // opCompute: the checksum
	Error  string    `json:"error"`
}

// hello is a peer's first line.
type hello struct {
	Peer    string            `json:"peer"`
	Version string            `json:"version"`
	Engine  string            `json:"engine"`
	Ops     map[string]string `json:"ops"`   // what it can do, and what differs in it
	Sizes   []int             `json:"sizes"` // catalogs to measure, where it has any
	// Style is what cells look like: empty for ours.
	Style string `json:"style"`
}

// peer is another engine in a process of its own.
type peer struct {
	name    string
	argv    []string
	hello   hello
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	mu      sync.Mutex
}

// peerSet is the peers of a run.
type peerSet struct {
	dir     string
	peers   []*peer
	missing map[string]string // name to why
}

// peerPrograms are the peers, what starts each, and a file that is there when it is installed.
func peerPrograms(dir string) []struct {
	name string
	argv []string
	need string
} {
	node := nodePath(dir)
	script := func(name string) []string { return []string{node, filepath.Join(dir, "npm", name+".mjs")} }
	module := func(name string) string { return filepath.Join(dir, "npm/node_modules", name, "package.json") }
	golang := filepath.Join(dir, "go/bin/peer")
	return []struct {
		name string
		argv []string
		need string
	}{
		{"openclaw", script("openclaw"), module("openclaw")},
		{"run", script("run"), module("run")},
		{"quickjs-wasi", script("quickjs-wasi"), module("quickjs-wasi")},
		{"quickjs-emscripten", script("quickjs-emscripten"), module("quickjs-emscripten")},
		{"monty", script("monty"), module("@pydantic/monty")},
		{"goja", []string{golang, "goja"}, golang},
		{"modernc-quickjs", []string{golang, "modernc-quickjs"}, golang},
		{"wazero-quickjs", []string{golang, "wazero-quickjs"}, golang},
	}
}

// nodePath is the Node that came with the peers, or else the one that is installed.
func nodePath(dir string) string {
	system, arch := runtime.GOOS, runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	for _, prefix := range []string{"node-", "node-bin-"} {
		path := filepath.Join(dir, "npm/node_modules", prefix+system+"-"+arch, "bin/node")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "node"
}

func newPeerSet(options Options) *peerSet {
	dir, err := filepath.Abs(options.PeersDir)
	if err != nil {
		dir = options.PeersDir
	}
	set := &peerSet{dir: dir, missing: map[string]string{}}
	if !options.Peers {
		return set
	}
	for _, program := range peerPrograms(dir) {
		if _, err := os.Stat(program.need); err != nil {
			set.missing[program.name] = "not installed under " + options.PeersDir
			continue
		}
		p := &peer{name: program.name, argv: program.argv}
		if err := p.start(); err != nil {
			set.missing[program.name] = "does not start: " + err.Error()
			continue
		}
		set.peers = append(set.peers, p)
	}
	return set
}

func (s *peerSet) close() {
	for _, p := range s.peers {
		p.close()
	}
}

// having lists the peers that can do something.
func (s *peerSet) having(op string) []*peer {
	var list []*peer
	for _, p := range s.peers {
		if _, ok := p.hello.Ops[op]; ok {
			list = append(list, p)
		}
	}
	return list
}

// file is a file of an installed peer.
func (s *peerSet) file(name string) (string, bool) {
	path := filepath.Join(s.dir, name)
	_, err := os.Stat(path)
	return path, err == nil
}

func (p *peer) title() string { return p.name + " " + p.hello.Version }

func (p *peer) differs(op string) string { return p.hello.Ops[op] }

func (p *peer) catalogs() []int {
	if len(p.hello.Sizes) == 0 {
		return []int{20}
	}
	return p.hello.Sizes
}

// code is one of our cells in the peer's language.
func (p *peer) code(ours string) string {
	if p.hello.Style != "python" {
		return ours
	}
	return python(ours)
}

// python is what our cells are in Monty's language. A cell that is not among them has no counterpart.
func python(cell string) string {
	switch cell {
	case cellSmall:
		return "1+2"
	case peerWait:
		return "r = tool_0('a')\nr + 1"
	case fmt.Sprintf(cellCalls, 100):
		return "n = 0\nfor i in range(100):\n    n += tool_0('a')\nn"
	}
	return "raise Exception('this cell has no counterpart in Python')"
}

// peerPatience is how long a peer may take for one request.
const peerPatience = 60 * time.Second

func (p *peer) start() error {
	p.process = exec.Command(p.argv[0], p.argv[1:]...)
	p.process.Dir = filepath.Dir(p.argv[min(1, len(p.argv)-1)])
	if !filepath.IsAbs(p.process.Dir) {
		p.process.Dir = filepath.Dir(p.argv[0])
	}
	var err error
	if p.in, err = p.process.StdinPipe(); err != nil {
		return err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := p.process.Start(); err != nil {
		return err
	}
	line, err := p.line(context.Background())
	if err == nil {
		err = json.Unmarshal(line, &p.hello)
	}
	if err != nil || p.hello.Peer == "" {
		p.close()
		return errors.Join(errors.New("no greeting"), err)
	}
	return nil
}

// line reads a line that is a JSON object; others are a peer's own chatter.
func (p *peer) line(ctx context.Context) ([]byte, error) {
	type read struct {
		line []byte
		err  error
	}
	got := make(chan read, 1)
	go func() {
		for {
			line, err := p.out.ReadBytes('\n')
			if err != nil || strings.HasPrefix(string(line), "{") {
				got <- read{line, err}
				return
			}
		}
	}()
	select {
	case r := <-got:
		return r.line, r.err
	case <-ctx.Done():
		p.process.Process.Kill()
		return nil, context.Cause(ctx)
	case <-time.After(peerPatience):
		p.process.Process.Kill()
		return nil, fmt.Errorf("no answer within %v", peerPatience)
	}
}

// do asks the peer for one batch.
func (p *peer) do(ctx context.Context, q request) (reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r reply
	text, err := json.Marshal(q)
	if err == nil {
		_, err = p.in.Write(append(text, '\n'))
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", p.name, err)
	}
	line, err := p.line(ctx)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return r, fmt.Errorf("%s: %w", p.name, err)
	case r.Error != "":
		return r, fmt.Errorf("%s: %s", p.name, r.Error)
	case len(r.NS) != q.N:
		return r, fmt.Errorf("%s: %d times for %d operations", p.name, len(r.NS), q.N)
	}
	return r, nil
}

// first runs one cell in a new process of the peer.
func (p *peer) first(ctx context.Context) error {
	c := exec.CommandContext(ctx, p.argv[0], append(p.argv[1:len(p.argv):len(p.argv)], "first")...)
	c.Dir = p.process.Dir
	out, err := c.Output()
	if err != nil || strings.TrimSpace(string(out)) != "3" {
		return fmt.Errorf("%s: a new process: %v: %.200s", p.name, err, out)
	}
	return nil
}

func (p *peer) close() {
	p.in.Close() // a peer ends when its input does
	ended := make(chan error, 1)
	go func() { ended <- p.process.Wait() }()
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		p.process.Process.Kill()
		<-ended
	}
}
