package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLoadFile(t *testing.T) {
	tools, problems, err := LoadFile("testdata/tools.json")
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	c := New(nil)
	if p := c.Add(tools...); p != nil {
		t.Fatal(p)
	}
	v := c.Snapshot().View(nil)
	for _, tc := range []struct{ name, input, want string }{
		{"get_weather", `{"city":"Oslo"}`, `{"temperature": 21.5, "sky": "clear"}`},
		{"slow_report", `{}`, `{"pages": 3}`},
		{"broken", `{}`, `disk_full: the disk is full`},
		{"shout", `{"text":"abc"}`, `{"TEXT":"ABC"}`},
	} {
		e, ok := v.Callable(tc.name)
		if !ok {
			t.Fatalf("no %s", tc.name)
		}
		start := time.Now()
		r, err := e.Run(t.Context(), &Call{Input: json.RawMessage(tc.input)})
		got := codeAndMessage(err)
		if err == nil {
			got = string(r.Value)
			if err := e.CheckOutput(r.Value); err != nil {
				t.Error(err)
			}
		}
		if got != tc.want {
			t.Errorf("%s gives %s, want %s", tc.name, got, tc.want)
		}
		if tc.name == "slow_report" && time.Since(start) < 500*time.Millisecond {
			t.Error("it did not take its time")
		}
	}
	if _, _, err := LoadFile("testdata/none.json"); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "catalog: tools file: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestParseFileErrors(t *testing.T) {
	for _, tc := range []struct{ file, err, problem string }{
		{``, "it is empty; write a list of tools: []", ""},
		{"[\n  {\"name\": \"a\",}\n]", "line 2, column 16: invalid character '}' looking for beginning of object key string", ""},
		{`"x"`, "it is neither a list of tools nor an object with the field tools", ""},
		{`{"tool": []}`, "tool is not a field of the file; its only field is tools", ""},
		{`{}`, `it has no field "tools"`, ""},
		{`{"tools": {}}`, "tools is not a list", ""},
		{`[{"name":"a","replay":1}]`, "", "it has an unknown field replay; did you mean reply?"},
		{`[{"name":"a","zzzzzz":1}]`, "", "it has an unknown field zzzzzz; the fields are name, label"},
		{`[{"name":"a","argv":["ls"]}]`, "", `argv goes inside run: {"run": {"argv": ["ls"]}}`},
		{`[{"name":"a","message":"no luck"}]`, "", `message goes inside error: {"error": {"message": "no luck"}}`},
		{`[{"name":"a","env":{"A":"` + strings.Repeat("x", 90) + `"}}]`, "", `env goes inside run: {"run": {"env": …}}`},
		{`[{"name":"a","run":{"argv":["x"],"code":"y"}}]`, "", `code goes inside error: {"error": {"code": "y"}}`},
		{`[{"name":"a","run":{"argv":["x"],"delayMs":1}}]`, "", "delayMs goes beside run, not inside it"},
		{`[{"name":"a","timeout":1}]`, "", "it has an unknown field timeout; did you mean timeoutMs, inside run?"},
		{`[{"name":"a","error":{"message":"m","zzzzzz":1}}]`, "", "error has an unknown field zzzzzz; the fields are message, code, data"},
		{`[{"name":"a","run":"ls"}]`, "", `run is a JSON string; write run as {"argv": ["program", "argument"]}`},
		{`[{"name":"a","run":{"argv":"ls"}}]`, "", `run.argv is a JSON string; write run.argv as a list, ["program", "argument"]`},
		{`[{"name":"a","error":"no luck"}]`, "", `error is a JSON string; write error as {"message": "what went wrong"}`},
		{`[{"Name":"a","Run":{"Argv":["true"]}}]`, "", ""},
		{`[{"name":"a","run":{"argv":["x"],"timeout":1}}]`, "", "it has an unknown field timeout; did you mean timeoutMs?"},
		{`[{"name":"a"}]`, "", "it has none of reply, error and run, so it cannot answer"},
		{`[{"name":"a","reply":1,"error":{"message":"m"}}]`, "", "it has reply and error; one is enough"},
		{`[{"reply":1}]`, "", "it has no name"},
		{`[{"name":3,"reply":1}]`, "", "name is a JSON number, which does not fit"},
		{`[3]`, "", "it is a JSON number, not an object"},
		{`[null]`, "", "it has no name"},
		{`[{"name":"a","reply":1,"delayMs":-1}]`, "", "delayMs is -1; it goes from 0 to 86400000"},
		{`[{"name":"a","reply":1,"source":"mcp"}]`, "", "source is mcp; it may be host or client"},
		{`[{"name":"a","error":{}}]`, "", "error has no message"},
		{`[{"name":"a","run":{}}]`, "", `run has no program; write run as {"argv": ["program", "argument"]}`},
		{`[{"name":"a","run":{"argv":["a\u0000b"]}}]`, "", "run contains a NUL character"},
		{`[{"name":"a","run":{"argv":["x"],"env":{"A=B":"c"}}}]`, "", "run.env has a variable named A=B"},
		{`[{"name":"a","run":{"argv":["x"],"timeoutMs":90000000}}]`, "", "run.timeoutMs is 90000000; it goes from 1 to 86400000"},
		{`[{"name":"a","reply":null}]`, "", ""},
		{"\xef\xbb\xbf[]", "", ""},
		{`{"$schema":"x","tools":[{"name":"a","reply":1}]}`, "", ""},
	} {
		tools, problems, err := ParseFile([]byte(tc.file), ".")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tc.err {
			t.Errorf("%s: error %q, want %q", tc.file, got, tc.err)
		}
		got = ""
		if len(problems) > 0 {
			got = problems[0].Reason
		}
		if tc.problem == "" && got != "" || !strings.HasPrefix(got, tc.problem) {
			t.Errorf("%s: problem %q, want %q", tc.file, got, tc.problem)
		}
		if tc.problem != "" && len(tools) > 0 {
			t.Errorf("%s: the tool was taken", tc.file)
		}
	}
	tools, problems, err := ParseFile([]byte(`[{"name":"bad"},{"name":"good","reply":1}]`), ".")
	if err != nil || len(tools) != 1 || tools[0].Name != "good" || len(problems) != 1 || problems[0].Tool != "bad" || problems[0].Index != 0 {
		t.Errorf("one bad tool: %v, %v, %v", tools, problems, err)
	}
}

