package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/host"
)

// session is one client. Its runs, saved results and media are known to it alone.
type session struct {
	server *Server
	client *sdk.ServerSession
	scope  host.Scope
	ctx    context.Context // of its calls
	cancel context.CancelCauseFunc
	ending sync.Once
	number atomic.Int64

	mu   sync.Mutex
	runs map[string]*run // those that wait, by run id
}

// session finds the session of a client, or makes it. With the first one the upstream servers start.
func (s *Server) session(client *sdk.ServerSession) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.sessions[client]; ok {
		return known, nil
	}
	if s.closed {
		return nil, errServerClosed
	}
	made := &session{server: s, client: client, scope: host.Scope{Session: uuid.NewString()}, runs: map[string]*run{}}
	made.ctx, made.cancel = context.WithCancelCause(s.ctx)
	s.sessions[client] = made
	if u := s.options.Upstream; u != nil {
		u.join(made, made.offers())
		u.Start()
	}
	gone := make(chan struct{})
	go func() { // not waited for: see sessionGrace
		_ = client.Wait()
		close(gone)
	}()
	s.wg.Go(func() {
		select {
		case <-gone:
		case <-s.ctx.Done():
		}
		made.end()
		s.mu.Lock()
		delete(s.sessions, client)
		s.mu.Unlock()
	})
	s.checked.Do(func() { s.wg.Go(s.checkCatalog) })
	s.log.Debug().Str("session", made.scope.Session).Msg("client connected")
	return made, nil
}

var errSessionEnded = errors.New("the session has ended")

// end cancels the session's calls and runs and forgets what it has kept.
func (c *session) end() {
	c.ending.Do(func() {
		c.cancel(errSessionEnded)
		runs := c.server.host.EndSession(c.scope)
		if u := c.server.options.Upstream; u != nil {
			u.leave(c)
			u.DropMedia(c.scope.Session)
		}
		c.server.log.Debug().Str("session", c.scope.Session).Int("cancelledRuns", runs).Msg("client disconnected")
	})
}

// callID names a call of exec, for the trajectory.
func (c *session) callID() string { return fmt.Sprintf("%s:%d", c.scope.Session, c.number.Add(1)) }

// drive runs an exec or a wait: it ends with the session, and it reports progress to a client that asked for it.
func (c *session) drive(ctx context.Context, r *sdk.CallToolRequest, run *run, do func(context.Context) *host.Result) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(errSessionEnded) })()
	stop := c.reportTo(ctx, r, run)
	result := do(ctx)
	stop()
	c.mu.Lock()
	if result.Status == host.Waiting {
		c.runs[result.RunID] = run
		run.id = result.RunID
	} else if run.id != "" {
		delete(c.runs, run.id)
	}
	c.mu.Unlock()
	return c.server.reply(c, result, run.tainted.Load())
}

// runOf finds a run that waits; a run that is not known has nothing to report.
func (c *session) runOf(id string) *run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.runs[id]; ok {
		return known
	}
	return newRun()
}

// run is one cell, over all the calls that drive it.
type run struct {
	id     string // once it waits; guarded by the session
	events chan string
	// tainted is set once an error with text of a server has reached the cell.
	tainted atomic.Bool
}

func newRun() *run { return &run{events: make(chan string, 1)} }

// report takes what an upstream server says about a call of the cell. The newest replaces the one before.
func (r *run) report(e Event) {
	text := e.Server + ": " + e.Tool
	if e.Total > 0 {
		text += fmt.Sprintf(", %g of %g", e.Progress, e.Total)
	} else {
		text += fmt.Sprintf(", %g", e.Progress)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	for {
		select {
		case r.events <- text:
			return
		default:
		}
		select {
		case <-r.events:
		default:
		}
	}
}

// minProgressGap keeps a chatty server from flooding the client.
const minProgressGap = 100 * time.Millisecond

// reportTo sends progress notifications until the returned function is called.
func (c *session) reportTo(ctx context.Context, r *sdk.CallToolRequest, run *run) (stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		started := time.Now()
		tick := time.NewTicker(c.server.options.ProgressInterval)
		defer tick.Stop()
		for n := 1; ; n++ {
			var message string
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				message = fmt.Sprintf("running for %d s", int(time.Since(started).Seconds()))
			case message = <-run.events:
			}
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: message})
			select {
			case <-ctx.Done():
				return
			case <-time.After(minProgressGap):
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// offers are what the client can do for upstream servers.
func (c *session) offers() offers {
	params := c.client.InitializeParams()
	if params == nil || params.Capabilities == nil {
		return offers{}
	}
	return offers{sampling: params.Capabilities.Sampling, elicitation: params.Capabilities.Elicitation, roots: params.Capabilities.RootsV2 != nil}
}

func (c *session) sample(ctx context.Context, params *sdk.CreateMessageWithToolsParams) (*sdk.CreateMessageWithToolsResult, error) {
	if c.offers().sampling == nil {
		return nil, errors.New("the client does not take sampling requests")
	}
	return c.client.CreateMessageWithTools(ctx, params)
}

func (c *session) elicit(ctx context.Context, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	return c.client.Elicit(ctx, params)
}

func (c *session) roots(ctx context.Context) (*sdk.ListRootsResult, error) {
	if !c.offers().roots {
		return nil, errors.New("the client has no roots")
	}
	return c.client.ListRoots(ctx, nil)
}
