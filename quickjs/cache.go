package quickjs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

// The compile cache. Loading a compiled module runs whatever code is in it, so a file is loaded only where nobody but
// this user can have written it: the folder belongs to the user and is closed to others, and the file begins with the
// hash of the rest, which also shows damage. Its name is the hash of everything that the code depends on.

const (
	cacheNone  = "none"
	cacheMagic = "codemode module 1\n"
)

func (e *Engine) loadModule(engine *wasmtime.Engine, fuel bool) (*wasmtime.Module, error) {
	path := e.cachePath(fuel)
	if code, ok := readCache(path); ok {
		if m, err := wasmtime.NewModuleDeserialize(engine, code); err == nil {
			return m, nil
		}
	}
	if e.options.Progress != nil {
		e.options.Progress("compiling the guest")
	}
	m, err := wasmtime.NewModule(engine, e.guest)
	if err != nil {
		return nil, err
	}
	if code, err := m.Serialize(); err == nil {
		writeCache(path, code) // without a cache everything works, only slower
	}
	return m, nil
}

// cachePath is empty where nothing is to be kept.
func (e *Engine) cachePath(fuel bool) string {
	dir := e.options.CacheDir
	switch dir {
	case cacheNone:
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(base, "codemode", "modules")
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%x fuel=%t stack=%d %s %s/%s %s", e.hash, fuel, nativeStack(), wasmtimeVersion(),
		runtime.GOOS, runtime.GOARCH, processor()))
	return filepath.Join(dir, hex.EncodeToString(key[:16])+".module")
}

func wasmtimeVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/bytecodealliance/wasmtime-go/v39" {
				return m.Version + " " + m.Sum
			}
		}
	}
	return "unknown"
}

// processor names the machine's instruction set, which compiled code is made for. wasmtime checks it too when it loads.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("flags")) || bytes.HasPrefix(line, []byte("Features")) {
			sum := sha256.Sum256(line)
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}

func readCache(path string) ([]byte, bool) {
	if path == "" || !private(filepath.Dir(path), true) {
		return nil, false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !privateInfo(info, false) {
		return nil, false
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, false
	}
	rest, ok := bytes.CutPrefix(text, []byte(cacheMagic))
	if !ok || len(rest) < sha256.Size {
		return nil, false
	}
	sum, code := rest[:sha256.Size], rest[sha256.Size:]
	if want := sha256.Sum256(code); !bytes.Equal(sum, want[:]) {
		return nil, false
	}
	return code, true
}

func writeCache(path string, code []byte) {
	if path == "" {
		return
	}
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil || !private(dir, true) {
		return
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return
	}
	sum := sha256.Sum256(code)
	_, err = f.Write(append(append([]byte(cacheMagic), sum[:]...), code...))
	if closeErr := f.Close(); err != nil || closeErr != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}

// private says whether only this user can change what path names.
func private(path string, dir bool) bool {
	info, err := os.Lstat(path)
	return err == nil && privateInfo(info, dir)
}

func privateInfo(info os.FileInfo, dir bool) bool {
	if info.IsDir() != dir || !dir && !info.Mode().IsRegular() {
		return false
	}
	return info.Mode().Perm()&0o022 == 0 && ownedByUser(info)
}
