package limits

import (
	"sync"
	"time"
)

// Tick is how often running WebAssembly code is asked whether it must stop.
const Tick = 2 * time.Millisecond

// Clock ticks while something runs, and only then: it calls its function every Tick from a goroutine that ends by
// itself when nothing has run for a tick. The zero value is not usable; make one with NewClock.
type Clock struct {
	tick func()

	mu      sync.Mutex
	running int
	ticking bool
	stopped chan struct{} // closed when the goroutine has ended
}

// NewClock makes a clock that calls tick, which must not block.
func NewClock(tick func()) *Clock { return &Clock{tick: tick} }

// Enter says that something starts to run.
func (c *Clock) Enter() {
	c.mu.Lock()
	c.running++
	if !c.ticking {
		c.ticking = true
		c.stopped = make(chan struct{})
		go c.run(c.stopped)
	}
	c.mu.Unlock()
}

// Leave says that it has stopped.
func (c *Clock) Leave() {
	c.mu.Lock()
	c.running--
	c.mu.Unlock()
}

// Wait returns when the clock's goroutine has ended, which it does within a tick of the last Leave.
func (c *Clock) Wait() {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

func (c *Clock) run(stopped chan struct{}) {
	defer close(stopped)
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	for range ticker.C {
		c.mu.Lock()
		if c.running == 0 {
			c.ticking = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.tick()
	}
}
