package catalog

import (
	"strconv"
	"sync"
)

// Snapshot is the catalog at one moment. It is immutable; a cell keeps the one it started with.
type Snapshot struct {
	catalog    *Catalog
	scope      int
	records    []*record // sorted by id, without direct-only tools
	direct     []*Entry
	namespaces []*namespace
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
		if p.allows(e.rec) && p.permits(e) {
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

// maxProjections is how many distinct policies of a snapshot keep their names and tables.
const maxProjections = 256

// projectionCache keeps projections by policy, the most recent ones.
type projectionCache struct {
	mu    sync.Mutex
	byKey map[string]*projection
	order []string
}

func (c *projectionCache) get(s *Snapshot, p *Policy) *projection {
	c.mu.Lock()
	defer c.mu.Unlock()
	if proj, ok := c.byKey[p.key]; ok {
		return proj
	}
	if c.byKey == nil {
		c.byKey = map[string]*projection{}
	}
	if len(c.order) == maxProjections {
		delete(c.byKey, c.order[0])
		c.order = c.order[1:]
	}
	proj := &projection{snap: s, policy: p}
	c.byKey[p.key] = proj
	c.order = append(c.order, p.key)
	return proj
}
