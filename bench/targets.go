package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Target is a row of the performance targets, judged.
type Target struct {
	ID       string `json:"id"`
	What     string `json:"what"`
	Goal     string `json:"goal"`
	Measured string `json:"measured"`
	Verdict  string `json:"verdict"`
	// Why says how far off a missed target is and what limits it, or why one was not measured.
	Why string `json:"why,omitempty"`
}

// The verdicts. A target is met when the median meets it.
const (
	Met         = "met"
	Missed      = "missed"
	NotMeasured = "not measured"
)

// check is one condition of a target: a measured value that must be at most, or at least, a bound.
type check struct {
	value   func(*Result) (float64, bool)
	atLeast bool
	bound   float64
	show    func(float64) string
	label   string
}

func caseP50(id string) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		c, ok := r.find(id)
		if !ok {
			return 0, false
		}
		return c.P50, true
	}
}

func ratioP50(id string) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		c, ok := r.ratio(id)
		if !ok {
			return 0, false
		}
		return c.P50, true
	}
}

// difference is what one case takes more than another.
func difference(of, to string) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		a, aok := r.find(of)
		b, bok := r.find(to)
		if !aok || !bok {
			return 0, false
		}
		return a.P50 - b.P50, true
	}
}

// fall is the smallest step in throughput from one number of goroutines to the next: less than 1 is a loss. A step
// within the intervals of both is no fall.
func fall(work string) func(*Result) (float64, bool) {
	return func(r *Result) (float64, bool) {
		for _, s := range r.Suites {
			c := series(s, work, "processors/"+work+"/", strconv.Atoi)
			if c == nil {
				continue
			}
			least := math.Inf(1)
			for i := 1; i < len(c.points); i++ {
				step := c.points[i].y / c.points[i-1].y
				if c.points[i].high >= c.points[i-1].low {
					step = max(step, 1) // the intervals overlap: that is no fall
				}
				least = min(least, step)
			}
			return least, true
		}
		return 0, false
	}
}

func showTimes(v float64) string   { return fmt.Sprintf("%.3gx", v) }
func showFactor(v float64) string  { return fmt.Sprintf("1/%.0f", v) }
func showNs(v float64) string      { return duration(v) }
func showBytes(v float64) string   { return fmt.Sprintf("%.0f B", v) }
func showPercent(v float64) string { return fmt.Sprintf("%.2f", v) }

type targetRow struct {
	id, what, goal string
	checks         []check
}

// limiting is what most of the time or memory of a row goes to, as profiles show it, for where its target is missed.
var limiting = map[string]string{
	"P2": "a third is evaluating the cell and naming its tool, a quarter finding and packing what differs from the image, a fifth waking another processor for the tool; the rest is resetting the instance and the host's records",
	"P3": "half is the engine running the two answers, a third unpacking the snapshot into an instance and resetting that",
	"P6": "half is the engine: a call, its promise and an await are 24,000 WebAssembly instructions",
	"P7": "two fifths are the engine (26,000 WebAssembly instructions for each call, in none of whose parts much stands out), a fifth is the tool with encoding/json, an eighth waking processors at the start and the end of a cell that makes only 64 calls, a twelfth the collector",
	"P8": "caches and the collector: cells in two separate processes gain 1.9 times, and the loop writes no memory; waiting for locks is below 0.1 % (mutex profile)",
	"P9": "a Go tool under way is a goroutine, whose stack is 8 KiB once encoding/json has decoded its argument; the cell itself is what the first figure says",
}

