package catalog

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
)

// Snapshot is the catalog at one moment. It is immutable; a cell keeps the one it started with.
type Snapshot struct {
	catalog    *Catalog
	scope      int
	records    []*record // sorted by id, without direct-only tools
	direct     []*Entry
	namespaces []*namespace
	expected   []string    // MCP servers, sorted
	all        *projection // of the nil policy
	byPolicy   projectionCache
	lexicon    lexicon
}

// Len returns the number of cataloged tools, whatever any policy says.
func (s *Snapshot) Len() int { return len(s.records) }

// Scope returns a name for what counters may be kept across: it stays the same while tools are only added, and changes
// when tools are removed or replaced.
func (s *Snapshot) Scope() string { return "scope-" + strconv.Itoa(s.scope) }

// Direct returns the direct-only tools that the policy allows, sorted by id. They are in no view.
func (s *Snapshot) Direct(p *Policy) []*Entry {
	var out []*Entry
	for _, e := range s.direct {
		if p.allows(e.rec, e.callable) && p.permits(e) {
			out = append(out, e)
		}
	}
	return out
}

// View returns what a cell under the policy sees. It costs nanoseconds: everything that depends on the number of tools
// is made on first use and shared by all views of the same snapshot and patterns.
func (s *Snapshot) View(p *Policy) *View {
	v := &View{proj: s.all}
	if p != nil {
		v.check = p.check
		if !p.everything() {
			v.proj = s.byPolicy.get(s, p)
		}
	}
	return v
}

func (p *Policy) permits(e *Entry) bool { return p == nil || p.check == nil || p.check(e) }

// maxProjections is how many distinct sets of patterns a snapshot keeps names and tables for.
const maxProjections = 256

// projectionCache keeps projections by policy, up to maxProjections; then it starts over. Reading takes no lock, because
// every cell reads it once.
type projectionCache struct {
	current atomic.Pointer[map[string]*projection]
	mu      sync.Mutex
}

func (c *projectionCache) get(s *Snapshot, p *Policy) *projection {
	if m := c.current.Load(); m != nil {
		if proj, ok := (*m)[p.key]; ok {
			return proj
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[string]*projection{}
	if m := c.current.Load(); m != nil {
		if proj, ok := (*m)[p.key]; ok {
			return proj
		}
		if len(*m) < maxProjections {
			maps.Copy(next, *m)
		}
	}
	next[p.key] = &projection{snap: s, policy: p}
	c.current.Store(&next)
	return next[p.key]
}