// program runs one program entry.
func program(t *testing.T, ctx context.Context, dir, run, input string) (string, time.Duration) {
	t.Helper()
	tools, problems, err := ParseFile([]byte(`[{"name":"p","run":`+run+`}]`), dir)
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	start := time.Now()
	r, err := entryOf(t, tools[0]).Run(ctx, &Call{Input: json.RawMessage(input)})
	if err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err.Error(), time.Since(start)
		}
		return codeAndMessage(err), time.Since(start)
	}
	return string(r.JSON()), time.Since(start)
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "sub", "s.sh")
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho '\"'$(basename \"$PWD\")'\"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CATALOG_SECRET", "hunter2")
	t.Setenv("CATALOG_GIVEN", "given")
	for _, tc := range []struct{ name, run, want string }{
		{"stdin to stdout", `{"argv":["cat"]}`, `{"a":1}`},
		{"nothing is null", `{"argv":["true"]}`, `null`},
		{"environment", `{"argv":["sh","-c","echo \"[\\\"$A\\\",\\\"$CATALOG_SECRET\\\",\\\"$CATALOG_GIVEN\\\"]\""],"env":{"A":"x y"},"inheritEnv":["CATALOG_GIVEN"]}`, `["x y","","given"]`},
		{"cwd", `{"argv":["./s.sh"],"cwd":"sub"}`, `"sub"`},
		{"folder of the file", `{"argv":["./sub/s.sh"]}`, `"` + filepath.Base(dir) + `"`},
		{"exit status", `{"argv":["sh","-c","echo oh no >&2; exit 3"]}`, `tool_error: Tool "p": its program ended with exit status 3: oh no`},
		{"exit status without a word", `{"argv":["false"]}`, `tool_error: Tool "p": its program ended with exit status 1.`},
		{"not JSON", `{"argv":["echo","hello","there"]}`, `tool_error: Tool "p": its program wrote something that is not one JSON value (11 bytes); print JSON, a text in quotes.`},
		{"not there", `{"argv":["no-such-program-anywhere"]}`, `tool_error: Tool "p": its program could not be run: exec: "no-such-program-anywhere": executable file not found in $PATH.`},
		{"too much", `{"argv":["sh","-c","yes"],"maxOutputBytes":1000}`, `tool_error: Tool "p": its program wrote more than 1000 bytes and was ended.`},
		{"timeout", `{"argv":["sleep","60"],"timeoutMs":100}`, `tool_error: Tool "p": its program was ended after 100ms.`},
		{"no shell", `{"argv":["printf","\"%s\"","$HOME;x"]}`, `"$HOME;x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, took := program(t, t.Context(), dir, tc.run, `{"a":1}`)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestProgramsGroupIsKilled(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	// The program ignores SIGTERM and has a child that keeps its output open.
	run := `{"argv":["sh","-c","trap '' TERM; sleep 300 & echo $! > child; echo $$ > parent; wait; wait"]}`
	done := make(chan string, 1)
	go func() {
		got, _ := program(t, ctx, dir, run, `{}`)
		done <- got
	}()
	pid := func(name string) int {
		for range 500 {
			data, _ := os.ReadFile(filepath.Join(dir, name))
			if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				return n
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("the program did not start: no %s", name)
		return 0
	}
	child, parent := pid("child"), pid("parent")
	cancel()
	select {
	case got := <-done:
		if got != context.Canceled.Error() {
			t.Errorf("the call ended with %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call does not end")
	}
	for name, pid := range map[string]int{"parent": parent, "child": child} {
		gone := false
		for range 300 {
			if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
				gone = true
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !gone {
			t.Errorf("the %s is still running", name)
		}
	}
}

// zombie reports whether a process has ended and only waits for whoever adopted it.
func zombie(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(data), ") Z ")
}

func FuzzParseFile(f *testing.F) {
	data, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	for _, s := range []string{`[]`, `[{"name":"a","reply":1}]`, `[{"name":"a","run":{"argv":[]}}]`, `{"tools":[{}]}`, "\xff", `[{"name":"a","inputSchema":{"type":"object"},"reply":{}}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tools, problems, err := ParseFile([]byte(s), ".")
		if err != nil && (tools != nil || problems != nil) {
			t.Fatal("an error and tools")
		}
		for _, p := range problems {
			if p.Reason == "" || p.Kept {
				t.Fatalf("problem %+v", p)
			}
		}
		c := New(nil)
		c.Add(tools...)
		v := c.Snapshot().View(nil)
		_ = v.QuickIndex()
		if !json.Valid(v.AllTools()) {
			t.Fatal("ALL_TOOLS is not JSON")
		}
		for _, e := range v.Callables() {
			file, err := v.ReadFile("tools/" + e.CallableName() + ".d.ts")
			if err != nil {
				t.Fatal(err)
			}
			checkTypeScript(t, file.Content)
			_ = e.CheckInput(json.RawMessage(`{"a":1}`))
			_ = e.CompileOutput()
			_ = e.CheckOutput(json.RawMessage(`{"a":1}`))
		}
	})
}
