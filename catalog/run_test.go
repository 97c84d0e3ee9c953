package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRunErrors(t *testing.T) {
	cause := errors.New("disk full")
	for _, tc := range []struct {
		name string
		run  RunFunc
		want string
	}{
		{"plain", func(context.Context, *Call) (*Result, error) { return nil, cause }, "tool_error: disk full"},
		{"own code", func(context.Context, *Call) (*Result, error) {
			return nil, fmt.Errorf("wrapped: %w", &Error{Code: "no_city", Message: "Which city?", Data: json.RawMessage(`{"n":1}`)})
		}, "no_city: Which city?"},
		{"no code", func(context.Context, *Call) (*Result, error) { return nil, &Error{Message: "m"} }, "tool_error: m"},
		{"data that is not JSON", func(context.Context, *Call) (*Result, error) {
			return nil, &Error{Code: "c", Message: "m", Data: json.RawMessage(`{`)}
		}, "c: m"},
		{"panic", func(context.Context, *Call) (*Result, error) { panic("secret internals") }, `tool_error: Tool "t" broke off unexpectedly. It may have done part of its work.`},
		{"runtime panic", func(context.Context, *Call) (*Result, error) { var m map[string]int; m["x"] = 1; return nil, nil }, `tool_error: Tool "t" broke off unexpectedly. It may have done part of its work.`},
		{"value that is not JSON", func(context.Context, *Call) (*Result, error) { return &Result{Value: json.RawMessage(`{`)}, nil },
			`tool_error: Tool "t" gave back something that is not JSON. It did run; check what it has done before you call it again.`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := entryOf(t, Tool{Run: tc.run})
			_, err := e.Run(t.Context(), nil)
			if diff := cmp.Diff(tc.want, codeAndMessage(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			var known *Error
			if errors.As(err, &known) && len(known.Data) > 0 && !json.Valid(known.Data) {
				t.Errorf("data %s", known.Data)
			}
			var p *PanicError
			if (tc.name == "panic" || tc.name == "runtime panic") && (!errors.As(err, &p) || len(p.Stack) == 0) {
				t.Error("the host cannot log the panic")
			}
		})
	}
	e := entryOf(t, Tool{Run: func(context.Context, *Call) (*Result, error) { return nil, cause }})
	if _, err := e.Run(t.Context(), nil); !errors.Is(err, cause) || !errors.Is(err, &Error{Code: CodeToolError}) {
		t.Errorf("the cause is lost: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}

func TestRunFillsInTheCall(t *testing.T) {
	var got *Call
	e := entryOf(t, Tool{Run: func(ctx context.Context, c *Call) (*Result, error) {
		got = c
		if CallFrom(ctx) != c {
			t.Error("the context does not know the call")
		}
		return nil, nil
	}})
	r, err := e.Run(t.Context(), &Call{ID: "1"})
	if err != nil || string(r.JSON()) != "null" || got.Tool != e || string(got.Input) != "{}" || got.ID != "1" {
		t.Errorf("call %+v, result %s, error %v", got, r.JSON(), err)
	}
	if CallFrom(context.Background()) != nil {
		t.Error("a call outside a tool")
	}
}

func TestSequentialTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, free atomic.Int32
		slow := func(ctx context.Context, _ *Call) (*Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			if n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			return nil, nil
		}
		c := New(nil)
		c.Add(Tool{Name: "a", Sequential: true, Run: slow}, Tool{Name: "b", Sequential: true, Run: slow},
			Tool{Name: "lane", Sequential: true, Lane: "own", Run: func(context.Context, *Call) (*Result, error) { time.Sleep(time.Second); return nil, nil }},
			Tool{Name: "free", Run: func(context.Context, *Call) (*Result, error) { free.Add(1); time.Sleep(time.Second); return nil, nil }})
		v := c.Snapshot().View(nil)
		start := time.Now()
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i, name := range []string{"a", "b", "a", "b"} {
			e, _ := v.Callable(name)
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if _, err := e.Run(t.Context(), nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, fmt.Sprint(name, i))
				mu.Unlock()
			})
		}
		for _, name := range []string{"free", "free", "lane"} {
			e, _ := v.Callable(name)
			wg.Go(func() {
				if _, err := e.Run(t.Context(), nil); err != nil {
					t.Error(err)
				}
				if time.Since(start) != time.Second {
					t.Errorf("%s waited for the others: %v", name, time.Since(start))
				}
			})
		}
		wg.Wait()
		if most.Load() != 1 || time.Since(start) != 4*time.Second {
			t.Errorf("%d ran at once, in %v; want one at a time, 4s", most.Load(), time.Since(start))
		}
		if diff := cmp.Diff([]string{"a0", "b1", "a2", "b3"}, order); diff != "" {
			t.Errorf("not first come, first served (-want +got):\n%s", diff)
		}
	})
}

