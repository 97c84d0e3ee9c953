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

func TestSessionsAreIsolated(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "raw", ""))
	token := NewToken()
	h := r.listen(t, &HTTPOptions{Token: token})
	one, two := r.http(t, h, token, newClient(nil)), r.http(t, h, token, newClient(nil))
	waiting := runCell(t, one, `const image = await MCP.raw.image({bytes: 9000}); const saved = await results.save(1); text(saved.id); text(image.content[0].data); await yield_control(); return 1`)
	if waiting.Status != "waiting" || len(waiting.Output) != 2 {
		t.Fatalf("%+v", waiting)
	}
	var saved, image struct{ Text string }
	json.Unmarshal(waiting.Output[0], &saved)
	json.Unmarshal(waiting.Output[1], &image)
	if a := use(t, two, "wait", map[string]any{"runId": waiting.RunID}); a.Status != "failed" || a.Code != "invalid_input" {
		t.Errorf("another session waits for the run: %s %s", a.Status, a.Error)
	}
	if a := runCell(t, two, `return await results.load("`+saved.Text+`")`); a.Status != "failed" {
		t.Errorf("another session loads the saved result: %s", a.Value)
	}
	if a := runCell(t, two, `return "`+image.Text+`"`); len(a.result.Content) != 1 {
		t.Error("another session gets the image")
	}
	if a := runCell(t, two, `return (await MCP.raw.echo({zeta: "`+image.Text+`"})).content[0].text`); a.Status != "failed" {
		t.Errorf("another session sends the image on: %.100s", a.Value)
	}
	if a := use(t, one, "wait", map[string]any{"runId": waiting.RunID}); string(a.Value) != "1" {
		t.Errorf("its own session: %s %s", a.Status, a.Error)
	}
	other := runCell(t, one, `await yield_control()`)
	if other.Status != "waiting" || len(r.host.Runs(host.Scope{})) != 1 {
		t.Fatalf("%s; %d runs", other.Status, len(r.host.Runs(host.Scope{})))
	}
	one.Close()
	eventually(t, "the runs of a session that has ended are gone", func() bool { return len(r.host.Runs(host.Scope{})) == 0 })
	wantValue(t, two, "return 2", "2")
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so after 5 s: %s", what)
		}
	}
}

// A client that cancels, and one that goes away, end their cells and the calls of those.
func TestCancellation(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "raw", ""))
	token := NewToken()
	h := r.listen(t, &HTTPOptions{Token: token})
	for name, connect := range map[string]func() (*sdk.ClientSession, func()){
		"stdio": func() (*sdk.ClientSession, func()) { return r.severablePipes(t, newClient(nil)) },
		"HTTP": func() (*sdk.ClientSession, func()) {
			session := r.http(t, h, token, newClient(nil))
			return session, func() {
				transport := http.DefaultTransport.(*http.Transport).Clone()
				defer transport.CloseIdleConnections()
				request, _ := http.NewRequest(http.MethodDelete, h.URL(), nil)
				request.Header.Set("Mcp-Session-Id", session.ID())
				response, err := bearer{token, transport}.RoundTrip(request)
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			session, sever := connect()
			runCell(t, session, "return 1") // the servers are there
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := try(ctx, session, "exec", map[string]any{"code": `return await MCP.raw.slow({ms: 30000})`}); err == nil {
				t.Error("the cancelled exec has a result")
			}
			eventually(t, "a cancelled cell is gone", func() bool { return len(r.host.Runs(host.Scope{})) == 0 })

			gone := make(chan struct{})
			go func() {
				defer close(gone)
				try(context.Background(), session, "exec", map[string]any{"code": `return await MCP.raw.slow({ms: 30000})`})
			}()
			eventually(t, "the cell runs", func() bool { return len(r.host.Runs(host.Scope{})) == 1 })
			time.Sleep(100 * time.Millisecond)
			sever()
			eventually(t, "the cell of a client that has gone is gone", func() bool { return len(r.host.Runs(host.Scope{})) == 0 })
			<-gone
		})
	}
	eventually(t, "the server was told of the cancelled calls", func() bool {
		return callText(t, entry(t, r.catalog, "raw", "cancelled"), "{}") == "4"
	})
}

