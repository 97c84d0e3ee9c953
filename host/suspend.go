package host

import (
	"bytes"
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
	c.closeVM()
	c.parked = s
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
	c.mu.Lock()
	reason, pending := c.outstanding() // what is answered from now on is still what it was suspended for
	c.beginInline(true)                // so it will be, and so says the record
	c.mu.Unlock()
	fitted := c.output.Fit(nil, 0) // before the state is written: what is given out here is not given out again
	expires := time.Now().Add(c.limits.SnapshotTTL())
	encoded := s.Encode()
	c.account()
	c.used.SnapshotBytes = len(encoded)
	c.mu.Lock()
	record, err := c.record(encoded)
	c.keep(record, encoded)
	c.mu.Unlock()
	if err == nil {
		err = c.host.store.Put(context.WithoutCancel(ctx), c.id, record, expires)
	}
	if err != nil {
		c.mu.Lock()
		c.beginInline(false)
		c.mu.Unlock()
		return c.fail(err)
	}
	c.closeVM()
	c.parked = nil
	c.host.log.Debug().Str("run", c.id).Int("snapshotBytes", s.Size()).Time("expires", expires).Msg("cell suspended")

	r := c.result(Waiting)
	r.Output = fitted.Output
	r.RunID = c.id
	r.Reason, r.PendingToolCalls = reason, pending
	c.mu.Lock()
	safe := true
	for _, p := range c.pending {
		safe = safe && p.replaySafe()
	}
	r.ReplaySafe = c.restartSafe && safe
	c.driving, c.driver = false, nil
	c.taken, c.begun = false, false // the store has it back
	c.expires = expires
	c.expiry = time.AfterFunc(time.Until(expires), func() { c.abort(errExpired) })
	ending := c.ending
	if ending != nil {
		c.beginInline(false)
	}
	// Nobody drives now: calls that waited for the driver are launched. This is last, since it wakes another processor,
	// which may share a core with this one. Freed slots go to the queue.
	c.launchInline()
	c.fill()
	stale := c.host.durable && len(c.replies) > 0 // an answer may have come in since the record was written
	c.mu.Unlock()
	if stale {
		c.persist()
	}
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

// outstanding says what a cell that must be suspended waits for: what has no answer yet, or, where all is answered and
// the deadline does not let the cell have it, everything. The caller holds mu.
func (c *cell) outstanding() (Reason, []PendingCall) {
	pending := c.pendingCalls()
	if len(pending) == 0 {
		for _, p := range c.pending {
			pending = append(pending, p.describe())
		}
	}
	for _, p := range pending {
		if p.Method != methodYield {
			return PendingTools, pending
		}
	}
	return Yielded, pending
}

// superseded is a record that was taken and is not what the cell was suspended with: another process has gone on with
// the run and has suspended it anew.
type superseded struct {
	record  []byte
	expires time.Time
}

func (*superseded) Error() string { return "another process went on with the run" }

// resume takes a suspended cell's snapshot out of the store and answers its yields. A cell that was adopted has it.
func (c *cell) resume(ctx context.Context) error {
	if c.parked == nil {
		snapshot, err := c.takeSnapshot(ctx)
		if err != nil {
			return err
		}
		if c.parked, err = quickjs.DecodeSnapshot(snapshot); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored, c.snapshot = nil, nil
	for _, p := range c.pending {
		if p.method == methodYield && !p.settled {
			c.answer(p, true, p.input)
		}
	}
	return nil
}

// takeSnapshot takes the cell's record out of the store.
func (c *cell) takeSnapshot(ctx context.Context) ([]byte, error) {
	c.persisting.Lock()
	defer c.persisting.Unlock()
	record, expires, ok, err := c.host.store.Take(ctx, c.id)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errExpired
	case !c.host.durable:
		return record, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.Equal(record, c.stored) {
		return nil, &superseded{record, expires}
	}
	c.taken = true
	return c.snapshot, nil
}
