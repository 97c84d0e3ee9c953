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
	"slices"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

// The compile cache. Loading a compiled module runs whatever code is in it, so a file is loaded only where nobody but
// this user can have written it: the folder belongs to the user and is closed to others, and the file ends with the
// hash of the rest, which also shows damage. Its name is the hash of everything that the code depends on. The module
// comes first, since wasmtime maps the file: to read it into memory would touch three thousand pages, which takes longer
// than all else a process does until its first result.

const cacheNone = "none"

// cacheTail follows the hash.
const cacheTail = "codemode module 2\n"

func (e *Engine) loadModule(engine *wasmtime.Engine, fuel bool) (*wasmtime.Module, error) {
	path := e.cachePath(fuel)
	if isIntact(path) {
		if m, err := wasmtime.NewModuleDeserializeFile(engine, path); err == nil {
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

// isIntact says whether a file of the cache is there and is what was written.
func isIntact(path string) bool {
	if path == "" || !private(filepath.Dir(path), true) {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !privateInfo(info, false) {
		return false
	}
	size := info.Size() - sha256.Size - int64(len(cacheTail))
	if size < 0 {
		return false
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, size); err != nil {
		return false
	}
	tail, err := io.ReadAll(f)
	return err == nil && string(tail) == string(sum.Sum(nil))+cacheTail
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
	_, err = f.Write(slices.Concat(code, sum[:], []byte(cacheTail)))
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
