package component_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"codemode/internal/npmtest"
	"codemode/wit"
)

// result is what run.mjs prints.
type result struct {
	Status string   `json:"status"`
	Value  any      `json:"value"`
	Output []any    `json:"output"`
	Calls  []call   `json:"calls"`
	States []string `json:"states"`
	Error  thrown   `json:"error"`
}

type call struct {
	Binding string `json:"binding"`
	Tool    string `json:"tool"`
	Input   any    `json:"input"`
	Shape   string `json:"shape"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
}

type thrown struct {
	Name    string            `json:"name"`
	Message string            `json:"message"`
	Stack   string            `json:"stack"`
	Fields  map[string]string `json:"fields"`
}

// parsed is the value that a JSON text stands for.
func parsed(text string) (value any) {
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(err)
	}
	return value
}

func TestComponent(t *testing.T) {
	w := newWorkspace(t)
	if said, err := w.wrap(w.guest, wit.Source); err != nil {
		t.Fatalf("the guest cannot be wrapped: %v\n%s", err, said)
	}
	t.Run("cells", w.cells)
	t.Run("random", w.random)
	t.Run("bridge", w.bridge)
	t.Run("refused", w.refused)
}

func (w *workspace) cells(t *testing.T) {
	const add = `{"a":1,"b":2}`
	for _, test := range []struct {
		name string
		args []string
		code string
		want result
	}{
		{
			name: "a call settled in between",
			code: "text('before')\nconst sum = await add({a: 1, b: 2})\njson({sum})\nreturn sum * 10",
			want: result{
				Status: "completed",
				Value:  parsed(`30`),
				Output: parsed(`[{"type":"text","text":"before"},{"type":"json","value":{"sum":3}}]`).([]any),
				Calls:  []call{{"callable", "add", parsed(add), "value", 2, 19}},
				States: []string{"pending", "fulfilled"},
			},
		},
		{
			name: "every way to name a tool",
			code: "return [await tools.call('host:add', {a: 1, b: 2}),\n await tools.add({a: 1, b: 2}),\n await MCP.demo.add({a: 1, b: 2})]",
			want: result{
				Status: "completed",
				Value: parsed(`[{"tool":{"id":"host:add","name":"add","source":"host","description":"Adds two numbers"},` +
					`"result":3},3,3]`),
				Calls: []call{
					{"reference", "host:add", parsed(add), "envelope", 1, 21},
					{"callable", "add", parsed(add), "value", 2, 14},
					{"path", "MCP.demo.add", parsed("[" + add + "]"), "value", 3, 17},
				},
				States: []string{"pending", "pending", "pending", "fulfilled"},
			},
		},
		{
			name: "search, both surfaces",
			code: "return [(await tools.search('add numbers')).map(t => t.id), (await catalog.search('fails', {limit: 1})).map(t => t.callableName)]",
			want: result{
				Status: "completed",
				Value:  parsed(`[["host:add"],["refuse"]]`),
				States: []string{"pending", "pending", "fulfilled"},
			},
		},
		{
			name: "answers from memory",
			code: "return [ALL_TOOLS.length, catalog.all().length, Object.keys(MCP.demo), typeof nope, (await API.list('demo')).files.length, " +
				"(await API.read('demo/README.md')).bytes, (await tools.describe('add')).input]",
			want: result{
				Status: "completed",
				Value:  parsed(`[2,2,["add","refuse"],"undefined",1,20,"{ a: number; b: number }"]`),
				States: []string{"pending", "fulfilled"},
			},
		},
		{
			name: "kept results, a timer, a cancelled timer, a yield",
			code: "clearTimeout(setTimeout(() => text('never'), 60000)); const {id} = await results.save([1])\n" +
				"await new Promise(done => setTimeout(done, 1))\n" +
				"return [await results.load(id), await results.delete(id), await yield_control('so'), await yield_control()]",
			want: result{
				Status: "completed",
				Value:  parsed(`[[1],true,{"status":"yielded","reason":"so"},{"status":"yielded","reason":null}]`),
				States: []string{"pending", "pending", "pending", "pending", "pending", "pending", "fulfilled"},
			},
		},
		{
			name: "text that takes one to four bytes a character",
			code: "text(`aé€𝄞\\0\\ud800`)\nreturn await add({a: `€`, b: `𝄞\\0`})",
			want: result{
				Status: "completed",
				Value:  parsed(`"€𝄞\u0000"`),
				Output: parsed(`[{"type":"text","text":"aé€𝄞\u0000�"}]`).([]any),
				Calls:  []call{{"callable", "add", parsed(`{"a":"€","b":"𝄞\u0000"}`), "value", 2, 14}},
				States: []string{"pending", "fulfilled"},
			},
		},
		{
			name: "an error with its position",
			code: "text('so far')\n  throw new RangeError('no')",
			want: result{
				Status: "failed",
				Output: parsed(`[{"type":"text","text":"so far"}]`).([]any),
				States: []string{"rejected"},
				Error:  thrown{Name: "RangeError", Message: "no", Stack: "cell:2:9"},
			},
		},
		{
			name: "a tool's failure with the position of its call",
			code: "\nawait refuse({})",
			want: result{
				Status: "failed",
				Calls:  []call{{"callable", "refuse", parsed(`{}`), "value", 2, 7}},
				States: []string{"pending", "rejected"},
				Error: thrown{
					Name: "Error", Message: "refused, as always", Stack: "cell:2:7",
					Fields: map[string]string{"code": "refused", "tool": "refuse", "effectStatus": "none"},
				},
			},
		},
		{
			name: "a stop that the cell cannot catch",
			args: []string{"--timeout", "200"},
			code: "text('so far')\ntry { while (true) {} } finally { text('never') }",
			want: result{
				Status: "failed",
				Output: parsed(`[{"type":"text","text":"so far"}]`).([]any),
				States: []string{"stopped"},
				Error:  thrown{Message: "stopped", Stack: "cell:2:7"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := w.run(t, append(test.args, test.code)...)
			got.Error.Stack = regexp.MustCompile(`cell:\d+:\d+`).FindString(got.Error.Stack)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// A host gives Math.random its seed at the start and, after a restore, anew.
func (w *workspace) random(t *testing.T) {
	const code = "const first = Math.random(); await add({a: 1, b: 2}); return [first, Math.random()]"
	numbers := func(args ...string) [2]any {
		got := w.run(t, append(args, code)...)
		list, _ := got.Value.([]any)
		if len(list) != 2 {
			t.Fatalf("outcome %+v", got)
		}
		return [2]any(list)
	}
	one, two := numbers("--seed", "1"), numbers("--seed", "18446744073709551615")
	if again := numbers("--seed", "1"); again != one {
		t.Errorf("the same seed gives %v and %v", one, again)
	}
	if one[0] == one[1] || one[0] == two[0] || one[1] == two[1] {
		t.Errorf("two seeds give %v and %v", one, two)
	}
	got := numbers("--seed", "1", "--reseed", "18446744073709551615")
	if want := [2]any{one[0], two[0]}; got != want {
		t.Errorf("reseeded after the first number: %v, want %v", got, want)
	}
}

// The bridge in JavaScript has the functions of the WIT and no other.
func (w *workspace) bridge(t *testing.T) {
	const list = `import("./bridge.mjs").then(({ Bridge }) => console.log(Object.keys(new Bridge(0).imports()).join(" ")))`
	out, err := w.command(t.Context(), "node", "-e", list).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := wit.Parse(wit.Source)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range file.Imports() {
		words := strings.Split(f.Name, "-")
		for i := range words[1:] {
			words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
		}
		want = append(want, strings.Join(words, ""))
	}
	if diff := cmp.Diff(want, strings.Fields(string(out))); diff != "" {
		t.Errorf("functions of the bridge (-want +got):\n%s", diff)
	}
}

// A guest and a WIT that do not agree are not a component.
func (w *workspace) refused(t *testing.T) {
	const bridge = "codemode:host/bridge@1.0.0"
	for _, test := range []struct {
		name       string
		inGuest    bool // what is replaced, the bytes of the guest or the text of the WIT
		old, other string
		want       string // in what the component tools say
	}{
		{"an import renamed in the guest", true, bridge + "\x07resolve", bridge + "\x07rezolve", "missing function `rezolve`"},
		{"another version in the guest", true, bridge + "\x04call", "codemode:host/bridge@2.0.0\x04call", "bridge@2.0.0"},
		{"an import renamed in the WIT", false, "  text: func", "  write: func", "missing function `text`"},
		{"a parameter of another type", false, "  json: func(value: string)", "  json: func(value: u32)", "type mismatch for function `json`"},
		{"a parameter more", false, "  cancel: func(id: u32)", "  cancel: func(id: u32, why: u32)", "type mismatch for function `cancel`"},
		{"an export that the guest lacks", false, "  reseed: func", "  sow: func", "function `sow`"},
		{"another result", false, "  rejections: func() -> string", "  rejections: func() -> u64", "type mismatch for function `rejections`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			guest, source := w.guest, wit.Source
			if test.inGuest {
				if n := bytes.Count(guest, []byte(test.old)); n != 1 {
					t.Fatalf("the guest has %q %d times", test.old, n)
				}
				guest = bytes.Replace(guest, []byte(test.old), []byte(test.other), 1)
			} else {
				if n := strings.Count(source, test.old); n != 1 {
					t.Fatalf("the WIT has %q %d times", test.old, n)
				}
				source = strings.Replace(source, test.old, test.other, 1)
			}
			said, err := w.wrap(guest, source)
			if err == nil {
				t.Fatal("it was wrapped")
			}
			if !strings.Contains(said, test.want) {
				t.Errorf("refused without %q:\n%s", test.want, said)
			}
		})
	}
}

// workspace is a folder with the scripts of this one, jco and a guest in it.
type workspace struct {
	dir   string
	guest []byte
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	if testing.Short() {
		t.Skip("installing jco takes half a minute: not with -short")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			npmtest.Missing(t, "%s is not installed: the guest is not run as a component on a second host", program)
		}
	}
	guest, err := os.ReadFile(filepath.Join("..", "quickjs", "guest", "guest.wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		npmtest.Missing(t, "there is no guest to wrap: make guest builds it")
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{dir: t.TempDir(), guest: guest}
	modules := install(t)
	scripts, err := filepath.Glob("*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(scripts, "package.json") {
		copyFile(t, name, filepath.Join(w.dir, name))
	}
	if err := os.Symlink(modules, filepath.Join(w.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return w
}

// What npm and Node say when there is no way to the registry.
var noNetwork = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENOTCACHED`)

