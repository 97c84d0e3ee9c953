package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var samples = []string{
	``, ` `, `1`, `-0`, `01`, `1.`, `.5`, `1.5e3`, `1e`, `1e+`, `1e400`, `-`, `--1`, `1 2`, ` true `, `tru`, `truex`, `null`, `nul`,
	`""`, `"`, `"a`, `"a\"`, `"\u00e9"`, `"\u00g9"`, `"\x"`, `"é"`, "\"\x7f\"", "\"a\nb\"", "\"\xff\"", `"abcdefgh\\ijklmnop"`, `"abcdefgh"ijklmnop"`,
	`[]`, `[ ]`, `[1`, `[1,]`, `[,1]`, `[1 2]`, `[1[2]]`, `[[[]]]`, `[1, "a", {"b": [true, false, null]}]`, `]`, `[}`,
	`{}`, `{ }`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":1,"a":2}`, `{a:1}`, `{"a" : {"b" : {}}}`, `{"a":1}}`, `{"a":1]`,
	strings.Repeat("[", 300) + strings.Repeat("]", 300),
	`"` + strings.Repeat("x", 100) + "\x01" + `"`, `"` + strings.Repeat("é", 50) + `"`, strings.Repeat("1", 2000),
}

func FuzzValid(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if end := Value(b, 0); end >= 0 && !json.Valid(b[:end]) {
			t.Errorf("Value takes %q", b[:end])
		}
		if got, want := Valid(b), json.Valid(b); got != want {
			t.Errorf("Valid(%q) = %v", b, got)
		}
	})
}

// What is simple is read here: else all of this is only a detour.
func TestValueReadsWhatIsSimple(t *testing.T) {
	for _, s := range samples {
		if json.Valid([]byte(s)) && len(s) < 300 && s[0] != ' ' && s != `1e400` {
			if end := Value([]byte(s), 0); end != len(s) {
				t.Errorf("Value(%q) = %d", s, end)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range append(samples, "\u2028\u2029\b\f\x00\x1f\x7f<>&", "abcdefg\xe2\x80", "abcdefgh\xf0\x9f\x98\x80ijklmnop") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString(nil, s)) + "\n"; got != want.String() {
			t.Errorf("%q: %s, want %s", s, got, want.String())
		}
	})
}

func BenchmarkValid(b *testing.B) {
	small := []byte(`{"q":"a","limit":10,"tags":["one","two"]}`)
	long := append(append([]byte(`{"text":"`), bytes.Repeat([]byte("x"), 1<<20)...), `"}`...)
	for _, c := range []struct {
		name  string
		text  []byte
		valid func([]byte) bool
	}{
		{"text=small/by=jsontext", small, Valid}, {"text=small/by=json", small, json.Valid},
		{"text=1MiB/by=jsontext", long, Valid}, {"text=1MiB/by=json", long, json.Valid},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				c.valid(c.text)
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat("a line of text that is as long as most\n", 1<<20/39)
	var to []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		to = AppendString(to[:0], text)
	}
}