func TestProgress(t *testing.T) {
	r := newRig(t, ServerOptions{ProgressInterval: 200 * time.Millisecond}, limits.Limits{TimeoutMs: 1500}, rawConfig(t, "raw", ""))
	var mu sync.Mutex
	var seen []string
	session := r.pipes(t, newClient(&sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, p *sdk.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, p.Params.Message)
	}}))
	step := func(tool string, arguments map[string]any) *answer {
		params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
		params.SetProgressToken("t")
		result, err := session.CallTool(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		a := &answer{}
		structured, _ := json.Marshal(result.StructuredContent)
		json.Unmarshal(structured, a)
		return a
	}
	waiting := step("exec", map[string]any{"code": `await MCP.raw.progress({}); await MCP.raw.slow({ms: 2000}); await MCP.raw.progress({}); return 1`})
	first := len(seen)
	if waiting.Status != "waiting" {
		t.Fatalf("status %s: %s", waiting.Status, waiting.Error)
	}
	for waiting.Status == "waiting" {
		waiting = step("wait", map[string]any{"runId": waiting.RunID})
	}
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(seen, "\n")
	if !strings.Contains(all, "raw: progress, 3 of 3: step 3") || !strings.Contains(all, "running for") {
		t.Errorf("progress:\n%s", all)
	}
	if !strings.Contains(strings.Join(seen[first:], "\n"), "step") {
		t.Errorf("no progress of nested calls during wait:\n%s", strings.Join(seen[first:], "\n"))
	}
}

// What servers ask is answered by the client whose call they are working on, and by nobody where that is not clear.
func TestRequestsOfServersReachTheClient(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "raw", ""))
	token := NewToken()
	h := r.listen(t, &HTTPOptions{Token: token})
	able := func(pick string) *sdk.Client {
		client := newClient(&sdk.ClientOptions{
			ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"pick": pick}}, nil
			},
			CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
				return &sdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &sdk.TextContent{Text: pick}}, nil
			},
		})
		client.AddRoots(&sdk.Root{URI: "file:///" + pick})
		return client
	}
	one := r.pipes(t, able("one"))
	for _, test := range []struct{ tool, want string }{{"ask", `"pick":"one"`}, {"sample", `"text":"one"`}, {"roots", `file:///one`}} {
		a := runCell(t, one, `return (await MCP.raw.`+test.tool+`({})).content[0].text`)
		if !strings.Contains(strings.ReplaceAll(string(a.Value), `\"`, `"`), test.want) {
			t.Errorf("%s: %s %s", test.tool, a.Value, a.Error)
		}
	}
	two := r.http(t, h, token, able("two"))
	if a := runCell(t, two, `return (await MCP.raw.ask({})).content[0].text`); !strings.Contains(string(a.Value), "two") {
		t.Errorf("the second client: %s %s", a.Value, a.Error)
	}
	busy := runCell(t, two, `const p = MCP.raw.slow({ms: 1000}); await yield_control(); return await p`)
	if a := runCell(t, one, `return (await MCP.raw.ask({})).content[0].text`); !strings.Contains(string(a.Value), "several clients") {
		t.Errorf("with calls of two clients: %s %s", a.Value, a.Error)
	}
	use(t, two, "wait", map[string]any{"runId": busy.RunID})
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

