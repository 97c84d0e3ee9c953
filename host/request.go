package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"codemode/catalog"
	"codemode/guestabi"
	"codemode/limits"
	"codemode/transpile"
)

// The methods of requests, as results and telemetry name them.
const (
	methodSearch    = "search"
	methodDescribe  = "describe"
	methodCall      = "call"
	methodCallValue = "callValue"
	methodNamespace = "namespace"
	methodSleep     = "sleep"
	methodYield     = "yield"
	methodSave      = "resultSave"
	methodLoad      = "resultLoad"
	methodDelete    = "resultDelete"
)

// methods lists them, for counting.
var methods = [...]string{methodSearch, methodDescribe, methodCall, methodCallValue, methodNamespace, methodSleep, methodYield, methodSave, methodLoad, methodDelete}

// numbering counts a cell's requests by method. A suspended cell keeps it, so it is small.
type numbering [len(methods)]int32

// next gives the next number of a method, from 1.
func (n *numbering) next(method string) int {
	i := slices.Index(methods[:], method)
	n[i]++
	return int(n[i])
}

// request is something that the cell asked and that has no answer yet.
type request struct {
	id     uint32
	method string
	number int // of its method in the cell, from 1

	tool    string
	binding guestabi.Binding
	shape   guestabi.Shape
	input   json.RawMessage // of a call; the value to save; the answer to a yield
	site    guestabi.Site

	query        string // of a search; the reference of a saved result
	limit        uint32
	surface      guestabi.Surface
	milliseconds uint32

	entry *catalog.Entry
	asked time.Time
	order int

	// Guarded by the cell's mu.
	started bool // has a slot
	began   bool // is performed
	settled bool
	ok      bool
	reply   []byte
	ctx     callContext   // of a running call
	after   chan struct{} // of a sequential call: closed when the last one of its lane has ended
	done    chan struct{} // and closed when this one has
	timer   *time.Timer
}

func (r *request) bridgeID() string { return "bridge:" + r.method + ":" + strconv.Itoa(r.number) }

func (r *request) describe() PendingCall {
	return PendingCall{r.bridgeID(), r.method, r.tool, time.Since(r.asked).Milliseconds()}
}

// ordinary requests take a slot.
func (r *request) ordinary() bool { return r.method != methodSleep && r.method != methodYield }

// isCall says whether the request runs a tool.
func (r *request) isCall() bool {
	return r.method == methodCall || r.method == methodCallValue || r.method == methodNamespace
}

func (r *request) replaySafe() bool { return !r.isCall() || r.entry != nil && r.entry.ReplaySafe() }

// stop cancels what runs for the request. The caller holds mu.
func (r *request) stop() {
	r.ctx.cancel()
	if r.timer != nil {
		r.timer.Stop()
	}
}

// maxQueued is how many requests may wait for a slot.
const maxQueued = 128

// admit takes the step's requests in: all of them, or none. A batch that is too large must not be half done, so the cell
// ends before any of it runs, whatever the cell does about it.
func (c *cell) admit() *Result {
	if len(c.frontier) == 0 {
		c.mu.Lock()
		c.fill()
		c.mu.Unlock()
		return nil
	}
	batch := c.frontier
	c.frontier = nil
	ordinary := 0
	for _, r := range batch {
		if r.ordinary() {
			ordinary++
		}
		if c.restartSafe {
			if message := c.notRestartSafe(r); message != "" {
				return c.refuseBatch(message)
			}
		}
	}
	c.mu.Lock()
	waiting := c.running + len(c.queue)
	c.mu.Unlock()
	if allowed := int(c.limits.MaxPendingToolCalls) + maxQueued; ordinary > 0 && waiting+ordinary > allowed {
		return c.fail(&limits.Error{Limit: limits.BreachPendingCalls, Allowed: c.limits.MaxPendingToolCalls, Detail: fmt.Sprintf(
			"%d requests at once, where %d may run and %d may wait. None of this batch was started: await smaller batches", waiting+ordinary, c.limits.MaxPendingToolCalls, maxQueued)})
	}
	if !c.reserved {
		c.host.makeRoom(c.limits.MaxSuspendedCells)
		if c.host.reserved.Add(1) > c.limits.MaxSuspendedCells {
			c.host.reserved.Add(-1)
			return c.fail(errTooMany)
		}
		c.reserved = true
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil {
		return nil
	}
	c.yielding = slices.ContainsFunc(batch, func(r *request) bool { return r.method == methodYield })
	defer func() { c.yielding = false }()
	if c.ctx == nil {
		// The calls outlive the exec that started them, not its values.
		c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(c.outer))
	}
	for _, r := range batch {
		r.asked = now
		c.pending = append(c.pending, r)
		switch {
		case r.method == methodYield:
			c.dispatched = true
		case r.method == methodSleep:
			c.startTimer(r)
		case c.running < int(c.limits.MaxPendingToolCalls):
			c.start(r)
		default:
			c.queue = append(c.queue, r)
		}
	}
	c.fill()
	return nil
}

