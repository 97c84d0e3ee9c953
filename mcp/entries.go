package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"codemode/catalog"
	"codemode/limits"
)

// maxDescription is how much of a tool's description is kept, in bytes.
const maxDescription = 32 << 10

// listedTool is a tool as a server describes it. Each field is read for itself, so that one that is wrong does not take the
// others with it.
type listedTool struct {
	name, title, description  string
	inputSchema, outputSchema json.RawMessage
}

func readTool(raw json.RawMessage) (listedTool, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return listedTool{}, fmt.Errorf("it is not an object")
	}
	var t listedTool
	if json.Unmarshal(fields["name"], &t.name) != nil || t.name == "" {
		return t, fmt.Errorf("it has no name")
	}
	_ = json.Unmarshal(fields["description"], &t.description)
	if json.Unmarshal(fields["title"], &t.title) != nil || t.title == "" {
		var annotations struct {
			Title string `json:"title"`
		}
		_ = json.Unmarshal(fields["annotations"], &annotations)
		t.title = annotations.Title
	}
	t.inputSchema, t.outputSchema = schemaOf(fields["inputSchema"]), schemaOf(fields["outputSchema"])
	return t, nil
}

// schemaOf leaves out what is no schema; the catalog judges the rest.
func schemaOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return raw
}

// entries lists what a server has, as tools of the catalog. problems are tools that are left out.
func (s *server) entries(ctx context.Context, conn *connection) (tools []catalog.Tool, problems []string, err error) {
	capabilities := conn.capabilities()
	taken := map[string]bool{}
	add := func(operation catalog.Operation, tool listedTool) {
		if !s.config.permits(tool.name) {
			return
		}
		name := unique(s.safe+"__"+fragment(tool.name, "tool"), maxToolName, taken)
		tools = append(tools, catalog.Tool{
			Name: name, Label: clip(tool.title, 256), Description: clip(tool.description, maxDescription), Owner: s.safe,
			Source: catalog.SourceMCP, InputSchema: tool.inputSchema, OutputSchema: tool.outputSchema,
			Sequential: s.config.Sequential, Lane: "mcp:" + s.safe, Untrusted: true,
			MCP: &catalog.MCPTool{Server: s.safe, ServerName: s.shown(), Tool: tool.name, Operation: operation},
			Run: s.runs(operation, tool.name),
		})
	}
	if capabilities.Tools != nil {
		listed, err := all(ctx, conn.toolPages, "tools")
		if err != nil {
			return nil, nil, err
		}
		seen := map[string]bool{}
		for i, raw := range listed {
			tool, err := readTool(raw)
			switch {
			case err != nil:
				problems = append(problems, fmt.Sprintf("tool %d of the list: %v", i, err))
			case seen[tool.name]:
				problems = append(problems, fmt.Sprintf("tool %s is in the list twice; the first stays", quote(tool.name)))
			default:
				seen[tool.name] = true
				add(catalog.OpTool, tool)
			}
		}
	}
	if capabilities.Resources != nil {
		add(catalog.OpResourcesList, resourcesList)
		add(catalog.OpResourcesRead, resourcesRead)
	}
	if capabilities.Prompts != nil {
		add(catalog.OpPromptsList, promptsList)
		add(catalog.OpPromptsGet, promptsGet)
	}
	return tools, problems, nil
}

// The operations beside tools that a server may have.
var (
	noArguments   = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	resourcesList = listedTool{name: "resources_list", title: "List resources",
		description: "List the server's resources, all of them, and its resource templates where it has some.", inputSchema: noArguments}
	resourcesRead = listedTool{name: "resources_read", title: "Read a resource", description: "Read a resource of the server.",
		inputSchema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","description":"the resource's URI"}},"required":["uri"],"additionalProperties":false}`)}
	promptsList = listedTool{name: "prompts_list", title: "List prompts", description: "List the server's prompts, all of them.", inputSchema: noArguments}
	promptsGet  = listedTool{name: "prompts_get", title: "Get a prompt", description: "Get a prompt of the server, with its arguments filled in.",
		inputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"the prompt's name"},"arguments":{"type":"object","additionalProperties":{"type":"string"},"description":"the prompt's arguments"}},"required":["name"],"additionalProperties":false}`)}
)

// shown is the server's name for a catalog, which takes no text that hides or reorders what is around it.
func (s *server) shown() string {
	for _, r := range s.config.Name {
		if !unicode.IsPrint(r) {
			return s.safe
		}
	}
	return s.config.Name
}

// clip cuts text to max bytes and makes it UTF-8.
func clip(text string, max int) string {
	return limits.Cut(strings.ToValidUTF8(text, "�"), max)
}

// quote prints a name that a server chose.
func quote(name string) string { return strconv.QuoteToASCII(clip(name, 64)) }
