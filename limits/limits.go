package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits is what one cell may use. The zero value of a field means its default; Clamp fills it in and moves what is out
// of range to the nearest bound. JSON names are those of Table, which also says what a breach returns.
type Limits struct {
	// Time for one exec or wait, in ms. Default 10000, 100 to 60000.
	TimeoutMs int64 `json:"timeoutMs"`
	// Linear memory that a cell may add to the engine's own, in bytes. Default 67108864, 1048576 to 1073741824.
	MemoryLimitBytes int64 `json:"memoryLimitBytes"`
	// How deep JavaScript may recurse, in bytes of the engine's stack. Default 1048576, 65536 to 1048576.
	MaxStackBytes int64 `json:"maxStackBytes"`
	// What a cell may run in its life, in WebAssembly instructions. Default 0, which does not meter; 0 to 1125899906842624.
	Fuel int64 `json:"fuel"`
	// Size of the submitted text, in bytes. Default 1048576, 1024 to 16777216.
	MaxSourceBytes int64 `json:"maxSourceBytes"`
	// What output and value or error may take together, in bytes of JSON. Default 65536, 1024 to 10485760.
	MaxOutputBytes int64 `json:"maxOutputBytes"`
	// Encoded size of a suspended cell, in bytes. Default 10485760, 1024 to 268435456.
	MaxSnapshotBytes int64 `json:"maxSnapshotBytes"`
	// Tool calls of a cell that run at once, in calls. Default 16, 1 to 128.
	MaxPendingToolCalls int64 `json:"maxPendingToolCalls"`
	// Cells of a host that are suspended at once, in cells. Default 64, 1 to 1048576.
	MaxSuspendedCells int64 `json:"maxSuspendedCells"`
	// How long a suspended cell can be resumed, in s. Default 900, 1 to 86400.
	SnapshotTTLSeconds int64 `json:"snapshotTtlSeconds"`
	// How long a cell that waits for tools keeps its instance, in ms. Default 20, 1 to 60000.
	ParkAfterMs int64 `json:"parkAfterMs"`
	// Hits of a search that names no limit, in tools. Default 8, 1 to 50.
	SearchDefaultLimit int64 `json:"searchDefaultLimit"`
	// Hits of any search, in tools. Default 50, 1 to 50.
	MaxSearchLimit int64 `json:"maxSearchLimit"`
}

// Row documents one limit.
type Row struct {
	Name    Name   // as in JSON
	Unit    string // "ms", "bytes", "calls"...
	Default int64
	Min     int64 // a smaller value becomes this one
	Max     int64 // a larger value becomes this one
	Meaning string
	Breach  string // what a cell sees that goes past it
}

// Name is the name of a limit in JSON and in Table. The field `limit` of a failed result has the shorter [Breach].
type Name string

// The limits.
const (
	Timeout        Name = "timeoutMs"
	Memory         Name = "memoryLimitBytes"
	Stack          Name = "maxStackBytes"
	Fuel           Name = "fuel"
	Source         Name = "maxSourceBytes"
	OutputBytes    Name = "maxOutputBytes"
	Snapshot       Name = "maxSnapshotBytes"
	PendingCalls   Name = "maxPendingToolCalls"
	SuspendedCells Name = "maxSuspendedCells"
	SnapshotTTL    Name = "snapshotTtlSeconds"
	ParkAfter      Name = "parkAfterMs"
	SearchDefault  Name = "searchDefaultLimit"
	SearchMax      Name = "maxSearchLimit"
)

// field gives a row's field in a Limits.
type field func(*Limits) *int64

