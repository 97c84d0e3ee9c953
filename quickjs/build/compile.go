package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

// compile makes the linked module. The engine's objects are kept in the cache, since they take most of the time and
// change least.
func compile(tools *toolset, src *source, root, engineHash string) ([]byte, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(src.dir, engineFile))
	if err != nil {
		return nil, err
	}
	edited := string(text)
	for _, set := range editSets {
		better, err := apply(set.edits, edited)
		if err != nil {
			step("warning: %s: %v in %s of QuickJS-NG %s", set.without, err, engineFile, src.version)
			continue
		}
		edited = better
	}
	key := hash([]byte(engineHash + edited + tools.version + strings.Join(compileFlags, " ")))[:32]
	objects := filepath.Join(cache, "objects-"+key)
	if err := os.MkdirAll(objects, 0o700); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "codemode-guest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)

	shim, err := filepath.Glob(filepath.Join(root, "guestabi/guest/*.c"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(work, engineFile), []byte(edited), 0o644); err != nil {
		return nil, err
	}
	var jobs []job
	for _, u := range units {
		dir := src.dir
		if u == engineFile {
			dir = work
		}
		jobs = append(jobs, job{source: u, dir: dir, object: filepath.Join(objects, strings.TrimSuffix(u, ".c")+".o"),
			// The engine's warnings are its authors' business.
			flags: []string{"-w", "-I" + src.dir}, keep: true})
	}
	for _, s := range shim {
		absolute, err := filepath.Abs(s)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job{source: filepath.Base(s), dir: filepath.Dir(absolute),
			object: filepath.Join(work, strings.TrimSuffix(filepath.Base(s), ".c")+".o"),
			flags:  []string{"-I" + src.dir, "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-sign-compare"}})
	}
	if err := runJobs(jobs); err != nil {
		return nil, err
	}
	step("linking")
	raw := filepath.Join(work, "raw.wasm")
	args := append(append([]string{}, linkFlags...), "-o", raw)
	for _, j := range jobs {
		args = append(args, j.object)
	}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("linking: %w: %s", err, tail(out))
	}
	return os.ReadFile(raw)
}

// job compiles one file. It runs in the file's folder, so that no path of this machine gets into the object.
type job struct {
	source, dir, object string
	flags               []string
	keep                bool // an object from an earlier build will do
}

func runJobs(jobs []job) error {
	var (
		wait  sync.WaitGroup
		mutex sync.Mutex
		first error
		slots = make(chan struct{}, runtime.NumCPU())
	)
	for _, j := range jobs {
		if j.keep {
			if _, err := os.Stat(j.object); err == nil {
				continue
			}
			step("compiling %s", j.source)
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := j.run(); err != nil {
				mutex.Lock()
				defer mutex.Unlock()
				if first == nil {
					first = err
				}
			}
		})
	}
	wait.Wait()
	return first
}

func (j job) run() error {
	partial := j.object + ".part"
	args := append(append([]string{}, compileFlags...), j.flags...)
	args = append(args, "-c", j.source, "-o", partial)
	cmd := exec.Command(compiler, args...)
	cmd.Dir = j.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w: %s", j.source, err, tail(out))
	}
	return os.Rename(partial, j.object)
}

// compilePrelude bundles the guest's TypeScript into one expression that evaluates to its boot function.
func compilePrelude(entry string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints:   []string{entry},
		Bundle:        true,
		Format:        api.FormatCommonJS,
		Target:        api.ES2023,
		Platform:      api.PlatformNeutral,
		LegalComments: api.LegalCommentsNone,
		KeepNames:     false,
		// Names show in stacks, which is where someone looks who debugs the prelude.
		MinifyWhitespace: true,
		MinifySyntax:     true,
	})
	if len(result.Errors) > 0 {
		messages := api.FormatMessages(result.Errors, api.FormatMessagesOptions{})
		return nil, fmt.Errorf("the prelude: %s", strings.Join(messages, ""))
	}
	var b strings.Builder
	b.WriteString("(function(){const module={exports:{}};")
	b.Write(result.OutputFiles[0].Contents)
	b.WriteString("return module.exports.default})()")
	return []byte(b.String()), nil
}
