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
