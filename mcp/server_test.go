package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/quickjs"
)

// rig is a whole code mode: servers, catalog, host, Server.
type rig struct {
	catalog  *catalog.Catalog
	upstream *Upstream
	host     *host.Host
	server   *Server
}

func newRig(t *testing.T, options ServerOptions, l limits.Limits, servers ...ServerConfig) *rig {
	t.Helper()
	if _, _, err := quickjs.Guest(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("this test runs cells, and there is no guest: %v", err)
	}
	noLeaks(t)
	r := &rig{catalog: host.NewCatalog(nil)}
	r.catalog.Add(catalog.Func("ping", "Say pong.", func(context.Context, struct{}) (string, error) { return "pong", nil }))
	if len(servers) > 0 {
		r.upstream = NewUpstream(&Config{Servers: servers}, r.catalog, nil)
		options.Upstream = r.upstream
	}
	var err error
	r.host, err = host.New(&host.Options{Catalog: r.catalog, Limits: l, Approve: Approve})
	if err != nil {
		t.Fatal(err)
	}
	r.server = NewServer(r.host, r.catalog, &options)
	t.Cleanup(func() {
		r.server.Close()
		r.host.Close()
		if r.upstream != nil {
			r.upstream.Close()
		}
	})
	return r
}

// pipes connects a client over streams, as stdio does.
func (r *rig) pipes(t *testing.T, client *sdk.Client) *sdk.ClientSession {
	t.Helper()
	session, _ := r.severablePipes(t, client)
	return session
}

// severablePipes also gives what makes the client be gone, at once.
func (r *rig) severablePipes(t *testing.T, client *sdk.Client) (session *sdk.ClientSession, sever func()) {
	t.Helper()
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := r.server.ServeStreams(context.Background(), in, out); err != nil {
			t.Errorf("ServeStreams: %v", err)
		}
	})
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: clientIn, Writer: clientOut, MaxLineLength: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		serving.Wait()
	})
	return session, func() { clientOut.Close() }
}

type bearer struct {
	token string
	base  *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(r)
}

// http connects a client over HTTP.
func (r *rig) http(t *testing.T, h *HTTPServer, token string, client *sdk.Client) *sdk.ClientSession {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: h.URL(), HTTPClient: &http.Client{Transport: bearer{token, transport}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		transport.CloseIdleConnections()
	})
	return session
}

func (r *rig) listen(t *testing.T, options *HTTPOptions) *HTTPServer {
	t.Helper()
	h, err := r.server.ListenHTTP("127.0.0.1:0", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func newClient(options *sdk.ClientOptions) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
}

// answer is what exec and wait give, as a client reads it.
type answer struct {
	Status, RunID, Code, Error string
	Value                      json.RawMessage
	Output                     []json.RawMessage
	result                     *sdk.CallToolResult
	text                       string
}

func use(t *testing.T, session *sdk.ClientSession, tool string, arguments map[string]any) *answer {
	t.Helper()
	a, err := try(t.Context(), session, tool, arguments)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return a
}

func try(ctx context.Context, session *sdk.ClientSession, tool string, arguments map[string]any) (*answer, error) {
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	a := &answer{result: result}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return nil, err
	}
	a.text = result.Content[0].(*sdk.TextContent).Text
	return a, json.Unmarshal(structured, a)
}

func runCell(t *testing.T, session *sdk.ClientSession, code string) *answer {
	t.Helper()
	return use(t, session, "exec", map[string]any{"code": code})
}

// wantValue runs code and compares its value.
func wantValue(t *testing.T, session *sdk.ClientSession, code, want string) *answer {
	t.Helper()
	a := runCell(t, session, code)
	if a.Status != "completed" || string(a.Value) != want {
		t.Errorf("%s\nstatus %s, value %s, error %s; want value %s", code, a.Status, a.Value, a.Error, want)
	}
	return a
}

