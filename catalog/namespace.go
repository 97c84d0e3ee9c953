package catalog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/jsontext"
)

// Namespace is an object of a plugin that cells find as a global and as namespaces.<Global>. It holds plain data and
// functions that call the plugin's own tools.
type Namespace struct {
	// ID is the namespace's own name, unique in the catalog.
	ID string
	// Plugin is the owner of the tools that the namespace may call.
	Plugin string
	// Global is the guest's name for it, an identifier that nothing else has.
	Global string
	// Description is a line about it for the prompt. Optional.
	Description string
	// Prompt is more text for the prompt. Optional.
	Prompt func(Session) string
	// Requires names the tools of Plugin that it calls, at least one. The namespace is visible to a view if all are.
	Requires []string
	// Scope makes the object, once for each cell that looks at it. It may have maps, slices, values that encode as
	// JSON, and tools made by [NamespaceTool]; it must not block.
	Scope func(Session) (map[string]any, error)
}

// Session says for whom a namespace is made.
type Session struct {
	ID       string
	AgentRun string
}

// ToolMarker is a function of a namespace's scope. NamespaceTool makes it.
type ToolMarker struct {
	tool  string
	input func(args []json.RawMessage) (any, error)
}

// NamespaceTool is a function in a namespace's scope that calls the plugin's tool of that name. input makes the tool's
// argument of the guest's arguments, on the host; nil takes the first argument, or {}.
func NamespaceTool(tool string, input func(args []json.RawMessage) (any, error)) *ToolMarker {
	return &ToolMarker{tool: strings.TrimSpace(tool), input: input}
}

type namespace struct {
	spec Namespace
}

