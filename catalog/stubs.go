package catalog

import (
	"encoding/json"
)

type mcpTree struct{}
type mcpTool struct{}

func (*mcpTool) describe() json.RawMessage { return nil }
func newMCPTree(entries []*Entry) *mcpTree {
	for _, e := range entries {
		e.callable = "MCP." + e.rec.tool.MCP.Server + "." + e.rec.tool.MCP.Tool
		e.file = "mcp/" + e.rec.tool.MCP.Server + ".d.ts"
	}
	return nil
}

type namespaceSpec struct{ ID, GlobalName string }
type namespace struct{ spec namespaceSpec }
type scope struct{}

func (p *projection) visibleNamespaces() []*namespace { return nil }

// QuickIndex returns the bounded list of callables for the exec description.
func (v *View) QuickIndex() string { return "" }

func (*mcpTool) input(args []json.RawMessage) (json.RawMessage, error) {
	return firstArgument(args), nil
}

// File is a virtual file of API.list and API.read.
type File struct {
	Path        string
	Description string
	Content     string // of ReadFile only
	Bytes       int    // length in bytes, 0 where the file has not been made yet
	Untrusted   bool   // it contains network content
}

// Files lists virtual files.
func (v *View) Files(prefix string) ([]File, error) { return nil, nil }

// ReadFile reads a virtual file.
func (v *View) ReadFile(path string) (File, error) {
	return File{}, invalidInput("There is no API file %s.", printable(path))
}

// Resolve finds what a namespace path leads to.
func (v *View) Resolve(path string) (Node, bool) { return Node{}, false }

// Children lists the names below a namespace path.
func (v *View) Children(path string) []string { return nil }
