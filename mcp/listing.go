package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPages bounds a list; a page is of the server's making.
const maxPages = 10_000

// page is one page of a list, as the server sent it.
type page func(ctx context.Context, cursor string) (sdk.Result, error)

func (c *connection) toolPages(ctx context.Context, cursor string) (sdk.Result, error) {
	return c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
}

func (c *connection) resourcePages(ctx context.Context, cursor string) (sdk.Result, error) {
	return c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
}

func (c *connection) templatePages(ctx context.Context, cursor string) (sdk.Result, error) {
	return c.session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
}

func (c *connection) promptPages(ctx context.Context, cursor string) (sdk.Result, error) {
	return c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
}

// errCursor is the error of a list that would never end.
var errCursor = errors.New("it gave the same cursor twice")

// all gathers the items of every page of a list. A cursor that was there before is an error: half a list would pass for a
// whole one, and following it would never end.
func all(ctx context.Context, next page, field string) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		result, err := next(ctx, cursor)
		if err != nil {
			return nil, err
		}
		raw, err := rawResult(result)
		if err != nil {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("a page of %s is not an object", field)
		}
		var list []json.RawMessage
		if list, ok := fields[field]; !ok || string(list) == "null" {
			return nil, fmt.Errorf("a page has no %s", field)
		}
		if json.Unmarshal(fields[field], &list) != nil {
			return nil, fmt.Errorf("%s is not a list", field)
		}
		items = append(items, list...)
		cursor = ""
		_ = json.Unmarshal(fields["nextCursor"], &cursor)
		if cursor == "" {
			return items, nil
		}
		if seen[cursor] {
			return nil, fmt.Errorf("listing %s: %w", field, errCursor)
		}
		seen[cursor] = true
	}
	return nil, fmt.Errorf("listing %s: more than %d pages", field, maxPages)
}
