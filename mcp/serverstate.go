package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"codemode/catalog"
)

// Back-off: after a failure the next attempt waits firstDelay, then twice as long each time up to maxDelay. A connection
// that lasted steadyAfter starts over.
const (
	firstDelay  = 500 * time.Millisecond
	maxDelay    = 60 * time.Second
	steadyAfter = 30 * time.Second
)

// maxWaitForRestart is how far away the next attempt may be for a call to wait for it.
const maxWaitForRestart = 2 * time.Second

// settleTime gathers several list_changed notifications into one listing.
const settleTime = 50 * time.Millisecond

// server is one configured server: its connection, or why there is none.
type server struct {
	up     *Upstream
	config ServerConfig
	safe   string
	tried  chan struct{} // closed after the first attempt
	tokens atomic.Int64  // progress tokens that were given out

	mu        sync.Mutex
	state     State
	conn      *connection
	err       error
	problems  []string
	tools     int
	starts    int
	next      time.Time
	version   string
	transport string
	stderr    string
	moved     chan struct{} // closed when state changes, and replaced
	calls     map[*inflight]struct{}
}

func newServer(u *Upstream, config ServerConfig, safe string) *server {
	s := &server{up: u, config: config, safe: safe, tried: make(chan struct{}), state: StateIdle, transport: config.Transport,
		moved: make(chan struct{}), calls: map[*inflight]struct{}{}}
	if config.Disabled {
		s.state = StateDisabled
	}
	return s
}

// change changes the state under the lock and wakes who waits for it.
func (s *server) change(f func()) {
	s.mu.Lock()
	f()
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	s.up.notify()
}

func (s *server) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := ServerStatus{Name: s.config.Name, ID: s.safe, Transport: s.transport, State: s.state, Stderr: s.stderr, Tools: s.tools,
		Problems: s.problems, Starts: s.starts, Version: s.version}
	if s.err != nil {
		status.Error = s.err.Error()
	}
	if s.state == StateDown {
		status.NextAttempt = s.next
	}
	if s.conn != nil {
		status.Stderr = s.conn.stderr()
	}
	return status
}

// neverReady says that connecting was tried, and has not succeeded once. It does not change with every new attempt.
func (s *server) neverReady() bool {
	select {
	case <-s.tried:
	default:
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts == 0
}

// supervise connects and connects again until the upstream is closed.
func (s *server) supervise() {
	ctx := s.up.ctx
	log := s.up.log.With().Str("server", s.config.Name).Logger()
	failures := 0
	for ctx.Err() == nil {
		s.change(func() { s.state = StateConnecting })
		started := time.Now()
		conn, err := s.open(ctx)
		if err == nil {
			log.Info().Str("transport", conn.transport).Int("tools", s.status().Tools).Dur("tookMs", time.Since(started)).Msg("MCP server is ready")
			s.firstTry()
			started = time.Now()
			err = s.attend(ctx, conn)
			if time.Since(started) >= steadyAfter {
				failures = 0
			}
		}
		if ctx.Err() != nil {
			closeConnection(conn)
			break
		}
		delay := min(firstDelay<<min(failures, 16), maxDelay)
		failures++
		s.change(func() { // before closing, which may take seconds: no call should try this connection any more
			s.conn, s.state, s.err, s.next = nil, StateDown, err, time.Now().Add(delay)
			if conn != nil {
				s.stderr = conn.stderr()
			}
		})
		s.firstTry()
		log.Warn().Err(err).Dur("retryInMs", delay).Msg("MCP server is down")
		closeConnection(conn)
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	s.change(func() { s.conn, s.state, s.err = nil, StateDown, errClosed })
	s.firstTry()
}

func closeConnection(conn *connection) {
	if conn != nil {
		conn.close()
	}
}

func (s *server) firstTry() {
	select {
	case <-s.tried:
	default:
		close(s.tried)
		s.up.notify() // neverReady may be true from now on
	}
}

// open connects, lists, and publishes. The connection is returned with the error too, so that it is closed.
func (s *server) open(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.StartTimeout,
		fmt.Errorf("it was not ready within %v (startTimeoutMs)", s.config.StartTimeout))
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return conn, explain(ctx, err)
	}
	if err := s.publish(ctx, conn); err != nil {
		return conn, explain(ctx, err)
	}
	s.change(func() {
		s.conn, s.state, s.err, s.transport, s.version = conn, StateReady, nil, conn.transport, conn.version()
		s.starts++
	})
	return conn, nil
}

// explain prefers the reason for which a context ended to the error that came of it.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// attend waits for the end of a connection, and lists anew when the server says that its lists have changed.
func (s *server) attend(ctx context.Context, conn *connection) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-conn.done:
			return conn.why()
		case <-conn.relist:
		}
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-conn.relist:
		default:
		}
		listing, cancel := context.WithTimeout(ctx, s.config.StartTimeout)
		err := s.publish(listing, conn)
		cancel()
		if err != nil && ctx.Err() == nil {
			s.up.log.Warn().Str("server", s.config.Name).Err(err).Msg("MCP server: its changed lists could not be read, the old ones stay")
			s.change(func() { s.err = fmt.Errorf("its changed lists could not be read: %w", err) })
		} else if err == nil {
			s.change(func() { s.err = nil })
		}
	}
}

// publish lists what the server has and makes that its tools in the catalog, at once.
func (s *server) publish(ctx context.Context, conn *connection) error {
	tools, problems, err := s.entries(ctx, conn)
	if err != nil {
		return err
	}
	for _, p := range s.up.catalog.Replace(s.safe, tools...) {
		problems = append(problems, p.String())
	}
	for _, p := range problems {
		s.up.log.Warn().Str("server", s.config.Name).Str("problem", p).Msg("MCP server: a tool is not as it should be")
	}
	s.mu.Lock()
	s.tools, s.problems = len(tools), problems
	s.mu.Unlock()
	return nil
}

// acquire gives the connection. While the server connects, or will try to soon, it waits; otherwise it says why there is
// none.
func (s *server) acquire(ctx context.Context) (*connection, error) {
	s.up.Start()
	for {
		s.mu.Lock()
		conn, state, err, next, moved := s.conn, s.state, s.err, s.next, s.moved
		s.mu.Unlock()
		switch {
		case state == StateReady && !conn.ended():
			return conn, nil
		case state == StateDown && errors.Is(err, errClosed), state == StateDisabled:
			return nil, s.unavailable("it is closed")
		case state == StateDown && time.Until(next) > maxWaitForRestart:
			return nil, s.unavailable(fmt.Sprintf("the next attempt to reach it is in %d s", int(time.Until(next).Seconds()+1)))
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, s.unavailable("it could not be reached in time")
		case <-s.up.ctx.Done():
			return nil, s.unavailable("it is closed")
		}
	}
}

// CodeUnavailable and the others are the codes of calls that did not reach their server, or whose answer did not arrive.
const (
	CodeUnavailable = "mcp_unavailable" // the server is down; the tool did not run
	CodeLost        = "mcp_lost"        // the connection was lost during the call; the tool may have run
	CodeTimeout     = "mcp_timeout"     // no answer within the server's timeoutMs; the tool may have run
)

// unavailable is the error of a call that did not reach the server. Its text has nothing from the server in it.
func (s *server) unavailable(why string) error {
	s.mu.Lock()
	cause := s.err
	s.mu.Unlock()
	return &catalog.Error{Code: CodeUnavailable, Err: cause,
		Message: fmt.Sprintf("The MCP server %q is not available: %s. The tool did not run.", s.safe, why)}
}
