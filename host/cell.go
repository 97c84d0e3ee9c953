package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"codemode/catalog"
	"codemode/guestabi"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
)

// cell is one cell for its whole life. An exec or a wait drives it, one at a time; between them it is suspended, and
// its calls go on.
type cell struct {
	host         *Host
	id           string
	scope        Scope
	title        string
	parentID     string // of the exec, for the trajectory
	restartSafe  bool
	limits       limits.Limits
	view         *catalog.View
	counts       *counts
	counterScope string
	prepared     *transpile.Cell
	started      time.Time

	// What only the driving goroutine touches.
	vm         *quickjs.VM       // nil while parked or suspended
	accounted  time.Duration     // of vm's time, what is in used
	parked     *quickjs.Snapshot // in place of vm
	cannotPark bool              // its snapshot is over the limit: it keeps its instance
	idle       time.Time         // since when it waits with an instance
	lateUntil  time.Time         // how long answers are delivered after the deadline; zero before it
	ran        bool              // the body was run
	noted      bool              // the notes were given
	rejected   uint32            // promises that were rejected with nobody to handle it, after the last step
	output     *limits.Output
	frontier   []*request // what the cell asked in this step
	spare      []request  // to be used for the next
	lastAsked  uint32     // the highest id of any request
	broken     error      // what the cell asked and must not: it ends when the step ends
	done       bool       // the main promise is fulfilled
	value      json.RawMessage
	truncated  bool // value is only a start
	dispatched bool // a request other than a timer was dispatched
	reserved   bool // counts against maxSuspendedCells
	numbers    numbering
	calls      int // nested calls so far
	untrusted  atomic.Bool
	unhurried  bool          // at least one nested call did not ask to end the turn
	finished   int           // nested calls that ended
	used       CellTelemetry // by VMs that are closed, without Tools

	persisting sync.Mutex // one record of the cell is written or taken at a time

	mu       sync.Mutex
	stored   []byte          // the record in a durable store
	snapshot []byte          // its end
	taken    bool            // a durable store keeps its record while it runs
	begun    bool            // and knows that the cell has done what must not be done twice
	outer    context.Context // of the exec, for its values
	ctx      context.Context // of nested calls; made at the first
	cancel   context.CancelCauseFunc
	ending   error // why the cell was aborted
	driver   context.CancelCauseFunc
	driving  bool
	pending  []*request // no answer was delivered yet, in the order of asking
	queue    []*request // of these, those that wait for a slot
	running  int        // of these, those that have one
	yielding bool       // the step that is taken in asks to be suspended
	inline   inline
	replies  []*request // of these, those that are answered, in the order of answering
	inbox    int64      // bytes of these answers
	wake     chan struct{}
	tools    []toolUse
	lanes    map[string]chan struct{} // closed when the last sequential call of a lane has ended
	expires  time.Time                // while suspended
	expiry   *time.Timer

	// The clock of the deadline stands still while the host asks a person.
	approvals int
	asked     time.Time
	paused    time.Duration
}

// minResume is what a cell may always compute when an answer is delivered to it, however late.
func (c *cell) minResume() time.Duration { return min(250*time.Millisecond, c.limits.Timeout()/2) }

