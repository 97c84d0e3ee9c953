package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"codemode/catalog"
)

// UpstreamOptions configures an Upstream. Nil, and the zero value of each field, is the default.
type UpstreamOptions struct {
	// Logger gets what a person who runs the servers wants to know: starts, ends, errors, and at debug level what the
	// programs write to standard error. Default: nothing is logged.
	Logger *zerolog.Logger
	// Events, where set, is given what servers report while they work. It may be called from many goroutines and must not
	// block.
	Events func(Event)
	// Changed, where set, is called after the tools of a server or its state have changed. It must not block.
	Changed func()
	// MediaInlineBytes is how much base64 of an image, a sound or a blob passes into a cell; what is larger becomes a
	// reference, see Media. Default: 4,096.
	MediaInlineBytes int
	// MediaStoreBytes is how much media is kept for references, of all sessions. Default: 256 MiB.
	MediaStoreBytes int64
	// MaxMessageBytes bounds one message of a server; a larger one ends the connection. Default: 64 MiB.
	MaxMessageBytes int
}

// Event is something that a server reports.
type Event struct {
	Server string    `json:"server"` // as the configuration spells it
	Kind   EventKind `json:"event"`
	// Call is the nested call that a progress event belongs to, its id in the host; empty for other events.
	Call    string `json:"toolCallId,omitempty"`
	Tool    string `json:"tool,omitempty"`    // of a progress event: the tool's own name
	Message string `json:"message,omitempty"` // of a progress event; untrusted text

	Progress float64 `json:"progress,omitempty"` // of a progress event
	Total    float64 `json:"total,omitempty"`    // of a progress event; 0 where it is not known

	Level  string          `json:"level,omitempty"`  // of a log event: debug, info, notice, warning, error, critical, alert, emergency
	Logger string          `json:"logger,omitempty"` // of a log event
	Data   json.RawMessage `json:"data,omitempty"`   // of a log event; untrusted, of any size
}

// EventKind says what an event is.
type EventKind string

// The kinds.
const (
	EventProgress EventKind = "progress"
	EventLog      EventKind = "log"
)

// Upstream is the connections to all configured servers. Their tools are in the catalog while it lives.
//
//	NewUpstream ── Start ──┬─ a server connects ── its tools are published ── calls
//	                       │        ▲                                           │
//	                       │        └──── back-off ◀── it is down or dies ◀─────┘
//	                       └─ Close: calls are cut off, programs ended, tools taken out
//
// All methods are safe for concurrent use.
type Upstream struct {
	catalog *catalog.Catalog
	options UpstreamOptions
	log     zerolog.Logger
	servers []*server
	media   *mediaStore

	ctx    context.Context // of everything that the upstream does
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	started bool
	closed  bool
	changed []func()
	offers  offers       // what servers are told that the client can do
	clients []downstream // who is there to answer servers' requests
}

var errClosed = errors.New("the connections are closed")

// NewUpstream makes the connections of a configuration. Nothing is started: Start does that, or the first call. Tools
// appear in c as servers connect.
func NewUpstream(config *Config, c *catalog.Catalog, options *UpstreamOptions) *Upstream {
	u := &Upstream{catalog: c, log: zerolog.Nop()}
	if options != nil {
		u.options = *options
	}
	if u.options.Logger != nil {
		u.log = *u.options.Logger
	}
	if u.options.MediaInlineBytes <= 0 {
		u.options.MediaInlineBytes = 4096
	}
	if u.options.MediaStoreBytes <= 0 {
		u.options.MediaStoreBytes = 256 << 20
	}
	if u.options.MaxMessageBytes <= 0 {
		u.options.MaxMessageBytes = 64 << 20
	}
	if u.options.Changed != nil {
		u.changed = append(u.changed, u.options.Changed)
	}
	u.media = newMediaStore(u.options.MediaStoreBytes)
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	safe := safeServerNames(config.Servers)
	for i, s := range config.Servers {
		u.servers = append(u.servers, newServer(u, s, safe[i]))
		if !s.Disabled {
			c.ExpectServers(safe[i])
		}
	}
	return u
}

// Start starts to connect to every server, all at once, and returns. A second Start does nothing.
func (u *Upstream) Start() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.started || u.closed {
		return
	}
	u.started = true
	for _, s := range u.servers {
		if s.config.Disabled {
			continue
		}
		u.wg.Go(s.supervise)
	}
}

// Ready starts, and waits until every server has either connected or failed once, or ctx ends. Servers that failed are
// tried again later; Status says what is wrong with them. The error is ctx's.
func (u *Upstream) Ready(ctx context.Context) error {
	u.Start()
	for _, s := range u.servers {
		if s.config.Disabled {
			continue
		}
		select {
		case <-s.tried:
		case <-u.ctx.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// State says how a server is.
type State string

// The states.
const (
	StateIdle       State = "idle"       // not started
	StateDisabled   State = "disabled"   // by the configuration
	StateConnecting State = "connecting" // for the first time, or again
	StateReady      State = "ready"
	StateDown       State = "down" // it failed; it is tried again at NextAttempt
)

// ServerStatus is how one server is.
type ServerStatus struct {
	Name        string    // as the configuration spells it
	ID          string    // the safe name, the owner of its tools
	Transport   string    // stdio, http or sse: the one in use, or the configured one
	State       State     //
	Error       string    // why it is down, or what was wrong with its lists; may hold text of the server
	Stderr      string    // the last that a program wrote to standard error, up to 4 KiB; text of the server
	Tools       int       // how many entries of it are in the catalog
	Problems    []string  // tools that were left out, and why
	Starts      int       // how often connecting succeeded
	NextAttempt time.Time // of a server that is down
	Version     string    // what it calls itself, name and version; text of the server
}

// Status lists the servers in the order of the configuration.
func (u *Upstream) Status() []ServerStatus {
	list := make([]ServerStatus, len(u.servers))
	for i, s := range u.servers {
		list[i] = s.status()
	}
	return list
}

// Close cuts off every call, ends every program and takes the tools out of the catalog. It returns when no goroutine and
// no process is left, within about 6 s when programs ignore everything but SIGKILL. A second Close waits for the first.
func (u *Upstream) Close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.cancel(errClosed)
	u.wg.Wait()
	for _, s := range u.servers {
		u.catalog.RemoveOwner(s.safe)
	}
	return nil
}

// notify tells who wants to know that something has changed.
func (u *Upstream) notify() {
	u.mu.Lock()
	changed := u.changed
	u.mu.Unlock()
	for _, f := range changed {
		f()
	}
}

func (u *Upstream) event(e Event) {
	if u.options.Events != nil {
		u.options.Events(e)
	}
}