var table = []struct {
	Row
	field field
}{
	{Row{Timeout, "ms", 10_000, 100, 60_000,
		"Time for one exec or wait, from its start, without the time in which the host asks a person.",
		"a computing cell: failed, code timeout, limit timeout. A cell that waits for tools: waiting."},
		func(l *Limits) *int64 { return &l.TimeoutMs }},
	{Row{Memory, "bytes", 64 << 20, 1 << 20, 1 << 30,
		"Linear memory that a cell may add to the engine's own (about 3 MiB).",
		"failed, code internal_error, limit memory; no handler of the cell sees it"},
		func(l *Limits) *int64 { return &l.MemoryLimitBytes }},
	{Row{Stack, "bytes", 1 << 20, 64 << 10, 1 << 20,
		"How deep JavaScript may recurse, in bytes of the engine's stack; a plain frame takes about 320.",
		"RangeError, which the cell can catch; nesting that overruns the native stack: failed, code internal_error, limit stack"},
		func(l *Limits) *int64 { return &l.MaxStackBytes }},
	{Row{Fuel, "instructions", 0, 0, 1 << 50,
		"WebAssembly instructions a cell may run in its life; 0 does not meter, which is faster.",
		"failed, code timeout, limit fuel"},
		func(l *Limits) *int64 { return &l.Fuel }},
	{Row{Source, "bytes", 1 << 20, 1 << 10, 16 << 20,
		"Size of the submitted text.",
		"failed, code invalid_input, limit source"},
		func(l *Limits) *int64 { return &l.MaxSourceBytes }},
	{Row{OutputBytes, "bytes", 64 << 10, 1 << 10, 10 << 20,
		"What a cell's output and its value or error may take together, as JSON.",
		"completed with a marker that says how much was left out; failed, code output_limit_exceeded in strict mode"},
		func(l *Limits) *int64 { return &l.MaxOutputBytes }},
	{Row{Snapshot, "bytes", 10 << 20, 1 << 10, 256 << 20,
		"Encoded size of a suspended cell.",
		"failed, code snapshot_limit_exceeded, limit snapshot"},
		func(l *Limits) *int64 { return &l.MaxSnapshotBytes }},
	{Row{PendingCalls, "calls", 16, 1, 128,
		"Tool calls of a cell that run at once; 128 more wait their turn.",
		"failed, code invalid_input, limit pendingCalls, before any call of the batch runs"},
		func(l *Limits) *int64 { return &l.MaxPendingToolCalls }},
	{Row{SuspendedCells, "cells", 64, 1, 1 << 20,
		"Cells of a host that are suspended at once.",
		"failed, code invalid_input, limit suspendedCells"},
		func(l *Limits) *int64 { return &l.MaxSuspendedCells }},
	{Row{SnapshotTTL, "s", 900, 1, 86_400,
		"How long a suspended cell can be resumed.",
		"wait: failed, code invalid_input"},
		func(l *Limits) *int64 { return &l.SnapshotTTLSeconds }},
	{Row{ParkAfter, "ms", 20, 1, 60_000,
		"How long a cell that waits for tools keeps its instance before it is parked as a snapshot.",
		"nothing: the cell goes on where it was"},
		func(l *Limits) *int64 { return &l.ParkAfterMs }},
	{Row{SearchDefault, "tools", 8, 1, 50,
		"Hits of a search that names no limit.",
		"nothing"},
		func(l *Limits) *int64 { return &l.SearchDefaultLimit }},
	{Row{SearchMax, "tools", 50, 1, 50,
		"Hits of any search; a larger limit is lowered to it.",
		"nothing"},
		func(l *Limits) *int64 { return &l.MaxSearchLimit }},
}

// Table lists every limit, in the order in which they are documented.
func Table() []Row {
	rows := make([]Row, len(table))
	for i, t := range table {
		rows[i] = t.Row
	}
	return rows
}

// Default is every limit at its default.
func Default() Limits { return Limits{}.Clamp() }

// Clamp gives zero fields their default and moves the others into their range.
func (l Limits) Clamp() Limits {
	for _, t := range table {
		v := t.field(&l)
		switch {
		case *v == 0:
			*v = t.Default
		case *v < t.Min:
			*v = t.Min
		case *v > t.Max:
			*v = t.Max
		}
	}
	l.SearchDefaultLimit = min(l.SearchDefaultLimit, l.MaxSearchLimit)
	return l
}