func TestDirectTools(t *testing.T) {
	r := newRig(t, ServerOptions{Direct: []string{"ping", "MCP.raw.image", "raw__case-7", "raw__refuse", "raw__hologram", "gone"}}, limits.Limits{}, rawConfig(t, "raw", ""))
	r.catalog.Add(catalog.Tool{Name: "only", Description: "Direct only.", DirectOnly: true, Run: func(context.Context, *catalog.Call) (*catalog.Result, error) {
		return &catalog.Result{Value: json.RawMessage(`{"a":1}`)}, nil
	}})
	r.server.Refresh()
	session := r.pipes(t, newClient(nil))
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "exec only ping raw__case-7 raw__hologram raw__image raw__refuse wait" {
		t.Errorf("tools %q", got)
	}
	direct := func(name string, arguments map[string]any) *sdk.CallToolResult {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return result
	}
	if image, ok := direct("raw__image", map[string]any{"bytes": 20000}).Content[0].(*sdk.ImageContent); !ok || len(image.Data) != 20000 {
		t.Error("a direct image does not come as it is")
	}
	if got := direct("raw__case-7", nil); !got.IsError || got.StructuredContent == nil || len(got.Content) != 1 {
		t.Errorf("case 7: %+v", got)
	}
	if got := direct("ping", nil).Content[0].(*sdk.TextContent).Text; got != `"pong"` {
		t.Errorf("ping: %s", got)
	}
	if got := direct("ping", map[string]any{"x": 1}); !got.IsError {
		t.Error("ping takes what its schema does not")
	}
	if got := direct("raw__refuse", nil); !got.IsError || !strings.Contains(got.Content[0].(*sdk.TextContent).Text, "I do not like it") {
		t.Errorf("refuse: %+v", got)
	}
	if got := direct("raw__hologram", nil); len(got.Content) != 2 {
		t.Errorf("hologram: %+v", got)
	}
	r.catalog.Remove("host:core:only")
	r.server.Refresh()
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "only"}); err == nil {
		t.Error("a tool that was removed can be called")
	}
}

// Schemas and descriptions of a hostile server do not keep the direct tools beside them from being there.
func TestHostileDirectTools(t *testing.T) {
	r := newRig(t, ServerOptions{Direct: []string{"evil__bad-header", "evil__bad-schema", "evil__then", "ping"}}, limits.Limits{}, rawConfig(t, "evil", "hostile"))
	session := r.pipes(t, newClient(nil))
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(listed.Tools) != 6 {
		t.Errorf("%d tools, want 6", len(listed.Tools))
	}
	for _, tool := range listed.Tools {
		if (tool.Name == "exec" || tool.Name == "wait") && strings.Contains(tool.Description, "pwned") {
			t.Errorf("the description of %s has text of the server", tool.Name)
		}
	}
	for _, code := range []string{`return (await MCP.evil) === MCP.evil`, `return typeof MCP.evil.then`, `return Object.keys(MCP.evil).length > 10`} {
		if a := runCell(t, session, code); a.Status != "completed" {
			t.Errorf("%s: %s %s", code, a.Status, a.Error)
		}
	}
	a := runCell(t, session, `return (await API.read("mcp/evil.d.ts")).content`)
	if a.Status != "completed" || strings.Contains(a.text, "<|im_start|>") || strings.Count(a.text, markerWord) != 2 {
		t.Errorf("the declarations of a hostile server: %s %s", a.Status, a.text)
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

func TestApproveAsksTheClient(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{})
	r.catalog.Add(catalog.Tool{Name: "delete", Description: "Delete it all.", Run: func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		if err := call.AwaitApproval(ctx, "Delete everything?"); err != nil {
			return nil, err
		}
		return &catalog.Result{Value: json.RawMessage(`"deleted"`)}, nil
	}})
	approve := true
	yes := r.pipes(t, newClient(&sdk.ClientOptions{ElicitationHandler: func(_ context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		if !strings.Contains(q.Params.Message, "Delete everything?") || !strings.Contains(q.Params.Message, `{"x":1}`) {
			t.Errorf("the question is %q", q.Params.Message)
		}
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": approve}}, nil
	}}))
	wantValue(t, yes, `return await tools.callValue("delete", {x: 1})`, `"deleted"`)
	approve = false
	if a := runCell(t, yes, `return await tools.callValue("delete", {x: 1})`); a.Status != "failed" || !strings.Contains(a.Error, "did not approve") {
		t.Errorf("refused: %s %s", a.Status, a.Error)
	}
	mute := r.pipes(t, newClient(nil))
	if a := runCell(t, mute, `return await tools.callValue("delete", {x: 1})`); a.Status != "failed" {
		t.Errorf("nobody to ask: %s", a.Status)
	}
}

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
