package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// View is what one cell sees of the catalog: the visible subset, and nothing else. It stays as it is whatever happens
// to the catalog, except that a policy's check is asked on every use. All methods are safe for concurrent use.
type View struct {
	proj    *projection
	check   func(*Entry) bool
	session Session

	scopeMu sync.Mutex
	scopes  map[string]*scope // plugin namespaces that this view made
}

// Surface says which guest API a search or a message is for.
type Surface int

const (
	// SurfaceTools is tools.*, ALL_TOOLS: ids and names, no MCP.
	SurfaceTools Surface = iota
	// SurfaceCatalog is bare globals, catalog.search, handles: callable names, MCP handles too.
	SurfaceCatalog

	surfaces
)

func (v *View) permits(e *Entry) bool { return e != nil && (v.check == nil || v.check(e)) }

func (v *View) permitted(entries []*Entry) []*Entry {
	if v.check == nil {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return !v.check(e) })
}

// Len returns the number of visible tools, MCP included.
func (v *View) Len() int { return len(v.permitted(v.proj.tables().entries)) }

// Counts returns the number of visible tools by source; sources without tools are there with 0.
func (v *View) Counts() map[Source]int {
	counts := map[Source]int{SourceHost: 0, SourceMCP: 0, SourceClient: 0}
	if v.check == nil {
		for s, n := range v.proj.tables().counts {
			counts[s] = n
		}
		return counts
	}
	for _, e := range v.proj.tables().entries {
		if v.check(e) {
			counts[e.Source()]++
		}
	}
	return counts
}

// Entries returns the visible tools sorted by id: all of them for SurfaceCatalog, without MCP for SurfaceTools. The
// caller must not change the slice.
func (v *View) Entries(surface Surface) []*Entry {
	entries := v.permitted(v.proj.tables().entries)
	if surface == SurfaceCatalog {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return e.rec.tool.MCP != nil })
}

// AllTools returns ALL_TOOLS as JSON: the compact metadata of every native and client tool, sorted by id. Without a
// policy check it is made once for all views.
func (v *View) AllTools() json.RawMessage {
	render := func() json.RawMessage {
		list := []metadata{}
		for _, e := range v.Entries(SurfaceTools) {
			list = append(list, e.compact())
		}
		return mustMarshal(list)
	}
	if v.check != nil {
		return render()
	}
	v.proj.allOnce.Do(func() { v.proj.all = render() })
	return v.proj.all
}

// Callables returns native and client tools sorted by callable name: catalog.all(). The caller must not change the
// slice.
func (v *View) Callables() []*Entry { return v.permitted(v.proj.tables().callables) }

// Callable finds a native or client tool by callable name: what a bare global of that name is.
func (v *View) Callable(name string) (*Entry, bool) {
	e := v.proj.tables().callable[name]
	if !v.permits(e) {
		return nil, false
	}
	return e, true
}

// Tool finds what tools.<name> is: the native or client tool with exactly that name, when only one has it, the name is
// an identifier, and it is neither a helper (search, describe, call, callValue) nor a property of every object.
func (v *View) Tool(name string) (*Entry, bool) {
	if toolsHelpers[name] || objectNames[name] || !isIdentifier(name) {
		return nil, false
	}
	e := v.proj.tables().literal[name]
	if !v.permits(e) {
		return nil, false
	}
	return e, true
}

// ToolNames returns the names under which Tool finds something, sorted: the keys of the tools object beside its
// helpers.
func (v *View) ToolNames() []string {
	var names []string
	for name, e := range v.proj.tables().literal {
		if e != nil && isIdentifier(name) && !toolsHelpers[name] && !objectNames[name] && v.permits(e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Lookup finds a native or client tool by exact id or by exact name when only one tool has it: tools.call and
// tools.describe. The error is an *Error with CodeInvalidInput and the nearest names.
func (v *View) Lookup(ref string) (*Entry, error) {
	t := v.proj.tables()
	if e := t.byID[ref]; v.permits(e) {
		return e, nil
	}
	e, known := t.literal[ref]
	if v.permits(e) {
		return e, nil
	}
	if known && e == nil {
		var ids []string
		for _, e := range t.entries {
			if e.rec.tool.Name == ref && e.rec.tool.MCP == nil && v.permits(e) {
				ids = append(ids, e.rec.id)
			}
		}
		if len(ids) == 1 {
			return t.byID[ids[0]], nil
		}
		if len(ids) > 1 {
			err := invalidInput("%d tools are named %q; use one of their ids: %s.", len(ids), ref, strings.Join(ids, ", "))
			err.Nearest = ids
			return nil, err
		}
	}
	return nil, v.Unknown(ref, SurfaceTools)
}
