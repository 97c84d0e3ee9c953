package transpile

import (
	"container/list"
	"sync"
)

// A Preparer prepares texts and remembers the results, so that a text that comes again costs no more than a look-up. It is
// safe for concurrent use. Refusals are remembered as well.
type Preparer struct {
	maxEntries int
	maxBytes   int

	mu    sync.Mutex
	byKey map[cacheKey]*list.Element
	order *list.List // of *cacheEntry, the latest used first
	bytes int
}

type cacheKey struct {
	source string
	opts   Options
}

type cacheEntry struct {
	key   cacheKey
	cell  *Cell
	err   *Error
	bytes int
}

// NewPreparer makes a Preparer that keeps at most maxEntries results of at most maxBytes together (the texts, the bodies
// and the maps between them, estimated). Without room for one, nothing is kept. Values below 1 mean the defaults: 256
// entries and 8 MiB.
func NewPreparer(maxEntries, maxBytes int) *Preparer {
	if maxEntries < 1 {
		maxEntries = 256
	}
	if maxBytes < 1 {
		maxBytes = 8 << 20
	}
	return &Preparer{maxEntries: maxEntries, maxBytes: maxBytes, byKey: map[cacheKey]*list.Element{}, order: list.New()}
}

// Prepare is the function Prepare with a memory. Two callers may share a Cell.
func (pr *Preparer) Prepare(source string, opts Options) (*Cell, error) {
	opts.MaxSourceBytes = opts.maxBytes()
	if len(source) > opts.MaxSourceBytes {
		return nil, tooLarge(len(source), opts.MaxSourceBytes)
	}
	key := cacheKey{source, opts}
	if e := pr.lookUp(key); e != nil {
		return e.result()
	}
	e := &cacheEntry{key: key}
	e.cell, e.err = prepare(source, opts)
	e.bytes = e.size()
	pr.store(e)
	return e.result()
}

func (e *cacheEntry) result() (*Cell, error) {
	if e.err != nil {
		err := *e.err // whoever gets it may change it
		if err.Location != nil {
			l := *err.Location
			err.Location = &l
		}
		return nil, &err
	}
	return e.cell, nil
}

// size estimates what an entry keeps alive.
func (e *cacheEntry) size() int {
	n := 512 + len(e.key.source)
	if e.cell == nil {
		return n
	}
	n += len(e.cell.Body)
	for _, l := range e.cell.layers {
		n += layerSize(l)
	}
	return n
}

func layerSize(l layer) int {
	switch l := l.(type) {
	case anchorLayer:
		n := len(l) * 40
		for _, a := range l {
			if a.via != nil {
				n += layerSize(a.via)
			}
		}
		return n
	case *sourceMap:
		return len(l.json)*4 + len(l.output) + len(l.input) // decoded, a mapping takes about three times its text
	}
	return 0
}

func (pr *Preparer) lookUp(key cacheKey) *cacheEntry {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	el := pr.byKey[key]
	if el == nil {
		return nil
	}
	pr.order.MoveToFront(el)
	return el.Value.(*cacheEntry)
}

func (pr *Preparer) store(e *cacheEntry) {
	if e.bytes > pr.maxBytes {
		return
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if el := pr.byKey[e.key]; el != nil { // another caller was faster
		pr.order.MoveToFront(el)
		return
	}
	pr.byKey[e.key] = pr.order.PushFront(e)
	pr.bytes += e.bytes
	for pr.bytes > pr.maxBytes || pr.order.Len() > pr.maxEntries {
		old := pr.order.Remove(pr.order.Back()).(*cacheEntry)
		delete(pr.byKey, old.key)
		pr.bytes -= old.bytes
	}
}
