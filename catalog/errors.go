package catalog

import (
	"encoding/json"
	"fmt"
)

// The codes that a guest sees on a rejected call. Tools may use codes of their own.
const (
	CodeInputContract   = "input_contract"   // the argument does not fit the input schema; the tool did not run
	CodeOutputContract  = "output_contract"  // the value does not fit the output schema; the tool did run
	CodeInvalidContract = "invalid_contract" // a schema of the tool is unusable; the tool did not run
	CodeInvalidInput    = "invalid_input"    // the request itself is wrong: unknown tool, bad query, bad limit
	CodeToolError       = "tool_error"       // the tool failed
)

// Error is a failure that a guest may read.
type Error struct {
	Code    string          // one of the codes above or one of the tool's own
	Message string          // for the model; no internals
	Data    json.RawMessage // optional JSON that the guest finds on the error
	Nearest []string        // names that may have been meant, best first
	Err     error           // what caused it, for the host; never shown to the guest
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Is matches another *Error with the same code and no message, so that
// errors.Is(err, &catalog.Error{Code: catalog.CodeInputContract}) asks for a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// PanicError is the cause of a tool_error when the tool panicked. The host logs it; the guest never sees it.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("catalog: tool panicked: %v", e.Value) }

// Problem says what is wrong with one tool of a registration.
type Problem struct {
	Owner  string // the tool's owner
	Tool   string // its name, quoted and cut when it is not fit to print
	Index  int    // its position in the registration, from 0
	Reason string // what is wrong, a sentence without the tool's name
	// Kept is true when the tool was registered all the same, with the part in question left out.
	Kept bool
}

func (p Problem) String() string {
	verdict := "left out"
	if p.Kept {
		verdict = "kept"
	}
	return fmt.Sprintf("catalog: tool %s of %s %s: %s", p.Tool, p.Owner, verdict, p.Reason)
}

func invalidInput(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidInput, Message: fmt.Sprintf(format, args...)}
}
