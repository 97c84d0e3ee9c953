package host

import (
	"bytes"
	"encoding/json"

	"codemode/internal/jsontext"
	"codemode/transpile"
)

// Status says how an exec or a wait ended.
type Status string

// The statuses.
const (
	Completed Status = "completed" // Value is set
	Waiting   Status = "waiting"   // RunID, Reason and PendingToolCalls are set: call Wait
	Failed    Status = "failed"    // Code, FailurePhase and Error are set
)

// Code says what kind of failure it was.
type Code string

// The codes.
const (
	InvalidInput          Code = "invalid_input"           // the arguments or the source; an unknown or foreign run id; a limit on calls
	RuntimeUnavailable    Code = "runtime_unavailable"     // no guest, or the host is closed
	Aborted               Code = "aborted"                 // the caller, or the end of the session, cancelled it
	TimedOut              Code = "timeout"                 // the cell computed past its deadline or its fuel
	OutputLimitExceeded   Code = "output_limit_exceeded"   // strict mode only
	SnapshotLimitExceeded Code = "snapshot_limit_exceeded" // the cell could not be suspended
	InternalError         Code = "internal_error"          // the cell threw, ran out of memory or stack, or can never settle
)

// Phase says where a failure happened.
type Phase string

// The phases. Once a request of the cell was dispatched, every later failure is PhaseBridge.
const (
	PhaseInput  Phase = "input"
	PhaseGuest  Phase = "guest"
	PhaseHost   Phase = "host"
	PhaseBridge Phase = "bridge"
)

// Reason says why a result is waiting.
type Reason string

// The reasons.
const (
	PendingTools Reason = "pending_tools"
	Yielded      Reason = "yield" // every pending request is a yield
)

// PendingCall is a request of a waiting cell that has no answer yet.
type PendingCall struct {
	ID        string `json:"id"` // "bridge:<method>:<n>", the same in every result of the cell
	Method    string `json:"method"`
	Tool      string `json:"tool,omitempty"` // its callable name
	ElapsedMs int64  `json:"elapsedMs"`
}

// UnknownEffect is a call that was under way when its cell failed: it may have done its work, or part of it.
type UnknownEffect struct {
	ID       string              `json:"id"`
	Tool     string              `json:"tool"`
	Location *transpile.Location `json:"location,omitempty"`
}

// Telemetry counts what was done through a catalog. The counts belong to the catalog (counterScope), not to one cell.
type Telemetry struct {
	CatalogSize   int            `json:"catalogSize"`
	Sources       map[string]int `json:"sources"`
	CounterScope  string         `json:"counterScope"`
	SearchCount   int64          `json:"searchCount"`
	DescribeCount int64          `json:"describeCount"`
	CallCount     int64          `json:"callCount"`
	VisibleTools  []string       `json:"visibleTools"`
	// Cell is about this cell alone.
	Cell CellTelemetry `json:"cell"`
}

// CellTelemetry is what one cell used, in its whole life.
type CellTelemetry struct {
	VMMicros      int64                `json:"vmMicros"`                // microseconds in the engine
	MemoryBytes   int                  `json:"memoryBytes"`             // linear memory that it added, at its peak
	FuelUsed      int64                `json:"fuelUsed,omitempty"`      // instructions, where fuel is metered
	SnapshotBytes int                  `json:"snapshotBytes,omitempty"` // of its last suspension
	Tools         map[string]ToolUsage `json:"tools,omitempty"`         // by callable name
}

// ToolUsage counts the calls of one tool by one cell that have ended.
type ToolUsage struct {
	Calls  int   `json:"calls"`
	Errors int   `json:"errors,omitempty"`
	Micros int64 `json:"micros"` // microseconds in all
}

// Result is what exec and wait give back. Which fields count depends on Status. It marshals with the metadata first and
// output and value last, so that a reader who sees only the start sees what happened.
type Result struct {
	Status   Status
	Language transpile.Language // what the source was taken for; empty where it was refused before that was known
	Notes    []string           // liberties taken with the source

	Value json.RawMessage // Completed

	RunID            string // Waiting
	Reason           Reason
	PendingToolCalls []PendingCall

	Code                  Code // Failed
	FailurePhase          Phase
	BridgeDispatchStarted bool
	Limit                 string              // the limit that was breached, where one was
	Location              *transpile.Location // where in the submitted text
	UnknownEffects        []UnknownEffect
	Error                 string

	ReplaySafe bool
	Telemetry  Telemetry
	Output     []json.RawMessage // entries {type: "text", text} and {type: "json", value}, or one limits.Marker
	Untrusted  bool              // network content was seen by the cell: treat the text as data, not as instructions
	Terminate  bool              // every nested call asked to end the agent's turn
}

// MarshalJSON writes the fields that the status has, in a fixed order.
func (r *Result) MarshalJSON() ([]byte, error) {
	w := fieldWriter{}
	w.put("status", r.Status)
	switch r.Status {
	case Waiting:
		w.put("runId", r.RunID)
		w.put("reason", r.Reason)
		w.put("pendingToolCalls", r.PendingToolCalls)
	case Failed:
		w.put("code", r.Code)
		w.put("failurePhase", r.FailurePhase)
		w.put("bridgeDispatchStarted", r.BridgeDispatchStarted)
		if r.Limit != "" {
			w.put("limit", r.Limit)
		}
		if r.Location != nil {
			w.put("location", r.Location)
		}
		if len(r.UnknownEffects) > 0 {
			w.put("unknownEffects", r.UnknownEffects)
		}
	}
	if r.Language != "" {
		w.put("language", r.Language)
	}
	if len(r.Notes) > 0 {
		w.put("notes", r.Notes)
	}
	w.put("replaySafe", r.ReplaySafe)
	if r.Terminate {
		w.put("terminate", true)
	}
	w.put("telemetry", r.Telemetry)
	output := r.Output
	if output == nil {
		output = []json.RawMessage{}
	}
	w.put("output", output)
	switch r.Status {
	case Completed:
		value := r.Value
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		w.put("value", value)
	case Failed:
		w.put("error", r.Error)
	}
	return w.end()
}

// fieldWriter writes a JSON object field by field.
type fieldWriter struct {
	buffer bytes.Buffer
	err    error
}

func (w *fieldWriter) put(name string, value any) {
	text, err := marshal(value)
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.buffer.Len() > 0 {
		w.buffer.WriteByte(',')
	} else {
		w.buffer.WriteByte('{')
	}
	w.buffer.WriteByte('"')
	w.buffer.WriteString(name)
	w.buffer.WriteString(`":`)
	w.buffer.Write(text)
}

func (w *fieldWriter) end() ([]byte, error) {
	w.buffer.WriteByte('}')
	return w.buffer.Bytes(), w.err
}

// marshal is jsontext.Marshal, which leaves raw JSON as it is.
func marshal(value any) ([]byte, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	return jsontext.Marshal(value)
}
