package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/lazyregexp"
)

// FileStore keeps suspended cells in a folder, one file a run, so that another process of the same build can go on with
// them, also after this one was killed. The folder and its files are private to the user. Processes that share the
// folder take turns by a lock on it.
//
// A run that was taken keeps its file under another name, which its taker holds locked: where the lock is free, the
// taker has died.
type FileStore struct {
	dir string

	mu    sync.Mutex
	taken map[string]*os.File // the locked files of runs that were taken here
}

// What a file begins with: the format, and when the record expires (Unix milliseconds, big-endian).
const (
	fileMagic  = "CMRUN\x00\x00\x01"
	fileHeader = len(fileMagic) + 8
)

// What a file's name ends with.
const (
	fileSuffix  = ".run"   // a suspended run
	takenSuffix = ".taken" // one that a process goes on with
	begunSuffix = ".begun" // and that has done meanwhile what must not be done twice
)

// suffixes are in the order in which a run is looked for: one that was put back counts before what its taker left.
var suffixes = []string{fileSuffix, takenSuffix, begunSuffix}

// OpenFileStore opens a folder, makes it where it is missing, and removes what has expired in it. The error says what is
// wrong with the folder: it is not one, or others can write to it.
func OpenFileStore(dir string) (*FileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("host: store: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("host: store: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("host: store: %s is not a folder", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("host: store: others can read or write %s; it must be private (chmod 700)", dir)
	}
	s := &FileStore{dir: dir, taken: map[string]*os.File{}}
	return s, s.Each(context.Background(), func(string, []byte, time.Time) error { return nil })
}

var runID = lazyregexp.New(`^[A-Za-z0-9_-]{1,128}$`)

// path is the file of a suspended run. Ids come from models: what is not one names no file.
func (s *FileStore) path(id string) (string, error) {
	if !runID().MatchString(id) {
		return "", fmt.Errorf("host: store: %.40q is not a run id", id)
	}
	return s.file(id, fileSuffix), nil
}

func (s *FileStore) file(id, suffix string) string { return filepath.Join(s.dir, id+suffix) }

// locked runs f while no other process uses the folder.
func (s *FileStore) locked(f func() error) error {
	unlock, err := lockFolder(s.dir)
	if err != nil {
		return fmt.Errorf("host: store: %w", err)
	}
	defer unlock()
	return f()
}

// Put is Store's.
func (s *FileStore) Put(_ context.Context, id string, record []byte, expires time.Time) error {
	path, err := s.path(id)
	if err != nil {
		return err
	}
	return s.locked(func() error {
		if err := write(path, record, expires); err != nil {
			return err
		}
		return s.giveBack(id)
	})
}

// giveBack removes the file of a run that was taken here.
func (s *FileStore) giveBack(id string) error {
	s.mu.Lock()
	f := s.taken[id]
	delete(s.taken, id)
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	f.Close()
	return s.removeTaken(id)
}

func (s *FileStore) removeTaken(id string) error {
	for _, suffix := range suffixes[1:] {
		if err := os.Remove(s.file(id, suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("host: store: %w", err)
		}
	}
	return nil
}

// Replace is Store's.
func (s *FileStore) Replace(_ context.Context, id string, was, record []byte, expires time.Time) (ok bool, err error) {
	path, err := s.path(id)
	if err != nil {
		return false, nil
	}
	err = s.locked(func() error {
		there, _, err := read(path)
		if err != nil || !bytes.Equal(there, was) {
			return nil
		}
		ok = true
		return write(path, record, expires)
	})
	return ok && err == nil, err
}

// write replaces a file at once: a reader, and a process that starts after this one was killed, sees the old or the new.
func write(path string, record []byte, expires time.Time) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("host: store: %w", err)
	}
	head := binary.BigEndian.AppendUint64([]byte(fileMagic), uint64(expires.UnixMilli()))
	_, err = f.Write(append(head, record...))
	if syncErr := f.Sync(); err == nil {
		err = syncErr
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("host: store: %w", err)
	}
	return nil
}

