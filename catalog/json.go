package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"codemode/internal/jsontext"
)

// marshal is json.Marshal without HTML escaping and without a trailing newline.
func marshal(v any) (json.RawMessage, error) {
	if text, ok := v.(string); ok {
		return jsontext.AppendString(make([]byte, 0, len(text)+len(text)/16+8), text), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mustMarshal is for values that always encode: strings, raw JSON that was checked, structs of both.
func mustMarshal(v any) json.RawMessage {
	b, err := marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

// decodeJSON decodes exactly one JSON value, keeping numbers as they are written.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no JSON value")
		}
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
