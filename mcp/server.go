package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"codemode/catalog"
	"codemode/host"
)

// ServerOptions configures a Server. Nil, and the zero value of each field, is the default.
type ServerOptions struct {
	// Upstream is where the catalog's MCP tools come from. It is started when the first client has connected, and is
	// told what that client can do. Default: none.
	Upstream *Upstream
	// Policy hides tools from cells and clients. Default: the host's for cells and direct-only tools, and none hidden of
	// those that Direct names.
	Policy *catalog.Policy
	// Direct names tools that clients see beside exec and wait: by callable name (MCP.github.createIssue, ping), or by the
	// tool's name (github__create_issue). A name that no tool has waits for one. Tools that the catalog has as direct-only
	// are there without being named.
	Direct []string
	// Instructions are for the model, of the program that embeds the server. Default: a sentence about exec.
	Instructions string
	// ReadyTimeout is how long an exec waits for servers that have not connected or failed yet. Default: 10 s.
	ReadyTimeout time.Duration
	// ProgressInterval is how often a client that asked for it hears that a cell still runs. Default: 1 s.
	ProgressInterval time.Duration
	// Logger gets what a person who runs the server wants to know. Default: nothing is logged.
	Logger *zerolog.Logger
}

// Server gives MCP clients code mode: the tools exec and wait, and those that are kept direct. One Server serves any
// number of sessions at the same time, over stdio and HTTP.
type Server struct {
	host    *host.Host
	catalog *catalog.Catalog
	options ServerOptions
	log     zerolog.Logger
	sdk     *sdk.Server
	dirty   chan struct{}

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	publishing sync.Mutex // held while published and direct change
	published  string     // the description of exec that clients have
	direct     map[string]string

	checked sync.Once // checkCatalog was started

	mu       sync.Mutex
	closed   bool
	sessions map[*sdk.ServerSession]*session
	listens  []*HTTPServer
}

// listWait is how long the first tools/list waits for servers: clients ask once, at their start, and most never again.
const listWait = 3 * time.Second

// NewServer makes a server of a host and the catalog that the host has. Close it before the host and the upstream.
func NewServer(h *host.Host, c *catalog.Catalog, options *ServerOptions) *Server {
	s := &Server{host: h, catalog: c, log: zerolog.Nop(), dirty: make(chan struct{}, 1), direct: map[string]string{},
		sessions: map[*sdk.ServerSession]*session{}}
	if options != nil {
		s.options = *options
	}
	s.options.Direct = slices.Clone(s.options.Direct)
	if s.options.Logger != nil {
		s.log = *s.options.Logger
	}
	if s.options.ReadyTimeout <= 0 {
		s.options.ReadyTimeout = 10 * time.Second
	}
	if s.options.ProgressInterval <= 0 {
		s.options.ProgressInterval = time.Second
	}
	if s.options.Instructions == "" {
		s.options.Instructions = "Tools are reached from code: run JavaScript or TypeScript with exec. Its description says how to find tools."
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	me := implementation
	s.sdk = sdk.NewServer(&me, &sdk.ServerOptions{
		Instructions: s.options.Instructions,
		Logger:       slog.New(slog.DiscardHandler),
		// Later versions have no sessions, and no way to ask the client while a call is under way.
		SupportedProtocolVersions: handshakeVersions(),
		Capabilities:              &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
		InitializedHandler: func(_ context.Context, r *sdk.InitializedRequest) {
			if _, err := s.session(r.Session); err != nil {
				s.log.Debug().Err(err).Msg("client connected while the server closes")
			}
		},
		RootsListChangedHandler: func(context.Context, *sdk.RootsListChangedRequest) {
			if u := s.options.Upstream; u != nil {
				u.rootsChanged()
			}
		},
	})
	s.sdk.AddReceivingMiddleware(s.beforeList)
	s.sdk.AddTool(definition(s.surface().Wait), s.wait)
	s.Refresh()
	if u := s.options.Upstream; u != nil {
		u.mu.Lock()
		u.changed = append(u.changed, s.markDirty)
		u.mu.Unlock()
	}
	s.wg.Go(s.keepFresh)
	return s
}

// handshakeVersions are the protocol versions that begin with an initialize handshake.
func handshakeVersions() []string {
	return slices.DeleteFunc(sdk.SupportedProtocolVersions(), func(v string) bool { return v > handshakeVersion })
}

func (s *Server) markDirty() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

func (s *Server) keepFresh() {
	for {
		select {
		case <-s.dirty:
			s.Refresh()
		case <-s.ctx.Done():
			return
		}
	}
}

// Refresh makes the definitions of the tools anew, and tells clients when something in them has changed. The server does
// it by itself when an MCP server's tools change; a program that changes the catalog in another way calls it.
func (s *Server) Refresh() {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	surface := s.surface()
	if s.published != surface.Exec.Description {
		s.published = surface.Exec.Description
		s.sdk.AddTool(definition(surface.Exec), s.exec)
	}
	s.refreshDirect()
}

// missing lists servers that could not be connected to yet. One that was there before is expected back; its tools stay.
func (s *Server) missing() []string {
	u := s.options.Upstream
	if u == nil {
		return nil
	}
	var names []string
	for _, server := range u.servers {
		if server.neverReady() {
			names = append(names, server.safe)
		}
	}
	return names
}

// beforeList lets the first list of tools have what the servers have.
func (s *Server) beforeList(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method == "tools/list" {
			if ss, ok := r.GetSession().(*sdk.ServerSession); ok {
				if _, err := s.session(ss); err != nil {
					return nil, err
				}
			}
			s.ready(ctx, listWait)
			s.Refresh()
		}
		return next(ctx, method, r)
	}
}