// drive runs the cell until it ends, must be suspended, or is aborted. first makes the first step, where there is one.
func (c *cell) drive(ctx context.Context, first func() (guestabi.Outcome, error)) *Result {
	now := time.Now()
	deadline := now.Add(c.limits.Timeout())
	c.lateUntil = time.Time{}
	c.mu.Lock()
	c.paused, c.asked = 0, now // what went before was another deadline's
	c.mu.Unlock()
	if first != nil {
		c.vm.SetDeadline(deadline)
		if r := c.step(first()); r != nil {
			return r
		}
	}
	var timer *time.Timer
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		r, suspend := c.advance(ctx, deadline)
		if suspend {
			return c.suspend(ctx)
		}
		if r != nil {
			return r
		}
		c.mu.Lock()
		brief := len(c.inline.calls) > 0
		approvals, end := c.approvals, c.endOf(deadline)
		c.mu.Unlock()
		if brief {
			if r := c.runInline(ctx, deadline); r != nil {
				return r
			}
			continue
		}

		// Nothing to deliver: wait for an answer, the deadline, or the time to give the instance back.
		now := time.Now()
		pause := end.Sub(now)
		if approvals > 0 {
			pause = time.Hour
		}
		if c.vm != nil && !c.cannotPark {
			if c.idle.IsZero() {
				c.idle = now
			}
			pause = min(pause, max(0, c.idle.Add(c.limits.ParkAfter()).Sub(now)))
		}
		if timer == nil {
			timer = time.NewTimer(pause)
		} else {
			timer.Reset(pause)
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
		case <-timer.C:
			if c.vm != nil && !c.cannotPark && !c.idle.IsZero() && time.Since(c.idle) >= c.limits.ParkAfter() {
				c.park()
			}
		}
	}
}

// advance delivers the answers that are there, until the cell has ended, must be suspended, or waits for others.
func (c *cell) advance(ctx context.Context, deadline time.Time) (r *Result, suspend bool) {
	for {
		c.mu.Lock()
		now, end := time.Now(), c.endOf(deadline)
		late := !now.Before(end) && c.approvals == 0
		deliver := !late
		if late && len(c.replies) == len(c.pending) {
			// It waits for nothing: it may go on for a while, so that a cell which is about to end does not need a wait.
			if c.lateUntil.IsZero() {
				c.lateUntil = now.Add(c.minResume())
			}
			deliver = now.Before(c.lateUntil)
		}
		var reply *request
		if deliver && c.ending == nil && len(c.replies) > 0 {
			reply = c.takeReply()
		}
		waits, yields, ending := len(c.pending), reply == nil && c.yields(), c.ending
		c.mu.Unlock()

		switch {
		case ending != nil:
			return c.fail(ending), false
		case ctx.Err() != nil:
			return c.fail(context.Cause(ctx)), false
		case reply != nil:
			c.idle = time.Time{}
			if r := c.deliver(ctx, reply, now, end); r != nil {
				return r, false
			}
		case waits == 0 && c.done:
			return c.complete(), false
		case waits == 0:
			return c.fail(errDeadlock), false
		default:
			return nil, yields || late
		}
	}
}

// endOf is when a deadline is, with the time in which the clock stood still. The caller holds mu.
func (c *cell) endOf(deadline time.Time) time.Time {
	end := deadline.Add(c.paused)
	if c.approvals > 0 {
		end = end.Add(time.Since(c.asked))
	}
	return end
}

// takeReply takes the oldest answer. The caller holds mu.
func (c *cell) takeReply() *request {
	r := c.replies[0]
	c.replies = slices.Delete(c.replies, 0, 1) // moves the others, so that the room is used again
	c.inbox -= int64(len(r.reply))
	c.unlist(r)
	return r
}

// unlist takes a request out of pending. The caller holds mu.
func (c *cell) unlist(r *request) {
	if i := slices.Index(c.pending, r); i >= 0 {
		c.pending = slices.Delete(c.pending, i, i+1)
	}
}

// yields says whether the cell has asked to be suspended. The caller holds mu.
func (c *cell) yields() bool {
	for _, p := range c.pending {
		if p.method == methodYield && !p.settled {
			return true
		}
	}
	return false
}

// deliver gives an answer to the cell, restoring it where it is parked.
func (c *cell) deliver(ctx context.Context, r *request, now, deadline time.Time) *Result {
	if earliest := now.Add(c.minResume()); deadline.Before(earliest) {
		deadline = earliest
	}
	if c.vm == nil {
		vm, err := c.host.engine.Restore(ctx, c.parked, c, c.vmOptions(deadline))
		if err != nil {
			return c.fail(err)
		}
		c.vm, c.parked = vm, nil
	}
	c.vm.SetDeadline(deadline)
	return c.step(c.vm.Settle(r.id, r.ok, r.reply))
}

