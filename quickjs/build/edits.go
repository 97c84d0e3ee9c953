package main

import (
	"fmt"
	"strings"
)

// edit replaces old, which must be there once; where after is given, the first old behind that.
type edit struct{ after, old, new string }

// editSets are made each on its own: as a whole, or not at all. The edits are anchored in the engine's source text. Where an
// anchor is not there once, which another version of the engine may bring, the engine works without the set.
var editSets = []struct {
	edits   []edit
	without string // what a guest lacks where they cannot be made
}{
	{placeEdits, "positions in errors will be less exact"},
	{classEdits, "positions in classes will be less exact"},
	{jumpEdits, "a loop that is stopped will have no exact position"},
	{mendEdits, "faults of the engine will stay"},
	{stackEdits, "errors and calls will be slower"},
	{functionEdits, "functions will be slower"},
	{promiseEdits, "promises and calls will be slower"},
	{stringEdits, "long strings will be slower"},
	{numberEdits, "numbers in JSON will be slower"},
	{objectEdits, "objects in JSON will be slower"},
}

// apply makes edits in quickjs.c. The error says which anchor is not there.
func apply(edits []edit, source string) (string, error) {
	for i, e := range edits {
		start := 0
		if e.after != "" {
			if start = strings.Index(source, e.after); start < 0 {
				return "", fmt.Errorf("edit %d: its function is not there", i+1)
			}
		} else if n := strings.Count(source, e.old); n != 1 {
			return "", fmt.Errorf("edit %d: its anchor is there %d times", i+1, n)
		}
		at := strings.Index(source[start:], e.old)
		if at < 0 {
			return "", fmt.Errorf("edit %d: its anchor is not there", i+1)
		}
		source = source[:start+at] + e.new + source[start+at+len(e.old):]
	}
	return source, nil
}
