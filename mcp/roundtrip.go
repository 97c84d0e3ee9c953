package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// roundTripper is the HTTP side of one server: it adds the configured headers, and passes what comes back through keepRaw.
type roundTripper struct {
	base     *http.Transport
	endpoint *url.URL
	headers  map[string]string
	max      int
	// refused is the status with which the server refused the first POST; 0 where it did not.
	refused  atomic.Int32
	answered atomic.Bool
	tooLarge atomic.Bool
}

func newRoundTripper(s *ServerConfig, max int) (*roundTripper, error) {
	endpoint, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("mcp: the url is not a URL")
	}
	return &roundTripper{base: http.DefaultTransport.(*http.Transport).Clone(), endpoint: endpoint, headers: s.Headers, max: max}, nil
}

func (t *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	// A redirect, or an endpoint that the server names, may lead elsewhere: the headers, with their secrets, do not.
	if request.URL.Host == t.endpoint.Host && (request.URL.Scheme == t.endpoint.Scheme || request.URL.Scheme == "https") {
		request = request.Clone(request.Context())
		for name, value := range t.headers {
			request.Header.Set(name, value)
			if http.CanonicalHeaderKey(name) == "Host" {
				request.Host = value
			}
		}
	}
	response, err := t.base.RoundTrip(request)
	if d := deliveryOf(request.Context()); d != nil && request.Method == http.MethodPost {
		var network *net.OpError
		switch {
		case err != nil:
			d.refused.Store(errors.As(err, &network) && network.Op == "dial")
		case response.StatusCode == http.StatusNotFound && request.Header.Get("Mcp-Session-Id") != "":
			d.forgotten.Store(true)
		}
	}
	if err != nil {
		return nil, err
	}
	if request.Method == http.MethodPost && !t.answered.Swap(true) && response.StatusCode >= 400 {
		t.refused.Store(int32(response.StatusCode))
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		response.Body = &jsonBody{source: response.Body, transport: t}
		response.ContentLength = -1
		response.Header.Del("Content-Length")
	case "text/event-stream":
		response.Body = &eventBody{source: response.Body, reader: bufio.NewReaderSize(response.Body, 64<<10), transport: t}
	}
	return response, nil
}

// jsonBody is a body of one message.
type jsonBody struct {
	source    io.ReadCloser
	transport *roundTripper
	reader    *bytes.Reader
}

func (b *jsonBody) Read(p []byte) (int, error) {
	if b.reader == nil {
		text, err := io.ReadAll(io.LimitReader(b.source, int64(b.transport.max)+1))
		if err != nil {
			return 0, err
		}
		if len(text) > b.transport.max {
			b.transport.tooLarge.Store(true)
			return 0, errMessageTooLarge
		}
		b.reader = bytes.NewReader(keepRaw(text))
	}
	return b.reader.Read(p)
}

func (b *jsonBody) Close() error { return b.source.Close() }

// eventBody is a stream of events, of which those with data are messages.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
type eventBody struct {
	source    io.ReadCloser
	reader    *bufio.Reader
	transport *roundTripper
	pending   []byte
	err       error
}

func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.pending, b.err = b.event()
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

// event reads one event and writes it anew. An error comes with what was read before it.
func (b *eventBody) event() ([]byte, error) {
	var head, data bytes.Buffer
	hasData := false
	for {
		line, err := b.line(head.Len() + data.Len())
		text := strings.TrimRight(string(line), "\r\n")
		value, isData := strings.CutPrefix(text, "data:")
		switch {
		case isData:
			if hasData {
				data.WriteByte('\n')
			}
			hasData = true
			data.WriteString(strings.TrimPrefix(value, " "))
		case text != "":
			head.WriteString(text)
			head.WriteByte('\n')
		}
		if err != nil || text == "" {
			out := head.Bytes()
			if hasData {
				for _, part := range bytes.Split(keepRaw(data.Bytes()), []byte("\n")) {
					out = append(append(append(out, "data: "...), part...), '\n')
				}
			}
			if err == nil {
				out = append(out, '\n')
			}
			return out, err
		}
	}
}

func (b *eventBody) line(have int) ([]byte, error) {
	var whole []byte
	for {
		part, err := b.reader.ReadSlice('\n')
		if have+len(whole)+len(part) > b.transport.max {
			b.transport.tooLarge.Store(true)
			return nil, errMessageTooLarge
		}
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

func (b *eventBody) Close() error { return b.source.Close() }

// delivery is what the HTTP side finds out about one call: the SDK's errors do not say.
type delivery struct {
	forgotten atomic.Bool // the server does not know the session, so the call did not run
	refused   atomic.Bool // the server could not be connected to
}

type deliveryKey struct{}

func deliveryOf(ctx context.Context) *delivery {
	d, _ := ctx.Value(deliveryKey{}).(*delivery)
	return d
}
