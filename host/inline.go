package host

import (
	"context"
	"slices"
	"time"
)

// Tools that answer at once are run by the goroutine that drives their cell: to give such a call to a goroutine of its
// own and to get its answer back takes longer than the call, mostly for waking another processor.
//
// Nobody knows beforehand that a tool will answer at once. So the caller of exec or wait lets another goroutine, the
// runner, drive the cell meanwhile, and looks at it now and then. A runner that is found in the same call twice is left
// behind with it, as a goroutine of its own that the call might have had from the start, and the caller drives on.

// lookAfter is how often the caller looks: by so much, or twice that, a slow call that was taken for a brief one holds
// up what the cell asked beside it.
const lookAfter = time.Millisecond

// inline is the state of the calls that the driving goroutine runs itself. The cell's mu guards it.
type inline struct {
	calls []*request   // have a slot, and wait for the driver
	turn  int          // the runner that drives; another one was left behind
	in    *request     // the call that the runner is in
	back  chan *Result // how the runner gives the cell back: with a result, or nil where the caller must go on
}

// runInline runs the calls that wait for the driver, and the cell between them. It returns nil where there are none
// left, and where a call turned out not to be brief.
func (c *cell) runInline(ctx context.Context, deadline time.Time) *Result {
	c.mu.Lock()
	if c.ending != nil {
		c.mu.Unlock()
		return nil
	}
	if c.inline.back == nil {
		c.inline.back = make(chan *Result, 1)
	}
	back, turn := c.inline.back, c.inline.turn
	c.host.active.Add(1)
	c.mu.Unlock()
	c.host.workers.run(func() { c.run(ctx, deadline, turn) })
	look := time.NewTicker(lookAfter)
	defer look.Stop()
	ended := ctx.Done()
	var seen *request
	for {
		select {
		case r := <-back:
			return r
		case <-look.C:
		case <-ended:
			ended = nil
		}
		c.mu.Lock()
		in := c.inline.in
		leave := in != nil && (in == seen || ctx.Err() != nil)
		if leave {
			c.inline.turn++
			c.inline.in = nil
			c.launchInline()
		}
		c.mu.Unlock()
		if leave {
			return nil
		}
		seen = in
	}
}

// run is the runner: it drives the cell while there are calls for it to run.
func (c *cell) run(ctx context.Context, deadline time.Time, turn int) {
	defer c.host.active.Done()
	var r *Result
	defer func() { // deferred, as a tool may end its goroutine
		if c.outOfCall(turn) {
			c.inline.back <- r
		}
	}()
	for c.outOfCall(turn) {
		var suspend bool
		// The caller suspends the cell: the next wait may begin at once then, and must find no runner.
		if r, suspend = c.advance(ctx, deadline); r != nil || suspend {
			return
		}
		q := c.nextInline()
		if q == nil {
			return
		}
		c.perform(q)
	}
}

// outOfCall notes that a runner is in no call, and says whether it still drives.
func (c *cell) outOfCall(turn int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inline.turn != turn {
		return false
	}
	c.inline.in = nil
	return true
}

// nextInline takes the next call that waits for the driver.
func (c *cell) nextInline() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.inline.calls) > 0 && c.ending == nil {
		q := c.inline.calls[0]
		c.inline.calls = slices.Delete(c.inline.calls, 0, 1)
		if !q.settled {
			c.inline.in = q
			q.began = true
			c.host.active.Add(1)
			return q
		}
	}
	return nil
}

// beginInline says of the calls that wait for the driver whether they are begun. The caller holds mu.
func (c *cell) beginInline(begun bool) {
	for _, q := range c.inline.calls {
		q.began = begun
	}
}

// launchInline gives the calls that wait for the driver goroutines of their own. The caller holds mu.
func (c *cell) launchInline() {
	for _, q := range c.inline.calls {
		if !q.settled && c.ending == nil {
			c.launch(q)
		}
	}
	c.inline.calls = nil
}