// Get is Store's.
func (s *FileStore) Get(_ context.Context, id string) (record []byte, expires time.Time, ok bool, err error) {
	if !runID().MatchString(id) {
		return nil, time.Time{}, false, nil // no run has such an id
	}
	err = s.locked(func() error {
		f, suffix, err := s.open(id)
		if f == nil {
			return err
		}
		f.Close()
		if record, expires, err = read(s.file(id, suffix)); err != nil {
			return err
		}
		ok = time.Now().Before(expires)
		return nil
	})
	return record, expires, ok && err == nil, err
}

// open opens and locks the file of a run, and says which one it is. f is nil where there is none. The caller has the
// folder's lock.
func (s *FileStore) open(id string) (f *os.File, suffix string, err error) {
	for _, suffix := range suffixes {
		f, err := os.OpenFile(s.file(id, suffix), os.O_RDWR, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, "", fmt.Errorf("host: store: %w", err)
		case !lockFile(f):
			f.Close()
			return nil, "", ErrRunTaken
		}
		return f, suffix, nil
	}
	return nil, "", nil
}

// Take is Store's.
func (s *FileStore) Take(_ context.Context, id string) (record []byte, expires time.Time, ok bool, err error) {
	if !runID().MatchString(id) {
		return nil, time.Time{}, false, nil // no run has such an id
	}
	err = s.locked(func() error {
		f, suffix, err := s.open(id)
		if f == nil {
			return err
		}
		record, expires, err = read(f.Name())
		switch {
		case err != nil:
			f.Close()
			return err
		case !time.Now().Before(expires):
			f.Close()
			return os.Remove(f.Name())
		case suffix == begunSuffix:
			f.Close()
			if err := os.Remove(f.Name()); err != nil {
				return err
			}
			return ErrRunInterrupted
		}
		if err := os.Rename(f.Name(), s.file(id, takenSuffix)); err != nil {
			f.Close()
			return fmt.Errorf("host: store: %w", err)
		}
		s.mu.Lock()
		s.taken[id] = f
		s.mu.Unlock()
		ok = true
		return nil
	})
	return record, expires, ok && err == nil, err
}

// Begin is Store's.
func (s *FileStore) Begin(_ context.Context, id string) error {
	s.mu.Lock()
	f := s.taken[id]
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return s.locked(func() error {
		if err := os.Rename(s.file(id, takenSuffix), s.file(id, begunSuffix)); err != nil {
			return fmt.Errorf("host: store: %w", err)
		}
		return nil
	})
}

func read(path string) ([]byte, time.Time, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(text) < fileHeader || !bytes.HasPrefix(text, []byte(fileMagic)) {
		return nil, time.Time{}, fmt.Errorf("host: store: %s is not a suspended run", filepath.Base(path))
	}
	return text[fileHeader:], time.UnixMilli(int64(binary.BigEndian.Uint64(text[len(fileMagic):]))), nil
}

// Delete is Store's.
func (s *FileStore) Delete(_ context.Context, id string) error {
	path, err := s.path(id)
	if err != nil {
		return nil
	}
	return s.locked(func() error {
		if err := s.giveBack(id); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("host: store: %w", err)
		}
		f, _, err := s.open(id)
		if f == nil {
			if errors.Is(err, ErrRunTaken) {
				return nil
			}
			return err
		}
		f.Close()
		return s.removeTaken(id) // of a process that has died
	})
}

// Each is Store's. It removes what has expired, and leaves alone what is not a run, and what another process goes on
// with.
func (s *FileStore) Each(_ context.Context, f func(string, []byte, time.Time) error) error {
	type run struct {
		id      string
		record  []byte
		expires time.Time
	}
	var runs []run
	err := s.locked(func() error {
		entries, err := os.ReadDir(s.dir)
		if err != nil {
			return fmt.Errorf("host: store: %w", err)
		}
		for _, e := range entries {
			suffix := filepath.Ext(e.Name())
			id := strings.TrimSuffix(e.Name(), suffix)
			if !slices.Contains(suffixes, suffix) || !runID().MatchString(id) || !e.Type().IsRegular() {
				continue
			}
			f, first, err := s.open(id)
			if err != nil || f == nil {
				continue
			}
			f.Close()
			if first != suffix {
				continue
			}
			record, expires, err := read(f.Name())
			if err != nil {
				continue
			}
			if !time.Now().Before(expires) {
				os.Remove(f.Name())
				continue
			}
			runs = append(runs, run{id, record, expires})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := f(r.id, r.record, r.expires); err != nil {
			return err
		}
	}
	return nil
}
