package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codemode/limits"
)

// On a terminal no line of the limits is wider than it, and nothing of the table is missing.
func TestLimitsFitATerminal(t *testing.T) {
	var b strings.Builder
	printLimits(&b, 80)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	words := strings.Join(strings.Fields(b.String()), " ")
	for _, r := range limits.Table() {
		if !strings.Contains(words, r.Meaning+" A breach: "+r.Breach) {
			t.Errorf("%s is not all there", r.Name)
		}
	}
}

func TestShortNumbers(t *testing.T) {
	for n, want := range map[int64]string{5: "5", 1024: "1KiB", 1 << 20: "1MiB", 1<<20 + 1: "1048577", 3 << 30: "3GiB", 1 << 40: "1024GiB"} {
		if got := shortBytes(n); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{5 * time.Hour: "5h", time.Minute: "1m", 90 * time.Second: "1m30s", 100 * time.Millisecond: "100ms", 10 * time.Second: "10s"} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