func (c *cell) vmOptions(deadline time.Time) quickjs.Options {
	return quickjs.Options{Limits: c.limits, Deadline: deadline, Deterministic: c.host.options.Deterministic}
}

// step takes in what a run of the VM came to, and dispatches what the cell asked in it.
func (c *cell) step(out guestabi.Outcome, err error) *Result {
	if err != nil {
		return c.fail(err)
	}
	c.rejected = out.Rejections
	if out.State == guestabi.Fulfilled && len(out.Payload) > 0 {
		c.done, c.value, c.truncated = true, out.Payload, out.Truncated
	}
	if out.State == guestabi.Rejected && len(out.Payload) > 0 {
		return c.failThrown(out.Payload)
	}
	if c.broken != nil {
		return c.fail(c.broken)
	}
	return c.admit()
}

// complete ends a cell whose promise is fulfilled and that waits for nothing.
func (c *cell) complete() *Result {
	if r := c.failRejections(); r != nil {
		return r
	}
	size := int64(len(c.value))
	if c.truncated {
		size++ // at least
	}
	if c.host.options.StrictOutput && !c.output.Fits(size) {
		return c.fail(&limits.Error{Limit: limits.BreachOutput, Allowed: c.limits.MaxOutputBytes})
	}
	fitted := c.output.Fit(c.value, size)
	r := c.result(Completed)
	r.Output, r.Value = fitted.Output, fitted.Value
	if fitted.Truncated && string(fitted.Value) != string(c.value) {
		r.Value = c.retain(fitted.Value)
	}
	r.Terminate = c.finished > 0 && !c.unhurried
	c.end(nil, r)
	return r
}

// result starts a result.
func (c *cell) result(status Status) *Result {
	return &Result{
		Status: status, Language: c.prepared.Language, Notes: c.notes(status), ReplaySafe: c.restartSafe,
		Telemetry: c.telemetry(), Untrusted: c.untrusted.Load(),
	}
}

// notes are given once, and the one about the returned value only with a value.
func (c *cell) notes(status Status) []string {
	if c.noted {
		return nil
	}
	c.noted = true
	return slices.DeleteFunc(slices.Clone(c.prepared.Notes), func(note string) bool {
		return note == transpile.NoteReturned && (status != Completed || len(c.value) == 0 || string(c.value) == "null")
	})
}

func (c *cell) telemetry() Telemetry {
	t := Telemetry{
		CatalogSize: c.view.Len(), Sources: map[string]int{}, CounterScope: c.counterScope,
		SearchCount: c.counts.search.Load(), DescribeCount: c.counts.describe.Load(), CallCount: c.counts.call.Load(),
		VisibleTools: c.host.options.VisibleTools,
	}
	c.account()
	t.Cell = c.usage()
	for source, n := range c.view.Counts() {
		t.Sources[string(source)] = n
	}
	return t
}

// account adds what the VM has used since it was last asked.
func (c *cell) account() {
	if c.vm == nil {
		return
	}
	spent := c.vm.Spent()
	c.used.VMMicros += (spent - c.accounted).Microseconds()
	c.accounted = spent
	c.used.MemoryBytes = max(c.used.MemoryBytes, c.vm.MemoryBytes())
	if c.limits.Fuel > 0 {
		c.used.FuelUsed = c.limits.Fuel - int64(c.vm.FuelLeft())
	}
}

// closeVM gives the VM back.
func (c *cell) closeVM() {
	if c.vm == nil {
		return
	}
	c.account()
	c.accounted = 0
	c.vm.Close()
	c.vm = nil
}

// toolUse is a tool's usage by the cell.
type toolUse struct {
	name  string
	usage ToolUsage
}

// usedTool counts a call that has ended.
func (c *cell) usedTool(name string, took time.Duration, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.tools, func(t toolUse) bool { return t.name == name })
	if i < 0 {
		i = len(c.tools)
		c.tools = append(c.tools, toolUse{name: name})
	}
	u := &c.tools[i].usage
	u.Calls++
	u.Micros += took.Microseconds()
	if failed {
		u.Errors++
	}
}

