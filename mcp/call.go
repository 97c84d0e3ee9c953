package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/catalog"
)

// inflight is a call that a server is working on.
type inflight struct {
	token  int64
	call   *catalog.Call
	tool   string
	client downstream // on whose behalf; nil where nobody asked to be known
	report func(Event)
}

// runs is what an entry of the server does.
func (s *server) runs(operation catalog.Operation, tool string) catalog.RunFunc {
	return func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		limited, cancel := context.WithTimeoutCause(ctx, s.config.Timeout, errCallTimeout)
		defer cancel()
		var delivery delivery
		limited = context.WithValue(limited, deliveryKey{}, &delivery)
		result, err := s.attempt(limited, operation, tool, call)
		if err != nil && delivery.forgotten.Swap(false) {
			// The server has forgotten the session, so it did not run the call: once more, over a new one.
			result, err = s.attempt(limited, operation, tool, call)
		}
		if err != nil {
			return nil, s.failure(ctx, limited, err, delivery.refused.Load())
		}
		return result, nil
	}
}

var errCallTimeout = errors.New("the server's timeoutMs is over")

func (s *server) attempt(ctx context.Context, operation catalog.Operation, tool string, call *catalog.Call) (*catalog.Result, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	input, err := s.up.expandMedia(call.Session, call.Input)
	if err != nil {
		return nil, &catalog.Error{Code: catalog.CodeToolError, Message: "The call was not made: " + err.Error() + "."}
	}
	// The call ends with its connection, too.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(conn.ctx, func() { cancel(context.Cause(conn.ctx)) })()

	flight := &inflight{token: s.tokens.Add(1), call: call, tool: tool, client: downstreamOf(ctx), report: progressOf(ctx)}
	s.mu.Lock()
	s.calls[flight] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, flight)
		s.mu.Unlock()
	}()

	p := projection{upstream: s.up, session: call.Session, server: s.config.Name, native: wantsNative(ctx)}
	result, err := conn.perform(ctx, operation, tool, flight.token, input, p)
	if err != nil && conn.ctx.Err() != nil {
		err = errConnectionLost
	}
	if d := deliveryOf(ctx); err != nil && d != nil && d.forgotten.Load() {
		select { // the session ends for that; the next attempt is to see it
		case <-conn.done:
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return result, err
}

// perform does the operation and projects the answer.
func (c *connection) perform(ctx context.Context, operation catalog.Operation, tool string, token int64, input json.RawMessage, p projection) (*catalog.Result, error) {
	switch operation {
	case catalog.OpResourcesList:
		return c.list(ctx, "resources", c.resourcePages, p)
	case catalog.OpPromptsList:
		return c.list(ctx, "prompts", c.promptPages, p)
	case catalog.OpResourcesRead:
		var arguments struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(input, &arguments) != nil {
			return nil, wrongArguments("uri must be text")
		}
		params := &sdk.ReadResourceParams{URI: arguments.URI}
		params.SetProgressToken(token)
		result, err := c.session.ReadResource(ctx, params)
		if err != nil {
			return nil, err
		}
		raw, err := rawResult(result)
		if err != nil {
			return nil, err
		}
		return p.plain(raw, "contents")
	case catalog.OpPromptsGet:
		var arguments struct {
			Name      string            `json:"name"`
			Arguments map[string]string `json:"arguments"`
		}
		if json.Unmarshal(input, &arguments) != nil {
			return nil, wrongArguments("name must be text, and arguments an object of texts")
		}
		params := &sdk.GetPromptParams{Name: arguments.Name, Arguments: arguments.Arguments}
		params.SetProgressToken(token)
		result, err := c.session.GetPrompt(ctx, params)
		if err != nil {
			return nil, err
		}
		raw, err := rawResult(result)
		if err != nil {
			return nil, err
		}
		return p.plain(raw, "messages")
	}
	params := &sdk.CallToolParams{Name: tool, Arguments: input}
	params.SetProgressToken(token)
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	raw, err := rawResult(result)
	if err != nil {
		return nil, err
	}
	return p.tool(raw)
}

// list gives a whole list, and with resources the templates where the server has some.
func (c *connection) list(ctx context.Context, field string, pages page, p projection) (*catalog.Result, error) {
	items, err := all(ctx, pages, field)
	if err != nil {
		return nil, err
	}
	var out ordered
	out.put(field, mustMarshal(items))
	if field == "resources" {
		templates, err := all(ctx, c.templatePages, "resourceTemplates")
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if len(templates) > 0 { // a server without templates need not know the method
			out.put("resourceTemplates", mustMarshal(templates))
		}
	}
	return p.plain(out.json(), "")
}

func wrongArguments(why string) error {
	return &catalog.Error{Code: catalog.CodeToolError, Message: "The call was not made: " + why + "."}
}

// failure makes of an error what a cell sees. ctx is the caller's, limited has the server's timeout.
// undelivered says that the call did not reach the server.
func (s *server) failure(ctx, limited context.Context, err error, undelivered bool) error {
	var known *catalog.Error
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &wire) && limited.Err() == nil && !errors.Is(err, errConnectionLost):
		taint(ctx)
		out := &catalog.Error{Code: catalog.CodeToolError, Err: err,
			Message: fmt.Sprintf("The MCP server %q refused the call: %s", s.safe, clip(wire.Message, 64<<10))}
		var data ordered
		data.put("code", mustMarshal(wire.Code))
		if len(wire.Data) > 0 && json.Valid(wire.Data) {
			data.put("data", wire.Data)
		}
		out.Data = data.json()
		return out
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(limited), errCallTimeout):
		return &catalog.Error{Code: CodeTimeout, Err: err, Message: fmt.Sprintf(
			"The MCP server %q did not answer within %v. The tool may have run, or be running still.", s.safe, s.config.Timeout)}
	case errors.Is(err, errCursor):
		return &catalog.Error{Code: catalog.CodeToolError, Err: err, Message: fmt.Sprintf(
			"The MCP server %q gave the same cursor twice, so its list has no end.", s.safe)}
	}
	if undelivered {
		return &catalog.Error{Code: CodeUnavailable, Err: err, Message: fmt.Sprintf(
			"The MCP server %q cannot be reached. The tool did not run.", s.safe)}
	}
	return &catalog.Error{Code: CodeLost, Err: err, Message: fmt.Sprintf(
		"The connection to the MCP server %q was lost during the call. The tool may have run; check before you call it again.", s.safe)}
}

// progressed finds the call that a progress notification belongs to.
func (s *server) progressed(params *sdk.ProgressNotificationParams) {
	var token int64
	switch t := params.ProgressToken.(type) {
	case int64:
		token = t
	case int:
		token = int64(t)
	case float64:
		token = int64(t)
	default:
		return
	}
	var flight *inflight
	s.mu.Lock()
	for f := range s.calls {
		if f.token == token {
			flight = f
		}
	}
	s.mu.Unlock()
	if flight == nil {
		return
	}
	e := Event{Server: s.config.Name, Kind: EventProgress, Call: flight.call.ID, Tool: flight.tool,
		Message: clip(params.Message, 1024), Progress: params.Progress, Total: params.Total}
	s.up.event(e)
	if flight.report != nil {
		flight.report(e)
	}
	if flight.call.Progress != nil {
		flight.call.Progress(e.Message, mustMarshal(map[string]float64{"progress": e.Progress, "total": e.Total}))
	}
}