func TestServeOverBothTransports(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "git-hub", ""), rawConfig(t, "down", "exit"))
	token := NewToken()
	h := r.listen(t, &HTTPOptions{Token: token})
	for name, connect := range map[string]func() *sdk.ClientSession{
		"stdio": func() *sdk.ClientSession { return r.pipes(t, newClient(nil)) },
		"HTTP":  func() *sdk.ClientSession { return r.http(t, h, token, newClient(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			session := connect()
			listed, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
				if tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil {
					t.Errorf("%s lacks a schema or annotations", tool.Name)
				}
			}
			if got := strings.Join(names, " "); got != "exec wait" {
				t.Errorf("tools %q", got)
			}
			description := listed.Tools[0].Description
			for _, want := range []string{"MCP.gitHub", "Not available now: down", "- ping", `API.read("mcp/<server>.d.ts")`} {
				if !strings.Contains(description, want) {
					t.Errorf("the description of exec lacks %q:\n%s", want, description)
				}
			}
			if strings.Contains(description, "hologram") {
				t.Error("a server's tool is in the description of exec")
			}

			plain := wantValue(t, session, "return 1 + 2", "3")
			if structured, _ := json.Marshal(plain.result.StructuredContent); !json.Valid([]byte(plain.text)) || len(plain.text) != len(structured) {
				t.Errorf("text %s and structured %s differ", plain.text, structured)
			}
			nested := wantValue(t, session, `const r = await MCP.gitHub.echo({zeta: "x"}); return [r.content[0].text, await ping()]`, `["echo {\"zeta\":\"x\"}","pong"]`)
			if !strings.Contains(nested.text, "<<<EXTERNAL_UNTRUSTED_CONTENT") || !strings.Contains(nested.text, "echo {") {
				t.Errorf("text of a result with server content: %s", nested.text)
			}
			wantValue(t, session, `return (await MCP.gitHub.case4({})).isError`, "true")
			refused := wantValue(t, session, `const [h] = await catalog.search("refuse"); try { await h({}) } catch (e) { return [e.code, e.data.code] }`, `["tool_error",-32602]`)
			if !strings.Contains(refused.text, "<<<EXTERNAL_UNTRUSTED_CONTENT") {
				t.Error("text of a result with a server's error is not marked")
			}
			if uncaught := runCell(t, session, `await MCP.gitHub.refuse({})`); !strings.Contains(uncaught.text, "<<<EXTERNAL_UNTRUSTED_CONTENT") || !strings.Contains(uncaught.Error, "I do not like it") {
				t.Errorf("an error of a server that is not caught: %s", uncaught.text)
			}
			wantValue(t, session, `try { await MCP.gitHub.crash({}) } catch (e) { return e.code }`, `"mcp_lost"`)
			wantValue(t, session, `return (await API.read("mcp/gitHub.d.ts")).content.includes("function hologram")`, "true")

			failed := runCell(t, session, "throw new Error('x')")
			if failed.Status != "failed" || !failed.result.IsError {
				t.Errorf("a cell that throws: %s, isError %v", failed.Status, failed.result.IsError)
			}
			if a := use(t, session, "exec", nil); a.Code != "invalid_input" {
				t.Errorf("exec without arguments: %s %s", a.Status, a.Code)
			}

			waiting := runCell(t, session, `text("before"); await yield_control(); return "after"`)
			if waiting.Status != "waiting" || waiting.RunID == "" {
				t.Fatalf("yield: %s %s", waiting.Status, waiting.Error)
			}
			if a := use(t, session, "wait", map[string]any{"runId": waiting.RunID}); a.Status != "completed" || string(a.Value) != `"after"` {
				t.Errorf("wait: %s %s %s", a.Status, a.Value, a.Error)
			}
		})
	}
}

func TestMediaReachTheClient(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "raw", ""))
	session := r.pipes(t, newClient(nil))
	a := runCell(t, session, `const r = await MCP.raw.image({bytes: 50000}); json(r.content[0]); return r.content[0].bytes`)
	if string(a.Value) != "50000" || len(a.result.Content) != 2 {
		t.Fatalf("value %s, error %s, %d blocks", a.Value, a.Error, len(a.result.Content))
	}
	image, ok := a.result.Content[1].(*sdk.ImageContent)
	if !ok || len(image.Data) != 50000 || image.MIMEType != "image/png" {
		t.Errorf("the second block is %T", a.result.Content[1])
	}
	if len(a.text) > 4000 {
		t.Errorf("the text has %d bytes", len(a.text))
	}
	if b := runCell(t, session, `const r = await MCP.raw.image({bytes: 50000}); return r.content[0].bytes`); len(b.result.Content) != 1 {
		t.Error("an image that the cell did not return is in the result")
	}
}

func TestListChangedReachesTheClient(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "raw", ""))
	changed := make(chan struct{}, 10)
	session := r.pipes(t, newClient(&sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }}))
	runCell(t, session, "return 1")
	eventually(t, "nothing changes any more", func() bool {
		select {
		case <-changed:
			return false
		case <-time.After(300 * time.Millisecond):
			return true
		}
	})
	before, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	runCell(t, session, "await MCP.raw.change({})")
	select {
	case <-changed:
	case <-time.After(5 * time.Second):
		t.Fatal("no tools/list_changed")
	}
	after, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if before.Tools[0].Description == after.Tools[0].Description {
		t.Error("the description of exec is the same")
	}
}
