package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// wazeroEngine runs the wasm binary of npm quickjs-wasi, compiled once.
type wazeroEngine struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

func openWazero() (engine, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(filepath.Join(filepath.Dir(program), "../../npm/node_modules/quickjs-wasi/quickjs.wasm"))
	if err != nil {
		return nil, fmt.Errorf("the wasm of npm quickjs-wasi is not installed: %w", err)
	}
	ctx := context.Background()
	e := &wazeroEngine{runtime: wazero.NewRuntime(ctx)}
	if e.compiled, err = e.runtime.CompileModule(ctx, wasm); err != nil {
		return nil, err
	}
	// The clock is real and nobody interrupts; what else it imports, a cell here never calls.
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, f := range e.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if hosts[module] == nil {
			hosts[module] = e.runtime.NewHostModuleBuilder(module)
		}
		results := f.ResultTypes()
		hosts[module] = hosts[module].NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			if name == "clock_time_get" {
				m.Memory().WriteUint64Le(uint32(stack[2]), uint64(time.Now().UnixNano()))
			}
			if len(results) > 0 {
				stack[0] = 0
			}
		}), f.ParamTypes(), results).Export(name)
	}
	for _, h := range hosts {
		if _, err := h.Instantiate(ctx); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *wazeroEngine) run(code string) (string, error) {
	ctx := context.Background()
	m, err := e.runtime.InstantiateModule(ctx, e.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		return "", err
	}
	defer m.Close(ctx)
	call := func(name string, args ...uint64) uint64 {
		if err != nil {
			return 0
		}
		var results []uint64
		results, err = m.ExportedFunction(name).Call(ctx, args...)
		if len(results) == 0 {
			return 0
		}
		return results[0]
	}
	text := func(s string) uint64 {
		at := call("wasm_malloc", uint64(len(s)+1))
		m.Memory().Write(uint32(at), append([]byte(s), 0))
		return at
	}
	call("qjs_init")
	script := wrap(code)
	at, name := text(script), text("cell.js")
	result := call("qjs_eval", at, uint64(len(script)), name, 0)
	if err == nil && call("qjs_is_exception", result) != 0 {
		return "", errors.New("the cell threw")
	}
	for err == nil && call("qjs_is_job_pending") != 0 {
		call("qjs_execute_pending_job")
	}
	done := text("done")
	value := call("qjs_eval", done, 4, name, 0)
	s := call("qjs_get_string", value)
	if err != nil {
		return "", err
	}
	return cString(m.Memory(), uint32(s)), nil
}

func cString(memory api.Memory, at uint32) string {
	var out []byte
	for {
		b, ok := memory.ReadByte(at)
		if !ok || b == 0 {
			return string(out)
		}
		out = append(out, b)
		at++
	}
}
