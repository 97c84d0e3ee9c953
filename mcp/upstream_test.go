package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codemode/catalog"
)

// connectRaw connects to test servers and waits until each was tried.
func connectRaw(t *testing.T, options *UpstreamOptions, servers ...ServerConfig) (*Upstream, *catalog.Catalog) {
	t.Helper()
	noLeaks(t)
	c := catalog.New(nil)
	u := NewUpstream(&Config{Servers: servers}, c, options)
	t.Cleanup(func() { u.Close() })
	if err := u.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return u, c
}

// noLeaks fails the test when goroutines or child processes of it are left at its end.
func noLeaks(t *testing.T) {
	t.Helper()
	before, childrenBefore := runtime.NumGoroutine(), len(children())
	t.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
		for runtime.NumGoroutine() > before || len(children()) > childrenBefore {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				t.Errorf("%d goroutines, %d before; child processes %v\n%s", runtime.NumGoroutine(), before, children(), stacks)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// children lists the child processes of this one, zombies too.
func children() []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return nil
	}
	all := strings.Fields(string(text))
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if task.Name() != strconv.Itoa(os.Getpid()) {
			text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return all
}

// entry finds a tool by its own name.
func entry(t *testing.T, c *catalog.Catalog, server, tool string) *catalog.Entry {
	t.Helper()
	e := find(c, server, tool)
	if e == nil {
		t.Fatalf("no tool %s of %s in the catalog", tool, server)
	}
	return e
}

func find(c *catalog.Catalog, server, tool string) *catalog.Entry {
	for _, e := range c.Snapshot().View(nil).Entries(catalog.SurfaceCatalog) {
		if m := e.Tool().MCP; m != nil && m.ServerName == server && m.Tool == tool {
			return e
		}
	}
	return nil
}

func call(t *testing.T, e *catalog.Entry, input string) (*catalog.Result, error) {
	t.Helper()
	return e.Run(t.Context(), &catalog.Call{ID: "call", Session: "s", Input: json.RawMessage(input)})
}

func callText(t *testing.T, e *catalog.Entry, input string) string {
	t.Helper()
	result, err := call(t, e, input)
	if err != nil {
		t.Fatal(err)
	}
	var value struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result.Value, &value); err != nil || len(value.Content) == 0 {
		t.Fatalf("no text in %s", result.Value)
	}
	return value.Content[0].Text
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if !errors.Is(err, &catalog.Error{Code: code}) {
		t.Errorf("error %v, want one with code %s", err, code)
	}
}

// Fault 85: content, structuredContent and isError in all combinations.
func TestResultsKeepEveryCombination(t *testing.T) {
	_, c := connectRaw(t, nil, rawConfig(t, "raw", ""))
	for i := range 8 {
		want := `{"content":[]`
		if i&1 != 0 {
			want = `{"content":[{"type":"text","text":"c","_meta":{"keep":1}}]`
		}
		if i&2 != 0 {
			want += `,"structuredContent":{"z":1,"a":[12345678901234567890,1.50]}`
		}
		if i&4 != 0 {
			want += `,"isError":true`
		}
		want += "}"
		result, err := call(t, entry(t, c, "raw", fmt.Sprintf("case-%d", i)), "{}")
		if err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		if diff := cmp.Diff(want, string(result.Value)); diff != "" {
			t.Errorf("case %d (-want +got):\n%s", i, diff)
		}
		if result.IsError != (i&4 != 0) {
			t.Errorf("case %d: IsError is %v", i, result.IsError)
		}
	}
}

func TestUnknownBlocksAndOtherOperations(t *testing.T) {
	_, c := connectRaw(t, nil, rawConfig(t, "raw", "banner"))
	for _, test := range []struct{ tool, input, want string }{
		{"hologram", `{}`, `{"content":[{"type":"hologram","depth":3},{"type":"text","text":"t"}]}`},
		{"resources_list", `{}`, `{"resources":[{"uri":"x://1","name":"one","_meta":{"k":1}}]}`},
		{"prompts_list", `{}`, `{"prompts":[{"name":"p","arguments":[{"name":"who"}]}]}`},
		{"prompts_get", `{"name":"p","arguments":{"who":"me"}}`, `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`},
	} {
		result, err := call(t, entry(t, c, "raw", test.tool), test.input)
		if err != nil {
			t.Errorf("%s: %v", test.tool, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(result.Value)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.tool, diff)
		}
	}
	_, err := call(t, entry(t, c, "raw", "refuse"), "{}")
	wantCode(t, err, catalog.CodeToolError)
	var known *catalog.Error
	if errors.As(err, &known) && string(known.Data) != `{"code":-32602,"data":{"hint":"x"}}` {
		t.Errorf("data of the refusal is %s", known.Data)
	}
}