// Moved is a limit that Clamp moves to a bound.
type Moved struct {
	Row
	Given int64
	Used  int64 // Min or Max
}

// Moved lists the limits that Clamp moves to a bound, in the order of Table: who set them may want to know.
func (l Limits) Moved() []Moved {
	var list []Moved
	for _, t := range table {
		if v := *t.field(&l); v != 0 && (v < t.Min || v > t.Max) {
			list = append(list, Moved{t.Row, v, min(max(v, t.Min), t.Max)})
		}
	}
	return list
}

// Merge takes the fields of over that are set, and l's for the others.
func (l Limits) Merge(over Limits) Limits {
	for _, t := range table {
		if v := *t.field(&over); v != 0 {
			*t.field(&l) = v
		}
	}
	return l
}

// Set sets one limit from "name=number", the name as in JSON.
func (l *Limits) Set(assignment string) error {
	name, text, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("limits: %q is not NAME=NUMBER", assignment)
	}
	for _, t := range table {
		if string(t.Name) != name {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("limits: %s takes a whole number of %s, not %q", name, t.Unit, text)
		}
		*t.field(l) = n
		return nil
	}
	names := make([]string, len(table))
	for i, t := range table {
		names[i] = string(t.Name)
	}
	return fmt.Errorf("limits: there is no limit %q; there are %s", name, strings.Join(names, ", "))
}

// Timeout is TimeoutMs as a duration.
func (l Limits) Timeout() time.Duration { return time.Duration(l.TimeoutMs) * time.Millisecond }

// SnapshotTTL is SnapshotTTLSeconds as a duration.
func (l Limits) SnapshotTTL() time.Duration { return time.Duration(l.SnapshotTTLSeconds) * time.Second }

// ParkAfter is ParkAfterMs as a duration.
func (l Limits) ParkAfter() time.Duration { return time.Duration(l.ParkAfterMs) * time.Millisecond }

// String is the limits as JSON.
func (l Limits) String() string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // numbers always marshal
	}
	return string(text)
}

// Error says that a cell went past a limit. Errors of one limit are equal for errors.Is, whatever the numbers.
type Error struct {
	Limit Breach
	// Allowed is the limit's value, 0 where it is not known here.
	Allowed int64
	// Detail says more, for people.
	Detail string
}

// Breach is the short name of a limit in a failed result's field `limit`.
type Breach string

// The limits whose breach ends a cell.
const (
	BreachTimeout        Breach = "timeout"
	BreachMemory         Breach = "memory"
	BreachStack          Breach = "stack"
	BreachFuel           Breach = "fuel"
	BreachSource         Breach = "source"
	BreachOutput         Breach = "output"
	BreachSnapshot       Breach = "snapshot"
	BreachPendingCalls   Breach = "pendingCalls"
	BreachSuspendedCells Breach = "suspendedCells"
)

// The errors to compare with errors.Is.
var (
	ErrTimeout        error = &Error{Limit: BreachTimeout}
	ErrMemory         error = &Error{Limit: BreachMemory}
	ErrStack          error = &Error{Limit: BreachStack}
	ErrFuel           error = &Error{Limit: BreachFuel}
	ErrSource         error = &Error{Limit: BreachSource}
	ErrOutput         error = &Error{Limit: BreachOutput}
	ErrSnapshot       error = &Error{Limit: BreachSnapshot}
	ErrPendingCalls   error = &Error{Limit: BreachPendingCalls}
	ErrSuspendedCells error = &Error{Limit: BreachSuspendedCells}
)

func (e *Error) Error() string {
	text := "limits: " + string(e.Limit) + " limit reached"
	if e.Allowed > 0 {
		text = fmt.Sprintf("limits: %s limit of %d reached", e.Limit, e.Allowed)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is matches another Error of the same limit; a timeout is also a context.DeadlineExceeded.
func (e *Error) Is(target error) bool {
	if other, ok := target.(*Error); ok {
		return other.Limit == e.Limit
	}
	return e.Limit == BreachTimeout && target == context.DeadlineExceeded
}
