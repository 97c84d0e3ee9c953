package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// declared is a type of a declaration file: its text, and the recursive types that it names.
type declared struct {
	text    string
	aliases []string // "Name = type", in the order of their names
}

// declare renders a schema as a full type. Recursive parts get names of their own, which used keeps apart within a
// file. A schema that cannot be rendered in the style's bounds is unknown.
func declare(raw []byte, source Source, style tsStyle, used map[string]bool) declared {
	if len(raw) == 0 {
		return declared{text: "unknown"}
	}
	doc, err := parseSchema(raw, source)
	if err != nil {
		return declared{text: "unknown"}
	}
	return declareNode(doc.root, style, used)
}

func declareNode(root *schemaNode, style tsStyle, used map[string]bool) declared {
	names := map[*schemaNode]string{}
	for range 8 {
		w := &typeWriter{style: style, active: map[*schemaNode]bool{}, aliases: names, found: map[*schemaNode]bool{}}
		text := w.named(root, true)
		bodies := map[string]string{}
		size := len(text)
		for node, name := range names {
			bodies[name] = w.named(node, false)
			size += len(bodies[name])
		}
		if size > style.chars || w.nodes > style.nodes {
			return declared{text: "unknown"}
		}
		fresh := slices.Collect(maps.Keys(w.found))
		fresh = slices.DeleteFunc(fresh, func(n *schemaNode) bool { return names[n] != "" })
		if len(fresh) == 0 {
			for name := range bodies {
				used[name] = true
			}
			out := declared{text: text}
			for _, name := range sortedKeys(bodies) {
				out.aliases = append(out.aliases, name+" = "+bodies[name])
			}
			return out
		}
		slices.SortFunc(fresh, func(a, b *schemaNode) int { return strings.Compare(a.pointer, b.pointer) })
		for _, n := range fresh {
			names[n] = aliasName(n, func(name string) bool {
				return used[name] || typeNamesTaken[name] || slices.Contains(slices.Collect(maps.Values(names)), name)
			})
		}
	}
	return declared{text: "unknown"}
}

// named renders a node, by its name if it has one and byName is set.
func (w *typeWriter) named(n *schemaNode, byName bool) string {
	if name, ok := w.aliases[n]; ok && byName {
		return name
	}
	w.active[n] = true
	defer delete(w.active, n)
	return w.render(n, 0).text
}

var typeNamesTaken = wordSet(`Array Record Promise Object String Number Boolean Function Symbol Date Map Set Error JSON Math
Partial Required Readonly Pick Omit Exclude Extract MCP McpApi McpToolResult McpResources McpResource McpPrompts McpPrompt`)

// aliasName names a recursive type after the last step of its place in the schema: #/$defs/tree-node is TreeNode.
func aliasName(n *schemaNode, taken func(string) bool) string {
	last := n.pointer[strings.LastIndexByte(n.pointer, '/')+1:]
	base := camelIdentifier(last)
	if base == "" || len(base) > 64 {
		base = "value"
	}
	base = string(unicode.ToUpper(rune(base[0]))) + base[1:]
	if !taken(base) {
		return base
	}
	for i := 2; ; i++ {
		if name := fmt.Sprintf("%s%d", base, i); !taken(name) {
			return name
		}
	}
}

// writeComment writes lines as a documentation comment.
func writeComment(b *strings.Builder, indent string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
}

