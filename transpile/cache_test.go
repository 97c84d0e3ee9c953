package transpile

import (
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestPreparerRemembers(t *testing.T) {
	pr := NewPreparer(2, 1<<20)
	prepare := func(source string, opts Options) *Cell {
		t.Helper()
		cell, err := pr.Prepare(source, opts)
		if err != nil {
			t.Fatal(err)
		}
		return cell
	}
	a := prepare("a", Options{})
	if prepare("a", Options{}) != a {
		t.Error("the same text was prepared twice")
	}
	if prepare("a", Options{MaxSourceBytes: DefaultMaxSourceBytes}) != a {
		t.Error("the default limit, spelt out, is another key")
	}
	if prepare("a", Options{KeepLast: true}) == a || prepare("a", Options{Language: TypeScript}) == a {
		t.Error("other options gave the same cell")
	}
	if prepare("a", Options{}) == a {
		t.Error("the oldest of three was kept, where there is room for two")
	}
	if pr.order.Len() != 2 || len(pr.byKey) != 2 {
		t.Errorf("%d and %d entries, want 2", pr.order.Len(), len(pr.byKey))
	}
}

func TestPreparerForgetsByBytes(t *testing.T) {
	pr := NewPreparer(1000, 20_000)
	for i := range 100 {
		if _, err := pr.Prepare("let a = '"+strings.Repeat("x", 1000)+strconv.Itoa(i)+"'", Options{}); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for el := pr.order.Front(); el != nil; el = el.Next() {
		total += el.Value.(*cacheEntry).bytes
	}
	if pr.bytes != total || total > 20_000 || pr.order.Len() < 3 {
		t.Errorf("%d entries of %d bytes, counted as %d", pr.order.Len(), total, pr.bytes)
	}
	if _, err := pr.Prepare("let a = '"+strings.Repeat("x", 30_000)+"'", Options{}); err != nil || pr.bytes != total {
		t.Errorf("a text without room: error %v, %d bytes kept", err, pr.bytes)
	}
}

func TestPreparerRemembersRefusals(t *testing.T) {
	pr := NewPreparer(0, 0)
	_, first := pr.Prepare("a b", Options{})
	first.(*Error).Location.Line = 99
	first.(*Error).Message = "changed"
	_, second := pr.Prepare("a b", Options{})
	if e := second.(*Error); e.Location.Line != 1 || e.Message == "changed" {
		t.Error("a caller's change to an error reached another caller")
	}
	if pr.order.Len() != 1 {
		t.Errorf("%d entries, want 1", pr.order.Len())
	}
	if _, err := pr.Prepare("12345", Options{MaxSourceBytes: 4}); err.(*Error).Kind != KindTooLarge || pr.order.Len() != 1 {
		t.Errorf("too large: %v, %d entries", err, pr.order.Len())
	}
}

// Cells are shared: whoever asks for positions first decodes the map for all.
func TestPreparerHammer(t *testing.T) {
	pr := NewPreparer(8, 1<<20)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				n := (g + i) % 12
				source := "enum A { B = 1 << " + strconv.Itoa(n) + " }\nboom()"
				cell, err := pr.Prepare(source, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				line, column := byteColumn(t, cell.Body, "boom")
				if pos, ok := cell.Position(line, column); !ok || pos != (Position{2, 1}) {
					t.Errorf("%d: position %v, %v", n, pos, ok)
				}
				if _, err := pr.Prepare("a b"+strconv.Itoa(n), Options{}); err == nil {
					t.Error("accepted")
				}
			}
		})
	}
	wg.Wait()
}
