package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// downstream is a client in front of us, on whose behalf calls run and who may answer what servers ask.
type downstream interface {
	sample(ctx context.Context, params *sdk.CreateMessageWithToolsParams) (*sdk.CreateMessageWithToolsResult, error)
	elicit(ctx context.Context, params *sdk.ElicitParams) (*sdk.ElicitResult, error)
	roots(ctx context.Context) (*sdk.ListRootsResult, error)
}

type downstreamKey struct{}
type progressKey struct{}
type taintKey struct{}
type nativeKey struct{}

// withTaint says who wants to know that text of a server has reached a cell in an error: a host sees that of results.
func withTaint(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, taintKey{}, f)
}

func taint(ctx context.Context) {
	if f, ok := ctx.Value(taintKey{}).(func()); ok {
		f()
	}
}

// withProgress says who wants to hear how far the calls under ctx are.
func withProgress(ctx context.Context, f func(Event)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

func progressOf(ctx context.Context) func(Event) {
	f, _ := ctx.Value(progressKey{}).(func(Event))
	return f
}

// withDownstream says on whose behalf the calls under ctx run.
func withDownstream(ctx context.Context, d downstream) context.Context {
	return context.WithValue(ctx, downstreamKey{}, d)
}

func downstreamOf(ctx context.Context) downstream {
	d, _ := ctx.Value(downstreamKey{}).(downstream)
	return d
}

// withNative asks for answers whose media are as the server sent them.
func withNative(ctx context.Context) context.Context {
	return context.WithValue(ctx, nativeKey{}, true)
}

func wantsNative(ctx context.Context) bool { return ctx.Value(nativeKey{}) != nil }

// offers are what servers are told that the client behind us can do.
type offers struct {
	sampling    *sdk.SamplingCapabilities
	elicitation *sdk.ElicitationCapabilities
	roots       bool
}

func (o offers) capabilities() *sdk.ClientCapabilities {
	c := &sdk.ClientCapabilities{Sampling: o.sampling, Elicitation: o.elicitation}
	if o.roots {
		c.RootsV2 = &sdk.RootCapabilities{ListChanged: true}
	}
	return c
}

func (u *Upstream) offered() offers {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.offers
}

// join adds a client. What the first one can do is what servers are told, for they are told once, when they start.
func (u *Upstream) join(d downstream, o offers) {
	u.mu.Lock()
	if len(u.clients) == 0 && !u.started {
		u.offers = o
	}
	u.clients = append(u.clients, d)
	u.mu.Unlock()
}

func (u *Upstream) leave(d downstream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, c := range u.clients {
		if c == d {
			u.clients = append(u.clients[:i:i], u.clients[i+1:]...)
			return
		}
	}
}

// rootsChanged tells the servers that a client's roots have changed.
func (u *Upstream) rootsChanged() {
	for _, s := range u.servers {
		s.mu.Lock()
		conn := s.conn
		s.mu.Unlock()
		if conn != nil && u.offered().roots {
			// The SDK notifies servers when its own list changes; what it lists is never asked for, see answerRoots.
			conn.client.AddRoots(&sdk.Root{URI: "file:///"})
		}
	}
}

var errNobody = errors.New("there is no client to ask")
var errSeveral = errors.New("several clients use this server, and the protocol does not say which one to ask")

// asker finds the client that a server's request is for: the one whose call the server is working on, or else the only
// one. Where that is not clear nobody is asked, so that one client never sees what another one's call brought up.
func (s *server) asker() (downstream, error) {
	found := map[downstream]bool{}
	s.mu.Lock()
	for f := range s.calls {
		if f.client != nil {
			found[f.client] = true
		}
	}
	s.mu.Unlock()
	if len(found) == 0 {
		s.up.mu.Lock()
		for _, c := range s.up.clients {
			found[c] = true
		}
		s.up.mu.Unlock()
	}
	switch len(found) {
	case 0:
		return nil, errNobody
	case 1:
		for c := range found {
			return c, nil
		}
	}
	return nil, errSeveral
}

func (s *server) sample(ctx context.Context, r *sdk.CreateMessageWithToolsRequest) (*sdk.CreateMessageWithToolsResult, error) {
	d, err := s.asker()
	if err != nil {
		return nil, err
	}
	return d.sample(ctx, r.Params)
}

func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	d, err := s.asker()
	if err != nil {
		return nil, err
	}
	return d.elicit(ctx, r.Params)
}

// answerRoots answers roots/list with the client's own roots.
func (s *server) answerRoots(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method != "roots/list" {
			return next(ctx, method, r)
		}
		d, err := s.asker()
		if err != nil {
			return nil, err
		}
		return d.roots(ctx)
	}
}
