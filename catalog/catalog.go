package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Options configure a catalog. The zero value, or nil, is fine.
type Options struct {
	// HostLabel is how [SourceHost] is spelled in ids and metadata, letters, digits, - and _. Default: "host".
	HostLabel string
	// Reserved are names that no tool may take as a bare global, beside JavaScript's words, the guest API and the
	// properties of every object. A host passes every global of its engine.
	Reserved []string
	// SearchLimit is how many hits a search returns when it names no limit, 1 to MaxSearchLimit. Default: 8.
	SearchLimit int
	// MaxSearchLimit is the most hits that a search returns, 1 to 1,000. Default: 50.
	MaxSearchLimit int
	// IndexChars is the length of the quick index in characters, at most; 200 to 1,000,000. Default: 8,000.
	IndexChars int
}

// Catalog is the registry of an agent's hidden tools. All methods are safe for concurrent use.
type Catalog struct {
	options   Options
	reserved  map[string]bool
	lanes     lanes
	contracts contractCache

	mu         sync.Mutex
	records    map[string]*record // by id
	namespaces map[string]*namespace
	expected   map[string]bool // MCP servers, see ExpectServers
	scope      int             // which run of unbroken appends this is, see Snapshot.Scope
	published  atomic.Pointer[Snapshot]
}

// New makes an empty catalog. Out-of-range options take the nearest value in range.
func New(opts *Options) *Catalog {
	c := &Catalog{records: map[string]*record{}, namespaces: map[string]*namespace{}, reserved: map[string]bool{}}
	if opts != nil {
		c.options = *opts
	}
	o := &c.options
	o.Reserved = slices.Clone(o.Reserved)
	for _, name := range o.Reserved {
		c.reserved[name] = true
	}
	if !isLabel(o.HostLabel) {
		o.HostLabel = string(SourceHost)
	}
	o.MaxSearchLimit = clampOr(o.MaxSearchLimit, 50, 1, 1000)
	o.SearchLimit = min(clampOr(o.SearchLimit, 8, 1, 1000), o.MaxSearchLimit)
	o.IndexChars = clampOr(o.IndexChars, 8000, 200, 1_000_000)
	return c
}

func clampOr(v, zero, low, high int) int {
	if v == 0 {
		v = zero
	}
	return min(max(v, low), high)
}

// Add registers tools. A tool with the id of a registered one replaces it. Tools that cannot be registered are left
// out, each with a [Problem]; the others are in the next Snapshot. Nil means that all is well.
func (c *Catalog) Add(tools ...Tool) []Problem {
	records, problems := c.admitAll(tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range records {
		if _, replaced := c.records[r.id]; replaced {
			c.scope++
		}
		c.records[r.id] = r
	}
	c.published.Store(nil)
	return problems
}

// Replace makes tools the only ones of owner, at once: no snapshot has some of the old and some of the new. Tools
// without an owner get this one; a tool that names another owner is a problem. An MCP server's list_changed ends here.
func (c *Catalog) Replace(owner string, tools ...Tool) []Problem {
	tools = slices.Clone(tools)
	for i := range tools {
		t := &tools[i]
		if t.Owner == "" && (t.MCP == nil || t.MCP.Server == "") {
			t.Owner = owner
		}
		if got := ownerOf(t); got != owner && t.invalid == nil {
			t.invalid = fmt.Errorf("it belongs to %q, not to %q whose tools are replaced", got, owner)
		}
	}
	records, problems := c.admitAll(tools)
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.records, func(_ string, r *record) bool { return r.tool.Owner == owner })
	for _, r := range records {
		c.records[r.id] = r
	}
	c.scope++
	c.published.Store(nil)
	return problems
}

// Remove takes tools out by id and returns how many were there. Snapshots taken before keep them.
func (c *Catalog) Remove(ids ...string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	removed := 0
	for _, id := range ids {
		if _, ok := c.records[id]; ok {
			delete(c.records, id)
			removed++
		}
	}
	if removed > 0 {
		c.scope++
		c.published.Store(nil)
	}
	return removed
}

// RemoveOwner takes out all tools of an owner and returns how many there were.
func (c *Catalog) RemoveOwner(owner string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.records)
	maps.DeleteFunc(c.records, func(_ string, r *record) bool { return r.tool.Owner == owner })
	removed := before - len(c.records)
	if removed > 0 {
		c.scope++
		c.published.Store(nil)
	}
	return removed
}

// ExpectServers names MCP servers, as in [MCPTool].Server, that tools may come from later. While one has none, a cell that
// looks for it is told that it is not available now, and not that there is no such server.
func (c *Catalog) ExpectServers(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expected == nil {
		c.expected = map[string]bool{}
	}
	for _, name := range names {
		c.expected[name] = true
	}
	c.published.Store(nil)
}

// Holds reports whether e is still what the catalog has under its id. A host that queued a call asks before it runs.
func (c *Catalog) Holds(e *Entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records[e.ID()] == e.rec
}

// Snapshot returns the catalog as it is now. Without a change in between it is the same pointer. It costs the size of
// the catalog after a change and nothing otherwise.
func (c *Catalog) Snapshot() *Snapshot {
	if s := c.published.Load(); s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.published.Load(); s != nil {
		return s
	}
	s := &Snapshot{catalog: c, scope: c.scope}
	for _, r := range c.records {
		if r.tool.DirectOnly {
			s.direct = append(s.direct, &Entry{rec: r, callable: r.tool.Name})
		} else {
			s.records = append(s.records, r)
		}
	}
	slices.SortFunc(s.records, func(a, b *record) int { return cmp.Compare(a.id, b.id) })
	slices.SortFunc(s.direct, func(a, b *Entry) int { return cmp.Compare(a.ID(), b.ID()) })
	for _, ns := range c.namespaces {
		s.namespaces = append(s.namespaces, ns)
	}
	slices.SortFunc(s.namespaces, func(a, b *namespace) int { return cmp.Compare(a.spec.ID, b.spec.ID) })
	s.expected = sortedKeys(c.expected)
	s.all = &projection{snap: s}
	c.published.Store(s)
	return s
}

func (c *Catalog) reservedName(name string) bool { return fixedReserved(name) || c.reserved[name] }
