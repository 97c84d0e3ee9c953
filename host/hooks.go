package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

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

// ExecCall is an exec as a hook sees it. Policies tell it from a shell tool of the same name by ToolKind.
type ExecCall struct {
	ToolKind      string // always "code_mode_exec"
	ToolInputKind string // javascript or typescript; empty where the source is neither
	Scope         Scope
	ParentID      string
	// Input may be changed. Code and Command are two names for the source: a hook that changes one has changed both, and
	// one that it leaves blank makes the exec fail.
	Input *ExecInput
}

const execToolKind = "code_mode_exec"

// execHooks lets the hooks see and change an exec's input.
func (h *Host) execHooks(ctx context.Context, scope Scope, in *ExecInput, parentID string) error {
	if len(h.options.ExecHooks) == 0 {
		return nil
	}
	if in.Code == "" {
		in.Code = in.Command
	} else if in.Command == "" {
		in.Command = in.Code
	}
	kind := ""
	if prepared, err := h.preparer.Prepare(in.Code, transpile.Options{Language: in.Language, KeepLast: h.options.KeepLast, MaxSourceBytes: int(h.limits.MaxSourceBytes)}); err == nil {
		kind = string(prepared.Language)
	}
	for _, hook := range h.options.ExecHooks {
		code, command := in.Code, in.Command
		if err := h.execHook(ctx, hook, &ExecCall{execToolKind, kind, scope, parentID, in}); err != nil {
			return fmt.Errorf("exec was not run: %w", err)
		}
		switch {
		case in.Code != code && in.Command == command:
			in.Command = in.Code
		case in.Command != command && in.Code == code:
			in.Code = in.Command
		}
	}
	return nil
}

// execHook runs one hook. One that panics refuses the exec.
func (h *Host) execHook(ctx context.Context, hook func(context.Context, *ExecCall) error, call *ExecCall) (err error) {
	defer func() {
		if v := recover(); v != nil {
			h.log.Error().Any("panic", v).Bytes("stack", debug.Stack()).Msg("a hook panicked")
			err = errors.New("a hook of the host broke off")
		}
	}()
	return hook(ctx, call)
}
