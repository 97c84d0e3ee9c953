package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestMain lets the test program stand for `codemode exec -e`, which the start suite runs as a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "exec-cell" {
		os.Exit(execCell(os.Args[2]))
	}
	os.Exit(m.Run())
}

func execCell(code string) int {
	engine, err := sharedEngine()
	if err != nil {
		return 1
	}
	s, err := newStation(engine, 1, snapshotLimits())
	if err != nil {
		return 1
	}
	r, err := s.exec(context.Background(), code)
	if err != nil {
		return 1
	}
	os.Stdout.Write(r.Value)
	return 0
}

// tinyRun runs every suite with counts as small as can be.
func tinyRun(t *testing.T, peers bool) *Result {
	t.Helper()
	testEngine(t) // skips where there is no guest
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Options{tiny: true, Peers: peers, PeersDir: "peers", Command: []string{program, "exec-cell"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// conforms checks a result's JSON against the schema.
func conforms(t *testing.T, text []byte) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}

// TestEverySuite runs every suite once and checks what comes out; how fast it was is nobody's business here.
func TestEverySuite(t *testing.T) {
	r := tinyRun(t, os.Getenv("BENCH_PEERS") != "")
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, text)

	var names []string
	for _, s := range r.Suites {
		names = append(names, s.Name)
		if len(s.Cases) == 0 {
			t.Errorf("suite %s has no case", s.Name)
		}
		ids := map[string]bool{}
		for _, c := range s.Cases {
			if ids[c.ID] {
				t.Errorf("case %s is there twice", c.ID)
			}
			ids[c.ID] = true
			if !strings.HasPrefix(c.ID, s.Name+"/") {
				t.Errorf("case %s is not named for its suite %s", c.ID, s.Name)
			}
		}
		for _, ratio := range s.Ratios {
			if !ids[ratio.Of] || !ids[ratio.To] {
				t.Errorf("ratio %s is of %s and %s, which are not both there", ratio.ID, ratio.Of, ratio.To)
			}
		}
	}
	if diff := cmp.Diff(Suites(), names); diff != "" {
		t.Errorf("suites (-want +got):\n%s", diff)
	}
	var judged []string
	for _, target := range r.Targets {
		if target.Verdict == NotMeasured {
			judged = append(judged, target.ID)
		}
	}
	t.Logf("not measured: %v", judged)

	folder := t.TempDir()
	if err := WriteReport(folder, r); err != nil {
		t.Fatal(err)
	}
	selfContained(t, filepath.Join(folder, "report.html"))
	again, err := Read(filepath.Join(folder, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("the result as it is read again (-want +got):\n%s", diff)
	}
	if c := Compare(r, again); c.Worse() != 0 {
		t.Errorf("a result is worse than itself in %d cases", c.Worse())
	}
}

// selfContained checks that a page asks for nothing from outside and is not too large to commit.
func selfContained(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > 2<<20 {
		t.Errorf("%s has %d bytes, more than 2 MiB", path, len(page))
	}
	if found := regexp.MustCompile(`(?i)<(script|link|img|iframe|object|embed)\b|(src|href)="[^#"]|url\(|@import|https?://`).Find(page); found != nil {
		t.Errorf("%s is not self-contained: %q", path, found)
	}
}

// The committed report is of a form that this build reads, and its page is self-contained.
func TestCommittedReport(t *testing.T) {
	text, err := os.ReadFile("report/result.json")
	if os.IsNotExist(err) {
		t.Skip("no report is committed")
	}
	if err != nil {
		t.Fatal(err)
	}
	conforms(t, text)
	selfContained(t, "report/report.html")
}

// Where node is at hand, a peer's side of the pipe is tried without any peer installed.
func TestPeerProtocol(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	script := filepath.Join(t.TempDir(), "echo.mjs")
	protocol, err := filepath.Abs("peers/npm/protocol.mjs")
	if err != nil {
		t.Fatal(err)
	}
	program := `import { each, expect, serve } from ` + string(mustJSON(t, "file://"+protocol)) + `;
await serve({ peer: 'echo', engine: 'none', sizes: [20] }, { start: 'nothing is run', first: '' }, {
  first: async () => 3,
  start: ({ n, code }) => each(n, async () => expect(code, 'return 1+2')),
});`
	if err := os.WriteFile(script, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &peer{name: "echo", argv: []string{node, script}}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if got := p.differs(opStart); got != "nothing is run" {
		t.Errorf("differs = %q", got)
	}
	reply, err := p.do(t.Context(), request{Op: opStart, N: 3, Code: cellSmall})
	if err != nil || len(reply.NS) != 3 {
		t.Errorf("three starts: %v, %v", reply.NS, err)
	}
	if _, err := p.do(t.Context(), request{Op: opStart, N: 1, Code: "return 4"}); err == nil || !strings.Contains(err.Error(), "a cell gave return 4") {
		t.Errorf("a wrong cell: %v", err)
	}
	if _, err := p.do(t.Context(), request{Op: opSuspend, N: 1}); err == nil {
		t.Error("an operation that the peer has not gave no error")
	}
	if err := p.first(t.Context()); err != nil {
		t.Error(err)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
