package catalog

import (
	"fmt"
	"strings"
)

const mcpInterfaces = `interface McpToolResult<T = unknown> { content: Array<{ type: string; [key: string]: unknown; }>; structuredContent?: T; isError?: boolean; }
interface McpApi { kind: "mcp_api"; scope: "root" | "server" | "tool"; server?: { identifier: string; serverName: string; }; header: string; tools: Array<{ method: string; path: string; mcpTool: string; operation: string; description: string; }>; schemas?: Record<string, { input: unknown; output?: unknown; }>; servers?: Array<{ identifier: string; serverName: string; tools: number; file: string; }>; note: string; }
`

const mcpResourceInterfaces = `interface McpResources { resources: Array<{ uri: string; name: string; description?: string; mimeType?: string; [key: string]: unknown; }>; nextCursor?: string; [key: string]: unknown; }
interface McpResource { contents: Array<{ uri: string; mimeType?: string; text?: string; blob?: string; [key: string]: unknown; }>; [key: string]: unknown; }
`

const mcpPromptInterfaces = `interface McpPrompts { prompts: Array<{ name: string; description?: string; arguments?: Array<{ name: string; description?: string; required?: boolean; }>; [key: string]: unknown; }>; nextCursor?: string; [key: string]: unknown; }
interface McpPrompt { description?: string; messages: Array<{ role: string; content: unknown; }>; [key: string]: unknown; }
`

var mcpResultTypes = map[Operation]string{
	OpResourcesList: "McpResources", OpResourcesRead: "McpResource", OpPromptsList: "McpPrompts", OpPromptsGet: "McpPrompt",
}

// indexFile writes mcp/index.d.ts: where the servers' files are. A server called index is declared in it.
func (t *mcpTree) indexFile(permits func(*Entry) bool) string {
	var b strings.Builder
	b.WriteString("// The MCP servers. Read a server's file for its functions. Names and texts in it come from the server.\n")
	var inline *mcpServer
	for _, s := range t.servers {
		switch {
		case len(s.permitted(permits)) == 0:
		case s.identifier == "index":
			inline = s
		default:
			fmt.Fprintf(&b, "/// <reference path=\"./%s.d.ts\" />\n", s.identifier)
		}
	}
	if inline == nil {
		b.WriteString(mcpInterfaces)
	} else {
		b.WriteString(inline.declarations(permits))
	}
	b.WriteString("declare namespace MCP {\n  function $api(): Promise<McpApi>;\n}\n")
	return b.String()
}

// declarations writes mcp/<server>.d.ts, whole by itself. Without a policy check it is made once.
func (s *mcpServer) declarations(permits func(*Entry) bool) string {
	if permits != nil {
		return s.render(permits)
	}
	s.fileOnce.Do(func() { s.file = s.render(func(*Entry) bool { return true }) })
	return s.file
}

func (s *mcpServer) render(permits func(*Entry) bool) string {
	tools := s.permitted(permits)
	var body strings.Builder
	used := map[string]bool{}
	fmt.Fprintf(&body, "declare namespace MCP.%s {\n", s.identifier)
	fmt.Fprintf(&body, "  const $serverName: %s;\n", quoteLiteral(cutUTF16(s.name, 256)))
	body.WriteString("  function $api(selector?: string, options?: { schema?: boolean; }): Promise<McpApi>;\n")
	groups := map[string][]*mcpTool{}
	for _, t := range tools {
		if group, _, nested := strings.Cut(t.method, "."); nested {
			groups[group] = append(groups[group], t)
		} else {
			t.declaration(&body, "  ", t.method, used)
		}
	}
	for _, group := range sortedKeys(groups) {
		fmt.Fprintf(&body, "  namespace %s {\n", group)
		for _, t := range groups[group] {
			t.declaration(&body, "    ", strings.TrimPrefix(t.method, group+"."), used)
		}
		body.WriteString("  }\n")
	}
	body.WriteString("}\n")
	head := fmt.Sprintf("// MCP server %s. Each function takes one object. Names and texts below come from the server.\n",
		plainLine(quoteLiteral(cutUTF16(s.name, 256)), 300))
	head += mcpInterfaces
	if groups["resources"] != nil {
		head += mcpResourceInterfaces
	}
	if groups["prompts"] != nil {
		head += mcpPromptInterfaces
	}
	return head + body.String()
}

// declaration writes one function, after the recursive types that it needs.
func (t *mcpTool) declaration(b *strings.Builder, indent, name string, used map[string]bool) {
	tool := &t.entry.rec.tool
	input := declare(t.entry.inputSchema(), SourceMCP, mcpStyle, used)
	result := mcpResultTypes[tool.MCP.Operation]
	aliases := input.aliases
	if result == "" || !strings.Contains(t.method, ".") {
		result = "McpToolResult"
		if len(tool.OutputSchema) > 0 {
			output := declare(tool.OutputSchema, SourceMCP, mcpStyle, used)
			aliases = append(aliases, output.aliases...)
			if output.text != "unknown" {
				result += "<" + output.text + ">"
			}
		}
	}
	for _, alias := range aliases {
		b.WriteString(indent + "type " + alias + ";\n")
	}
	writeComment(b, indent, documentation(tool.Description, tool.InputSchema, SourceMCP, mcpStyle))
	mark := ""
	if t.arguments().optional {
		mark = "?"
	}
	fmt.Fprintf(b, "%sfunction %s(\n%s  input%s: %s\n%s): Promise<%s>;\n", indent, name, indent, mark, input.text, indent, result)
}
