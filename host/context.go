package host

import (
	"context"
	"sync"
)

// callContext is the context of a nested call, below its cell's. Most calls are over before anybody waits for their end,
// so what that needs is made when somebody does.
type callContext struct {
	context.Context // the cell's

	mu       sync.Mutex
	ended    bool
	waitable context.Context // nil before somebody waited
	end      context.CancelFunc
}

// Done is context.Context's.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waitable == nil {
		c.waitable, c.end = context.WithCancel(c.Context)
		if c.ended {
			c.end()
		}
	}
	return c.waitable.Done()
}

// Err is context.Context's.
func (c *callContext) Err() error {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		return context.Canceled
	}
	return c.current().Err()
}

// Value is context.Context's.
func (c *callContext) Value(key any) any { return c.current().Value(key) }

func (c *callContext) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waitable != nil {
		return c.waitable
	}
	return c.Context
}

// cancel ends the context. It may be called again, and of a call that was never started.
func (c *callContext) cancel() {
	c.mu.Lock()
	c.ended = true
	end := c.end
	c.mu.Unlock()
	if end != nil {
		end()
	}
}