// Fault 88: every page; and a cursor that comes again ends the list with an error.
func TestPages(t *testing.T) {
	u, c := connectRaw(t, nil, rawConfig(t, "pages", "pages"), rawConfig(t, "repeat", "repeat"))
	for _, tool := range []string{"t0a", "t0b", "t1a", "t1b", "t2a", "t2b"} {
		entry(t, c, "pages", tool)
	}
	status := u.Status()
	if status[0].State != StateReady || status[1].State != StateDown || !strings.Contains(status[1].Error, "same cursor twice") {
		t.Errorf("states %s, %s; error %q", status[0].State, status[1].State, status[1].Error)
	}
	schema := string(entry(t, c, "pages", "t0a").Tool().InputSchema)
	if strings.Index(schema, "zeta") > strings.Index(schema, "alpha") {
		t.Errorf("properties lost their order: %s", schema)
	}
}

const hostileServer = "Evil: server/../*"

func TestHostileNames(t *testing.T) {
	u, c := connectRaw(t, nil, rawConfig(t, hostileServer, "hostile"))
	status := u.Status()[0]
	if status.State != StateReady {
		t.Fatalf("state %s: %s", status.State, status.Error)
	}
	view := c.Snapshot().View(nil)
	seen := map[string]bool{}
	for _, e := range view.Entries(catalog.SurfaceCatalog) {
		if seen[e.CallableName()] {
			t.Errorf("%s is there twice", e.CallableName())
		}
		seen[e.CallableName()] = true
	}
	if len(view.Entries(catalog.SurfaceCatalog)) < len(hostileNames) {
		t.Errorf("%d entries; problems %q", len(view.Entries(catalog.SurfaceCatalog)), status.Problems)
	}
	if len(status.Problems) == 0 {
		t.Error("nothing is said about the tools that are wrong")
	}
	files, err := view.Files("mcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		file, err := view.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file.Content, "*/ declare const pwned") {
			t.Errorf("%s: a description breaks out of its comment", f.Path)
		}
	}
	if index := view.QuickIndex(); strings.Contains(index, "pwned") || strings.Contains(index, "constructor") {
		t.Errorf("server text in the quick index: %s", index)
	}
	if got := callText(t, entry(t, c, hostileServer, "then"), `{"alpha":1}`); got != `then {"alpha":1}` {
		t.Errorf("calling then: %q", got)
	}
}

func TestCrashIsOneFailureAndTheServerComesBack(t *testing.T) {
	u, c := connectRaw(t, nil, rawConfig(t, "raw", ""), rawConfig(t, "other", ""))
	_, err := call(t, entry(t, c, "raw", "crash"), "{}")
	wantCode(t, err, CodeLost)
	if got := callText(t, entry(t, c, "other", "echo"), `{}`); got != "echo {}" {
		t.Errorf("the other server: %q", got)
	}
	if got := callText(t, entry(t, c, "raw", "echo"), `{"zeta":"again"}`); got != `echo {"zeta":"again"}` {
		t.Errorf("after the restart: %q", got)
	}
	if status := u.Status()[0]; status.Starts != 2 {
		t.Errorf("%d starts, want 2", status.Starts)
	}
}

func TestKilledServerComesBack(t *testing.T) {
	_, c := connectRaw(t, nil, rawConfig(t, "raw", ""))
	var pid int
	fmt.Sscan(callText(t, entry(t, c, "raw", "pid"), "{}"), &pid)
	slow, lost := entry(t, c, "raw", "slow"), make(chan error, 1)
	go func() {
		_, err := slow.Run(context.Background(), &catalog.Call{Input: json.RawMessage(`{"ms":20000}`)})
		lost <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-lost, CodeLost)
	var again int
	fmt.Sscan(callText(t, entry(t, c, "raw", "pid"), "{}"), &again)
	if again == pid || again == 0 {
		t.Errorf("process %d, then %d", pid, again)
	}
}

