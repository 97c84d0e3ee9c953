package transpile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"codemode/host"
	"codemode/internal/npmtest"
	"codemode/quickjs"
	"codemode/transpile"
)

// A question is a snippet as testdata/node/snippets.mjs takes it.
type question struct {
	Source     string              `json:"source"`
	TypeScript bool                `json:"typescript"`
	Prepared   bool                `json:"prepared"`
	Ours       *transpile.Location `json:"ours"`
}

// An answer is what became of it in Node.
type answer struct {
	Value        json.RawMessage `json:"value"`
	Error        *string         `json:"error"`
	Message      string          `json:"message"`
	Thrown       json.RawMessage `json:"thrown"`
	Line, Column int
	Frames       []frame `json:"frames"`
	Same         string  `json:"same"`
}

type frame struct {
	Async        bool   `json:"async"`
	Function     string `json:"function"`
	Line, Column int
}

// A difference is a reason why snippets do not end here as they do in Node. A snippet that is named and agrees fails the
// test as well.
type difference struct{ reason, snippets string }

var differences = []difference{
	// Two readers of one mistake.
	{"V8 reads a body inside the function's parentheses, so that a brace too many ends the function", "syntax/10.js"},
	{"of two operators that do not mix V8 points at the second", "syntax/24.js"},
	{"V8 points at the number, we at what follows it", "syntax/29.js"},
	{"V8 points at the last token, we behind it, where something is missing", "syntax/33.js"},
	{"Node's stripper takes enum for an expression", "typescript/50.ts"},
	{"Node does not compile decorators", "typescript/40.ts"},

	// Two engines.
	{"V8 makes the AggregateError of Promise.any without a stack", "waits/08.js"},
	{"of a call that spreads what is not iterable QuickJS names what is spread, V8 the call", "places/11.js"},
}

func excuses() map[string]string {
	excused := map[string]string{}
	for _, d := range differences {
		for name := range strings.FieldsSeq(d.snippets) {
			excused[name] = d.reason
		}
	}
	return excused
}

// TestDifferential runs every snippet here and in the Node that testdata/node pins. They must complete with the same
// value, as JSON, or fail with an error of the same class, thrown in the same line and statement, with the same lines and
// functions around it. nearness in snippets.mjs says what may be different in columns; how often it is, is logged.
func TestDifferential(t *testing.T) {
	node := installNode(t)
	h := newHost(t)
	cells := transpile.Snippets(t)
	var questions []question
	var got []*host.Result
	for _, s := range cells {
		r := h.Exec(t.Context(), host.Scope{}, host.ExecInput{Code: s.Source})
		got = append(got, r)
		questions = append(questions, ask(s.Name, s.Source, r))
	}
	excused := excuses()
	counts := map[string]int{}
	for i, want := range askNode(t, node, questions) {
		name := cells[i].Name
		if questions[i].Prepared {
			leadBack(t, cells[i].Source, got[i], &want)
		}
		verdict, problem := compare(cells[i].Source, got[i], &want)
		reason, known := excused[name]
		delete(excused, name)
		switch {
		case problem == "" && known:
			t.Errorf("%s: agrees (%s); take it off the table of differences: %s", name, verdict, reason)
		case problem != "" && known:
			verdict = "differs"
		case problem != "":
			t.Errorf("%s: %s\n%s\nours: %s%s\nnode: %s", name, problem, cells[i].Source, got[i].Value, got[i].Error, show(&want))
		}
		counts[verdict]++
	}
	for name := range excused {
		t.Errorf("%s is in the table of differences but is not a snippet", name)
	}
	for _, verdict := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[verdict], verdict)
	}
}

// TestPositionsAfterSuspension puts a suspension on a line of its own before the snippets: what they give and what they
// say of places must stay as it was, one line further down.
func TestPositionsAfterSuspension(t *testing.T) {
	h := newHost(t)
	moved, excused := 0, excuses()
	for i, s := range transpile.Snippets(t) {
		cell, err := transpile.Prepare(s.Source, transpile.Options{})
		if err != nil || ask(s.Name, s.Source, &host.Result{}).Prepared || strings.HasPrefix(s.Source, `"`) ||
			strings.HasPrefix(s.Source, "'") || strings.HasPrefix(s.Source, "\ufeff") {
			continue // a directive, a fence or a byte order mark must be at the start
		}
		if _, known := excused[s.Name]; known {
			continue
		}
		plain := h.Exec(t.Context(), host.Scope{}, host.ExecInput{Code: s.Source, Language: cell.Language})
		if len(readFailure(plain.Error).frames) == 0 && i%4 != 0 {
			continue // those with places, and a part of the others
		}
		after := h.Exec(t.Context(), host.Scope{}, host.ExecInput{Code: "await yield_control();\n" + s.Source, Language: cell.Language})
		if after.Status != host.Waiting {
			t.Errorf("%s: %s instead of waiting", s.Name, after.Status)
			continue
		}
		after = h.Wait(t.Context(), host.Scope{}, host.WaitInput{RunID: after.RunID})
		moved++
		if diff := cmp.Diff(shownFrom(plain, 0), shownFrom(after, 1)); diff != "" {
			t.Errorf("%s (-at once +after a suspension):\n%s\n%s", s.Name, s.Source, diff)
		}
	}
	if moved < 50 {
		t.Errorf("only %d snippets", moved)
	}
}

