package mcp

import (
	"context"
	"io"
	"os"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client on standard input and output, until the client closes the input or ctx ends. Nothing else
// may write to standard output meanwhile. The error is nil in both cases.
func (s *Server) ServeStdio(ctx context.Context) error {
	return s.ServeStreams(ctx, os.Stdin, os.Stdout)
}

// ServeStreams is ServeStdio on other streams. It closes out; in is read until it ends, so a reader that blocks should be
// closed by the caller when ServeStreams has returned.
func (s *Server) ServeStreams(ctx context.Context, in io.Reader, out io.WriteCloser) error {
	ended := make(chan struct{})
	input := &endReader{Reader: in, ended: ended}
	client, err := s.sdk.Connect(ctx, &sdk.IOTransport{Reader: input, Writer: out, MaxLineLength: maxRequestBytes}, nil)
	if err != nil {
		return err
	}
	// A client that is gone wants no answer any more: its calls end now, not when they are done.
	done := make(chan struct{})
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		client.Close()
		return errServerClosed
	}
	s.wg.Go(func() {
		select {
		case <-ended:
		case <-ctx.Done():
		case <-s.ctx.Done():
		case <-done:
		}
		s.mu.Lock()
		session := s.sessions[client]
		s.mu.Unlock()
		if session != nil {
			session.end()
		}
		_ = client.Close()
	})
	s.mu.Unlock()
	err = client.Wait()
	close(done)
	select {
	case <-ended: // by the client
		return nil
	default:
	}
	if ctx.Err() != nil || s.ctx.Err() != nil {
		return nil
	}
	return err
}

// maxRequestBytes bounds one message of a client.
const maxRequestBytes = 16 << 20

// endReader says when its source has ended.
type endReader struct {
	io.Reader
	once  sync.Once
	ended chan struct{}
}

func (r *endReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.once.Do(func() { close(r.ended) })
	}
	return n, err
}

// Close is the SDK's. A blocked read of standard input cannot be ended; it ends with the process.
func (r *endReader) Close() error {
	if closer, ok := r.Reader.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