func TestSequentialCancelAndReentry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(nil)
		var inner *Entry
		c.Add(Tool{Name: "hold", Sequential: true, Run: func(context.Context, *Call) (*Result, error) { time.Sleep(time.Hour); return nil, nil }},
			Tool{Name: "outer", Sequential: true, Run: func(ctx context.Context, _ *Call) (*Result, error) { return inner.Run(ctx, nil) }},
			Tool{Name: "inner", Sequential: true, Run: echo})
		v := c.Snapshot().View(nil)
		inner, _ = v.Callable("inner")
		outer, _ := v.Callable("outer")
		if _, err := outer.Run(t.Context(), nil); codeAndMessage(err) != "tool_error: "+errReentrant.Error() {
			t.Errorf("a call that waits for itself: %v", err)
		}
		hold, _ := v.Callable("hold")
		go hold.Run(t.Context(), nil)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := inner.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a queued call that is given up: %v", err)
		}
		start := time.Now()
		if _, err := inner.Run(t.Context(), nil); err != nil || time.Since(start) != time.Hour-time.Second {
			t.Errorf("the lane is stuck: %v after %v", err, time.Since(start))
		}
		if len(c.lanes.queues) != 0 {
			t.Errorf("%d lanes are left", len(c.lanes.queues))
		}
	})
}

func TestFunc(t *testing.T) {
	type In struct {
		Name  string   `json:"name" jsonschema:"who"`
		Tags  []string `json:"tags,omitempty"`
		inner int
	}
	type Out struct {
		Greeting string         `json:"greeting"`
		Counts   map[string]int `json:"counts,omitempty"`
	}
	c := New(nil)
	problems := c.Add(
		Func("greet", "Say hello.", func(ctx context.Context, in *In) (*Out, error) {
			if in.Name == "panic" {
				panic(in.inner)
			}
			if CallFrom(ctx).ID != "7" {
				t.Error("no call in the context")
			}
			return &Out{Greeting: "hello " + in.Name}, nil
		}),
		Func("anything", "", func(_ context.Context, in map[string]any) (any, error) { return in, nil }),
		Func("nothing", "", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`[1]`), nil }),
		Func("number", "", func(context.Context, struct{}) (int, error) { return 4, nil }),
	)
	if problems != nil {
		t.Fatal(problems)
	}
	v := c.Snapshot().View(nil)
	for _, tc := range []struct{ name, input, want, hints string }{
		{"greet", `{"name":"Ann"}`, `{"greeting":"hello Ann"}`, `{ name: string; tags?: Array<string> | null } -> { greeting: string; counts?: Record<string, number> } | null`},
		{"anything", `{"a":[1]}`, `{"a":[1]}`, `Record<string, unknown> -> `},
		{"nothing", `{}`, `[1]`, `{} -> `},
		{"number", `{}`, `4`, `{} -> number`},
	} {
		e, _ := v.Callable(tc.name)
		input := json.RawMessage(tc.input)
		if err := e.CheckInput(input); err != nil {
			t.Error(err)
		}
		r, err := e.Run(t.Context(), &Call{ID: "7", Input: input})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.CheckOutput(r.Value, input); err != nil {
			t.Error(err)
		}
		if got := e.InputHint() + " -> " + e.OutputHint(); string(r.Value) != tc.want || got != tc.hints {
			t.Errorf("%s gives %s with hints %q; want %s, %q", tc.name, r.Value, got, tc.want, tc.hints)
		}
	}
	greet, _ := v.Callable("greet")
	if _, err := greet.Run(t.Context(), &Call{Input: json.RawMessage(`{"name":3}`)}); !errors.Is(err, &Error{Code: CodeInputContract}) {
		t.Errorf("an argument of another type: %v", err)
	}
	if err := greet.CheckInput(json.RawMessage(`{"nam":"x"}`)); !errors.Is(err, &Error{Code: CodeInputContract}) {
		t.Errorf("an unknown property: %v", err)
	}
	if problems := c.Add(Func[struct{}, int]("nil", "", nil)); len(problems) != 1 {
		t.Errorf("a nil function: %v", problems)
	}
}

// A tool is tried on a goroutine of its own first, and goes back to one when it was slow.
func TestWhatIsTakenForBrief(t *testing.T) {
	c := New(nil)
	c.Add(Tool{Name: "tool", Run: func(context.Context, *Call) (*Result, error) { return nil, nil }})
	e, _ := c.Snapshot().View(nil).Callable("tool")
	took := func(n int, d time.Duration) bool {
		for range n {
			e.Took(d)
		}
		return e.Brief()
	}
	for _, step := range []struct {
		n    int
		took time.Duration
		want bool
	}{
		{0, 0, false}, {1, time.Microsecond, false}, {1, time.Microsecond, true}, {100, time.Microsecond, true},
		{1, 100 * time.Microsecond, true}, {1, 100 * time.Microsecond, false}, {100, 100 * time.Microsecond, false},
		{1, time.Microsecond, false}, {1, time.Microsecond, true},
		{1, time.Second, false}, {50, time.Microsecond, false}, {5, 100 * time.Microsecond, false}, {50, time.Microsecond, true},
	} {
		if got := took(step.n, step.took); got != step.want {
			t.Errorf("after %d calls of %v: brief %v, want %v", step.n, step.took, got, step.want)
		}
	}
}
