package catalog

import (
	"encoding/json"
	"sync/atomic"
)

// Entry is a tool as one view shows it. It is immutable.
type Entry struct {
	rec      *record
	callable string // callable name, or the qualified MCP path
	file     string // the virtual file that declares it
	node     *mcpTool
	handle   atomic.Pointer[json.RawMessage] // of Handle, once somebody asked: every cell that names the tool asks
}

// ID returns source:owner:name, unique in the catalog. Guests of the callable API never see it.
func (e *Entry) ID() string { return e.rec.id }

// Name returns the tool's own name.
func (e *Entry) Name() string { return e.rec.tool.Name }

// Label returns the tool's title.
func (e *Entry) Label() string { return e.rec.tool.Label }

// Description returns the tool's description.
func (e *Entry) Description() string { return e.rec.tool.Description }

// Owner returns the plugin, server or "core" that the tool belongs to.
func (e *Entry) Owner() string { return e.rec.tool.Owner }

// Source returns where the tool comes from.
func (e *Entry) Source() Source { return e.rec.tool.Source }

// CallableName returns the bare global's name, or for MCP entries the qualified path such as MCP.gitHub.createIssue.
func (e *Entry) CallableName() string { return e.callable }

// Tool returns a copy of the registered tool, with its defaults filled in.
func (e *Entry) Tool() Tool { return e.rec.tool }

// ReplaySafe reports whether a restartable cell may call the tool. Only host tools can be.
func (e *Entry) ReplaySafe() bool { return e.rec.tool.ReplaySafe && e.rec.tool.Source == SourceHost }

// Sequential reports whether the tool runs apart from the other sequential tools of its lane.
func (e *Entry) Sequential() bool { return e.rec.tool.Sequential }

// Untrusted reports whether the tool's results are network content: those of MCP tools always are.
func (e *Entry) Untrusted() bool { return e.rec.tool.Untrusted || e.rec.tool.Source == SourceMCP }

// UntrustedText reports whether the tool's name, description and schemas come from outside the embedding program, so
// that showing them to the model is showing it network content.
func (e *Entry) UntrustedText() bool { return !e.rec.trusted() }

// metadata is every form in which a guest sees an entry; the order of the fields is the order in JSON.
type metadata struct {
	ID           string          `json:"id,omitempty"`
	CallableName string          `json:"callableName,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Source       string          `json:"source"`
	SourceName   string          `json:"sourceName,omitempty"`
	MCP          *mcpMetadata    `json:"mcp,omitempty"`
	Name         string          `json:"name,omitempty"`
	Label        string          `json:"label"`
	Description  string          `json:"description"`
	Input        string          `json:"input,omitempty"`
	Output       string          `json:"output,omitempty"`
	APIPath      string          `json:"apiPath,omitempty"`
	Parameters   json.RawMessage `json:"parameters,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

type mcpMetadata struct {
	ServerName     string    `json:"serverName"`
	SafeServerName string    `json:"safeServerName"`
	ToolName       string    `json:"toolName"`
	Operation      Operation `json:"operation"`
}

// Compact returns the entry as ALL_TOOLS and tools.search show it:
// {id, source, sourceName, mcp?, name, label, description, input, output?}.
func (e *Entry) Compact() json.RawMessage { return mustMarshal(e.compact()) }

func (e *Entry) compact() metadata {
	t := &e.rec.tool
	m := metadata{
		ID: e.rec.id, Source: e.rec.sourceLabel(), SourceName: t.Owner,
		Name: t.Name, Label: t.Label, Description: t.Description, Input: e.InputHint(), Output: e.OutputHint(),
	}
	if t.MCP != nil {
		m.MCP = &mcpMetadata{t.MCP.ServerName, t.MCP.Server, t.MCP.Tool, t.MCP.Operation}
	}
	return m
}

// maxMCPDescription is how much of an MCP tool's description a handle carries, in UTF-16 units.
const maxMCPDescription = 512

// Handle returns the metadata of a callable handle: {callableName, toolName, source, label, description, input,
// output?}. There is no id in it. MCP handles carry apiPath, the file to read, instead of hints. The caller must not
// change it.
func (e *Entry) Handle() json.RawMessage {
	if made := e.handle.Load(); made != nil {
		return *made
	}
	made := e.makeHandle()
	e.handle.Store(&made)
	return made
}

func (e *Entry) makeHandle() json.RawMessage {
	t := &e.rec.tool
	m := metadata{
		CallableName: e.callable, ToolName: t.Name, Source: e.rec.sourceLabel(), Label: t.Label, Description: t.Description,
	}
	if t.MCP != nil {
		m.ToolName, m.APIPath = t.MCP.Tool, e.file
		m.Description = cutUTF16(t.Description, maxMCPDescription)
	} else {
		m.Input, m.Output = e.InputHint(), e.OutputHint()
	}
	return mustMarshal(m)
}

// Describe returns the whole of a native or client entry, with its schemas. With id it is what tools.describe shows
// (id, sourceName), without it what a handle's describe shows (callableName). For an MCP entry it is the object that
// MCP.<server>.$api(method, {schema: true}) gives.
func (e *Entry) Describe(withID bool) json.RawMessage {
	if e.node != nil {
		return e.node.describe()
	}
	m := e.compact()
	if !withID {
		m.ID, m.SourceName, m.CallableName = "", "", e.callable
	}
	m.Parameters, m.OutputSchema = e.inputSchema(), e.rec.tool.OutputSchema
	return mustMarshal(m)
}

func (e *Entry) inputSchema() json.RawMessage {
	if len(e.rec.tool.InputSchema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return e.rec.tool.InputSchema
}

// cutUTF16 cuts s to at most n UTF-16 units, whole characters.
func cutUTF16(s string, n int) string {
	for i, r := range s {
		if n--; r > 0xFFFF {
			n--
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}
