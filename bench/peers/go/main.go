// Command peer runs one of the Go peers of codemode's bench behind its pipe: see ../README.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// engine runs one cell, the body of an async function, in a virtual machine of its own, and returns its value as JSON.
type engine interface {
	run(code string) (string, error)
}

// wrap makes a script of a cell. Its result is left in a global, because not every peer lets Go wait for a promise.
func wrap(code string) string {
	return "globalThis.done = undefined; globalThis.settle = [];\n" +
		"globalThis.tool_0 = (input) => new Promise((resolve) => { settle.push(resolve); host_call(JSON.stringify(input)); });\n" +
		"(async () => {" + code + "\n})().then((v) => { done = JSON.stringify(v); }, (e) => { done = 'error ' + e; });"
}

// answer settles what the cell has asked.
const answer = `for (const f of settle.splice(0)) f({"n":41});`

type request struct {
	Op, Code, Kernel, Value string
	N                       int
}

type reply struct {
	NS    []int64 `json:"ns"`
	Value string  `json:"value,omitempty"`
	Error string  `json:"error,omitempty"`
}

type peer struct {
	module  string
	engine  string
	differs map[string]string
	open    func() (engine, error)
}

const noLimits = "no catalog, no transpiler, no limits on memory and time, no sandbox of WebAssembly"

var peers = map[string]peer{
	"goja": {"github.com/dop251/goja", "goja, an interpreter in Go",
		map[string]string{"first": "", "start": noLimits, "calls": "tools answer in the same tick", "compute": ""}, openGoja},
	"modernc-quickjs": {"modernc.org/quickjs", "QuickJS translated to Go",
		map[string]string{"first": "", "start": noLimits, "calls": "tools answer in the same tick", "compute": ""}, openModernc},
	"wazero-quickjs": {"github.com/tetratelabs/wazero", "quickjs-wasi's wasm in wazero",
		map[string]string{"first": "", "start": "no catalog, no transpiler, no limits on time; a new instance for each cell", "compute": ""}, openWazero},
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	p, ok := peers[name]
	if !ok {
		return fmt.Errorf("peer: there is no peer %q", name)
	}
	e, err := p.open()
	if err != nil {
		return err
	}
	if len(os.Args) > 2 && os.Args[2] == "first" {
		value, err := e.run("return 1+2")
		fmt.Println(value)
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{"peer": name, "version": version(p.module), "engine": p.engine, "ops": p.differs}); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var q request
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			return err
		}
		r := reply{NS: []int64{}}
		for range q.N {
			code := q.Code
			if q.Op == "compute" {
				code += "\nreturn kernels." + q.Kernel + "();"
			}
			start := time.Now()
			value, err := e.run(code)
			r.NS = append(r.NS, time.Since(start).Nanoseconds())
			r.Value = value
			if q.Value != "" && value != q.Value {
				err = fmt.Errorf("a cell gave %s, not %s", value, q.Value)
			}
			if err != nil {
				r.Error = err.Error()
				break
			}
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return in.Err()
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, d := range info.Deps {
		if d.Path == module {
			if parts := strings.Split(d.Version, "-"); len(parts) == 3 && len(parts[1]) == 14 {
				return parts[1][:8] // of a commit without a version: its day
			}
			return d.Version
		}
	}
	return ""
}
