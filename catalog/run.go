package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/internal/jsontext"
)

// Run runs the tool. It waits for the tool's lane when the tool is sequential, gives up when ctx ends, and turns a
// panic into an error. It checks no contract: CheckInput, CompileOutput and CheckOutput are the caller's, in that
// order, because hooks run in between. Errors are *Error, except ctx's own.
func (e *Entry) Run(ctx context.Context, call *Call) (*Result, error) {
	if call == nil {
		call = &Call{}
	}
	if call.Tool == nil || len(call.Input) == 0 {
		c := *call
		if c.Tool == nil {
			c.Tool = e
		}
		if len(c.Input) == 0 {
			c.Input = json.RawMessage("{}")
		}
		call = &c
	}
	if e.rec.tool.Sequential {
		var release func()
		var err error
		ctx, release, err = e.rec.catalog.lanes.enter(ctx, e.rec.tool.Lane)
		if err != nil {
			return nil, e.failure(err)
		}
		defer release()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	result, err := e.protected(&callContext{ctx, call}, call)
	if err != nil {
		return nil, e.failure(err)
	}
	if result == nil {
		result = &Result{}
	}
	if len(result.Value) > 0 && !jsontext.Valid(result.Value) || len(result.Content) > 0 && !jsontext.Valid(result.Content) {
		return nil, &Error{
			Code:    CodeToolError,
			Message: fmt.Sprintf("Tool %q gave back something that is not JSON. It did run; check what it has done before you call it again.", e.callable),
		}
	}
	return result, nil
}

func (e *Entry) protected(ctx context.Context, call *Call) (result *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, BrokeOff(e.callable, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	return e.rec.tool.Run(ctx, call)
}

// pace tells tools that answer at once from the others by their last calls: it goes up with a brief call, and down by
// more with one that was not, as every machine has a pause now and then.
type pace struct{ score atomic.Int32 }

const (
	briefCall  = 20 * time.Microsecond // to give a call to another goroutine costs half of this
	briefFrom  = 2                     // the score from which a tool is taken for brief
	bestScore  = 8
	slowCosts  = 4
	longCall   = time.Millisecond
	afterALong = -64
)

// Took notes how long a call took from its look-up to its answer, hooks and contracts included.
func (e *Entry) Took(d time.Duration) {
	score := &e.rec.pace.score
	switch n := score.Load(); {
	case d >= longCall:
		score.Store(afterALong)
	case d >= briefCall:
		score.Store(max(n-slowCosts, min(n, 0)))
	case n < bestScore:
		score.Store(n + 1)
	}
}

// Brief reports whether the tool answers at once, as far as its last calls show: a call is best run where the caller
// stands then.
func (e *Entry) Brief() bool { return e.rec.pace.score.Load() >= briefFrom }

// BrokeOff is the error of a tool that panicked or ended its goroutine. cause, which may be nil, is for the log.
func BrokeOff(tool string, cause error) *Error {
	return &Error{Code: CodeToolError, Message: fmt.Sprintf("Tool %q broke off unexpectedly. It may have done part of its work.", tool), Err: cause}
}

// failure makes an *Error of what a tool returned; the end of the context stays what it is.
func (e *Entry) failure(err error) error {
	var known *Error
	if errors.As(err, &known) {
		if known.Code != "" && (len(known.Data) == 0 || json.Valid(known.Data)) {
			return err
		}
		fixed := *known
		if fixed.Code == "" {
			fixed.Code = CodeToolError
		}
		if !json.Valid(fixed.Data) {
			fixed.Data = nil
		}
		return &fixed
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Code: CodeToolError, Message: err.Error(), Err: err}
}

type callKey struct{}

// callContext is the context in which a tool runs.
type callContext struct {
	context.Context
	call *Call
}

// Value is context.Context's.
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// CallFrom returns the call that ctx belongs to, or nil outside a tool. Tools made by [Func] reach approval and
// progress through it.
func CallFrom(ctx context.Context) *Call {
	call, _ := ctx.Value(callKey{}).(*Call)
	return call
}

// lanes keep sequential tools apart, first come first served.
type lanes struct {
	mu     sync.Mutex
	queues map[string][]chan struct{} // the first holds the lane; a waiter's channel is closed when it becomes first
}

type laneKey struct{}

// heldLanes are the lanes that the calls around this one hold.
type heldLanes struct {
	lanes  *lanes
	name   string
	parent *heldLanes
}

var errReentrant = errors.New("the call would wait for its own caller, which is running in the same sequential lane")

func (l *lanes) enter(ctx context.Context, name string) (context.Context, func(), error) {
	held, _ := ctx.Value(laneKey{}).(*heldLanes)
	for h := held; h != nil; h = h.parent {
		if h.lanes == l && h.name == name {
			return ctx, nil, errReentrant
		}
	}
	turn := make(chan struct{})
	l.mu.Lock()
	if l.queues == nil {
		l.queues = map[string][]chan struct{}{}
	}
	first := len(l.queues[name]) == 0
	l.queues[name] = append(l.queues[name], turn)
	l.mu.Unlock()
	var once sync.Once
	leave := func() { once.Do(func() { l.leave(name, turn) }) }
	if !first {
		select {
		case <-turn:
		case <-ctx.Done():
			leave()
			return ctx, nil, ctx.Err()
		}
	}
	return context.WithValue(ctx, laneKey{}, &heldLanes{l, name, held}), leave, nil
}

func (l *lanes) leave(name string, turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queues[name]
	i := slices.Index(queue, turn)
	queue = slices.Delete(queue, i, i+1)
	if len(queue) == 0 {
		delete(l.queues, name)
		return
	}
	l.queues[name] = queue
	if i == 0 {
		close(queue[0])
	}
}