// Many callers, a server that dies under them, and one that does not: every call ends with its own answer or an error.
func TestHammer(t *testing.T) {
	_, c := connectRaw(t, nil, rawConfig(t, "shaky", ""), rawConfig(t, "firm", ""))
	shaky, firm, crash := entry(t, c, "shaky", "echo"), entry(t, c, "firm", "echo"), entry(t, c, "shaky", "crash")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 40 {
				input := fmt.Sprintf(`{"zeta":"%d-%d"}`, n, i)
				if n == 0 && i%20 == 10 {
					crash.Run(context.Background(), &catalog.Call{})
				}
				for _, e := range []*catalog.Entry{firm, shaky} {
					result, err := e.Run(context.Background(), &catalog.Call{Session: "s", Input: json.RawMessage(input)})
					switch {
					case err != nil && e == firm:
						t.Errorf("firm: %v", err)
					case err == nil && string(result.Value) != `{"content":[{"type":"text","text":`+string(mustMarshal("echo "+input))+`}]}`:
						t.Errorf("%s: %s", input, result.Value)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestDownServersAreEntriesWithAnError(t *testing.T) {
	missing := ServerConfig{Name: "missing", Transport: TransportStdio, Command: "/no/such/program", Timeout: time.Second, StartTimeout: time.Second}
	mute := rawConfig(t, "mute", "mute")
	mute.StartTimeout = 300 * time.Millisecond
	refused := ServerConfig{Name: "refused", Transport: TransportHTTP, URL: "http://127.0.0.1:1/mcp", Timeout: time.Second, StartTimeout: 5 * time.Second}
	off := ServerConfig{Name: "off", Disabled: true}
	u, c := connectRaw(t, nil, missing, mute, refused, rawConfig(t, "exit", "exit"), off, rawConfig(t, "good", ""))
	want := []struct{ state, text string }{
		{"down", "no such file"}, {"down", "not ready within"}, {"down", "refused"}, {"down", "exit status 3: no licence found"}, {"disabled", ""}, {"ready", ""},
	}
	for i, status := range u.Status() {
		if string(status.State) != want[i].state && status.State != StateConnecting || !strings.Contains(status.Error, want[i].text) {
			t.Errorf("%s: state %s, error %q; want %s, %q", status.Name, status.State, status.Error, want[i].state, want[i].text)
		}
	}
	entry(t, c, "good", "echo")
}

// Fault 90: a program that ignores the end of its input and SIGTERM is gone in bounded time, with what it has started.
func TestCloseEndsStubbornPrograms(t *testing.T) {
	u, c := connectRaw(t, nil, rawConfig(t, "stubborn", "stubborn child"), rawConfig(t, "polite", ""))
	pid, err := strconv.Atoi(callText(t, entry(t, c, "stubborn", "pid"), "{}"))
	if err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Sscanf(u.Status()[0].Stderr, "child %d", &child); err != nil {
		t.Fatalf("%v in %q", err, u.Status()[0].Stderr)
	}
	slow := make(chan error, 1)
	slowCall := entry(t, c, "stubborn", "slow")
	go func() {
		_, err := slowCall.Run(context.Background(), &catalog.Call{Input: json.RawMessage(`{"ms":60000}`)})
		slow <- err
	}()
	time.Sleep(100 * time.Millisecond)
	started := time.Now()
	u.Close()
	if took := time.Since(started); took > closeGrace+terminateGrace+killGrace {
		t.Errorf("Close took %v", took)
	}
	if err := <-slow; err == nil {
		t.Error("the call under way did not fail")
	}
	for _, p := range []int{pid, child} {
		gone := false
		for range 50 {
			if gone = !alive(p); gone {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !gone {
			t.Errorf("process %d is still there", p)
		}
	}
	if n := c.Snapshot().Len(); n != 0 {
		t.Errorf("%d tools left in the catalog", n)
	}
	_, err = call(t, slowCall, "{}")
	wantCode(t, err, CodeUnavailable)
	u.Close()
}

// alive says that a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// Fault 91: the configured timeout counts, and the call is cancelled at the server.
func TestTimeoutsAndCancellation(t *testing.T) {
	short := rawConfig(t, "short", "")
	short.Timeout = 200 * time.Millisecond
	long := rawConfig(t, "long", "")
	_, c := connectRaw(t, nil, short, long)
	_, err := call(t, entry(t, c, "short", "slow"), `{"ms":5000}`)
	wantCode(t, err, CodeTimeout)
	if got := callText(t, entry(t, c, "long", "slow"), `{"ms":500}`); got != "slept" {
		t.Errorf("slow: %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = entry(t, c, "long", "slow").Run(ctx, &catalog.Call{Input: json.RawMessage(`{"ms":5000}`)})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error of the caller's deadline: %v", err)
	}
	for range 50 {
		if callText(t, entry(t, c, "long", "cancelled"), "{}") == "1" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the server was not told that the call is cancelled")
}

func TestListChangedAndLog(t *testing.T) {
	var mu sync.Mutex
	var events []Event
	u, c := connectRaw(t, &UpstreamOptions{Events: func(e Event) { mu.Lock(); events = append(events, e); mu.Unlock() }}, rawConfig(t, "raw", ""))
	before := c.Snapshot()
	callText(t, entry(t, c, "raw", "change"), "{}")
	deadline := time.Now().Add(5 * time.Second)
	for find(c, "raw", "added-0") == nil {
		if time.Now().After(deadline) {
			t.Fatalf("the new tool is not in the catalog: %+v", u.Status())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if before.Len() != c.Snapshot().Len()-1 {
		t.Errorf("%d tools before, %d after", before.Len(), c.Snapshot().Len())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(events) != 1 || events[0].Kind != EventLog || string(events[0].Data) != `{"said":"changed"}` {
		t.Errorf("events %+v", events)
	}
}

func TestMediaBecomeReferences(t *testing.T) {
	u, c := connectRaw(t, nil, rawConfig(t, "raw", ""))
	small, err := call(t, entry(t, c, "raw", "image"), `{"bytes":300}`)
	if err != nil || strings.Contains(string(small.Value), mediaPrefix) {
		t.Errorf("a small image: %.200s, %v", small.Value, err)
	}
	large, err := call(t, entry(t, c, "raw", "image"), `{"bytes":300000}`)
	if err != nil {
		t.Fatal(err)
	}
	media := u.mediaIn("s", large.Value)
	if len(media) != 1 || len(media[0].Data) != 300000 || media[0].MIMEType != "image/png" || media[0].Kind != "image" {
		t.Fatalf("%d media in %.300s", len(media), large.Value)
	}
	if len(large.Value) > 400 || !strings.Contains(string(large.Value), `"bytes":300000`) || !strings.Contains(string(large.Value), `"keep":1`) {
		t.Errorf("the value is %.500s", large.Value)
	}
	if _, ok := u.Media("other", media[0].Reference); ok {
		t.Error("another session sees the image")
	}
	back := callText(t, entry(t, c, "raw", "echo"), `{"zeta":"`+media[0].Reference+`"}`)
	if len(back) < 400000 {
		t.Errorf("a reference in an argument is not expanded: %.100s", back)
	}
	_, err = call(t, entry(t, c, "raw", "echo"), `{"zeta":"codemode-media:00000000-0000-0000-0000-000000000000"}`)
	wantCode(t, err, catalog.CodeToolError)
	resource, err := call(t, entry(t, c, "raw", "resources_read"), `{"uri":"x://1"}`)
	if err != nil || len(u.mediaIn("s", resource.Value)) != 1 || !strings.Contains(string(resource.Value), `"text":"hello"`) {
		t.Errorf("a resource: %.300s, %v", resource.Value, err)
	}
	u.DropMedia("s")
	if _, ok := u.Media("s", media[0].Reference); ok {
		t.Error("the image is there after DropMedia")
	}
}

func TestLargeMessages(t *testing.T) {
	size := 20_000_000
	if raceEnabled {
		size = 2_000_000 // the race detector makes it thirty times slower
	}
	u, c := connectRaw(t, &UpstreamOptions{MaxMessageBytes: size + 4096}, rawConfig(t, "raw", ""))
	result, err := call(t, entry(t, c, "raw", "big"), fmt.Sprintf(`{"bytes":%d}`, size))
	if err != nil || len(result.Value) < size {
		t.Errorf("%d bytes: %d, %v", size, len(result.JSON()), err)
	}
	_, err = call(t, entry(t, c, "raw", "big"), fmt.Sprintf(`{"bytes":%d}`, 2*size))
	wantCode(t, err, CodeLost)
	for deadline := time.Now().Add(5 * time.Second); !strings.Contains(u.Status()[0].Error, "larger than the limit"); {
		if time.Now().After(deadline) {
			t.Fatalf("status %+v", u.Status()[0])
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAllowDenyAndSequential(t *testing.T) {
	config := rawConfig(t, "raw", "")
	config.Allow, config.Deny, config.Sequential = []string{"case-*", "slow", "resources_*"}, []string{"case-3"}, true
	_, c := connectRaw(t, nil, config)
	for _, tool := range []string{"case-1", "slow", "resources_list"} {
		entry(t, c, "raw", tool)
	}
	for _, tool := range []string{"case-3", "echo", "prompts_list"} {
		if find(c, "raw", tool) != nil {
			t.Errorf("%s is there", tool)
		}
	}
	started := time.Now()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { call(t, entry(t, c, "raw", "slow"), `{"ms":200}`) })
	}
	wg.Wait()
	if took := time.Since(started); took < 600*time.Millisecond {
		t.Errorf("three sequential calls of 200 ms took %v", took)
	}
}
