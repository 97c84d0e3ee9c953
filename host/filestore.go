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
	"regexp"
	"strings"
	"time"
)

// FileStore keeps suspended cells in a folder, one file a run, so that another process of the same build can go on with
// them, also after this one was killed. The folder and its files are private to the user. Processes that share the
// folder take turns by a lock on it.
type FileStore struct{ dir string }

// What a file begins with: the format, and when the record expires (Unix milliseconds, big-endian).
const (
	fileMagic  = "CMRUN\x00\x00\x01"
	fileHeader = len(fileMagic) + 8
	fileSuffix = ".run"
)

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
	s := &FileStore{dir}
	return s, s.Each(context.Background(), func(string, []byte, time.Time) error { return nil })
}

var runID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// path is the file of an id. Ids come from models: what is not one names no file.
func (s *FileStore) path(id string) (string, error) {
	if !runID.MatchString(id) {
		return "", fmt.Errorf("host: store: %.40q is not a run id", id)
	}
	return filepath.Join(s.dir, id+fileSuffix), nil
}

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
	return s.locked(func() error { return write(path, record, expires) })
}

// Replace is Store's.
func (s *FileStore) Replace(_ context.Context, id string, record []byte, expires time.Time) (ok bool, err error) {
	path, err := s.path(id)
	if err != nil {
		return false, nil
	}
	err = s.locked(func() error {
		if _, err := os.Lstat(path); err != nil {
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

// Take is Store's.
func (s *FileStore) Take(_ context.Context, id string) (record []byte, ok bool, err error) {
	path, err := s.path(id)
	if err != nil {
		return nil, false, nil // no run has such an id
	}
	err = s.locked(func() error {
		var expires time.Time
		if record, expires, err = read(path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		ok = time.Now().Before(expires)
		return os.Remove(path)
	})
	return record, ok && err == nil, err
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
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("host: store: %w", err)
		}
		return nil
	})
}

// Each is Store's. It removes what has expired, and leaves alone what is not a run.
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
			id, ok := strings.CutSuffix(e.Name(), fileSuffix)
			if !ok || !runID.MatchString(id) || !e.Type().IsRegular() {
				continue
			}
			path := filepath.Join(s.dir, e.Name())
			record, expires, err := read(path)
			if err != nil {
				continue
			}
			if !time.Now().Before(expires) {
				os.Remove(path)
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
