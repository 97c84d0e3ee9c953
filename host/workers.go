package host

import "sync"

// workers run nested calls. A few goroutines that have ended a call stay for the next: checking a call's contracts grows
// a fresh goroutine's stack several times, which costs as much as the checking.
type workers struct {
	jobs   chan func()
	closed chan struct{}
	idle   chan struct{} // one token for each worker that may stay
	all    sync.WaitGroup
}

// maxIdle is how many stay.
const maxIdle = 8

func newWorkers() *workers {
	return &workers{jobs: make(chan func()), closed: make(chan struct{}), idle: make(chan struct{}, maxIdle)}
}

// run runs f on a goroutine: one that waits, or a new one.
func (w *workers) run(f func()) {
	select {
	case w.jobs <- f:
		return
	default:
	}
	w.all.Add(1)
	go w.work(f)
}

func (w *workers) work(f func()) {
	defer w.all.Done()
	for {
		f()
		f = nil
		select {
		case w.idle <- struct{}{}:
		default:
			return
		}
		select {
		case f = <-w.jobs:
			<-w.idle
		case <-w.closed:
			return
		}
	}
}

// close ends those that wait, and returns when all have ended.
func (w *workers) close() {
	close(w.closed)
	w.all.Wait()
}
