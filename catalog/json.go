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

// mustMarshal is for values that always encode: strings, raw JSON that was checked, structs of both.
func mustMarshal(v any) json.RawMessage {
	b, err := jsontext.Marshal(v)
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