// usage is what the cell used so far.
func (c *cell) usage() CellTelemetry {
	used := c.used
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tools) > 0 {
		used.Tools = make(map[string]ToolUsage, len(c.tools))
		for _, t := range c.tools {
			used.Tools[t.name] = t.usage
		}
	}
	return used
}

// end releases everything that the cell holds. why is nil for a cell that completed.
func (c *cell) end(why error, last *Result) {
	c.closeVM()
	c.parked = nil
	c.mu.Lock()
	suspendedBefore := !c.expires.IsZero()
	c.mu.Unlock()
	if suspendedBefore && last != nil { // first, so that nobody finds neither the cell nor its result
		c.host.keepResult(c, last)
	}
	c.mu.Lock()
	if c.ending == nil {
		c.ending = errEnded
	}
	cancel := c.cancel
	for _, p := range c.pending {
		p.stop()
	}
	c.pending, c.queue, c.replies, c.inline.calls = nil, nil, nil, nil
	taken := c.taken
	c.mu.Unlock()
	if cancel != nil {
		if why == nil {
			why = errEnded
		}
		cancel(why)
	}
	if taken {
		if err := c.host.store.Delete(context.Background(), c.id); err != nil {
			c.host.log.Error().Str("run", c.id).Err(err).Msg("the record of a run that has ended stays in the store")
		}
	}
	c.release()
	c.host.forget(c)
}

// errEnded is why calls of a cell that has ended are cancelled.
var errEnded = errors.New("the cell has ended")

// release gives the cell's place among the suspended cells back.
func (c *cell) release() {
	if c.reserved {
		c.reserved = false
		c.host.reserved.Add(-1)
	}
}

// abort ends the cell from outside: at once where it is suspended, and by its driver where it runs.
func (c *cell) abort(why error) {
	c.mu.Lock()
	// The timer of what expired may have fired just before it was taken up, or suspended anew.
	alive := errors.Is(why, errExpired) && (c.driving || c.expires.After(time.Now()))
	if c.ending != nil || alive {
		c.mu.Unlock()
		return
	}
	c.ending = why
	driver := c.driver
	driving := c.driving
	if !driving {
		c.driving = true // nobody may start now
		if c.expiry != nil {
			c.expiry.Stop()
		}
	}
	c.mu.Unlock()
	if driving {
		if driver != nil {
			driver(why)
		}
		return
	}
	if !c.outlived(why) {
		c.host.store.Delete(context.Background(), c.id)
	}
	c.end(why, nil)
}

// isElsewhere says whether another process goes on with a suspended cell, or has ended it.
func (c *cell) isElsewhere() bool {
	suspended := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.driving
	}
	if !c.host.durable || !suspended() {
		return false
	}
	_, _, ok, err := c.host.store.Get(context.Background(), c.id)
	// A wait of this host may have taken it meanwhile.
	return !ok && (err == nil || errors.Is(err, ErrRunTaken)) && suspended()
}

// outlived says whether the record of a suspended cell is to stay when the cell ends here: that of a durable store
// outlives the host, and belongs to whoever took it.
func (c *cell) outlived(why error) bool {
	if !c.host.durable {
		return false
	}
	if errors.Is(why, errExpired) {
		// One that has not expired is what another process has come to, which went on with the run.
		_, _, ok, _ := c.host.store.Get(context.Background(), c.id)
		return ok
	}
	return errors.Is(why, errTaken) || errors.Is(why, errClosed)
}

// describe says how the cell stands.
func (c *cell) describe() Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	run := Run{RunID: c.id, Scope: c.scope, Title: c.title, Started: c.started, Suspended: !c.driving, Pending: c.pendingCalls()}
	if run.Suspended {
		run.Expires = c.expires
	}
	return run
}

// pendingCalls lists what has no answer yet. The caller holds mu.
func (c *cell) pendingCalls() []PendingCall {
	list := []PendingCall{}
	for _, p := range c.pending {
		if !p.settled {
			list = append(list, p.describe())
		}
	}
	return list
}
