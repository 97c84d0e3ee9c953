package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/catalog"
)

// sdkServer is a server of the SDK, for HTTP.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	type input struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "shout"}, func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.ToUpper(in.Text)}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "sleep"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Second):
		}
		return &sdk.CallToolResult{}, nil, nil
	})
	return s
}

func httpConfig(name, url string) ServerConfig {
	return ServerConfig{Name: name, Transport: TransportHTTP, URL: url, Timeout: 10 * time.Second, StartTimeout: 10 * time.Second}
}

func serveHTTP(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

func TestHTTPTransports(t *testing.T) {
	s := sdkServer()
	get := func(*http.Request) *sdk.Server { return s }
	for _, test := range []struct {
		name, configured, used string
		handler                http.Handler
	}{
		{"events", TransportHTTP, TransportHTTP, sdk.NewStreamableHTTPHandler(get, nil)},
		{"JSON", TransportHTTP, TransportHTTP, sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{JSONResponse: true})},
		{"stateless", TransportHTTP, TransportHTTP, sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: true})},
		{"SSE", TransportSSE, TransportSSE, sdk.NewSSEHandler(get, nil)},
		{"SSE found out", TransportHTTP, TransportSSE, sdk.NewSSEHandler(get, nil)},
	} {
		t.Run(test.name, func(t *testing.T) {
			noLeaks(t)
			var authorised atomic.Int32
			server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer x" {
					authorised.Add(1)
				} else {
					t.Errorf("%s without the configured header", r.Method)
				}
				test.handler.ServeHTTP(w, r)
			}))
			config := httpConfig("web", server.URL)
			config.Transport, config.Headers = test.configured, map[string]string{"authorization": "Bearer x"}
			c := catalog.New(nil)
			u := NewUpstream(&Config{Servers: []ServerConfig{config}}, c, nil)
			defer u.Close()
			if err := u.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			status := u.Status()[0]
			if status.State != StateReady || status.Transport != test.used {
				t.Fatalf("status %+v", status)
			}
			if got := callText(t, entry(t, c, "web", "shout"), `{"text":"hi"}`); got != "HI" {
				t.Errorf("shout: %q", got)
			}
			slow, slept := entry(t, c, "web", "sleep"), make(chan error, 1)
			go func() {
				_, err := slow.Run(context.Background(), nil)
				slept <- err
			}()
			time.Sleep(100 * time.Millisecond)
			started := time.Now()
			u.Close()
			if took := time.Since(started); took > 2*time.Second {
				t.Errorf("Close took %v", took)
			}
			wantCode(t, <-slept, CodeLost)
		})
	}
}

// A server that was started anew does not know the session; calls go on over a new one.
func TestHTTPServerThatForgets(t *testing.T) {
	noLeaks(t)
	s := sdkServer()
	var handler atomic.Pointer[sdk.StreamableHTTPHandler]
	fresh := func() {
		handler.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{SessionTimeout: time.Second}))
	}
	fresh()
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	c := catalog.New(nil)
	u := NewUpstream(&Config{Servers: []ServerConfig{httpConfig("web", server.URL)}}, c, nil)
	defer u.Close()
	u.Ready(t.Context())
	shout := entry(t, c, "web", "shout")
	callText(t, shout, `{"text":"hi"}`)
	fresh()
	if got := callText(t, shout, `{"text":"again"}`); got != "AGAIN" {
		t.Errorf("shout: %q", got)
	}
	if starts := u.Status()[0].Starts; starts != 2 {
		t.Errorf("%d starts", starts)
	}
}

// Secrets in headers stay with the configured host.
func TestHeadersStayWithTheHost(t *testing.T) {
	noLeaks(t)
	var leaked atomic.Bool
	other := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("X-Secret") != "")
		http.Error(w, "no", http.StatusTeapot)
	}))
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s/post\n\n", other.URL)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	config := httpConfig("web", server.URL)
	config.Headers = map[string]string{"X-Secret": "s"}
	u := NewUpstream(&Config{Servers: []ServerConfig{config}}, catalog.New(nil), nil)
	defer u.Close()
	u.Ready(t.Context())
	if status := u.Status()[0]; status.State == StateReady {
		t.Errorf("status %+v", status)
	}
	if leaked.Load() {
		t.Error("the header went to another host")
	}
}

func TestEventsAreReadHoweverTheyAreWritten(t *testing.T) {
	message := `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"b":1,"a":2}}}`
	kept := string(keepRaw([]byte(message)))
	if !strings.Contains(kept, rawKey) {
		t.Fatalf("kept %s", kept)
	}
	endpoint, _ := url.Parse("http://x")
	for _, test := range []struct{ in, want string }{
		{"event: message\nid: 7\ndata: " + message + "\n\n", "event: message\nid: 7\ndata: " + kept + "\n\n"},
		{"data:" + message + "\r\n\r\n", "data: " + kept + "\n\n"},
		{": ping\n\n", ": ping\n\n"},
		{"data: {\"jsonrpc\":\"2.0\",\"id\":1,\ndata: \"result\":{\"content\":[],\"structuredContent\":{\"b\":1,\"a\":2}}}\n\n", "data: " + kept + "\n\n"},
		{"data: hello\ndata: you\n\n", "data: hello\ndata: you\n\n"},
		{"data: cut off", "data: cut off\n"},
	} {
		tripper := &roundTripper{base: http.DefaultTransport.(*http.Transport), endpoint: endpoint, max: 1 << 20}
		recorder := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, test.in)
		}))
		request, _ := http.NewRequest("GET", recorder.URL, nil)
		response, err := tripper.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		buffer := make([]byte, 7)
		for {
			n, err := response.Body.Read(buffer)
			got.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		if got.String() != test.want {
			t.Errorf("%q becomes %q, want %q", test.in, got.String(), test.want)
		}
		response.Body.Close()
		recorder.Close()
	}
}

func FuzzKeepRaw(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"x"}],"isError":true,"_meta":{"a":1}}}`))
	f.Add([]byte(`{"id":"a","result":{"tools":[{"name":1}],"nextCursor":null}}`))
	f.Fuzz(func(t *testing.T, message []byte) { keepRaw(message) })
}
