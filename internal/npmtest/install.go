// Package npmtest installs npm packages for tests that run programs which nobody here wrote.
package npmtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Missing skips the test, or in CI, where nothing may be missing, fails it.
func Missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// installTime is how long npm may take.
const installTime = 5 * time.Minute

// Install puts what folder's package-lock.json names into a folder of the user's cache, once for each content of that file
// and of the .npmrc beside it, and returns the path. Tests of all packages may call it at once; name tells them apart. ready,
// where set, looks at what was installed before others see it, and keeps it from being kept by ending the test.
//
// The error has what npm printed, and is exec.ErrNotFound without npm and context.DeadlineExceeded after five minutes.
func Install(name, folder string, ready func(dir string)) (string, error) {
	files := map[string][]byte{}
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) && name == ".npmrc" {
			continue
		}
		if err != nil {
			return "", err
		}
		files[name] = text
		if name != "package.json" { // the lock file has what it asks for
			sum.Write(text)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	parent := filepath.Join(cache, "codemode", name)
	dir := filepath.Join(parent, fmt.Sprintf("%x", sum.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	// Made elsewhere and renamed: a run that is cut short leaves nothing behind that looks whole.
	making, err := os.MkdirTemp(parent, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(making)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(making, name), text, 0o600); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1")
	npm.Dir = making
	npm.WaitDelay = time.Second // npm's children may hold its output open
	if out, err := npm.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if ready != nil {
		ready(making)
	}
	if err := os.Rename(making, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		} // another test process was faster
	}
	return dir, nil
}
