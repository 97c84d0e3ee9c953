package limits

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func lines(f Fitted) []string {
	out := []string{}
	for _, o := range f.Output {
		out = append(out, string(o))
	}
	return out
}

func TestOutputIsGivenOutOnce(t *testing.T) {
	o := NewOutput(1024)
	o.Text("a <b>")
	o.JSON(json.RawMessage(`{"x":1}`))
	f := o.Fit(json.RawMessage(`3`), 1)
	if diff := cmp.Diff([]string{`{"type":"text","text":"a <b>"}`, `{"type":"json","value":{"x":1}}`}, lines(f)); diff != "" || string(f.Value) != "3" || f.Truncated {
		t.Errorf("%+v (-want +got):\n%s", f, diff)
	}
	o.Text("c")
	if diff := cmp.Diff([]string{`{"type":"text","text":"c"}`}, lines(o.Fit(nil, 0))); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
	if got := o.Fit(nil, 0); len(got.Output) != 0 || got.Output == nil {
		t.Errorf("third: %v", got)
	}
}

func size(t *testing.T, f Fitted) int {
	t.Helper()
	text, err := json.Marshal(f.Output)
	if err != nil {
		t.Fatal(err)
	}
	return len(text) + len(f.Value)
}

func TestFloodsAreCountedAndCut(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 5_000_000), strings.Repeat("日本", 500_000), strings.Repeat("\x00\"", 100_000)} {
		o := NewOutput(2048)
		for range 3 {
			o.Text(text)
		}
		f := o.Fit(json.RawMessage(`{"v":1}`), 7)
		if !f.Truncated || len(f.Output) != 1 || string(f.Value) != `{"v":1}` {
			t.Fatalf("%.200s", lines(f))
		}
		var m Marker
		if err := json.Unmarshal(f.Output[0], &m); err != nil {
			t.Fatal(err)
		}
		if n := size(t, f); n > 2048 {
			t.Errorf("%d bytes", n)
		}
		if !m.Truncated || m.OmittedBytes < int64(2*len(text)) || !strings.HasPrefix(m.Prefix, `[{"type":"text","text":"`) || !utf8.ValidString(m.Prefix) {
			t.Errorf("%+.300v", m)
		}
		if again := o.Fit(nil, 0); len(again.Output) != 0 {
			t.Errorf("the same marker again: %.100s", lines(again))
		}
	}
}

func TestAValueThatDoesNotFitIsAMarker(t *testing.T) {
	o := NewOutput(1024)
	o.Text("kept")
	value, _ := json.Marshal(strings.Repeat("y", 10_000))
	f := o.Fit(value, int64(len(value)))
	var m Marker
	if err := json.Unmarshal(f.Value, &m); err != nil {
		t.Fatal(err)
	}
	if n := size(t, f); n > 1024 || lines(f)[0] != `{"type":"text","text":"kept"}` || !strings.HasPrefix(m.Prefix, `"yyy`) {
		t.Errorf("%d bytes, %v, %+.100v", n, lines(f), m)
	}
	if m.OmittedBytes != int64(len(value)-len(m.Prefix)) {
		t.Errorf("omitted %d of %d, shown %d", m.OmittedBytes, len(value), len(m.Prefix))
	}
}

func TestErrorsShareTheBudget(t *testing.T) {
	o := NewOutput(1024)
	if got, output := o.FitFailure("short"); got != "short" || output == nil || len(output) > 0 {
		t.Error(got, output)
	}
	long := strings.Repeat("é\x00", 100_000)
	// Output that would fit alone, and one that would not.
	for _, emitted := range []int{0, 100, 500, 900, 5000} {
		o := NewOutput(1024)
		o.Text(strings.Repeat("x", emitted))
		got, output := o.FitFailure(long)
		quoted, _ := json.Marshal(got)
		if n := len(quoted) + size(t, Fitted{Output: output}); n > 1024 || len(output) != 1 {
			t.Errorf("%d emitted: %d bytes, %s", emitted, n, output)
		}
		if !strings.HasSuffix(got, ErrorSuffix) || len(quoted) < 500 || !utf8.ValidString(got) {
			t.Errorf("%d emitted: %d bytes: %.50q...%.30q", emitted, len(quoted), got, got[max(0, len(got)-30):])
		}
	}
	o.Text(strings.Repeat("x", 900))
	o.Fit(nil, 0)
	if got, output := o.FitFailure(long); !strings.HasSuffix(got, ErrorSuffix) || len(output) > 0 {
		t.Errorf("what was given out before: %.50q %s", got, output)
	}
}

// What a tool says of a failure need not be text, and a cut must not look at it again and again.
func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"}, {"short", 4, "shor"}, {"é", 1, ""}, {"a😀", 4, "a"}, {"a😀", 5, "a😀"}, {"a\xffbc", 3, "a\xffb"}, {"x", 0, ""},
	} {
		if got := Cut(test.text, test.most); got != test.want {
			t.Errorf("%q to %d bytes: %q, want %q", test.text, test.most, got, test.want)
		}
	}
	bad := strings.Repeat("a", 4<<20) + "\xff" + strings.Repeat("a", 4<<20)
	if n := len(Cut(bad, len(bad)-1)); n != len(bad)-1 {
		t.Errorf("%d bytes of %d are left", n, len(bad))
	}
}

func TestOutputSurvivesAStore(t *testing.T) {
	o := NewOutput(1024)
	o.Text("a")
	o.Fit(nil, 0)
	o.Text("b")
	text, err := json.Marshal(o.State())
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	again := RestoreOutput(1024, s)
	if diff := cmp.Diff([]string{`{"type":"text","text":"b"}`}, lines(again.Fit(nil, 0))); diff != "" || again.Bytes() != o.Bytes() {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add(uint16(1024), "text", `{"a":1}`, uint8(3))
	f.Add(uint16(2000), "é\x00\"", `"é"`, uint8(200))
	f.Fuzz(func(t *testing.T, budget uint16, text, value string, times uint8) {
		if !json.Valid([]byte(value)) || !utf8.ValidString(value) || !utf8.ValidString(text) {
			return
		}
		b := max(1024, int64(budget))
		o := NewOutput(b)
		for range times {
			o.Text(text)
			o.JSON(json.RawMessage(value))
		}
		fitted := o.Fit(json.RawMessage(value), int64(len(value)))
		for _, out := range append(fitted.Output, fitted.Value) {
			if !json.Valid(out) {
				t.Fatalf("not JSON: %s", out)
			}
		}
		total := len(fitted.Value) + 2
		for _, out := range fitted.Output {
			total += len(out) + 1
		}
		if int64(total) > b+1 {
			t.Fatalf("%d bytes for a budget of %d", total, b)
		}
	})
}