// fill gives free slots to the queue. A slot that a call leaves goes first to what the cell asks when it gets that
// call's answer, then to the queue. The caller holds mu.
func (c *cell) fill() {
	for len(c.queue) > 0 && c.running < int(c.limits.MaxPendingToolCalls) && c.ending == nil {
		r := c.queue[0]
		c.queue = slices.Delete(c.queue, 0, 1)
		c.start(r)
	}
}

// start gives a request a slot. The caller holds mu.
func (c *cell) start(r *request) {
	c.dispatched = true
	r.started = true
	c.running++
	switch {
	case r.isCall():
		c.calls++
		r.order = c.calls
		r.ctx.Context = c.ctx
		entry := c.callee(r)
		if c.taken && !c.begun && (entry == nil || !entry.ReplaySafe()) {
			c.begin()
		}
		if entry != nil && entry.Sequential() {
			if c.lanes == nil {
				c.lanes = map[string]chan struct{}{}
			}
			lane := entry.Tool().Lane
			r.done = make(chan struct{})
			r.after, c.lanes[lane] = c.lanes[lane], r.done
		}
		c.dispatch(r, r.done == nil && entry != nil && entry.Brief())
	case r.method == methodSearch:
		c.counts.search.Add(1)
		c.dispatch(r, true)
	case r.method == methodDescribe:
		c.counts.describe.Add(1)
		c.answerNow(r, c.describeTool)
	default:
		c.answerNow(r, c.saved)
	}
}

// begin tells a durable store that the cell does now what must not be done twice. A store that cannot be told must not
// give the record out again. The caller holds mu.
func (c *cell) begin() {
	c.begun = true
	if err := c.host.store.Begin(context.Background(), c.id); err != nil {
		c.host.log.Error().Str("run", c.id).Err(err).Msg("the store cannot be told that a call begins")
		c.host.store.Delete(context.Background(), c.id)
	}
}

// dispatch leaves a brief request to the driver, where there is one, and launches any other. A cell that yields in the
// same step is about to be suspended, and the driver launches all then. The caller holds mu.
func (c *cell) dispatch(r *request, brief bool) {
	if (brief || c.yielding) && c.driving {
		c.inline.calls = append(c.inline.calls, r)
	} else {
		c.launch(r)
	}
}

// launch performs a request on a goroutine of its own. The caller holds mu.
func (c *cell) launch(r *request) {
	r.began = true
	c.host.active.Add(1)
	c.host.workers.run(func() { c.perform(r) })
}

// perform runs a call or a search to its answer.
func (c *cell) perform(r *request) {
	defer c.host.active.Done()
	ended := false
	defer func() {
		if ended {
			return
		}
		// The tool ended its goroutine, as testing.T.FailNow does, or a hook of the host panicked.
		if v := recover(); v != nil {
			c.host.log.Error().Str("run", c.id).Str("tool", r.tool).Any("panic", v).Bytes("stack", debug.Stack()).Msg("a hook panicked")
		}
		c.settle(r, false, c.errorReply(r, catalog.BrokeOff(r.tool, nil), true))
	}()
	if r.method == methodSearch {
		c.reply(r)(c.search(r))
	} else {
		c.runCall(r)
	}
	ended = true
}

// answerNow answers a request from memory. The caller holds mu.
func (c *cell) answerNow(r *request, f func(*request) (json.RawMessage, error)) {
	value, err := f(r)
	if err != nil {
		c.answer(r, false, c.errorReply(r, err, false))
		return
	}
	c.answer(r, true, value)
}

// reply makes the function that settles a request with a value or an error.
func (c *cell) reply(r *request) func(json.RawMessage, error) {
	return func(value json.RawMessage, err error) {
		if err != nil {
			c.settle(r, false, c.errorReply(r, err, false))
			return
		}
		c.settle(r, true, value)
	}
}

// due is when a timer is.
func (r *request) due() time.Time {
	return r.asked.Add(time.Duration(r.milliseconds) * time.Millisecond)
}

