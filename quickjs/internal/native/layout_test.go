package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

// Our declarations are compiled together with wasmtime's own headers: a function that is declared in two ways, or a
// struct or constant that differs, does not compile.
func TestOurDeclarationsAreWasmtimes(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/bytecodealliance/wasmtime-go/v39").Output()
	if err != nil {
		t.Skip("the module's folder cannot be found: ", err)
	}
	include := filepath.Join(strings.TrimSpace(string(out)), "build", "include")
	ours, err := os.ReadFile("native.h")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// Once with the real headers, where our declarations are second ones, and once alone: the sizes must be the same.
	sizes := `
#define SAME(name, what, n) _Static_assert((what) == (n), name)
SAME("val_raw", sizeof(wasmtime_val_raw_t), 16);
SAME("extern", sizeof(wasmtime_extern_t), 32);
SAME("extern.of", offsetof(wasmtime_extern_t, of), 8);
SAME("func", sizeof(wasmtime_func_t), 16);
SAME("memory", sizeof(wasmtime_memory_t), 24);
SAME("instance", sizeof(wasmtime_instance_t), 16);
SAME("byte_vec", sizeof(wasm_byte_vec_t), 16);
SAME("func kind", WASMTIME_EXTERN_FUNC, 0);
SAME("memory kind", WASMTIME_EXTERN_MEMORY, 3);
SAME("continue", WASMTIME_UPDATE_DEADLINE_CONTINUE, 0);
SAME("i32", WASM_I32, 0);
SAME("i64", WASM_I64, 1);
`
	traps := `
SAME("stack overflow", WASMTIME_TRAP_CODE_STACK_OVERFLOW, 0);
SAME("out of bounds", WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS, 1);
SAME("unreachable", WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED, 9);
SAME("interrupt", WASMTIME_TRAP_CODE_INTERRUPT, 10);
SAME("out of fuel", WASMTIME_TRAP_CODE_OUT_OF_FUEL, 12);
`
	for name, source := range map[string]string{
		"with.c":  "#define CODEMODE_LAYOUT_TEST\n" + string(ours) + sizes + traps,
		"alone.c": string(ours) + sizes,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cc", "-std=c11", "-fsyntax-only", "-Werror", "-I", include, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestTheLibrarysObjectsHoldTheirPointerWhereWeReadIt(t *testing.T) {
	config := wasmtime.NewConfig()
	engine := wasmtime.NewEngineWithConfig(config)
	defer engine.Close()
	module, err := wasmtime.NewModule(engine, []byte("\x00asm\x01\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	for _, object := range []any{engine, module} {
		v := reflect.ValueOf(object).Elem()
		f := v.FieldByName("_ptr")
		if !f.IsValid() || f.Kind() != reflect.Pointer || f.IsNil() {
			t.Errorf("%T has no pointer in _ptr", object)
		}
		if pointer(object) == nil {
			t.Errorf("%T: nil", object)
		}
	}
	if v := reflect.ValueOf(wasmtime.NewConfig()).Elem().FieldByName("_ptr"); v.Kind() != reflect.Pointer {
		t.Error("Config has no pointer in _ptr")
	}
}
