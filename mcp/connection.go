package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// handshakeVersion is the newest protocol version with an initialize handshake. It is asked for first, because there are
// servers that do not survive, or never answer, the probe of the versions without one.
const handshakeVersion = "2025-11-25"

// connection is one session with a server, until it breaks.
type connection struct {
	server    *server
	transport string
	session   *sdk.ClientSession
	client    *sdk.Client
	process   *process       // of a stdio server
	http      *roundTripper  // of the others
	relist    chan struct{}  // the server's lists have changed
	done      chan struct{}  // closed when the session has ended
	waiting   sync.WaitGroup // the goroutine that waits for that end

	ctx    context.Context // of the calls
	cancel context.CancelCauseFunc
}

// cancelGrace is how long cancellations get to reach a server over HTTP before the session is ended.
const cancelGrace = 100 * time.Millisecond

var errConnectionLost = errors.New("the connection was lost")

// dial starts the server's program or connects to its endpoint, and shakes hands. The connection is returned with the
// error too, so that it is closed.
func (s *server) dial(ctx context.Context) (*connection, error) {
	switch s.config.Transport {
	case TransportStdio:
		conn, err := s.dialStdio(ctx, handshakeVersion)
		if err != nil && isModernOnly(err) {
			conn.close()
			return s.dialStdio(ctx, "")
		}
		return conn, err
	case TransportSSE:
		return s.dialHTTP(ctx, TransportSSE, handshakeVersion)
	}
	conn, err := s.dialHTTP(ctx, TransportHTTP, handshakeVersion)
	if err == nil {
		return conn, nil
	}
	if isModernOnly(err) {
		conn.close()
		return s.dialHTTP(ctx, TransportHTTP, "")
	}
	status := int(conn.http.refused.Load())
	if status < 400 || status >= 500 || status == http.StatusUnauthorized || status == http.StatusForbidden {
		return conn, err
	}
	// The specification's way to tell a server that has only SSE: it refuses the POST.
	// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
	older, olderErr := s.dialHTTP(ctx, TransportSSE, handshakeVersion)
	if olderErr != nil {
		older.close()
		return conn, fmt.Errorf("%w; and over SSE: %w", err, olderErr)
	}
	conn.close()
	return older, nil
}

// isModernOnly says that a server refused the handshake because it has none.
func isModernOnly(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && (wire.Code == jsonrpc.CodeMethodNotFound || wire.Code == sdk.CodeUnsupportedProtocolVersion)
}

func (s *server) newConnection(transport string) *connection {
	c := &connection{server: s, transport: transport, relist: make(chan struct{}, 1), done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(s.up.ctx)
	c.client = s.newClient(c)
	return c
}

func (s *server) dialStdio(ctx context.Context, version string) (*connection, error) {
	c := s.newConnection(TransportStdio)
	log := s.up.log.With().Str("server", s.config.Name).Logger()
	process, err := startProcess(&s.config, s.up.options.MaxMessageBytes,
		func(line string) {
			log.Debug().Str("line", line).Msg("MCP server: a line of its standard output is no message")
		},
		func(line string) { log.Debug().Str("stderr", line).Msg("MCP server") })
	if err != nil {
		return c, err
	}
	c.process = process
	return c, c.connect(ctx, process, version)
}

func (s *server) dialHTTP(ctx context.Context, transport, version string) (*connection, error) {
	c := s.newConnection(transport)
	tripper, err := newRoundTripper(&s.config, s.up.options.MaxMessageBytes)
	if err != nil {
		return c, err
	}
	c.http = tripper
	client := &http.Client{Transport: tripper} // no timeout: calls have their own, streams have none
	// keepRaw can double a message on its way to the SDK; tripper bounds what the server sends.
	var t sdk.Transport = &sdk.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: client, MaxEventSize: -1}
	if transport == TransportSSE {
		t = &sdk.SSEClientTransport{Endpoint: s.config.URL, HTTPClient: client, MaxEventSize: -1}
	}
	return c, c.connect(ctx, t, version)
}

