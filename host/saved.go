package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/google/uuid"

	"codemode/catalog"
)

// counters count by the catalog's scope, so that cells of one catalog share them.
type counters struct {
	mu     sync.Mutex
	scopes map[string]*counts
}

type counts struct{ search, describe, call atomic.Int64 }

// maxScopes bounds how many catalogs are remembered: a catalog whose tools are replaced gets a new scope each time.
const maxScopes = 1024

func (c *counters) of(scope string) *counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.scopes[scope]
	if n == nil {
		if c.scopes == nil || len(c.scopes) >= maxScopes {
			c.scopes = map[string]*counts{}
		}
		n = &counts{}
		c.scopes[scope] = n
	}
	return n
}

// savedResults are what cells kept with results.save, by session.
type savedResults struct {
	mu       sync.Mutex
	sessions map[Scope]*session
}

type session struct {
	values map[string]json.RawMessage
	bytes  int64
}

// maxSaved is how many results a session may keep; nothing is evicted.
const maxSaved = 64

// reference is what results.save gives the cell.
type reference struct {
	ID      string `json:"id"`
	Bytes   int    `json:"bytes"`
	Count   int    `json:"count"`
	Shape   string `json:"shape"`
	Preview string `json:"preview"`
	// PreviewTruncated says that Preview is only the start.
	PreviewTruncated bool `json:"previewTruncated"`
}

const previewBytes = 256

func (s *savedResults) save(scope Scope, value json.RawMessage, most int64) (*reference, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = map[Scope]*session{}
	}
	in := s.sessions[scope]
	if in == nil {
		in = &session{values: map[string]json.RawMessage{}}
		s.sessions[scope] = in
	}
	if len(in.values) >= maxSaved || in.bytes+int64(len(value)) > most {
		return nil, &catalog.Error{Code: catalog.CodeInvalidInput, Message: fmt.Sprintf(
			"There is no room to save this result: %d of %d are kept, %d of %d bytes. Delete some with results.delete, or save less; those kept stay as they are.",
			len(in.values), maxSaved, in.bytes, most)}
	}
	r := &reference{ID: "result_" + uuid.NewString(), Bytes: len(value), Count: count(value), Shape: shape(value), Preview: string(value)}
	if len(value) > previewBytes {
		r.PreviewTruncated = true
		r.Preview = string(value[:previewBytes])
		for !utf8.ValidString(r.Preview) {
			r.Preview = r.Preview[:len(r.Preview)-1]
		}
	}
	in.values[r.ID] = value
	in.bytes += int64(len(value))
	return r, nil
}

// retained stands for a value that did not fit, and can be loaded by a later cell.
type retained struct {
	Truncated bool       `json:"truncated"` // always true
	Reference *reference `json:"reference"`
	Guidance  string     `json:"guidance"`
}

const retainedGuidance = "The value is too large to show. It is kept for this session: await results.load(reference.id) in a later cell, and return less of it."

// retain keeps a list or an object that did not fit, and gives a reference to it in place of the marker; where that
// cannot be, the marker.
func (c *cell) retain(marker json.RawMessage) json.RawMessage {
	if c.truncated || c.restartSafe || len(c.value) == 0 || c.value[0] != '[' && c.value[0] != '{' {
		return marker
	}
	ref, err := c.host.results.save(c.scope, c.value, c.inboxLimit())
	if err != nil {
		return marker
	}
	text, err := marshal(retained{true, ref, retainedGuidance})
	if err != nil || len(text) > len(marker) {
		c.host.results.delete(c.scope, ref.ID)
		return marker
	}
	return text
}

// shape says what a value is made of, for somebody who sees only a part: "[1000: {id: number, name: string}]".
func shape(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return ""
	}
	return clip(shapeOf(v, 3), maxShape)
}

const maxShape = 200

func shapeOf(v any, depth int) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		if len(v) == 0 || depth == 0 {
			return fmt.Sprintf("[%d]", len(v))
		}
		return fmt.Sprintf("[%d: %s]", len(v), shapeOf(v[0], depth-1))
	case map[string]any:
		if depth == 0 {
			return "{…}"
		}
		names := slices.Sorted(maps.Keys(v))
		var parts []string
		for _, name := range names[:min(len(names), 8)] {
			parts = append(parts, clip(name, 32)+": "+shapeOf(v[name], depth-1))
		}
		if len(names) > 8 {
			parts = append(parts, "…")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

// count is the length of an array, the number of an object's keys, 1 for anything else.
func count(value json.RawMessage) int {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && list != nil {
		return len(list)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && object != nil {
		return len(object)
	}
	return 1
}

var errNoResult = &catalog.Error{Code: catalog.CodeInvalidInput, Message: "There is no saved result with this id in this session; fetch the data again."}

func (s *savedResults) load(scope Scope, id string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.sessions[scope]; in != nil {
		if value, ok := in.values[id]; ok {
			return value, nil
		}
	}
	return nil, errNoResult
}

func (s *savedResults) delete(scope Scope, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.sessions[scope]
	if in == nil {
		return errNoResult
	}
	value, ok := in.values[id]
	if !ok {
		return errNoResult
	}
	in.bytes -= int64(len(value))
	delete(in.values, id)
	return nil
}

func (s *savedResults) drop(scope Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := range s.sessions {
		if scope.matches(at) {
			delete(s.sessions, at)
		}
	}
}
