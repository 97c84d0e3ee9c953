package catalog

import (
	"bytes"
	"encoding/json"
)

// NodeKind says what a namespace path leads to.
type NodeKind int

const (
	NodeNamespace NodeKind = iota + 1 // an object or array whose Children can be asked
	NodeTool                          // a function that calls Entry, with Input made from the arguments
	NodeLocal                         // a function that Call answers at once, without a tool
	NodeValue                         // constant JSON
)

// Node is what a namespace path such as MCP.github.createIssue leads to. A guest builds its objects from nodes, one
// property at a time.
type Node struct {
	Kind      NodeKind
	Path      string
	Array     bool            // of a NodeNamespace: it is an array, its children are 0, 1, …
	Entry     *Entry          // of a NodeTool
	Value     json.RawMessage // of a NodeValue
	Untrusted bool            // what reading or calling it gives is network content

	input func(args []json.RawMessage) (json.RawMessage, error)
	local func(args []json.RawMessage) (json.RawMessage, error)
}

// Input makes the tool's argument of the arguments that the guest's function got, each one JSON. It is called for a
// NodeTool before the call is dispatched. The error is an *Error.
func (n Node) Input(args []json.RawMessage) (json.RawMessage, error) {
	switch {
	case n.Kind != NodeTool:
		return nil, invalidInput("%s is not a tool.", n.Path)
	case n.input == nil:
		return firstArgument(args), nil
	}
	return n.input(args)
}

// Call answers a NodeLocal, such as MCP.$api. The error is an *Error.
func (n Node) Call(args []json.RawMessage) (json.RawMessage, error) {
	if n.Kind != NodeLocal || n.local == nil {
		return nil, invalidInput("%s is not a function.", n.Path)
	}
	return n.local(args)
}

// Input makes the tool's argument of the arguments that a callable (a global, a handle) got, each one JSON. Native and
// client tools take the first, {} without one; MCP tools take one object at most, get its defaults filled in, and miss
// required properties here. The error is an *Error.
func (e *Entry) Input(args []json.RawMessage) (json.RawMessage, error) {
	if e.node != nil {
		return e.node.input(args)
	}
	return firstArgument(args), nil
}

func firstArgument(args []json.RawMessage) json.RawMessage {
	if len(args) == 0 || len(bytes.TrimSpace(args[0])) == 0 {
		return json.RawMessage("{}")
	}
	return args[0]
}
