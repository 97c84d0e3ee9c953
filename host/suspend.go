package host

import (
	"context"
	"time"

	"codemode/limits"
	"codemode/quickjs"
)

// park gives the instance of a cell back that waits for its tools, and keeps its snapshot. A cell whose snapshot is
// over the limit keeps its instance: only suspending it would fail.
func (c *cell) park() {
	s, err := c.vm.Snapshot(quickjs.CodecS2)
	if err != nil || int64(s.Size()) > c.limits.MaxSnapshotBytes {
		c.cannotPark = true
		return
	}
	c.vm.Close()
	c.vm, c.parked = nil, s
	c.host.log.Debug().Str("run", c.id).Int("snapshotBytes", s.Size()).Msg("cell parked while its tools run")
}

// suspend ends an exec or a wait with a cell that goes on later.
func (c *cell) suspend(ctx context.Context) *Result {
	s := c.parked
	if s == nil {
		var err error
		if s, err = c.vm.Snapshot(quickjs.CodecS2); err != nil {
			return c.fail(err)
		}
	}
	if int64(s.Size()) > c.limits.MaxSnapshotBytes {
		return c.fail(&limits.Error{Limit: limits.BreachSnapshot, Allowed: c.limits.MaxSnapshotBytes})
	}
	expires := time.Now().Add(c.limits.SnapshotTTL())
	if err := c.host.store.Put(context.WithoutCancel(ctx), c.id, s.Encode(), expires); err != nil {
		return c.fail(err)
	}
	if c.vm != nil {
		c.vm.Close()
	}
	c.vm, c.parked = nil, nil
	c.host.log.Debug().Str("run", c.id).Int("snapshotBytes", s.Size()).Time("expires", expires).Msg("cell suspended")

	r := c.result(Waiting)
	fitted := c.output.Fit(nil, 0)
	r.Output = fitted.Output
	r.RunID = c.id
	c.mu.Lock()
	r.PendingToolCalls = c.pendingCalls()
	r.Reason = Yielded
	safe := true
	for _, p := range c.pending {
		if p.method != methodYield && !p.settled {
			r.Reason = PendingTools
		}
		safe = safe && p.replaySafe()
	}
	r.ReplaySafe = c.restartSafe && safe
	c.driving, c.driver = false, nil
	c.expires = expires
	c.expiry = time.AfterFunc(time.Until(expires), func() { c.abort(errExpired) })
	ending := c.ending
	c.fill() // nobody drives now: freed slots go to the queue
	c.mu.Unlock()
	if ending != nil { // aborted meanwhile: abort left it to the driver, which is this
		c.host.store.Delete(context.Background(), c.id)
		c.mu.Lock()
		c.expiry.Stop()
		c.driving = true
		c.mu.Unlock()
		return c.fail(ending)
	}
	return r
}

// resume takes a suspended cell's snapshot out of the store and answers its yields.
func (c *cell) resume(ctx context.Context) error {
	record, ok, err := c.host.store.Take(ctx, c.id)
	if err != nil {
		return err
	}
	if !ok {
		return errExpired
	}
	if c.parked, err = quickjs.DecodeSnapshot(record); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pending {
		if p.method == methodYield && !p.settled {
			c.answer(p, true, p.input)
		}
	}
	return nil
}
