package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/catalog"
	"codemode/host"
)

// directTools finds the tools that clients see beside exec and wait: those that the catalog has as direct-only, and those
// that are named.
func (s *Server) directTools() []*catalog.Entry {
	found := s.surface().Direct
	if len(s.options.Direct) > 0 {
		for _, e := range s.catalog.Snapshot().View(s.options.Policy).Entries(catalog.SurfaceCatalog) {
			if slices.Contains(s.options.Direct, e.CallableName()) || slices.Contains(s.options.Direct, e.Name()) {
				found = append(found, e)
			}
		}
	}
	return found
}

// refreshDirect publishes the direct tools; s.publishing is held.
func (s *Server) refreshDirect() {
	taken := map[string]bool{host.ExecName: true, host.WaitName: true}
	now := map[string]string{}
	for _, e := range s.directTools() {
		name := unique(fragment(e.Name(), "tool"), maxToolName, taken)
		definition := directDefinition(e, name)
		seen := e.ID() + string(mustMarshal(definition))
		now[name] = seen
		if s.direct[name] != seen {
			s.addDirect(definition, s.callDirect(e))
		}
	}
	for name := range s.direct {
		if _, still := now[name]; !still {
			s.sdk.RemoveTools(name)
		}
	}
	s.direct = now
}

// addDirect publishes a tool. The SDK panics on schemas that it does not like, and these may come from a server: such a
// tool is published without them.
func (s *Server) addDirect(definition *sdk.Tool, handler sdk.ToolHandler) {
	defer func() {
		if problem := recover(); problem != nil {
			s.log.Warn().Str("tool", definition.Name).Interface("problem", problem).Msg("a direct tool is published without its schemas")
			plain := *definition
			plain.InputSchema, plain.OutputSchema = json.RawMessage(`{"type":"object"}`), nil
			s.sdk.AddTool(&plain, handler)
		}
	}()
	s.sdk.AddTool(definition, handler)
}

func directDefinition(e *catalog.Entry, name string) *sdk.Tool {
	tool := e.Tool()
	definition := &sdk.Tool{Name: name, Title: tool.Label, Description: tool.Description, InputSchema: json.RawMessage(`{"type":"object"}`)}
	if isObjectSchema(tool.InputSchema) {
		definition.InputSchema = tool.InputSchema
	}
	// A tool whose value is no object has no place for it but the text.
	if isObjectSchema(tool.OutputSchema) {
		definition.OutputSchema = tool.OutputSchema
	}
	return definition
}

func isObjectSchema(schema json.RawMessage) bool {
	var head struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &head) == nil && head.Type == "object"
}

// callDirect calls a tool for a client without a cell. What an MCP server answers goes to the client as it came.
func (s *Server) callDirect(published *catalog.Entry) sdk.ToolHandler {
	id := published.ID()
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		session, err := s.session(r.Session)
		if err != nil {
			return nil, err
		}
		// The tool may have changed, or gone, since it was published.
		var entry *catalog.Entry
		for _, e := range s.directTools() {
			if e.ID() == id {
				entry = e
			}
		}
		if entry == nil {
			return failed("The tool is not available any more."), nil
		}
		run := newRun()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(session.ctx, func() { cancel(errSessionEnded) })()
		stop := session.reportTo(ctx, r, run)
		defer stop()
		ctx = withNative(withProgress(withDownstream(ctx, session), run.report))
		call := &catalog.Call{ID: session.callID(), Session: session.scope.Session, Tool: entry, Input: arguments(r)}
		if err := entry.CheckInput(call.Input); err != nil {
			return failed(err.Error()), nil
		}
		if err := entry.CompileOutput(); err != nil {
			return failed(err.Error()), nil
		}
		result, err := entry.Run(ctx, call)
		switch {
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return nil, err
		case err != nil:
			return failed(err.Error()), nil
		case result.Blocked != "":
			return failed("The tool was not run: " + result.Blocked), nil
		}
		if entry.Source() == catalog.SourceMCP {
			return nativeReply(result), nil
		}
		if !result.IsError {
			if err := entry.CheckOutput(result.JSON(), call.Input); err != nil {
				return failed(err.Error()), nil
			}
		}
		return valueReply(entry, result), nil
	}
}

func failed(message string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: message}}}
}

// nativeReply gives on what a server answered. A block that the SDK does not know becomes its JSON.
func nativeReply(result *catalog.Result) *sdk.CallToolResult {
	var native struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		IsError           bool              `json:"isError"`
	}
	if json.Unmarshal(result.JSON(), &native) != nil || native.Content == nil {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(result.JSON())}}, IsError: result.IsError}
	}
	reply := &sdk.CallToolResult{IsError: native.IsError, Content: []sdk.Content{}}
	if native.StructuredContent != nil {
		reply.StructuredContent = native.StructuredContent
	}
	for _, raw := range native.Content {
		var one sdk.CallToolResult
		if json.Unmarshal([]byte(`{"content":[`+string(raw)+`]}`), &one) == nil && len(one.Content) == 1 && one.Content[0] != nil {
			reply.Content = append(reply.Content, one.Content[0])
		} else {
			reply.Content = append(reply.Content, &sdk.TextContent{Text: string(raw)})
		}
	}
	return reply
}

// valueReply makes a tool result of a value.
func valueReply(e *catalog.Entry, result *catalog.Result) *sdk.CallToolResult {
	value := result.JSON()
	text := string(value)
	if e.Untrusted() || result.Untrusted {
		text = wrapUntrusted(text)
	}
	reply := &sdk.CallToolResult{IsError: result.IsError, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	if strings.HasPrefix(text, "{") || isObjectSchema(e.Tool().OutputSchema) {
		reply.StructuredContent = value
	}
	return reply
}
