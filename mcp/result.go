package mcp

import (
	"bytes"
	"encoding/json"
	"errors"

	"codemode/catalog"
	"codemode/internal/jsontext"
)

var errMediaUnknown = errors.New("an argument refers to media that is unknown or not kept any more; fetch it again")

// projection is what a cell gets of a server's answer.
type projection struct {
	upstream *Upstream
	session  string
	server   string
	native   bool // leave media as they are: the answer goes to a client, not into a cell
}

// tool projects the result of tools/call: content, structuredContent and isError as the server sent them, whatever the
// combination, and nothing else. content is there even where the server left it out. The _meta of blocks stays.
func (p projection) tool(raw json.RawMessage) (*catalog.Result, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("the answer is not a tool result")
	}
	content := bytes.TrimSpace(fields["content"])
	if len(content) == 0 || bytes.Equal(content, []byte("null")) {
		content = []byte("[]")
	}
	content = p.blocks(content)
	var out ordered
	out.put("content", content)
	if structured, ok := fields["structuredContent"]; ok {
		out.put("structuredContent", structured)
	}
	var isError bool
	if raw, ok := fields["isError"]; ok {
		_ = json.Unmarshal(raw, &isError)
		out.put("isError", mustMarshal(isError))
	}
	return &catalog.Result{Value: out.json(), Content: content, IsError: isError}, nil
}

// plain projects the result of another operation: everything but what belongs to the protocol.
func (p projection) plain(raw json.RawMessage, listed string) (*catalog.Result, error) {
	fields, err := orderedObject(raw)
	if err != nil {
		return nil, errors.New("the answer is not an object")
	}
	var out ordered
	for _, f := range fields {
		switch f.name {
		case "_meta", "resultType", "ttlMs", "cacheScope", "nextCursor":
		case listed:
			out.put(f.name, p.list(f.value))
		default:
			out.put(f.name, f.value)
		}
	}
	return &catalog.Result{Value: out.json()}, nil
}

// list projects the contents of a resource, or the messages of a prompt.
func (p projection) list(raw json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if p.native || json.Unmarshal(raw, &items) != nil {
		return raw
	}
	changed := false
	for i, item := range items {
		var object map[string]json.RawMessage
		if json.Unmarshal(item, &object) != nil {
			continue
		}
		if message, ok := object["content"]; ok {
			projected := p.block(message)
			if !bytes.Equal(projected, message) {
				object["content"] = projected
				items[i], changed = mustMarshal(object), true
			}
			continue
		}
		if p.upstream.referToMedia(p.session, p.server, "resource", "blob", object) {
			items[i], changed = mustMarshal(object), true
		}
	}
	if !changed {
		return raw
	}
	return mustMarshal(items)
}

// blocks projects a list of content blocks. What is not one stays as it is.
func (p projection) blocks(raw json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if p.native || json.Unmarshal(raw, &items) != nil {
		return raw
	}
	changed := false
	for i, item := range items {
		if projected := p.block(item); !bytes.Equal(projected, item) {
			items[i], changed = projected, true
		}
	}
	if !changed {
		return raw
	}
	return mustMarshal(items)
}

func (p projection) block(raw json.RawMessage) json.RawMessage {
	if p.native || len(raw) <= p.upstream.options.MediaInlineBytes {
		return raw
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return raw
	}
	var kind string
	_ = json.Unmarshal(object["type"], &kind)
	switch kind {
	case "image", "audio":
		if p.upstream.referToMedia(p.session, p.server, kind, "data", object) {
			return mustMarshal(object)
		}
	case "resource":
		var resource map[string]json.RawMessage
		if json.Unmarshal(object["resource"], &resource) != nil {
			return raw
		}
		if p.upstream.referToMedia(p.session, p.server, kind, "blob", resource) {
			object["resource"] = mustMarshal(resource)
			return mustMarshal(object)
		}
	}
	return raw
}

// ordered writes a JSON object field by field.
type ordered struct{ buffer bytes.Buffer }

func (o *ordered) put(name string, value json.RawMessage) {
	if o.buffer.Len() == 0 {
		o.buffer.WriteByte('{')
	} else {
		o.buffer.WriteByte(',')
	}
	o.buffer.Write(mustMarshal(name))
	o.buffer.WriteByte(':')
	o.buffer.Write(value)
}

func (o *ordered) json() json.RawMessage {
	if o.buffer.Len() == 0 {
		return json.RawMessage("{}")
	}
	return append(o.buffer.Bytes(), '}')
}

// mustMarshal writes what always can be written: texts, numbers, raw JSON that was parsed. HTML is not escaped.
func mustMarshal(value any) json.RawMessage {
	text, err := jsontext.Marshal(value)
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return text
}
