package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The QuickJS-NG releases that the tests were run with.
var testedVersions = []string{"0.17.0"}

func tested(version string) bool { return slices.Contains(testedVersions, version) }

// The suites of Debian that carry the package qjs-src, the one that moves slower first.
var suites = []string{"forky", "sid"}

// The engine's files that make the library; the rest of the package is its own command and tests.
var units = []string{engineFile, "libregexp.c", "libunicode.c", "dtoa.c"}

// engineFile is the one that editSets change.
const engineFile = "quickjs.c"

type source struct {
	dir     string
	version string
}

// files are all the files that may be compiled into the engine, for hashing.
func (s *source) files() []string {
	found, _ := filepath.Glob(filepath.Join(s.dir, "*.[ch]"))
	slices.Sort(found)
	return found
}

// findSource takes QUICKJS_SRC, or what an earlier build fetched, or fetches the package.
func findSource() (*source, error) {
	if dir := os.Getenv("QUICKJS_SRC"); dir != "" {
		s, err := openSource(dir)
		if err != nil {
			return nil, fmt.Errorf("QUICKJS_SRC=%s: %w", dir, err)
		}
		return s, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "qjs-src")
	if s, err := openSource(filepath.Join(dir, "usr/src/quickjs-ng")); err == nil {
		return s, nil
	}
	var failures []error
	for _, suite := range suites {
		step("fetching the engine's source from Debian's %s", suite)
		if err := fetch(dir, suite); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", suite, err))
			continue
		}
		return openSource(filepath.Join(dir, "usr/src/quickjs-ng"))
	}
	return nil, fmt.Errorf("could not fetch Debian's package qjs-src; unpack QuickJS-NG's source anywhere and set QUICKJS_SRC to its folder: %w", errors.Join(failures...))
}

var versionMacro = regexp.MustCompile(`(?m)^#define QJS_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)`)

func openSource(dir string) (*source, error) {
	header, err := os.ReadFile(filepath.Join(dir, "quickjs.h"))
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		if _, err := os.Stat(filepath.Join(dir, u)); err != nil {
			return nil, err
		}
	}
	numbers := versionMacro.FindAllStringSubmatch(string(header), -1)
	if len(numbers) != 3 {
		return nil, errors.New("quickjs.h names no QuickJS-NG version")
	}
	return &source{dir: dir, version: numbers[0][2] + "." + numbers[1][2] + "." + numbers[2][2]}, nil
}

// fetch unpacks qjs-src from a suite into dir, with an apt configuration of its own, so that the machine's sources stay
// as they are.
func fetch(dir, suite string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("apt-get is not on this machine")
	}
	work, err := os.MkdirTemp("", "codemode-apt-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, d := range []string{"lists/partial", "cache/archives/partial", "state", "parts"} {
		if err := os.MkdirAll(filepath.Join(work, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(work, "status"), nil, 0o644); err != nil {
		return err
	}
	mirror, err := debianMirror()
	if err != nil {
		return err
	}
	list := fmt.Sprintf("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n", mirror, suite)
	if err := os.WriteFile(filepath.Join(work, "sources.list"), []byte(list), 0o644); err != nil {
		return err
	}
	options := []string{
		"-o", "Dir::Etc::sourcelist=" + work + "/sources.list", "-o", "Dir::Etc::sourceparts=" + work + "/parts",
		"-o", "Dir::State=" + work + "/state", "-o", "Dir::State::Lists=" + work + "/lists",
		"-o", "Dir::State::status=" + work + "/status", "-o", "Dir::Cache=" + work + "/cache", "-qq",
	}
	if os.Geteuid() == 0 {
		options = append(options, "-o", "APT::Sandbox::User=root")
	}
	for _, action := range [][]string{{"update"}, {"download", "qjs-src"}} {
		cmd := exec.Command("apt-get", append(options, action...)...)
		cmd.Dir = work
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", action[0], err, tail(out))
		}
	}
	deb, err := filepath.Glob(filepath.Join(work, "qjs-src_*.deb"))
	if err != nil || len(deb) != 1 {
		return errors.New("apt-get downloaded no qjs-src package")
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("dpkg-deb", "-x", deb[0], dir).CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb: %w: %s", err, tail(out))
	}
	return nil
}

var policyLine = regexp.MustCompile(`\s(https?://\S+) \S+/main `)

// debianMirror is the archive that this machine already uses.
func debianMirror() (string, error) {
	out, err := exec.Command("apt-cache", "policy").Output()
	if err != nil {
		return "", fmt.Errorf("apt-cache policy: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if m := policyLine.FindStringSubmatch(line); m != nil && !strings.Contains(line, "security") {
			return m[1], nil
		}
	}
	return "", errors.New("no Debian archive is configured")
}

// cacheDir holds the fetched source and compiled objects between builds.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "codemode", "build")
	return dir, os.MkdirAll(dir, 0o700)
}
