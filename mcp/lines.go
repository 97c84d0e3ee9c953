package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// lineReader reads the messages of a program, one a line. Lines that are no JSON object, such as greetings that a program
// prints, are left out; the others pass through keepRaw. It starts no goroutine.
type lineReader struct {
	source  *os.File
	reader  *bufio.Reader
	max     int
	noise   func(line string)
	pending []byte
	broken  atomic.Pointer[error] // why reading ended, where that is the program's fault
}

func newLineReader(source *os.File, max int, noise func(string)) *lineReader {
	return &lineReader{source: source, reader: bufio.NewReaderSize(source, 64<<10), max: max, noise: noise}
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.pending) == 0 {
		line, err := r.line()
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case line[0] == '{' || line[0] == '[':
			r.pending = append(keepRaw(line), '\n')
		case r.noise != nil:
			r.noise(string(line[:min(len(line), 512)]))
		}
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

func (r *lineReader) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := r.reader.ReadSlice('\n')
		if len(whole)+len(part) > r.max {
			r.broken.Store(&errMessageTooLarge)
			return nil, errMessageTooLarge
		}
		whole = append(whole, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return nil, io.EOF // the program has ended
		case err != nil:
			return nil, err
		default:
			return whole, nil
		}
	}
}

// Close ends reading. The pipe stays open, so that the program can write its last words and is not ended by SIGPIPE.
func (r *lineReader) Close() error { return r.source.SetReadDeadline(time.Now()) }
