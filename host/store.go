package host

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"
)

// Store keeps suspended cells: opaque records of a few kilobytes, under unguessable ids. Nothing in a record points into
// a process, so a store that outlives the process, or that several share, lets another process of the same build go on
// with a cell. A record is trusted: who can write to the store can change what a cell computes, though not what it may
// call.
type Store interface {
	// Put keeps a record until it expires. A record under the same id is replaced.
	Put(ctx context.Context, id string, record []byte, expires time.Time) error
	// Replace is Put in place of a record; ok is false, and nothing is kept, where the record that is there is not was,
	// byte by byte: somebody took it, and may have put back what the run came to.
	Replace(ctx context.Context, id string, was, record []byte, expires time.Time) (ok bool, err error)
	// Get gives a record and leaves it; ok is false where there is none, or it has expired. The errors are Take's.
	Get(ctx context.Context, id string) (record []byte, expires time.Time, ok bool, err error)
	// Take gives a record to one of its callers, who goes on with the cell and ends that with Put or Delete; ok is false
	// where there is none, or it has expired. Until then a durable store keeps the record, for when the taker's process
	// dies: it is given out again, unless Begin was called. Errors are ErrRunTaken and ErrRunInterrupted, among others.
	Take(ctx context.Context, id string) (record []byte, expires time.Time, ok bool, err error)
	// Begin says of a run that was taken that it now does what must not be done twice: from here on the record is not
	// one to go on from.
	Begin(ctx context.Context, id string) error
	// Delete removes a record, where there is one that nobody else has taken.
	Delete(ctx context.Context, id string) error
	// Each calls f with every record that has not expired, until f returns an error.
	Each(ctx context.Context, f func(id string, record []byte, expires time.Time) error) error
}

// The errors of a record that cannot be had.
var (
	// ErrRunTaken says that another process goes on with the run.
	ErrRunTaken = errors.New("host: another process goes on with the run")
	// ErrRunInterrupted says that the process that went on with the run ended meanwhile, after Begin. Take removes the
	// record then.
	ErrRunInterrupted = errors.New("host: the process that went on with the run ended while it ran")
)

// memoryStore is the default store. Its records are the snapshots alone: all else of a cell is in the host's memory.
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

func (s *memoryStore) Replace(_ context.Context, id string, was, record []byte, expires time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there, ok := s.records[id]
	ok = ok && bytes.Equal(there.bytes, was)
	if ok {
		s.records[id] = memoryRecord{record, expires}
	}
	return ok, nil
}

func (s *memoryStore) Get(_ context.Context, id string) ([]byte, time.Time, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	return r.bytes, r.expires, ok && time.Now().Before(r.expires), nil
}

func (s *memoryStore) Begin(context.Context, string) error { return nil }

func (s *memoryStore) Take(_ context.Context, id string) ([]byte, time.Time, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	delete(s.records, id)
	return r.bytes, r.expires, ok && time.Now().Before(r.expires), nil
}

func (s *memoryStore) Delete(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, id)
	return nil
}

func (s *memoryStore) Each(_ context.Context, f func(string, []byte, time.Time) error) error {
	s.mu.Lock()
	records := make(map[string]memoryRecord, len(s.records))
	for id, r := range s.records {
		records[id] = r
	}
	s.mu.Unlock()
	for id, r := range records {
		if time.Now().Before(r.expires) {
			if err := f(id, r.bytes, r.expires); err != nil {
				return err
			}
		}
	}
	return nil
}
