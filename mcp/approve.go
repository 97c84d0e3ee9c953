package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/host"
)

// Approve asks the person behind the client for a tool, by elicitation. It is for host.Options.Approve. The error says that
// they refused, or that nobody can be asked: the cell was not started by a client of a Server, or its client does not take
// elicitation requests.
func Approve(ctx context.Context, request host.Approval) error {
	client := downstreamOf(ctx)
	if client == nil {
		return errors.New("mcp: there is no client to ask for approval")
	}
	tool := request.Call.Entry.CallableName()
	result, err := client.elicit(ctx, &sdk.ElicitParams{
		Message: fmt.Sprintf("%s\n\nTool: %s\nInput: %s", request.Question, tool, clip(string(request.Call.Input), 2000)),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve",` +
			`"description":"Let the tool run this once"}},"required":["approve"]}`),
	})
	if err != nil {
		return fmt.Errorf("mcp: asking for approval: %w", err)
	}
	if approved, _ := result.Content["approve"].(bool); result.Action != "accept" || !approved {
		return errors.New("the person who was asked did not approve")
	}
	return nil
}
