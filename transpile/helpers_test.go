package transpile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every test here is a table of one-liners. These are the lines.

func prepared(t *testing.T, source string, opts Options) *Cell {
	t.Helper()
	cell, err := Prepare(source, opts)
	if err != nil {
		t.Fatalf("Prepare(%q): %v", source, err)
	}
	return cell
}

// expectBody: the text becomes want.
func expectBody(t *testing.T, source, want string) {
	t.Helper()
	if diff := cmp.Diff(want, prepared(t, source, Options{}).Body); diff != "" {
		t.Errorf("body of %q (-want +got):\n%s", source, diff)
	}
}

// expectReturned: the last expression is returned, which is the only change. A « in source marks where return goes.
func expectReturned(t *testing.T, source string) {
	t.Helper()
	expectBody(t, strings.Replace(source, "«", "", 1), strings.Replace(source, "«", "return ", 1))
}

// expectSame: as JavaScript, with KeepLast, the text stays byte for byte, without a note.
func expectSame(t *testing.T, source string) {
	t.Helper()
	cell, err := Prepare(source, Options{KeepLast: true})
	if err != nil {
		t.Errorf("Prepare(%q): %v", source, err)
		return
	}
	if cell.Language != JavaScript || len(cell.Notes) > 0 {
		t.Errorf("Prepare(%q): language %s, notes %q", source, cell.Language, cell.Notes)
	}
	if diff := cmp.Diff(source, cell.Body); diff != "" {
		t.Errorf("body of %q (-want +got):\n%s", source, diff)
	}
}

// expectErased: as TypeScript, with KeepLast, the text becomes want. Runs of spaces count as one.
func expectErased(t *testing.T, source, want string) {
	t.Helper()
	cell, err := Prepare(source, Options{KeepLast: true})
	if err != nil {
		t.Errorf("Prepare(%q): %v", source, err)
		return
	}
	if cell.Language != TypeScript {
		t.Errorf("Prepare(%q): language %s", source, cell.Language)
	}
	if len(cell.Body) != len(source) {
		t.Errorf("erasing %q moved text: %q", source, cell.Body)
	}
	if diff := cmp.Diff(squeeze(want), squeeze(cell.Body)); diff != "" {
		t.Errorf("body of %q (-want +got):\n%s", source, diff)
	}
}

// expectCompiled: as TypeScript, with KeepLast, what is made of the text holds each of the pieces.
func expectCompiled(t *testing.T, source string, pieces ...string) {
	t.Helper()
	cell, err := Prepare(source, Options{KeepLast: true})
	if err != nil {
		t.Errorf("Prepare(%q): %v", source, err)
		return
	}
	if cell.Language != TypeScript {
		t.Errorf("Prepare(%q): language %s", source, cell.Language)
	}
	for _, piece := range pieces {
		if !strings.Contains(spaceless(cell.Body), spaceless(piece)) { // esbuild's text is laid out as the source is
			t.Errorf("body of %q has no %q:\n%s", source, piece, cell.Body)
		}
	}
}

func spaceless(s string) string { return strings.Join(strings.Fields(s), "") }

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// expectRefused: want is "kind line:column part of the message", the position left out when there is none.
func expectRefused(t *testing.T, source, want string) {
	t.Helper()
	expectRefusedAs(t, source, Options{}, want)
}

func expectRefusedAs(t *testing.T, source string, opts Options, want string) {
	t.Helper()
	cell, err := Prepare(source, opts)
	if err == nil {
		t.Errorf("Prepare(%q) was accepted as %s:\n%s", source, cell.Language, cell.Body)
		return
	}
	e := err.(*Error)
	got := string(e.Kind)
	if e.Location != nil {
		got += fmt.Sprintf(" %d:%d", e.Location.Line, e.Location.Column)
	}
	head, message := want, ""
	if words := strings.SplitN(want, " ", 3); len(words) > 1 {
		head = words[0]
		message = strings.TrimPrefix(want, head+" ")
		if strings.Contains(words[1], ":") && words[1][0] >= '0' && words[1][0] <= '9' {
			head += " " + words[1]
			message = strings.Join(words[2:], " ")
		}
	}
	if got != head || !strings.Contains(e.Message, message) {
		t.Errorf("Prepare(%q)\n got %s %s\nwant %s %s", source, got, e.Message, head, message)
	}
}

// expectNotes: exactly these liberties are taken.
func expectNotes(t *testing.T, source string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, prepared(t, source, Options{}).Notes); diff != "" {
		t.Errorf("notes of %q (-want +got):\n%s", source, diff)
	}
}