// documentation is the comment of a function: its description, and what its parameters say of themselves.
func documentation(description string, raw []byte, source Source, style tsStyle) []string {
	lines := commentLines(description)
	doc, err := parseSchema(raw, source)
	if len(raw) == 0 || err != nil {
		return lines
	}
	w := &typeWriter{style: style, active: map[*schemaNode]bool{}, found: map[*schemaNode]bool{}}
	shape, _ := w.objectShape(doc.root, 0)
	var params []string
	for _, name := range sortedKeys(shape.properties) {
		node := shape.properties[name][0]
		text, _ := node.object["description"].(string)
		text = plainLine(text, maxCommentLine)
		if value, ok := node.object["default"]; ok {
			text = strings.TrimSpace(text + " Default: " + plainLine(string(mustMarshal(value)), 80) + ".")
		}
		if text == "" {
			continue
		}
		mark := ""
		if !shape.required[name] || style.defaults && shape.hasDefault(name) {
			mark = "?"
		}
		params = append(params, "@param "+plainLine(cutUTF16(name, maxKeyBytes), maxKeyBytes)+mark+" "+text)
		if len(params) == style.props {
			break
		}
	}
	if len(lines) > 0 && len(params) > 0 {
		lines = append(lines, "")
	}
	return append(lines, params...)
}

// declarationFile writes tools/<callable>.d.ts.
func (e *Entry) declarationFile() string {
	t := &e.rec.tool
	var b strings.Builder
	fmt.Fprintf(&b, "// %s is an async global; catalog.search and catalog.all give the same function as a handle.\n", e.callable)
	b.WriteString("// It resolves to the tool's value. On failure it rejects with an Error that has a code.\n")
	b.WriteString("// Written from the tool's schemas: unknown is what they leave open.\n")
	used := map[string]bool{}
	input := declared{text: "Record<string, unknown>"}
	if len(t.InputSchema) > 0 {
		input = declare(t.InputSchema, t.Source, declarationStyle, used)
	}
	output, overloads := e.declareOutput(used)
	for _, alias := range slices.Concat(input.aliases, output.aliases) {
		b.WriteString("type " + alias + ";\n")
	}
	writeComment(&b, "", documentation(t.Description, t.InputSchema, t.Source, declarationStyle))
	mark := ""
	if e.emptyInputFits() {
		mark = "?"
	}
	for _, o := range overloads {
		fmt.Fprintf(&b, "declare function %s(input: %s & %s): Promise<%s>;\n", e.callable, parenthesised(input.text), o.input, o.output)
	}
	fmt.Fprintf(&b, "declare function %s(input%s: %s): Promise<%s>;\n", e.callable, mark, input.text, output.text)
	return b.String()
}

func parenthesised(t string) string {
	if strings.Contains(t, " | ") {
		return "(" + t + ")"
	}
	return t
}

// emptyInputFits reports whether the tool may be called without an argument.
func (e *Entry) emptyInputFits() bool {
	if e.rec.trusted() {
		return e.CheckInput([]byte("{}")) == nil
	}
	doc, err := parseSchema(e.inputSchema(), e.rec.tool.Source)
	if err != nil {
		return true
	}
	for _, n := range reach([]*schemaNode{doc.root}) {
		if required, _ := n.object["required"].([]any); len(required) > 0 {
			return false
		}
	}
	return true
}

// overload is the output that belongs to certain inputs.
type overload struct{ input, output string }

// declareOutput renders the output schema; when it depends on the input, each alternative with the inputs it is for.
func (e *Entry) declareOutput(used map[string]bool) (declared, []overload) {
	t := &e.rec.tool
	whole := declare(t.OutputSchema, t.Source, declarationStyle, used)
	branches, err := newDiscriminator(t.OutputSchema)
	if err != nil || branches == nil || len(whole.aliases) > 0 {
		return whole, nil
	}
	doc, err := parseSchema(t.OutputSchema, t.Source)
	if err != nil {
		return whole, nil
	}
	values := map[int][]string{}
	for _, value := range sortedKeys(branches.mapping) {
		index := branches.mapping[value]
		values[index] = append(values[index], quoteLiteral(value))
	}
	var overloads []overload
	size := 0
	for index, n := range doc.root.anyOf {
		if len(values[index]) == 0 {
			continue
		}
		o := overload{
			input:  "{ " + key(branches.property) + ": " + strings.Join(values[index], " | ") + "; }",
			output: declareNode(n, declarationStyle, used).text,
		}
		if size += len(o.input) + len(o.output); size > declarationStyle.chars {
			return whole, nil
		}
		overloads = append(overloads, o)
	}
	return whole, overloads
}
