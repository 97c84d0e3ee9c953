package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"codemode/internal/jsontext"
)

// Resolve finds what a namespace path leads to: MCP, MCP.<server>, its functions and groups, and the globals of plugin
// namespaces with what is below. "namespaces.X" is X. It is false for everything else, for what the policy hides, and
// for a namespace whose scope could not be made (see NamespaceError).
func (v *View) Resolve(path string) (Node, bool) {
	path = strings.TrimPrefix(path, "namespaces.")
	global, rest, _ := strings.Cut(path, ".")
	if global == "MCP" {
		return v.resolveMCP(path, rest)
	}
	for _, ns := range v.namespaces() {
		if ns.spec.Global == global {
			return v.resolveScope(ns, path, rest)
		}
	}
	return Node{}, false
}

// Children returns the names below a namespace path, sorted (those of an array in order); nil when the path leads to
// no namespace. The children of "" and of "namespaces" are the namespaces' globals.
func (v *View) Children(path string) []string {
	if path == "" || path == "namespaces" {
		var names []string
		if len(v.mcpServers()) > 0 {
			names = append(names, "MCP")
		}
		for _, ns := range v.namespaces() {
			if v.scopeOf(ns).err == nil {
				names = append(names, ns.spec.Global)
			}
		}
		slices.Sort(names)
		return names
	}
	path = strings.TrimPrefix(path, "namespaces.")
	n, ok := v.Resolve(path)
	if !ok || n.Kind != NodeNamespace {
		return nil
	}
	steps := strings.Split(path, ".")
	if steps[0] != "MCP" {
		return v.scopeChildren(steps)
	}
	switch len(steps) {
	case 1:
		names := []string{"$api"}
		for _, s := range v.mcpServers() {
			names = append(names, s.identifier)
		}
		slices.Sort(names)
		return names
	case 2:
		names := []string{"$api", "$serverName"}
		for _, t := range v.proj.mcp.byName[steps[1]].permitted(v.permits) {
			name, _, _ := strings.Cut(t.method, ".")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	var names []string
	for _, t := range v.proj.mcp.byName[steps[1]].permitted(v.permits) {
		if name, ok := strings.CutPrefix(t.method, steps[2]+"."); ok {
			names = append(names, name)
		}
	}
	return names
}

// MissingServers returns the expected MCP servers that the catalog has no tool of, sorted, each as it would be called
// below MCP. A server that only the policy hides is not missing.
func (v *View) MissingServers() []string {
	there := map[string]bool{}
	for _, r := range v.proj.snap.records {
		if r.tool.MCP != nil {
			there[r.tool.MCP.Server] = true
		}
	}
	for _, e := range v.proj.snap.direct {
		if m := e.rec.tool.MCP; m != nil {
			there[m.Server] = true
		}
	}
	var missing []string
	for _, name := range v.proj.snap.expected {
		if !there[name] {
			missing = append(missing, uniqueIdentifier(name, "server", func(string) bool { return false }))
		}
	}
	slices.Sort(missing)
	return missing
}

func (v *View) resolveMCP(path, rest string) (Node, bool) {
	servers := v.mcpServers()
	if len(servers) == 0 {
		return Node{}, false
	}
	tree := v.proj.mcp
	switch rest {
	case "":
		if path != "MCP" {
			return Node{}, false
		}
		return Node{Kind: NodeNamespace, Path: path}, true
	case "$api":
		return Node{Kind: NodeLocal, Path: path, Untrusted: true, local: func([]json.RawMessage) (json.RawMessage, error) {
			return tree.rootAPI(v.permits), nil
		}}, true
	}
	name, method, nested := strings.Cut(rest, ".")
	s := tree.byName[name]
	if s == nil || !slices.Contains(servers, s) {
		return Node{}, false
	}
	switch {
	case !nested:
		return Node{Kind: NodeNamespace, Path: path}, true
	case method == "$api":
		return Node{Kind: NodeLocal, Path: path, Untrusted: true, local: func(args []json.RawMessage) (json.RawMessage, error) {
			return s.api(args, v.permits)
		}}, true
	case method == "$serverName":
		return Node{Kind: NodeValue, Path: path, Value: mustMarshal(s.name), Untrusted: true}, true
	}
	if t := s.byMethod[method]; t != nil && v.permits(t.entry) {
		return Node{Kind: NodeTool, Path: path, Entry: t.entry, Untrusted: true, input: t.input}, true
	}
	if method == "resources" || method == "prompts" {
		for _, t := range s.permitted(v.permits) {
			if strings.HasPrefix(t.method, method+".") {
				return Node{Kind: NodeNamespace, Path: path}, true
			}
		}
	}
	return Node{}, false
}

func (v *View) resolveScope(ns *namespace, path, rest string) (Node, bool) {
	s := v.scopeOf(ns)
	if s.err != nil {
		return Node{}, false
	}
	n := s.root
	if rest != "" {
		for step := range strings.SplitSeq(rest, ".") {
			if n = n.children[step]; n == nil {
				return Node{}, false
			}
		}
	} else if path != ns.spec.Global {
		return Node{}, false
	}
	switch {
	case n.tool != nil:
		return v.scopeTool(ns, n.tool, path), true
	case n.children != nil:
		return Node{Kind: NodeNamespace, Path: path, Array: n.array}, true
	}
	return Node{Kind: NodeValue, Path: path, Value: n.value}, true
}

// scopeTool is the node of a function in a scope. A function whose tool the namespace does not require can be looked at
// but not called.
func (v *View) scopeTool(ns *namespace, marker *ToolMarker, path string) Node {
	e := v.proj.ownTools(ns)[marker.tool]
	if e == nil {
		refuse := func([]json.RawMessage) (json.RawMessage, error) {
			return nil, invalidInput("%s calls the tool %s, which its namespace does not require.", path, printable(marker.tool))
		}
		return Node{Kind: NodeLocal, Path: path, local: refuse}
	}
	node := Node{Kind: NodeTool, Path: path, Entry: e, Untrusted: e.Untrusted()}
	if marker.input != nil {
		node.input = func(args []json.RawMessage) (out json.RawMessage, err error) {
			defer func() {
				if r := recover(); r != nil {
					out, err = nil, &Error{Code: CodeToolError, Message: path + " could not read its arguments.", Err: &PanicError{Value: r}}
				}
			}()
			value, err := marker.input(args)
			if err != nil {
				return nil, e.failure(err)
			}
			if out, err = jsontext.Marshal(value); err != nil {
				return nil, &Error{Code: CodeToolError, Message: path + " made an argument that is not JSON.", Err: err}
			}
			return out, nil
		}
	}
	return node
}

func (v *View) scopeChildren(steps []string) []string {
	for _, ns := range v.namespaces() {
		if ns.spec.Global != steps[0] {
			continue
		}
		n := v.scopeOf(ns).root
		for _, step := range steps[1:] {
			n = n.children[step]
		}
		return slices.Clone(n.names)
	}
	return nil
}