// connect shakes hands. The session does not end with ctx, only connecting does: some transports keep the context that
// they were opened with.
func (c *connection) connect(ctx context.Context, t sdk.Transport, version string) error {
	stop := context.AfterFunc(ctx, func() {
		c.cancel(context.Cause(ctx))
		if c.process != nil {
			c.process.lines.Close() // the SDK's reads do not heed the context
		}
	})
	session, err := c.client.Connect(c.ctx, t, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	c.session = session
	if err != nil {
		return c.blame(err)
	}
	c.waiting.Go(func() {
		_ = session.Wait()
		close(c.done)
	})
	return nil
}

// blame finds the better reason for an error of the connection.
func (c *connection) blame(err error) error {
	switch {
	case c.process != nil && c.process.lines.broken.Load() != nil, c.http != nil && c.http.tooLarge.Load():
		return fmt.Errorf("%w of %d bytes", errMessageTooLarge, c.server.up.options.MaxMessageBytes)
	case c.process != nil && c.process.within(drainTime):
		if end := c.process.end(); end != "" {
			if last := lastLine(c.process.stderr.String()); last != "" {
				return fmt.Errorf("%s: %s", end, last)
			}
			return errors.New(end)
		}
	}
	return err
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return text[max(0, len(text)-300):]
}

// ended says that the session has ended, which the supervisor may not have seen yet.
func (c *connection) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// why says why the session has ended.
func (c *connection) why() error { return c.blame(errConnectionLost) }

// close cuts off the calls and ends the session, and the program where there is one.
func (c *connection) close() {
	c.server.mu.Lock()
	busy := len(c.server.calls) > 0
	c.server.mu.Unlock()
	c.cancel(errConnectionLost)
	if c.process != nil {
		c.process.close()
	} else if busy && !c.ended() {
		// The SDK tells the server on its own time that the calls are cancelled, and many servers keep the end of a
		// session waiting until their calls are done.
		time.Sleep(cancelGrace)
	}
	if c.session != nil {
		_ = c.session.Close()
	}
	c.waiting.Wait()
	if c.http != nil {
		c.http.base.CloseIdleConnections()
	}
}

func (c *connection) stderr() string {
	if c.process == nil {
		return ""
	}
	return c.process.stderr.String()
}

// version is what the server calls itself.
func (c *connection) version() string {
	result := c.session.InitializeResult()
	if result == nil || result.ServerInfo == nil {
		return ""
	}
	return strings.TrimSpace(result.ServerInfo.Name + " " + result.ServerInfo.Version)
}

func (c *connection) capabilities() *sdk.ServerCapabilities {
	if result := c.session.InitializeResult(); result != nil && result.Capabilities != nil {
		return result.Capabilities
	}
	return &sdk.ServerCapabilities{}
}

func (c *connection) listChanged() {
	select {
	case c.relist <- struct{}{}:
	default:
	}
}

// implementation is how we call ourselves, to servers and to clients.
var implementation = sdk.Implementation{Name: "codemode", Title: "Code mode", Version: "1.0.0"}

// newClient makes the SDK's side of a connection.
func (s *server) newClient(c *connection) *sdk.Client {
	options := &sdk.ClientOptions{
		Logger:                      slog.New(slog.DiscardHandler),
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.listChanged() }, // other lists are not kept
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progressed(r.Params) },
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			s.up.event(Event{Server: s.config.Name, Kind: EventLog, Level: string(r.Params.Level), Logger: r.Params.Logger, Data: mustMarshal(r.Params.Data)})
		},
	}
	offers := s.up.offered()
	options.Capabilities = offers.capabilities()
	if offers.sampling != nil {
		options.CreateMessageWithToolsHandler = s.sample
	}
	if offers.elicitation != nil {
		options.ElicitationHandler = s.elicit
	}
	me := implementation
	client := sdk.NewClient(&me, options)
	if offers.roots {
		client.AddReceivingMiddleware(s.answerRoots)
	}
	client.AddReceivingMiddleware(c.endWith)
	return client
}

// endWith ends what answers a server's request when the connection ends: the SDK waits for it.
func (c *connection) endWith(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		return next(ctx, method, r)
	}
}
