package host

import (
	"context"
	"encoding/json"

	"codemode/catalog"
	"codemode/transpile"
)

// Hook sees nested tool calls before and after they run. Hooks run in the order of Options.Hooks before a call, and in
// the opposite order after it.
type Hook struct {
	// Before may change the call's input, or refuse the call: an error is the reason that the cell sees.
	Before func(ctx context.Context, call *NestedCall) error
	// After may change the result. It is not called for a call that was refused or failed.
	After func(ctx context.Context, call *NestedCall, result *catalog.Result) error
}

// NestedCall is a tool call of a cell.
type NestedCall struct {
	RunID string
	Scope Scope
	ID    string // unique in the host: the cell's run id and the call's number
	Entry *catalog.Entry
	Input json.RawMessage // a hook may replace it; it is checked against the tool's schema after the hooks
	// Location is where the cell asks for the call.
	Location *transpile.Location
}

// Approval is a tool's question to a person.
type Approval struct {
	Call     *NestedCall
	Question string
}