// shownFrom is a result for comparing, with places as if the cell were so many lines shorter.
func shownFrom(r *host.Result, lines int) string {
	f := readFailure(r.Error)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", r.Status, r.Value, f.headline)
	for _, x := range f.frames {
		if x.Line <= lines {
			continue // where the engine has no place it takes the last one before, which is none in a cell that begins here
		}
		fmt.Fprintf(&b, "%s %d:%d\n", x.Function, x.Line-lines, x.Column)
	}
	if r.Location != nil {
		fmt.Fprintf(&b, "at %d:%d %s\n", r.Location.Line-lines, r.Location.Column, r.Location.LineText)
	}
	return b.String()
}

const noteReturned = "The value of the last expression is returned."

// ask makes a question of a cell that was run. Texts with which transpile took more liberties than to return the last
// expression are not what Node could run.
func ask(name, source string, r *host.Result) question {
	q := question{Source: source, TypeScript: strings.HasSuffix(name, ".ts"), Ours: r.Location}
	if cell, err := transpile.Prepare(source, transpile.Options{}); err == nil {
		if notes := cell.Notes; len(notes) > 1 || len(notes) == 1 && notes[0] != noteReturned {
			q.Source, q.Prepared, q.TypeScript = cell.Body, true, false
		}
	}
	return q
}

// leadBack makes places in the text that transpile made of a source places in that source.
func leadBack(t *testing.T, source string, got *host.Result, want *answer) {
	t.Helper()
	cell, err := transpile.Prepare(source, transpile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(cell.Body, "\n")
	var frames []frame
	for _, f := range want.Frames {
		units := utf16.Encode([]rune(lines[f.Line-1]))
		column := len(string(utf16.Decode(units[:f.Column-1]))) + 1
		if p, ok := cell.Position(f.Line, column); ok {
			f.Line, f.Column = p.Line, p.Column
			frames = append(frames, f)
		}
	}
	want.Frames, want.Same = frames, ""
	switch at := got.Location; {
	case len(frames) == 0 || at == nil || at.Line != frames[0].Line:
	case at.Column == frames[0].Column:
		want.Same = "exact"
	default:
		want.Same = "line"
	}
}

func show(a *answer) string {
	text, _ := json.Marshal(a)
	return string(text)
}

// headline is how a value that is no error is shown when it was thrown: an object with a message as an error would be.
func headline(thrown json.RawMessage) string {
	text := string(thrown) // null leaves it as it is
	if json.Unmarshal(thrown, &text) == nil {
		return text
	}
	var fields map[string]any
	json.Unmarshal(thrown, &fields)
	message, _ := fields["message"].(string)
	if message == "" {
		return text
	}
	if name, ok := fields["name"].(string); ok {
		message = name + ": " + message
	}
	delete(fields, "name")
	delete(fields, "message")
	if len(fields) == 0 {
		return message
	}
	rest, _ := json.Marshal(fields)
	return message + " " + string(rest)
}

// compare gives a word for the kind of agreement, and what is different.
func compare(source string, got *host.Result, want *answer) (verdict, problem string) {
	if want.Error == nil {
		if got.Status != host.Completed {
			return "", "fails only here"
		}
		if diff := cmp.Diff(decoded(want.Value), decoded(got.Value)); diff != "" {
			return "", "other value (-node +ours):\n" + diff
		}
		return "value", ""
	}
	if got.Status == host.Completed {
		return "", "completes only here"
	}
	_, err := transpile.Prepare(source, transpile.Options{})
	var refused *transpile.Error
	if errors.As(err, &refused) {
		return compareRefusals(refused, want)
	}
	f := readFailure(got.Error)
	switch *want.Error {
	case "pending":
		if !strings.HasPrefix(got.Error, "The cell can never finish") {
			return "", "fails with an error only here"
		}
		return "pending", ""
	case "":
		if f.headline != headline(want.Thrown) {
			return "", "other thrown value"
		}
		return "thrown", ""
	}
	if f.class != *want.Error {
		return "", fmt.Sprintf("class %q here, %q in Node", f.class, *want.Error)
	}
	if strings.Contains(source, want.Message) && !strings.Contains(got.Error, want.Message) {
		return "", "the snippet's own message is lost"
	}
	return comparePlaces(got, &f, want)
}

// compareRefusals compares why a source was not run.
func compareRefusals(refused *transpile.Error, want *answer) (verdict, problem string) {
	switch {
	case refused.Kind == transpile.KindModuleAccess:
		return "no modules", "" // and Node fails as well
	case *want.Error != "SyntaxError":
		return "", "refused only here"
	case want.Line == 0:
		return "syntax at the end", "" // Node points at what is around the snippet
	case refused.Kind != transpile.KindSyntax:
		return "not code", ""
	}
	if l := refused.Location; l == nil || l.Line != want.Line || l.Column != want.Column {
		return "", fmt.Sprintf("refused at %v, in Node at %d:%d", l, want.Line, want.Column)
	}
	return "syntax", ""
}

// comparePlaces compares where an error was thrown: strictly the line and the statement of the innermost frame in the
// snippet, and the line and the function of every frame around it.
func comparePlaces(got *host.Result, f *failure, want *answer) (verdict, problem string) {
	if len(want.Frames) == 0 {
		if got.Location != nil {
			return "", "has a place only here"
		}
		return "no place", ""
	}
	if got.Location == nil {
		return "", "has no place here"
	}
	if want.Same == "" {
		return "", fmt.Sprintf("thrown at %d:%d, in Node at %d:%d", got.Location.Line, got.Location.Column, want.Frames[0].Line, want.Frames[0].Column)
	}
	var sync []frame
	for _, w := range want.Frames {
		if !w.Async {
			sync = append(sync, w)
		}
	}
	for i := 0; i < len(sync) && i < len(f.frames); i++ {
		if f.frames[i].Line != sync[i].Line {
			return "", fmt.Sprintf("frame %d is in line %d, in Node in line %d", i, f.frames[i].Line, sync[i].Line)
		}
		if ours, theirs := f.frames[i].Function, bareName(sync[i].Function); ours != theirs {
			return "", fmt.Sprintf("frame %d is of %q, in Node of %q", i, ours, theirs)
		}
	}
	return want.Same, ""
}

// A failure is the text of a result read back.
type failure struct {
	headline string // the first line
	class    string
	frames   []frame
}

var (
	classOf = regexp.MustCompile(`^([\p{L}_$][\p{L}\p{N}_$]*)(?:: |$| \{)`)
	frameOf = regexp.MustCompile(`(?m)^    at (?:(.*) \()?(\d+):(\d+)\)?$`)
)

func readFailure(text string) failure {
	text = strings.TrimPrefix(text, "A promise was rejected and nothing handled it: ")
	var f failure
	f.headline, _, _ = strings.Cut(text, "\n")
	if m := classOf.FindStringSubmatch(f.headline); m != nil {
		f.class = m[1]
	}
	for _, m := range frameOf.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		f.frames = append(f.frames, frame{Function: m[1], Line: line, Column: column})
	}
	return f
}

