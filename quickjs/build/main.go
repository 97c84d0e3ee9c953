// Command build makes the guest: QuickJS-NG from source, our C shim and the compiled prelude, linked, started once, and
// frozen with its memory into quickjs/guest/guest.wasm. `make guest` runs it; see the README beside it.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codemode/guestabi"
	"codemode/wit"
)

func main() {
	out := flag.String("o", "quickjs/guest", "folder that gets guest.wasm and manifest.json")
	root := flag.String("root", ".", "folder of the repository")
	force := flag.Bool("force", false, "build even when the guest is up to date")
	flag.Parse()
	if err := build(*root, *out, *force); err != nil {
		fmt.Fprintln(os.Stderr, "make guest:", err)
		os.Exit(1)
	}
}

// Manifest says what a guest was made of. It is written beside the guest and shown by `codemode version`.
type Manifest struct {
	Engine       string   `json:"engine"`       // "QuickJS-NG 0.17.0"
	SourceSHA256 string   `json:"sourceSHA256"` // of the engine's source files
	Compiler     string   `json:"compiler"`
	Flags        []string `json:"flags"`
	ImageSHA256  string   `json:"imageSHA256"` // of guest.wasm
	WITSHA256    string   `json:"witSHA256"`
	Globals      []string `json:"globals"`     // the names that every cell's global object has, sorted
	InputSHA256  string   `json:"inputSHA256"` // of everything above and of our own sources: when it is the same, nothing is built
}

func build(root, out string, force bool) error {
	step("looking for the tools")
	tools, err := findTools()
	if err != nil {
		return err
	}
	step("looking for the engine's source")
	src, err := findSource()
	if err != nil {
		return err
	}
	prelude, err := compilePrelude(filepath.Join(root, "guestabi/guest/prelude/main.ts"))
	if err != nil {
		return err
	}
	shim, err := filepath.Glob(filepath.Join(root, "guestabi/guest/*.[ch]"))
	if err != nil {
		return err
	}
	engineHash, err := hashFiles(src.files())
	if err != nil {
		return err
	}
	shimHash, err := hashFiles(shim)
	if err != nil {
		return err
	}
	builder, err := filepath.Glob(filepath.Join(root, "quickjs/build/*.go"))
	if err != nil {
		return err
	}
	builderHash, err := hashFiles(builder)
	if err != nil {
		return err
	}
	m := Manifest{
		Engine:       "QuickJS-NG " + src.version,
		SourceSHA256: engineHash,
		Compiler:     tools.version,
		Flags:        append(append([]string{}, compileFlags...), linkFlags...),
		WITSHA256:    hash([]byte(wit.Source)),
	}
	m.InputSHA256 = hash([]byte(strings.Join(append([]string{m.Engine, engineHash, shimHash, builderHash, hash(prelude), m.Compiler, m.WITSHA256}, m.Flags...), "\n")))

	guestFile, manifestFile := filepath.Join(out, "guest.wasm"), filepath.Join(out, "manifest.json")
	if !force && upToDate(manifestFile, guestFile, m.InputSHA256) {
		step("%s is up to date", guestFile)
		return nil
	}
	if !tested(src.version) {
		step("warning: QuickJS-NG %s is not a version that codemode was tested with (%s)", src.version, strings.Join(testedVersions, ", "))
	}
	raw, err := compile(tools, src, root, engineHash)
	if err != nil {
		return err
	}
	step("starting the engine and freezing its memory")
	image, globals, err := freeze(raw, prelude)
	if err != nil {
		return err
	}
	report, err := guestabi.Check(image)
	if err != nil {
		return err
	}
	if !report.OK() {
		return fmt.Errorf("the guest does not match wit/codemode.wit:\n%s", report)
	}
	m.ImageSHA256 = hash(image)
	m.Globals = globals
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(guestFile, image, 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	step("%s: %s, %d bytes, sha256 %s", guestFile, m.Engine, len(image), m.ImageSHA256[:16])
	return os.WriteFile(manifestFile, append(text, '\n'), 0o644)
}

func step(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "guest: "+format+"\n", args...)
}

func upToDate(manifestFile, guestFile, input string) bool {
	text, err := os.ReadFile(manifestFile)
	if err != nil {
		return false
	}
	var m Manifest
	if json.Unmarshal(text, &m) != nil || m.InputSHA256 != input {
		return false
	}
	image, err := os.ReadFile(guestFile)
	return err == nil && hash(image) == m.ImageSHA256
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// hashFiles hashes names (without folders) and contents.
func hashFiles(files []string) (string, error) {
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(f), len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
