package catalog

import (
	"context"
	"encoding/json"

	"codemode/internal/jsontext"
)

// Source says where a tool comes from. It is the first part of a tool's id and decides how far its texts are trusted.
type Source string

const (
	// SourceHost marks tools of the embedding program: Go functions, commands, plugins. Their names, descriptions and
	// schemas are trusted. [Options.HostLabel] changes how this source is spelled in ids and metadata.
	SourceHost Source = "host"
	// SourceMCP marks tools of MCP servers. They are found by search and reached through the MCP namespace only.
	SourceMCP Source = "mcp"
	// SourceClient marks tools that a client of the agent brought along. They are callable like host tools, but their
	// texts are not trusted.
	SourceClient Source = "client"
)

// Tool is one tool as its owner registers it. The catalog copies it; later changes to the value are not seen.
type Tool struct {
	// Name is the tool's own name, 1 to 256 bytes of UTF-8 without control characters. It need not be an identifier.
	Name string
	// Label is a short title for people. Default: Name.
	Label string
	// Description says what the tool does, at most 64 KiB.
	Description string
	// Owner is a plugin id, "core", or the safe name of an MCP server. It must not contain a colon. Default: "core",
	// or "client" for client tools.
	Owner string
	// Source defaults to [SourceHost].
	Source Source
	// InputSchema is the JSON Schema of the argument, an object schema. Empty means any object.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of the value. Empty means that nothing is promised.
	OutputSchema json.RawMessage
	// Sequential tools never run at the same time as another sequential tool in the same Lane of the same catalog.
	Sequential bool
	// Lane groups sequential tools: those with the same lane wait for one another. Default: one lane for all.
	Lane string
	// ReplaySafe tools may be called by cells that promise to be restartable.
	ReplaySafe bool
	// DirectOnly tools stay visible to the model beside exec and wait and never enter the catalog's views.
	DirectOnly bool
	// Untrusted says that what the tool returns is network content.
	Untrusted bool
	// MCP is set for tools with [SourceMCP] and says which operation of which server this is.
	MCP *MCPTool
	// Run does the work. It is called in a goroutine of the caller, possibly many times at once.
	Run RunFunc

	// invalid is why a constructor such as Func could not make a tool. Add reports it.
	invalid error
}

// RunFunc is what a tool does. The result's value is JSON; an error that is or wraps an [*Error] keeps its code and
// data on the way to the guest, every other error becomes a tool_error with its message.
type RunFunc func(ctx context.Context, call *Call) (*Result, error)

// Operation is what an MCP entry does on its server.
type Operation string

const (
	OpTool          Operation = "tool"
	OpResourcesList Operation = "resources_list"
	OpResourcesRead Operation = "resources_read"
	OpPromptsList   Operation = "prompts_list"
	OpPromptsGet    Operation = "prompts_get"
)

// MCPTool places a tool in the MCP namespace.
type MCPTool struct {
	Server     string    // safe, unique server name; the entry's owner unless that is set
	ServerName string    // the name as the configuration spells it. Default: Server
	Tool       string    // the tool's original name on the server
	Operation  Operation // default: OpTool
}

// Call is what a tool sees of one call.
type Call struct {
	ID       string          // unique within the cell, for logs and the trajectory
	ParentID string          // the id of the exec that made the call
	Session  string          // the session that the cell belongs to
	AgentRun string          // the agent run that the cell belongs to
	Tool     *Entry          // the entry that was called; Entry.Run fills it in when it is nil
	Input    json.RawMessage // the argument, a JSON object

	// AwaitApproval asks a person and returns nil when they agree. The cell's deadline stops while it waits. It is nil
	// when nobody can be asked.
	AwaitApproval func(ctx context.Context, question string) error
	// Progress reports how far the tool is; value is any JSON. It is nil when nobody listens.
	Progress func(message string, value json.RawMessage)
}

// Result is what a tool gives back.
type Result struct {
	// Value is the tool's value as JSON: what f(input), tools.f(input) and tools.callValue resolve to. Empty is null.
	Value json.RawMessage
	// Content is what a model would read instead of the value, an array of MCP content blocks. Optional; tools.call
	// shows it in its envelope.
	Content json.RawMessage
	// IsError says that the value describes a failure. It still resolves, and no output contract is applied.
	IsError bool
	// Terminate asks to end the agent's turn when every call of a cell asked for it.
	Terminate bool
	// Blocked is the reason why the call was refused before the tool ran. Empty when it ran.
	Blocked string
	// Untrusted marks this one result as network content, beside [Tool.Untrusted].
	Untrusted bool
}

// JSON returns the value, null when it is empty.
func (r *Result) JSON() json.RawMessage {
	if r == nil || len(r.Value) == 0 {
		return json.RawMessage("null")
	}
	return r.Value
}

// Envelope returns what tools.call resolves to: {"tool": compact metadata, "result": {"content"?, "details", …}}.
func (r *Result) Envelope(e *Entry) (json.RawMessage, error) {
	type result struct {
		Content   json.RawMessage `json:"content,omitempty"`
		Details   json.RawMessage `json:"details"`
		IsError   bool            `json:"isError,omitempty"`
		Terminate bool            `json:"terminate,omitempty"`
	}
	var out struct {
		Tool   json.RawMessage `json:"tool"`
		Result result          `json:"result"`
	}
	out.Tool = e.Compact()
	out.Result.Details = r.JSON()
	if r != nil {
		out.Result.Content, out.Result.IsError, out.Result.Terminate = r.Content, r.IsError, r.Terminate
	}
	return jsontext.Marshal(out)
}