var nodeName = regexp.MustCompile(`^(?:new )?(?:.*\.)?((?:[gs]et )?[^.\s]*)(?: \[as .*\])?$`)

// bareName is a function's own name in what V8 says of a call: "new A", "Object.m [as n]".
func bareName(said string) string {
	if m := nodeName.FindStringSubmatch(said); m != nil && !strings.HasPrefix(m[1], "<") { // <anonymous>, <static_initializer>
		return m[1]
	}
	return ""
}

// decoded is JSON as a list of tokens: order of keys counts, spelling does not.
func decoded(text json.RawMessage) (tokens []any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return tokens
		}
		if delim, ok := token.(json.Delim); ok {
			token = delim.String()
		}
		tokens = append(tokens, token)
	}
}

func newHost(t *testing.T) *host.Host {
	t.Helper()
	engine, err := quickjs.NewEngine(nil)
	if errors.Is(err, quickjs.ErrNoGuest) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	h, err := host.New(&host.Options{Engine: engine})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func askNode(t *testing.T, node string, questions []question) []answer {
	t.Helper()
	input, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, node, "--expose-internals", "--no-warnings", "testdata/node/snippets.mjs")
	c.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, stderr.String())
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(questions) {
		t.Fatalf("node gave %d answers for %d snippets: %v", len(answers), len(questions), err)
	}
	return answers
}

// installNode installs the Node that testdata/node pins, and gives the path of the program.
func installNode(t *testing.T) string {
	t.Helper()
	dir, err := npmtest.Install("differential", "testdata/node", func(dir string) { nodeIn(t, dir) })
	if errors.Is(err, exec.ErrNotFound) {
		npmtest.Missing(t, "npm is not installed: cells are not compared with Node")
	}
	if err != nil {
		t.Fatal(err)
	}
	return nodeIn(t, dir)
}

// nodeIn is the program among the packages of a folder. They are optional packages, one for each system: npm leaves out
// those of other systems, and those that it cannot reach.
func nodeIn(t *testing.T, dir string) string {
	t.Helper()
	programs, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil || len(programs) == 0 {
		t.Skip("npm fetched no Node: there is no way to its registry, or testdata/node has none for this system")
	}
	return programs[0]
}
