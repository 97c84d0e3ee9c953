package host

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"codemode/transpile"
)

// Record is a nested call that has ended, for a trajectory: for people, not for the model's context.
type Record struct {
	RunID     string              `json:"runId"`
	Scope     Scope               `json:"scope"`
	ParentID  string              `json:"parentToolCallId,omitempty"` // the id of the exec that the cell is
	CallID    string              `json:"toolCallId"`
	Tool      string              `json:"toolName"`
	Order     int                 `json:"startOrder"` // of its start in the cell, from 1
	Input     json.RawMessage     `json:"input,omitempty"`
	Result    json.RawMessage     `json:"result,omitempty"`
	Error     string              `json:"error,omitempty"`
	IsError   bool                `json:"isError"`
	StartedAt time.Time           `json:"startedAt"`
	EndedAt   time.Time           `json:"endedAt"`
	Location  *transpile.Location `json:"location,omitempty"`
}

// Larger inputs and results are left out of a Record.
const (
	maxRecordInput  = 8 << 10
	maxRecordResult = 32 << 10
)

var omitted = json.RawMessage(`"[omitted: larger than the display limit]"`)

func bounded(text json.RawMessage, most int) json.RawMessage {
	if len(text) > most {
		return omitted
	}
	return text
}

// WriteTrajectory makes a function for Options.Trajectory that writes each record as a line of JSON. It is safe for
// concurrent use. The first error of w goes to failed, where that is not nil, and ends the writing.
func WriteTrajectory(w io.Writer, failed func(error)) func(Record) {
	var mu sync.Mutex
	var broken bool
	return func(r Record) {
		text, err := marshal(r)
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return
		}
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		if err != nil {
			broken = true
			if failed != nil {
				failed(err)
			}
		}
	}
}
