package limits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsAndClamps(t *testing.T) {
	for _, row := range Table() {
		if row.Min > row.Default || row.Default > row.Max {
			t.Errorf("%s: default %d is outside %d to %d", row.Name, row.Default, row.Min, row.Max)
		}
		if row.Meaning == "" || row.Breach == "" || row.Unit == "" {
			t.Errorf("%s is not documented", row.Name)
		}
		for given, want := range map[int64]int64{0: row.Default, row.Min: row.Min, row.Max: row.Max, row.Max + 1: row.Max, -1: row.Min} {
			if given == 0 && row.Min == 0 || given == row.Min && row.Min == 0 {
				continue
			}
			var l Limits
			if given >= 0 {
				if err := l.Set(fmt.Sprintf("%s=%d", row.Name, given)); err != nil {
					t.Fatal(err)
				}
			} else {
				json.Unmarshal(fmt.Appendf(nil, `{%q: %d}`, row.Name, given), &l)
			}
			got := read(t, l.Clamp(), row.Name)
			if got != want {
				t.Errorf("%s = %d becomes %d, want %d", row.Name, given, got, want)
			}
		}
	}
	want := `{"timeoutMs":10000,"memoryLimitBytes":67108864,"maxStackBytes":1048576,"fuel":0,"maxSourceBytes":1048576,"maxOutputBytes":65536,"maxSnapshotBytes":10485760,"maxPendingToolCalls":16,"maxSuspendedCells":64,"snapshotTtlSeconds":900,"parkAfterMs":20,"searchDefaultLimit":8,"maxSearchLimit":50}`
	if diff := cmp.Diff(want, Default().String()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// The comments of the fields say the same as the table.
func TestFieldsAreDocumentedAsInTheTable(t *testing.T) {
	text, err := os.ReadFile("limits.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Table() {
		comment := regexp.MustCompile(`(?m)^\t// (.*)\n\t\w+ +int64 \x60json:"` + string(row.Name) + `"`).FindStringSubmatch(string(text))
		if comment == nil {
			t.Errorf("%s has no comment of one line", row.Name)
			continue
		}
		for _, want := range []string{row.Unit, fmt.Sprintf("Default %d", row.Default), fmt.Sprintf("%d to %d.", row.Min, row.Max)} {
			if !strings.Contains(comment[1], want) {
				t.Errorf("the comment of %s lacks %q: %s", row.Name, want, comment[1])
			}
		}
	}
}

func TestMoved(t *testing.T) {
	var got []string
	for _, m := range (Limits{TimeoutMs: 5, MemoryLimitBytes: 1 << 20, MaxSearchLimit: 51}).Moved() {
		got = append(got, fmt.Sprintf("%s %d %d", m.Name, m.Given, m.Used))
	}
	if diff := cmp.Diff([]string{"timeoutMs 5 100", "maxSearchLimit 51 50"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func read(t *testing.T, l Limits, name Name) int64 {
	t.Helper()
	var m map[Name]int64
	if err := json.Unmarshal([]byte(l.String()), &m); err != nil {
		t.Fatal(err)
	}
	v, ok := m[name]
	if !ok {
		t.Fatalf("%s is not in the JSON", name)
	}
	return v
}

func TestSearchDefaultIsAtMostTheMaximum(t *testing.T) {
	if got := (Limits{MaxSearchLimit: 3}).Clamp().SearchDefaultLimit; got != 3 {
		t.Errorf("%d", got)
	}
}

func TestMerge(t *testing.T) {
	got := Default().Merge(Limits{TimeoutMs: 5})
	if got.TimeoutMs != 5 || got.MaxOutputBytes != Default().MaxOutputBytes {
		t.Errorf("%v", got)
	}
}

func TestSetRefuses(t *testing.T) {
	for text, want := range map[string]string{"timeoutMs": "not NAME=NUMBER", "nope=1": "no limit", "timeoutMs=x": "whole number of ms", "timeoutMs=-1": "whole number"} {
		var l Limits
		if err := l.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestErrors(t *testing.T) {
	timeout := error(&Error{Limit: BreachTimeout, Allowed: 5})
	if !errors.Is(timeout, ErrTimeout) || !errors.Is(timeout, context.DeadlineExceeded) || errors.Is(timeout, ErrMemory) {
		t.Error("a timeout is a timeout and a passed deadline, and nothing else")
	}
	memory := error(&Error{Limit: BreachMemory})
	if !errors.Is(memory, ErrMemory) || errors.Is(memory, context.DeadlineExceeded) {
		t.Error("memory")
	}
}

func TestClockTicksOnlyWhileSomethingRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ticks atomic.Int64
		c := NewClock(func() { ticks.Add(1) })
		c.Wait() // never started: nothing to wait for
		c.Enter()
		c.Enter()
		time.Sleep(10*Tick + Tick/2)
		if n := ticks.Load(); n != 10 {
			t.Errorf("%d ticks", n)
		}
		c.Leave()
		time.Sleep(Tick)
		if n := ticks.Load(); n != 11 {
			t.Errorf("one of two left: %d ticks", n)
		}
		c.Leave()
		c.Wait() // synctest fails the test where the goroutine is left
		if n := ticks.Load(); n != 11 {
			t.Errorf("after the last left: %d ticks", n)
		}
		c.Enter()
		time.Sleep(2*Tick + Tick/2)
		c.Leave()
		c.Wait()
		if n := ticks.Load(); n != 13 {
			t.Errorf("started again: %d ticks", n)
		}
	})
}
