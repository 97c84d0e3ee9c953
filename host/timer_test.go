package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codemode/limits"
)

// A process that had no processor for a while finds several timers due at once; their goroutines start in any order.
func TestTimersAreAnsweredInTheOrderInWhichTheyAreDue(t *testing.T) {
	asked := time.Now()
	c := &cell{limits: limits.Default(), wake: make(chan struct{}, 1)}
	for i, ms := range []uint32{30, 10, 20, 20, 90} {
		c.pending = append(c.pending, &request{id: uint32(i + 1), method: methodSleep, milliseconds: ms, asked: asked})
	}
	c.pending = append(c.pending, &request{id: 9, method: methodYield, asked: asked})
	c.fire(c.pending[2].due()) // the goroutine of the third timer is the first
	c.fire(c.pending[1].due())
	c.fire(c.pending[0].due())
	var order []uint32
	for _, r := range c.replies {
		order = append(order, r.id)
	}
	if diff := cmp.Diff([]uint32{2, 3, 4, 1}, order); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}