// ready waits for servers that have not been tried yet.
func (s *Server) ready(ctx context.Context, limit time.Duration) {
	if u := s.options.Upstream; u != nil {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_ = u.Ready(ctx)
	}
}

// checkCatalog warns once the servers are there: of patterns that match nothing, because a misspelt one hides nothing, of
// direct tools that there are not, and of a catalog without tools.
func (s *Server) checkCatalog() {
	s.ready(s.ctx, checkWait)
	if s.ctx.Err() != nil {
		return
	}
	snapshot := s.catalog.Snapshot()
	for _, pattern := range snapshot.Unmatched(s.options.Policy) {
		s.log.Warn().Str("pattern", pattern).Msg("a pattern of the policy matches no tool that is there")
	}
	direct := s.directTools()
	for _, name := range s.options.Direct {
		if !slices.ContainsFunc(direct, func(e *catalog.Entry) bool { return name == e.CallableName() || name == e.Name() }) {
			s.log.Warn().Str("direct", name).Msg("no tool that is there has this name")
		}
	}
	if snapshot.Len() == 0 && len(direct) == 0 {
		s.log.Warn().Msg("there are no tools: cells can only compute")
	}
}

// checkWait is how long servers may take to start before the catalog is checked without them.
const checkWait = 30 * time.Second

var errServerClosed = errors.New("mcp: the server is closed")

// exec is the tool.
func (s *Server) exec(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	session, err := s.session(r.Session)
	if err != nil {
		return nil, err
	}
	var in host.ExecInput
	_ = in.UnmarshalJSON(arguments(r))
	run := newRun()
	return session.drive(ctx, r, run, func(ctx context.Context) *host.Result {
		s.ready(ctx, s.options.ReadyTimeout)
		ctx = withTaint(withProgress(withDownstream(ctx, session), run.report), func() { run.tainted.Store(true) })
		return s.host.ExecWith(ctx, session.scope, in, host.CallOptions{Policy: s.options.Policy, ParentID: session.callID()})
	})
}

// wait is the tool.
func (s *Server) wait(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	session, err := s.session(r.Session)
	if err != nil {
		return nil, err
	}
	var in host.WaitInput
	_ = in.UnmarshalJSON(arguments(r))
	return session.drive(ctx, r, session.runOf(in.RunID), func(ctx context.Context) *host.Result {
		return s.host.Wait(ctx, session.scope, in)
	})
}

func arguments(r *sdk.CallToolRequest) json.RawMessage {
	if r.Params == nil || len(r.Params.Arguments) == 0 || string(r.Params.Arguments) == "null" {
		return json.RawMessage("{}")
	}
	return r.Params.Arguments
}

// reply is a result as clients get it: structured, the same as compact JSON text, and the media that it refers to. The
// text of a result with content from outside is wrapped; the structured form never is.
func (s *Server) reply(session *session, result *host.Result, tainted bool) (*sdk.CallToolResult, error) {
	structured, err := result.MarshalJSON() // json.Marshal would escape < > & for browsers
	if err != nil {
		return nil, err
	}
	text := string(structured)
	if result.Untrusted || tainted {
		text = wrapUntrusted(text)
	}
	reply := &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: text}},
		StructuredContent: json.RawMessage(structured),
		IsError:           result.Status == host.Failed,
	}
	if u := s.options.Upstream; u != nil {
		for _, media := range u.mediaIn(session.scope.Session, structured) {
			reply.Content = append(reply.Content, media.block())
		}
	}
	return reply, nil
}

// block is the media as a client shows it.
func (m *Media) block() sdk.Content {
	switch m.Kind {
	case "image":
		return &sdk.ImageContent{Data: m.Data, MIMEType: m.MIMEType}
	case "audio":
		return &sdk.AudioContent{Data: m.Data, MIMEType: m.MIMEType}
	}
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: m.URI, MIMEType: m.MIMEType, Blob: m.Data}}
}

// Close stops listening, ends every session, cancels their runs, and returns when nothing of the server runs any more. A second Close
// waits for the first.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	sessions := make([]*session, 0, len(s.sessions))
	for _, session := range s.sessions {
		sessions = append(sessions, session)
	}
	listens := s.listens
	s.mu.Unlock()
	s.cancel(errServerClosed)
	for _, session := range sessions {
		session.end()
	}
	for _, h := range listens {
		_ = h.Close()
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for client := range s.sdk.Sessions() { // those too that have not said that they are initialized
			_ = client.Close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(sessionGrace):
		s.log.Debug().Msg("a client's session did not close in time and was left")
	}
	s.wg.Wait()
	return nil
}

// sessionGrace is how long Close waits for the SDK's sessions. One whose HTTP connection was cut at the wrong moment waits
// for a message that cannot come any more, for ever; our side of it has ended by then.
const sessionGrace = 2 * time.Second
