package catalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// projection is the visible subset of a snapshot under one set of patterns: the tables that every view of it shares.
// They are made on first use, each once.
type projection struct {
	snap   *Snapshot
	policy *Policy

	once      sync.Once
	entries   []*Entry // sorted by id, MCP included
	ordinal   []*Entry // by position in snap.records; nil where hidden
	callables []*Entry // native and client, sorted by callable name
	callable  map[string]*Entry
	byID      map[string]*Entry
	literal   map[string]*Entry   // tools by their own name; nil where several have it
	named     map[string][]*Entry // by name and by callable name, in lower case, for exact searches
	counts    map[Source]int
	globals   []*namespace // visible plugin namespaces, by id
	mcp       *mcpTree

	statsOnce [surfaces]sync.Once
	stats     [surfaces]*corpusStats
	indexOnce sync.Once
	index     string
	formsOnce sync.Once
	forms     []entryForms
	allOnce   sync.Once
	all       json.RawMessage
}

// tables returns p with its tables made.
func (p *projection) tables() *projection {
	p.once.Do(p.build)
	return p
}

func (p *projection) build() {
	records := p.snap.records
	p.ordinal = make([]*Entry, len(records))
	slab := make([]Entry, 0, len(records)) // one allocation; never grown, so pointers stay good
	var named []*record
	var namedEntries, mcpEntries []*Entry
	p.byID = make(map[string]*Entry, len(records))
	p.literal = make(map[string]*Entry, len(records))
	p.counts = map[Source]int{}
	var whole []*Entry // the whole catalog's, whose names the patterns are matched with
	if !p.policy.everything() {
		whole = p.snap.all.tables().ordinal
	}
	for i, r := range records {
		if whole != nil && !p.policy.allows(r, whole[i].callable) {
			continue
		}
		slab = append(slab, Entry{rec: r})
		e := &slab[len(slab)-1]
		p.ordinal[i] = e
		p.entries = append(p.entries, e)
		p.counts[r.tool.Source]++
		if r.tool.MCP != nil {
			mcpEntries = append(mcpEntries, e)
			continue
		}
		p.byID[r.id] = e
		if _, twice := p.literal[r.tool.Name]; twice {
			p.literal[r.tool.Name] = nil
		} else {
			p.literal[r.tool.Name] = e
		}
		named = append(named, r)
		namedEntries = append(namedEntries, e)
	}
	p.globals = p.visibleNamespaces()
	globals := map[string]bool{}
	for _, ns := range p.globals {
		globals[ns.spec.Global] = true
	}
	reserved := func(name string) bool { return globals[name] || p.snap.catalog.reservedName(name) }
	p.callable = make(map[string]*Entry, len(named))
	for i, name := range callableNames(named, reserved) {
		e := namedEntries[i]
		e.callable, e.file = name, "tools/"+name+".d.ts"
		p.callable[name] = e
	}
	p.callables = slices.Clone(namedEntries)
	slices.SortFunc(p.callables, func(a, b *Entry) int { return cmp.Compare(a.callable, b.callable) })
	p.mcp = newMCPTree(mcpEntries)
	p.named = make(map[string][]*Entry, len(p.entries))
	for _, e := range p.entries {
		keys := []string{strings.ToLower(e.rec.tool.Name), strings.ToLower(e.callable)}
		if m := e.rec.tool.MCP; m != nil {
			keys = append(keys, strings.ToLower(m.Tool))
		}
		slices.Sort(keys)
		for _, k := range slices.Compact(keys) {
			p.named[k] = append(p.named[k], e)
		}
	}
}
