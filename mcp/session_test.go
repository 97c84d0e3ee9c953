package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
)

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

// A server that cannot be connected to is tried again and again; clients hear of it once.
func TestFailingServersDoNotFloodClients(t *testing.T) {
	r := newRig(t, ServerOptions{}, limits.Limits{}, rawConfig(t, "gone", "exit"))
	var changes atomic.Int32
	session := r.pipes(t, newClient(&sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changes.Add(1) }}))
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // attempts at 0, 0.5 and 1.5 s
	if n := changes.Load(); n > 1 {
		t.Errorf("%d notifications", n)
	}
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
	busy := runCell(t, two, `const p = MCP.raw.slow({ms: 4000}); await yield_control(); return await p`)
	if a := runCell(t, one, `return (await MCP.raw.ask({})).content[0].text`); !strings.Contains(string(a.Value), "several clients") {
		t.Errorf("with calls of two clients: %s %s", a.Value, a.Error)
	}
	use(t, two, "wait", map[string]any{"runId": busy.RunID})
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
