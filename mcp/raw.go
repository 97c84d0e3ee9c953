package mcp

import (
	"bytes"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK decodes results into its own types. What it does not know is lost on the way or an error: a new kind of content
// block, the order of properties in a schema, one tool of a thousand with a wrong type. So each message passes through
// keepRaw on its way to the SDK: the result travels as a text in its own _meta, and the SDK sees a result that it can
// always decode. rawResult takes it out again.

// rawKey is where a result travels.
const rawKey = "codemode/result"

// emptied are the parts of results that the SDK need not see.
var emptied = []string{"content", "contents", "messages", "tools", "resources", "resourceTemplates", "prompts"}

// keepRaw rewrites a JSON-RPC message. What is not a response with one of those results stays as it is.
func keepRaw(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"result"`)) {
		return message
	}
	var envelope struct {
		JSONRPC json.RawMessage `json:"jsonrpc,omitempty"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method,omitempty"`
		Result  json.RawMessage `json:"result"`
	}
	if json.Unmarshal(message, &envelope) != nil || envelope.Method != nil || len(envelope.ID) == 0 || len(envelope.Result) == 0 || envelope.Result[0] != '{' {
		return message
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(envelope.Result, &result) != nil {
		return message
	}
	known := result["structuredContent"] != nil || result["isError"] != nil
	for _, name := range emptied {
		_, there := result[name]
		known = known || there
	}
	if !known || isServerInfo(result) {
		return message
	}
	shown := map[string]json.RawMessage{}
	for name, value := range result {
		shown[name] = value
	}
	delete(shown, "structuredContent")
	for _, name := range emptied {
		if _, there := shown[name]; there && !(name == "tools" && decodable(shown[name])) {
			shown[name] = json.RawMessage("[]")
		}
	}
	if _, there := shown["isError"]; there {
		delete(shown, "isError")
	}
	var next string
	if raw, there := shown["nextCursor"]; there && json.Unmarshal(raw, &next) != nil {
		delete(shown, "nextCursor") // a cursor of null is no cursor
	}
	meta, err := json.Marshal(map[string]string{rawKey: string(envelope.Result)})
	if err != nil {
		return message
	}
	shown["_meta"] = meta
	if envelope.Result, err = json.Marshal(shown); err != nil {
		return message
	}
	out, err := json.Marshal(envelope)
	if err != nil {
		return message
	}
	return out
}

// isServerInfo says that a result is the answer to initialize or server/discover, which are the SDK's own.
func isServerInfo(result map[string]json.RawMessage) bool {
	return result["capabilities"] != nil
}

// decodable says that the SDK can read the tools: it looks into their schemas for parameters that go into headers.
func decodable(tools json.RawMessage) bool {
	var list []*sdk.Tool
	if json.Unmarshal(tools, &list) != nil {
		return false
	}
	for _, t := range list {
		if t == nil {
			return false
		}
	}
	return true
}

// rawResult is the result that the server sent; where it did not pass through keepRaw, it is made of what the SDK has.
func rawResult(result sdk.Result) (json.RawMessage, error) {
	if text, ok := result.GetMeta()[rawKey].(string); ok {
		return json.RawMessage(text), nil
	}
	return json.Marshal(result)
}