// startTimer lets a timer run. The caller holds mu.
func (c *cell) startTimer(r *request) {
	r.timer = time.AfterFunc(max(0, time.Until(r.due())), func() {
		c.mu.Lock()
		c.fire(r.due())
		c.settled()
	})
}

// fire answers the timers that are due, in the order in which they are: where several became due at once, nothing says
// which of their goroutines is first. The caller holds mu.
func (c *cell) fire(now time.Time) {
	var due []*request
	for _, p := range c.pending {
		if p.method == methodSleep && !p.settled && !p.due().After(now) {
			due = append(due, p)
		}
	}
	slices.SortStableFunc(due, func(a, b *request) int { return a.due().Compare(b.due()) })
	for _, p := range due {
		c.answer(p, true, []byte("null"))
	}
}

// settle answers a request from any goroutine.
func (c *cell) settle(r *request, ok bool, payload []byte) {
	if !utf8.Valid(payload) { // of a tool that passes bytes on: to the guest it would not be JSON
		payload = bytes.ToValidUTF8(payload, []byte("\uFFFD"))
	}
	c.mu.Lock()
	c.answer(r, ok, payload)
	c.settled()
}

// settled is what follows on answers, and unlocks mu.
func (c *cell) settled() {
	suspended := !c.driving
	if suspended {
		c.fill()
	}
	c.mu.Unlock()
	if suspended {
		c.persist()
	}
}

// inboxLimit is how many bytes of answers may wait for a cell.
func (c *cell) inboxLimit() int64 { return min(c.limits.MemoryLimitBytes, c.limits.MaxSnapshotBytes) }

// answer keeps an answer for delivery. The caller holds mu.
func (c *cell) answer(r *request, ok bool, payload []byte) {
	if r.settled || c.ending != nil {
		return
	}
	if c.inbox+int64(len(payload)) > c.inboxLimit() {
		ok, payload = false, c.errorReply(r, &catalog.Error{Code: "inbox_full", Message: fmt.Sprintf(
			"The answer of %d bytes does not fit beside those that wait for the cell (%d bytes in all). Ask for less at a time, or await answers before asking for more.",
			len(payload), c.inboxLimit())}, r.isCall())
	}
	r.settled, r.ok, r.reply = true, ok, payload
	r.input = nil
	c.inbox += int64(len(payload))
	if r.started {
		c.running--
	}
	r.ctx.cancel()
	c.replies = append(c.replies, r)
	c.nudge()
}

// nudge wakes the driver. The caller holds mu.
func (c *cell) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// giveUp drops a request that the cell does not want any more. The caller holds mu.
func (c *cell) giveUp(r *request) {
	r.stop()
	if i := slices.Index(c.queue, r); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
	}
	if r.started && !r.settled {
		c.running--
	}
	if i := slices.Index(c.replies, r); i >= 0 {
		c.replies = slices.Delete(c.replies, i, i+1)
		c.inbox -= int64(len(r.reply))
	}
	r.settled = true
	c.unlist(r)
}

// location is where a request was made, in the submitted text.
func (c *cell) location(site guestabi.Site) *transpile.Location {
	if site.Line == 0 {
		return nil
	}
	p, ok := c.prepared.Position(int(site.Line), int(site.Column))
	if !ok {
		return nil
	}
	l := c.prepared.Locate(p)
	return &l
}

// errorReply is an error as the guest gets it. ran says that the tool was started, so that its effect is not known.
func (c *cell) errorReply(r *request, err error, ran bool) []byte {
	reply := struct {
		Message      string              `json:"message"`
		Code         string              `json:"code,omitempty"`
		Tool         string              `json:"tool,omitempty"`
		EffectStatus string              `json:"effectStatus,omitempty"`
		Location     *transpile.Location `json:"location,omitempty"`
		Data         json.RawMessage     `json:"data,omitempty"`
	}{Message: "the tool failed", Code: catalog.CodeToolError, Location: c.location(r.site)}
	if e := asToolError(err); e != nil {
		reply.Message, reply.Code, reply.Data = e.Message, e.Code, e.Data
	}
	reply.Message = clip(reply.Message, int(c.limits.MaxOutputBytes))
	if r.isCall() {
		reply.Tool = r.tool
		if ran {
			reply.EffectStatus = "unknown"
		}
	}
	text, err := marshal(reply)
	if err != nil {
		return []byte(`{"message":"the tool failed"}`)
	}
	return text
}
