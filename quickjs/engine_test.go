package quickjs

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"codemode/limits"
	"codemode/quickjs/internal/native"
)

func ownEngine(t *testing.T, o *EngineOptions) *Engine {
	t.Helper()
	engine(t) // skips without a guest
	e, err := NewEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	engine(t)
	if _, err := engine(t).variant(false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * limits.Tick)
	goroutines, instances := runtime.NumGoroutine(), native.Live()
	e, err := NewEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	var vms []*VM
	for range 5 {
		vm, err := e.NewVM(t.Context(), &recorder{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vm.Run(`await echo()`); err != nil {
			t.Fatal(err)
		}
		vms = append(vms, vm)
	}
	running := make(chan error)
	vm, err := e.NewVM(t.Context(), &recorder{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := vm.Run(`for (;;);`)
		running <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-running; !errors.Is(err, ErrClosed) {
		t.Errorf("the running cell ended with %v", err)
	}
	if _, err := vms[0].Settle(1, true, []byte("1")); !errors.Is(err, ErrClosed) {
		t.Errorf("a VM of a closed engine: %v", err)
	}
	e.Close()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := native.Live(); n != instances {
		t.Errorf("%d instances, %d before", n, instances)
	}
}

func TestNewVMWaitsForRoom(t *testing.T) {
	e := ownEngine(t, &EngineOptions{Instances: 1})
	first, err := e.NewVM(t.Context(), &recorder{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		vm, err := e.NewVM(t.Context(), &recorder{}, Options{})
		if err == nil {
			vm.Close()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("a second VM in an engine of one: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	first.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A folder or a file that others can write, and a damaged file, are not loaded; all is compiled anew instead.
func TestTheCacheLoadsOnlyItsOwnWholeFiles(t *testing.T) {
	engine(t)
	dir := filepath.Join(t.TempDir(), "cache")
	compiles := 0
	start := func() *Engine {
		e, err := NewEngine(&EngineOptions{CacheDir: dir, Progress: func(string) { compiles++ }})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		vm, err := e.NewVM(t.Context(), &recorder{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer vm.Close()
		if out, err := vm.Run("return 1"); err != nil || show(out) != "fulfilled 1" {
			t.Fatalf("%s %v", show(out), err)
		}
		return e
	}
	files := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "*.module"))
		return found
	}
	start()
	if compiles != 1 || len(files()) != 1 {
		t.Fatalf("first start: %d compiles, files %v", compiles, files())
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v %v", info.Mode(), err)
	}
	start()
	if compiles != 1 {
		t.Errorf("the cache was not used: %d compiles", compiles)
	}
	good, err := os.ReadFile(files()[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), good...)
	damaged[len(damaged)/2] ^= 1
	for name, prepare := range map[string]func(){
		"damaged":  func() { os.WriteFile(files()[0], damaged, 0o600) },
		"cut":      func() { os.WriteFile(files()[0], good[:len(good)/2], 0o600) },
		"empty":    func() { os.WriteFile(files()[0], nil, 0o600) },
		"writable": func() { os.Chmod(files()[0], 0o666) },
		"folder":   func() { os.Chmod(dir, 0o777) },
		"foreign": func() {
			if os.Geteuid() == 0 {
				os.Chown(files()[0], 12345, 12345)
			} else {
				os.Chmod(files()[0], 0o622)
			}
		},
		"link": func() {
			other := filepath.Join(t.TempDir(), "other")
			os.Rename(files()[0], other)
			os.Symlink(other, cacheFile(dir))
			os.Chmod(other, 0o666)
		},
	} {
		before := compiles
		prepare()
		start()
		if compiles != before+1 {
			t.Errorf("%s: the file was loaded", name)
		}
		os.RemoveAll(dir)
		os.Mkdir(dir, 0o700)
		if err := os.WriteFile(cacheFile(dir), good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := compiles
	start()
	if compiles != before {
		t.Error("the good file was not loaded again")
	}
}

// cacheFile names the file of the embedded guest.
func cacheFile(dir string) string {
	e := &Engine{options: EngineOptions{CacheDir: dir}}
	e.guest, _, _ = Guest()
	e.hash = sha256.Sum256(e.guest)
	return e.cachePath(false)
}

func TestEngineRefusesAForeignGuest(t *testing.T) {
	for name, module := range map[string][]byte{
		"not wasm": []byte("hello"),
		"empty":    []byte("\x00asm\x01\x00\x00\x00"),
	} {
		if _, err := NewEngine(&EngineOptions{Guest: module}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	module, manifest, err := Guest()
	if err != nil {
		t.Skip(err)
	}
	if _, err := NewEngine(&EngineOptions{Guest: module[:len(module)-100]}); err == nil {
		t.Error("half a guest was taken")
	}
	if !strings.HasPrefix(manifest.Engine, "QuickJS-NG 0.") || len(Globals()) < 50 {
		t.Errorf("manifest: %+v", manifest)
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	e := engine(f)
	vm := newVM(f, &recorder{}, Options{})
	if _, err := vm.Run(`await echo()`); err != nil {
		f.Fatal(err)
	}
	for _, codec := range []Codec{CodecNone, CodecS2, CodecZstd} {
		s, err := vm.Snapshot(codec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSnapshot(b)
		if err != nil {
			return
		}
		// A snapshot with a right checksum may still be hostile: restoring it must not hurt the host.
		vm, err := e.Restore(t.Context(), s, &recorder{}, Options{Deadline: time.Now().Add(100 * time.Millisecond)})
		if err != nil {
			return
		}
		defer vm.Close()
		vm.Settle(1, true, []byte(`1`))
	})
}

// Memory contents are the guest's business: whatever a restored memory holds, the host survives it.
func TestHostileSnapshots(t *testing.T) {
	e := engine(t)
	vm := newVM(t, &recorder{}, Options{})
	if _, err := vm.Run(`globalThis.a = []; for (let i = 0; i < 100; i++) a.push({i, s: "x" + i}); await echo()`); err != nil {
		t.Fatal(err)
	}
	s, err := vm.Snapshot(CodecNone)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(1)
	for range 300 {
		bad := *s
		bad.packed = append([]byte(nil), s.packed...)
		for range 5 {
			seed = seed*6364136223846793005 + 1442695040888963407
			bad.packed[seed>>33%uint64(len(bad.packed))] ^= byte(1 << (seed >> 61))
		}
		vm, err := e.Restore(t.Context(), &bad, &recorder{}, Options{Deadline: time.Now().Add(50 * time.Millisecond)})
		if err != nil {
			continue
		}
		vm.Settle(1, true, []byte(`{"x":[1,2]}`))
		vm.Close()
	}
	if got, _ := run(t, `return 1`, Options{}); got != "fulfilled 1" {
		t.Errorf("afterwards: %s", got)
	}
}
