package host

import (
	"encoding/json"
	"fmt"
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
	r := &reference{ID: "result_" + uuid.NewString(), Bytes: len(value), Count: count(value), Preview: string(value)}
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
