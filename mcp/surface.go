package mcp

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/host"
)

// surface is what clients see of code mode as the catalog is now.
func (s *Server) surface() host.Surface {
	return s.host.Surface(host.SurfaceOptions{Policy: s.options.Policy, Unavailable: s.missing()})
}

// definition is one of the two tools as MCP says it. Both run any code, so their hints promise nothing.
func definition(d host.Definition) *sdk.Tool {
	yes := true
	return &sdk.Tool{
		Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.InputSchema, OutputSchema: d.OutputSchema,
		Annotations: &sdk.ToolAnnotations{Title: d.Title, DestructiveHint: &yes, OpenWorldHint: &yes},
	}
}