// install installs jco and gives the path of its node_modules.
func install(t *testing.T) string {
	t.Helper()
	dir, err := npmtest.Install("component", ".", nil)
	if err == nil {
		return filepath.Join(dir, "node_modules")
	}
	if errors.Is(err, context.DeadlineExceeded) || noNetwork.MatchString(err.Error()) {
		t.Skipf("npm cannot fetch jco (%s): the guest is not run as a component on a second host", noNetwork.FindString(err.Error()))
	}
	t.Fatal(err)
	return ""
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.WaitDelay = time.Second // npm's children may hold its output open
	return c
}

func (w *workspace) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return command(ctx, w.dir, name, args...)
}

// wrap runs wrap.mjs and gives what it said.
func (w *workspace) wrap(guest []byte, source string) (string, error) {
	for name, content := range map[string]string{"guest.wasm": string(guest), "codemode.wit": source} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := w.command(ctx, "node", "wrap.mjs", "--guest", "guest.wasm", "--wit", "codemode.wit", "--out", "out").CombinedOutput()
	return string(out), err
}

// run runs a cell in the component. A cell that fails is an exit status of 1 with a result.
func (w *workspace) run(t *testing.T, args ...string) (got result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := w.command(ctx, "node", append([]string{"run.mjs"}, args...)...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if json.Unmarshal(out, &got) != nil || (err == nil) != (got.Status == "completed") {
		t.Fatalf("run.mjs: %v\n%s%s", err, out, stderr.String())
	}
	return got
}
