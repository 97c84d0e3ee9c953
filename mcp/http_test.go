package mcp

import (
	"net/http"
	"strings"
	"testing"

	"codemode/limits"
)

func TestHTTPGate(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{})
	if _, err := r.server.ListenHTTP("127.0.0.1:0", nil); err == nil {
		t.Error("it listens without a token")
	}
	h := r.listen(t, &HTTPOptions{Token: "secret", Origins: []string{"http://localhost:6274"}, Hosts: []string{"box.lan"}})
	for _, test := range []struct {
		name, host, origin, token string
		want                      int
	}{
		{"all well", "", "", "Bearer secret", 200},
		{"lower case", "", "", "bearer secret", 200},
		{"no token", "", "", "", 401},
		{"wrong token", "", "", "Bearer secre", 401},
		{"empty token", "", "", "Bearer ", 401},
		{"other scheme", "", "", "Basic secret", 401},
		{"rebinding", "evil.example", "", "Bearer secret", 403},
		{"rebinding with port", "evil.example:80", "", "Bearer secret", 403},
		{"localhost", "localhost:1", "", "Bearer secret", 200},
		{"IPv6", "[::1]:9", "", "Bearer secret", 200},
		{"named host", "box.lan:99", "", "Bearer secret", 200},
		{"looks like one", "127.0.0.1.evil.example", "", "Bearer secret", 403},
		{"allowed origin", "", "http://localhost:6274", "Bearer secret", 200},
		{"other origin", "", "http://localhost:6275", "Bearer secret", 403},
		{"null origin", "", "null", "Bearer secret", 403},
	} {
		request, _ := http.NewRequest("POST", h.URL(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Host = test.host
		if test.origin != "" {
			request.Header.Set("Origin", test.origin)
		}
		if test.token != "" {
			request.Header.Set("Authorization", test.token)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		transport.CloseIdleConnections()
		if response.StatusCode != test.want {
			t.Errorf("%s: status %d, want %d", test.name, response.StatusCode, test.want)
		}
	}
}

func TestListenHTTPRefuses(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{})
	for _, test := range []struct {
		name, address string
		options       HTTPOptions
		want          string
	}{
		{"a host as origin", "127.0.0.1:0", HTTPOptions{Token: "x", Origins: []string{"localhost"}}, `"localhost" is not an origin`},
		{"host and port as origin", "127.0.0.1:0", HTTPOptions{Token: "x", Origins: []string{"localhost:6274"}}, "is not an origin"},
		{"a page as origin", "127.0.0.1:0", HTTPOptions{Token: "x", Origins: []string{"http://localhost:6274/page"}}, "is not an origin"},
		{"every interface without a token", ":0", HTTPOptions{AllowAnonymous: true}, "without a token only this machine may connect"},
		{"the same in IPv4", "0.0.0.0:0", HTTPOptions{AllowAnonymous: true}, "without a token only this machine may connect"},
	} {
		h, err := r.server.ListenHTTP(test.address, &test.options)
		if err == nil {
			h.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
	h := r.listen(t, &HTTPOptions{AllowAnonymous: true})
	if !strings.HasPrefix(h.URL(), "http://127.0.0.1:") {
		t.Errorf("on loopback the URL is %s", h.URL())
	}
	all, err := r.server.ListenHTTP(":0", &HTTPOptions{Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if !strings.HasPrefix(all.URL(), "http://localhost:") {
		t.Errorf("on every interface the URL is %s", all.URL())
	}
}
