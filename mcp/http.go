package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions configures serving over HTTP. Nil, and the zero value of each field, is the default.
type HTTPOptions struct {
	// Token is the bearer token that every request must carry. Default: none is asked for where only this machine can
	// connect and AllowAnonymous is set; otherwise a missing token is an error of ListenHTTP. See NewToken.
	Token string
	// AllowAnonymous serves without a token. Any program and any user of this machine can then run cells. ListenHTTP refuses
	// it for an address that other machines can reach.
	AllowAnonymous bool
	// Origins are the web origins, such as http://localhost:6274, that may send requests. Default: none; requests without
	// an Origin, which is those of everything but browsers, are not concerned.
	Origins []string
	// Hosts are further values of the Host header that are answered. Default: localhost and loopback addresses, and the
	// address that is listened on.
	Hosts []string
	// Path is where the endpoint is. Default: /mcp.
	Path string
	// SessionTimeout ends sessions that send nothing for so long. Default: 30 minutes; negative: never.
	SessionTimeout time.Duration
}

// NewToken makes a bearer token of 256 random bits.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// HTTPServer is a Server that listens.
type HTTPServer struct {
	server   *Server
	listener net.Listener
	http     *http.Server
	path     string
	done     chan error
}

// ListenHTTP listens on an address such as 127.0.0.1:8931 and serves MCP clients over streamable HTTP, each in a session
// of its own. Port 0 takes a free one. It returns at once; Wait, Close and the server's Close
// end it.
func (s *Server) ListenHTTP(address string, options *HTTPOptions) (*HTTPServer, error) {
	var o HTTPOptions
	if options != nil {
		o = *options
	}
	if o.Token == "" && !o.AllowAnonymous {
		return nil, errors.New("mcp: serving over HTTP needs a bearer token")
	}
	for _, origin := range o.Origins {
		if !isOrigin(origin) {
			return nil, fmt.Errorf("mcp: %q is not an origin; write scheme, host and port, such as http://localhost:6274", origin)
		}
	}
	if o.Path == "" {
		o.Path = "/mcp"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); o.Token == "" && !(ok && at.IP.IsLoopback()) {
		listener.Close()
		return nil, fmt.Errorf("mcp: without a token only this machine may connect, and others can reach %s: listen on 127.0.0.1, or ask for a token", address)
	}
	o.Hosts = append(slices.Clone(o.Hosts), address, listener.Addr().String())
	h := &HTTPServer{server: s, listener: listener, path: o.Path, done: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.Handle(o.Path, s.Handler(&o))
	h.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		listener.Close()
		return nil, errServerClosed
	}
	s.listens = append(s.listens, h)
	s.mu.Unlock()
	go func() { h.done <- h.http.Serve(listener) }() // ended by Close, of the server too
	s.log.Info().Str("url", h.URL()).Msg("serving MCP over HTTP")
	return h, nil
}

// URL is the endpoint, as a client on this machine reaches it.
func (h *HTTPServer) URL() string {
	host := h.listener.Addr().String()
	if at, ok := h.listener.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		host = net.JoinHostPort("localhost", strconv.Itoa(at.Port)) // 0.0.0.0 and [::] are no names to connect to
	}
	return "http://" + host + h.path
}

// isOrigin says whether a text is what browsers send as Origin: a scheme, a host and nothing after them.
func isOrigin(text string) bool {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	return err == nil && u.Scheme != "" && u.Host != "" && u.User == nil && u.Path == "" && u.RawQuery == "" && u.Fragment == ""
}

// Wait blocks until ctx ends, or serving fails; in both cases it closes. The error is that of serving.
func (h *HTTPServer) Wait(ctx context.Context) error {
	select {
	case err := <-h.done:
		h.done <- err
	case <-ctx.Done():
	}
	return h.Close()
}

// Close stops listening and cuts off what is under way. The sessions are the server's to end.
func (h *HTTPServer) Close() error {
	_ = h.http.Close()
	err := <-h.done
	h.done <- err
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Handler is the endpoint, for a program that has an HTTP server of its own. The checks of token, Host and Origin are in
// it; without a token and without AllowAnonymous it lets nobody through.
func (s *Server) Handler(options *HTTPOptions) http.Handler {
	var o HTTPOptions
	if options != nil {
		o = *options
	}
	timeout := o.SessionTimeout
	switch {
	case timeout == 0:
		timeout = 30 * time.Minute
	case timeout < 0:
		timeout = 0
	}
	next := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		SessionTimeout: timeout, MaxRequestBodyBytes: maxRequestBytes, Logger: slog.New(slog.DiscardHandler),
		DisableLocalhostProtection: true, // gate does it, and by more names
	})
	g := &gate{server: s, next: next, origins: o.Origins, anonymous: o.Token == "" && o.AllowAnonymous, hasToken: o.Token != "",
		token: sha256.Sum256([]byte(o.Token))}
	for _, host := range o.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	return g
}

// gate lets requests through that come from where they should.
type gate struct {
	server    *Server
	next      http.Handler
	origins   []string
	hosts     []string
	anonymous bool
	hasToken  bool
	token     [sha256.Size]byte
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !g.hostAllowed(r.Host):
		// A web page can make a browser send requests here under a name of its own (DNS rebinding); the name gives it away.
		http.Error(w, "The Host header names no host that is served.", http.StatusForbidden)
		return
	case !g.originAllowed(r.Header.Values("Origin")):
		http.Error(w, "Requests from this origin are not allowed.", http.StatusForbidden)
		return
	case !g.authorised(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="codemode"`)
		http.Error(w, "A bearer token is needed.", http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodDelete {
		g.server.endSessionID(r.Header.Get("Mcp-Session-Id")) // the SDK would wait for its calls first
	}
	g.next.ServeHTTP(w, r)
}

func (g *gate) hostAllowed(host string) bool {
	host = strings.ToLower(host)
	if slices.Contains(g.hosts, host) {
		return true
	}
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if name == "localhost" || slices.Contains(g.hosts, name) {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback()
}

func (g *gate) originAllowed(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || !slices.ContainsFunc(g.origins, func(allowed string) bool {
			return strings.EqualFold(strings.TrimSuffix(allowed, "/"), u.Scheme+"://"+u.Host)
		}) {
			return false
		}
	}
	return true
}

func (g *gate) authorised(header string) bool {
	if g.anonymous {
		return true
	}
	kind, token, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return g.hasToken && strings.EqualFold(kind, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// endSessionID ends the session that HTTP requests name so.
func (s *Server) endSessionID(id string) {
	if id == "" {
		return
	}
	s.mu.Lock()
	var found *session
	for client, session := range s.sessions {
		if client.ID() == id {
			found = session
		}
	}
	s.mu.Unlock()
	if found != nil {
		found.end()
	}
}
