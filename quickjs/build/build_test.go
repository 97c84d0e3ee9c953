package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two builds, one of them from nothing, give the same bytes.
func TestBuildsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the engine, which takes half a minute")
	}
	if !haveTools() {
		t.Skip("the compiler for the guest is not installed; make guest installs it")
	}
	src, err := findSource()
	if err != nil {
		t.Skip("the engine's source is not here: ", err)
	}
	t.Setenv("QUICKJS_SRC", src.dir)
	var images [2][]byte
	for i := range images {
		if i == 1 {
			t.Setenv("XDG_CACHE_HOME", t.TempDir()) // no object of an earlier build
		}
		out := t.TempDir()
		if err := build("../..", out, true); err != nil {
			t.Fatal(err)
		}
		if images[i], err = os.ReadFile(filepath.Join(out, "guest.wasm")); err != nil {
			t.Fatal(err)
		}
	}
	if string(images[0]) != string(images[1]) {
		t.Errorf("two builds differ: sha256 %s and %s", hash(images[0]), hash(images[1]))
	}
}

func TestOpenSourceRefusesWhatIsNotQuickJSNG(t *testing.T) {
	dir := t.TempDir()
	if _, err := openSource(dir); err == nil {
		t.Error("an empty folder was taken")
	}
	for _, u := range units {
		os.WriteFile(filepath.Join(dir, u), nil, 0o644)
	}
	os.WriteFile(filepath.Join(dir, "quickjs.h"), []byte("#define CONFIG_VERSION \"2024\"\n"), 0o644)
	if _, err := openSource(dir); err == nil {
		t.Error("a header without QuickJS-NG's version was taken")
	}
	os.WriteFile(filepath.Join(dir, "quickjs.h"), []byte("#define QJS_VERSION_MAJOR 0\n#define QJS_VERSION_MINOR 16\n#define QJS_VERSION_PATCH 2\n"), 0o644)
	s, err := openSource(dir)
	if err != nil || s.version != "0.16.2" {
		t.Errorf("%+v %v", s, err)
	}
}

func TestDataSection(t *testing.T) {
	memory := make([]byte, 4*wasmPage)
	memory[100] = 1
	memory[100+segmentGap/2] = 2
	memory[3*wasmPage] = 3
	_, segments := dataSection(memory)
	if segments != 2 {
		t.Errorf("%d segments", segments)
	}
	if _, segments := dataSection(make([]byte, wasmPage)); segments != 0 {
		t.Errorf("%d segments of nothing", segments)
	}
}

// Every edit finds its place in the engine that codemode is tested with.
func TestEngineIsEdited(t *testing.T) {
	src, err := findSource()
	if err != nil {
		t.Skip("the engine's source is not here: ", err)
	}
	if !tested(src.version) {
		t.Skipf("QuickJS-NG %s", src.version)
	}
	text, err := os.ReadFile(filepath.Join(src.dir, engineFile))
	if err != nil {
		t.Fatal(err)
	}
	for i := range editSets { // each stands alone
		if _, err := apply(editSets[i].edits, string(text)); err != nil {
			t.Errorf("%s: %v", editSets[i].without, err)
		}
	}
	edited := string(text)
	for _, set := range editSets {
		if edited, err = apply(set.edits, edited); err != nil {
			t.Fatalf("%s: %v", set.without, err)
		}
	}
	if _, err := apply(classEdits, strings.ReplaceAll(string(text), "js_parse_class", "parse_class")); err == nil {
		t.Error("an engine without an anchor was edited")
	}
}