// RegisterNamespace adds a namespace. Later snapshots have it.
func (c *Catalog) RegisterNamespace(ns Namespace) error {
	ns.ID, ns.Plugin = strings.TrimSpace(ns.ID), strings.TrimSpace(ns.Plugin)
	requires := map[string]bool{}
	for _, name := range ns.Requires {
		if name = strings.TrimSpace(name); name == "" {
			return fmt.Errorf("catalog: namespace %s requires a tool without a name", printable(ns.ID))
		}
		requires[name] = true
	}
	ns.Requires = sortedKeys(requires)
	switch {
	case ns.ID == "":
		return fmt.Errorf("catalog: a namespace has no ID")
	case ns.Plugin == "":
		return fmt.Errorf("catalog: namespace %s has no Plugin", printable(ns.ID))
	case !isIdentifier(ns.Global) || strings.HasPrefix(ns.Global, "__"):
		return fmt.Errorf("catalog: namespace %s: %s cannot be the name of a global", printable(ns.ID), printable(ns.Global))
	case c.reservedName(ns.Global):
		return fmt.Errorf("catalog: namespace %s: the global %s is reserved", printable(ns.ID), ns.Global)
	case ns.Scope == nil:
		return fmt.Errorf("catalog: namespace %s has no Scope", printable(ns.ID))
	case len(ns.Requires) == 0:
		return fmt.Errorf("catalog: namespace %s requires no tool, so it has nothing to call", printable(ns.ID))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.namespaces {
		if other.spec.ID == ns.ID {
			return fmt.Errorf("catalog: namespace %s is already registered", printable(ns.ID))
		}
		if other.spec.Global == ns.Global {
			return fmt.Errorf("catalog: namespace %s: the global %s belongs to namespace %s", printable(ns.ID), ns.Global, printable(other.spec.ID))
		}
	}
	c.namespaces[ns.ID] = &namespace{spec: ns}
	c.published.Store(nil)
	return nil
}

// RemoveNamespace takes out the namespace with that id and reports whether there was one.
func (c *Catalog) RemoveNamespace(id string) bool {
	return c.removeNamespaces(func(ns *namespace) bool { return ns.spec.ID == id }) > 0
}

// ClearNamespaces takes out all namespaces of a plugin and returns how many there were.
func (c *Catalog) ClearNamespaces(plugin string) int {
	return c.removeNamespaces(func(ns *namespace) bool { return ns.spec.Plugin == plugin })
}

func (c *Catalog) removeNamespaces(which func(*namespace) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	removed := 0
	for id, ns := range c.namespaces {
		if which(ns) {
			delete(c.namespaces, id)
			removed++
		}
	}
	if removed > 0 {
		c.published.Store(nil)
	}
	return removed
}

// ownTools returns the plugin's tools that a namespace requires, by name; nil unless all are there.
func (p *projection) ownTools(ns *namespace) map[string]*Entry {
	found := map[string]*Entry{}
	for _, name := range ns.spec.Requires {
		for _, source := range []string{p.snap.catalog.options.HostLabel, string(SourceClient)} {
			if e := p.byID[source+":"+ns.spec.Plugin+":"+name]; e != nil && found[name] == nil {
				found[name] = e
			}
		}
		if found[name] == nil {
			return nil
		}
	}
	return found
}

func (p *projection) visibleNamespaces() []*namespace {
	var visible []*namespace
	for _, ns := range p.snap.namespaces {
		if p.ownTools(ns) != nil {
			visible = append(visible, ns)
		}
	}
	return visible
}

// WithSession returns a copy of the view whose namespaces are made for that session.
func (v *View) WithSession(s Session) *View {
	return &View{proj: v.proj, check: v.check, session: s}
}

// namespaces returns the plugin namespaces whose tools may all be used now.
func (v *View) namespaces() []*namespace {
	t := v.proj.tables()
	if v.check == nil {
		return t.globals
	}
	return slices.DeleteFunc(slices.Clone(t.globals), func(ns *namespace) bool {
		for _, e := range t.ownTools(ns) {
			if !v.permits(e) {
				return true
			}
		}
		return false
	})
}

// NamespacePrompt returns the lines about plugin namespaces for the description of exec, "- Global: description" and
// the namespace's own text; empty when none is visible.
func (v *View) NamespacePrompt() string {
	var b strings.Builder
	for _, ns := range v.namespaces() {
		fmt.Fprintf(&b, "- %s: %s\n", ns.spec.Global, plainLine(ns.spec.Description, maxCommentLine))
		if ns.spec.Prompt == nil {
			continue
		}
		if text := strings.TrimSpace(ns.spec.Prompt(v.session)); text != "" {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// scope is a namespace's object as one view made it.
type scope struct {
	root *scopeNode
	err  error
}

// scopeNode is a part of a scope: a tool, constant JSON, or an object or array that has a tool below it.
type scopeNode struct {
	tool     *ToolMarker
	value    json.RawMessage
	array    bool
	names    []string // sorted, of an array in order
	children map[string]*scopeNode
}

// scopeOf makes a namespace's object, or returns the one that this view made before.
func (v *View) scopeOf(ns *namespace) *scope {
	v.scopeMu.Lock()
	defer v.scopeMu.Unlock()
	if s, ok := v.scopes[ns.spec.ID]; ok {
		return s
	}
	s := &scope{}
	s.root, s.err = makeScope(ns, v.session)
	if v.scopes == nil {
		v.scopes = map[string]*scope{}
	}
	v.scopes[ns.spec.ID] = s
	return s
}

// NamespaceError makes the object of the namespace with that global, if this view has not yet, and returns why it
// could not be made. A host logs it; cells do not see such a namespace.
func (v *View) NamespaceError(global string) error {
	for _, ns := range v.namespaces() {
		if ns.spec.Global == global {
			return v.scopeOf(ns).err
		}
	}
	return nil
}

func makeScope(ns *namespace, session Session) (root *scopeNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("catalog: namespace %s: its scope panicked: %v", ns.spec.ID, r)
		}
	}()
	object, err := ns.spec.Scope(session)
	if err != nil {
		return nil, fmt.Errorf("catalog: namespace %s: %w", ns.spec.ID, err)
	}
	if object == nil {
		return nil, fmt.Errorf("catalog: namespace %s: its scope is nil", ns.spec.ID)
	}
	b := &scopeBuilder{global: ns.spec.Global, onPath: map[uintptr]bool{}}
	root, _, err = b.build(reflect.ValueOf(object), ns.spec.Global, 0)
	if err != nil {
		return nil, fmt.Errorf("catalog: namespace %s: %w", ns.spec.ID, err)
	}
	if root.children == nil { // data only
		root = &scopeNode{value: root.value}
	}
	return root, nil
}

// scopeBuilder turns Go values into scope nodes.
type scopeBuilder struct {
	global string
	onPath map[uintptr]bool
	nodes  int
}

const (
	maxScopeNodes = 100_000
	maxScopeDepth = 64
)

// build returns the node of a value. live says that a tool is in it: then it is kept as a tree, otherwise as JSON.
func (b *scopeBuilder) build(v reflect.Value, path string, depth int) (node *scopeNode, live bool, err error) {
	if b.nodes++; b.nodes > maxScopeNodes || depth > maxScopeDepth {
		return nil, false, fmt.Errorf("its scope is too large at %s", printable(cutUTF16(path, 200)))
	}
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return &scopeNode{value: jsonNull}, false, nil
	}
	if marker, ok := v.Interface().(*ToolMarker); ok {
		if marker == nil || marker.tool == "" {
			return nil, false, fmt.Errorf("the tool at %s has no name", printable(path))
		}
		return &scopeNode{tool: marker}, true, nil
	}
	switch v.Kind() {
	case reflect.Func:
		return nil, false, fmt.Errorf("the function at %s must be made with catalog.NamespaceTool", printable(path))
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String && !v.IsNil() {
			return b.container(v, path, depth)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 && !v.IsNil() {
			return b.container(v, path, depth)
		}
	}
	raw, err := jsontext.Marshal(v.Interface())
	if err != nil {
		return nil, false, fmt.Errorf("the value at %s cannot be written as JSON: %w", printable(path), err)
	}
	return &scopeNode{value: raw}, false, nil
}

func (b *scopeBuilder) container(v reflect.Value, path string, depth int) (*scopeNode, bool, error) {
	at := v.Pointer()
	if v.Len() > 0 {
		if b.onPath[at] {
			return nil, false, fmt.Errorf("its scope contains itself at %s", printable(path))
		}
		b.onPath[at] = true
		defer delete(b.onPath, at)
	}
	node := &scopeNode{array: v.Kind() == reflect.Slice, children: map[string]*scopeNode{}}
	live := false
	add := func(name string, item reflect.Value) error {
		child, childLive, err := b.build(item, path+"."+name, depth+1)
		if err != nil {
			return err
		}
		live = live || childLive
		node.names = append(node.names, name)
		node.children[name] = child
		return nil
	}
	if node.array {
		for i := range v.Len() {
			if err := add(strconv.Itoa(i), v.Index(i)); err != nil {
				return nil, false, err
			}
		}
	} else {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			name := k.String()
			if name == "" || strings.ContainsAny(name, ".\x00") || name == "__proto__" || name == "constructor" || name == "prototype" {
				return nil, false, fmt.Errorf("%s cannot be a property's name at %s", strconv.Quote(cutUTF16(name, 64)), printable(path))
			}
			if err := add(name, v.MapIndex(k)); err != nil {
				return nil, false, err
			}
		}
	}
	if !live {
		return &scopeNode{value: node.json()}, false, nil
	}
	return node, true, nil
}

// json writes a tree without tools.
func (n *scopeNode) json() json.RawMessage {
	if n.children == nil {
		return n.value
	}
	if n.array {
		list := make([]json.RawMessage, len(n.names))
		for i, name := range n.names {
			list[i] = n.children[name].json()
		}
		return mustMarshal(list)
	}
	object := map[string]json.RawMessage{}
	for name, child := range n.children {
		object[name] = child.json()
	}
	return mustMarshal(object)
}