var targetRows = []targetRow{
	{"P1", "return 1+2 through host.Exec, every default limit on", "≤ 1/200 of OpenClaw's executor; ≤ 1.5x quickjs alone", []check{
		{ratioP50("start/openclaw/codemode"), true, 200, showFactor, "of OpenClaw"},
		{ratioP50("start/host/quickjs"), false, 1.5, showTimes, "quickjs alone"},
	}},
	{"P2", "exec until waiting", "≤ 1/150 of OpenClaw's", []check{
		{ratioP50("suspend/exec/openclaw/codemode"), true, 150, showFactor, "of OpenClaw"},
	}},
	{"P3", "wait until completed", "≤ 1/150 of OpenClaw's", []check{
		{ratioP50("suspend/wait/openclaw/codemode"), true, 150, showFactor, "of OpenClaw"},
	}},
	{"P4", "encoded snapshot of a small cell with one pending call", "≤ 4,096 B, with 10,000 tools too", []check{
		{caseP50("snapshot/small/size/host"), false, 4096, showBytes, "20 tools"},
		{caseP50("snapshot/small-10000-tools/size/host"), false, 4096, showBytes, "10,000 tools"},
	}},
	{"P5", "P1 with 10,000 tools against 10", "≤ 1.2x", []check{
		{ratioP50("scale/cell/10000/10"), false, 1.2, showTimes, ""},
	}},
	{"P6", "one awaited call of an in-process Go tool, in a loop of 1,000", "≤ 10 µs", []check{
		{caseP50("bridge/calls/sequential"), false, 10_000, showNs, ""},
	}},
	{"P7", "64 calls in one Promise.all, each", "≤ 6 µs", []check{
		{caseP50("bridge/calls/parallel"), false, 6_000, showNs, ""},
	}},
	{"P8", "cells per second on all processors against one", "≥ 0.9 of what an independent loop gains, never falling", []check{
		{ratioP50("processors/gain/cells"), true, 0.9, showPercent, "of the loop's gain"},
		{fall("cells"), true, 1, showPercent, "the least step as goroutines are added"},
	}},
	{"P9", "resident memory of one suspended small cell, over 100,000", "≤ 8 KiB", []check{
		{caseP50("suspended/yield/resident"), false, 8192, showBytes, "nothing under way"},
		{caseP50("suspended/call/resident"), false, 8192, showBytes, "a Go tool under way"},
	}},
	{"P10", "process start to first result", "≤ 60 ms with a warm compile cache, ≤ 3 s without", []check{
		{caseP50("start/process/warm"), false, 60e6, showNs, "warm"},
		{caseP50("start/process/cold"), false, 3e9, showNs, "cold"},
	}},
	{"P11", "JavaScript benchmark, our guest against quickjs-wasi's binary, same wasmtime settings", "≤ 0.70x", []check{
		{ratioP50("compute/codemode-epoch/quickjs-wasi-wasmtime"), false, 0.70, showTimes, ""},
	}},
	{"P12", "50 lines of TypeScript against the same in JavaScript", "≤ +250 µs the first time, ≤ +10 µs when seen before", []check{
		{difference("start/language/typescript-new", "start/language/javascript-new"), false, 250_000, showNs, "first time"},
		{difference("start/language/typescript-seen", "start/language/javascript-seen"), false, 10_000, showNs, "seen before"},
	}},
	{"P13", "metering against none, JavaScript benchmark", "stated for each mode, none above 1.6x", []check{
		{ratioP50("compute/epoch/none"), false, 1.6, showTimes, "epoch (default)"},
		{ratioP50("compute/epoch+fuel/none"), false, 1.6, showTimes, "epoch and fuel"},
		{ratioP50("compute/fuel/none"), false, 1.6, showTimes, "fuel"},
	}},
}

// judge compares a result with the targets.
func judge(r *Result) []Target {
	targets := []Target{}
	for _, row := range targetRows {
		t := Target{ID: row.id, What: row.what, Goal: row.goal, Verdict: NotMeasured}
		var measured, why []string
		for _, c := range row.checks {
			v, ok := c.value(r)
			if !ok {
				why = append(why, strings.TrimSpace(c.label+" was not measured"))
				continue
			}
			measured = append(measured, strings.TrimSpace(c.show(v)+" "+c.label))
			good := v <= c.bound
			if c.atLeast {
				good = v >= c.bound
			}
			switch {
			case !good:
				t.Verdict = Missed
				why = append(why, strings.TrimSpace(fmt.Sprintf("%s where %s is wanted: off by %s", strings.TrimSpace(c.show(v)+" "+c.label), c.show(c.bound), offBy(v, c))))
			case t.Verdict == NotMeasured:
				t.Verdict = Met
			}
		}
		if t.Verdict == Missed && limiting[row.id] != "" {
			why = append(why, "what limits it: "+limiting[row.id])
		}
		t.Measured, t.Why = strings.Join(measured, "; "), strings.Join(why, "; ")
		targets = append(targets, t)
	}
	return targets
}

func offBy(v float64, c check) string {
	off := v / c.bound
	if c.atLeast {
		off = c.bound / v
	}
	return fmt.Sprintf("a factor of %.2f", off)
}

// duration shows nanoseconds in the unit that fits.
func duration(ns float64) string {
	d := math.Abs(ns)
	switch {
	case d < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case d < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case d < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/float64(time.Second))
}
