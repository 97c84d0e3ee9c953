package host

import (
	"context"
	"sync"
	"time"
)

// Store keeps suspended cells: opaque records of a few kilobytes, under unguessable ids. Nothing in a record points into
// a process, so a store on a server lets another process of the same build go on with a cell. A record is trusted: who
// can write to the store can change what a cell does, though not what it may do.
type Store interface {
	// Put keeps a record until it expires. A record under the same id is replaced.
	Put(ctx context.Context, id string, record []byte, expires time.Time) error
	// Take gives a record and removes it; ok is false where there is none, or it has expired. Of several callers one
	// gets it.
	Take(ctx context.Context, id string) (record []byte, ok bool, err error)
	// Delete removes a record, where there is one.
	Delete(ctx context.Context, id string) error
}

// memoryStore is the default store. The host removes what expires, so expiry is only checked here.
type memoryStore struct {
	mu      sync.Mutex
	records map[string]memoryRecord
}

type memoryRecord struct {
	bytes   []byte
	expires time.Time
}

func newMemoryStore() *memoryStore { return &memoryStore{records: map[string]memoryRecord{}} }

func (s *memoryStore) Put(_ context.Context, id string, record []byte, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[id] = memoryRecord{record, expires}
	return nil
}

func (s *memoryStore) Take(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	delete(s.records, id)
	return r.bytes, ok && time.Now().Before(r.expires), nil
}

func (s *memoryStore) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, id)
	return nil
}
