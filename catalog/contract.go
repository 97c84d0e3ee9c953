package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// contractCache keeps compiled schemas by content, so that tools with the same schema, and the same tool after a
// list_changed, share one. The zero value is ready.
type contractCache struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]func() (*validator, error)
	order [][sha256.Size]byte
}

const maxContracts = 4096

func (c *contractCache) get(raw []byte, source Source) (*validator, error) {
	h := sha256.New()
	if source == SourceMCP {
		h.Write([]byte{1}) // it changes what an undeclared dialect means
	}
	h.Write(raw)
	key := [sha256.Size]byte(h.Sum(nil))
	c.mu.Lock()
	compile, ok := c.byKey[key]
	if !ok {
		if c.byKey == nil {
			c.byKey = map[[sha256.Size]byte]func() (*validator, error){}
		}
		if len(c.order) == maxContracts {
			delete(c.byKey, c.order[0])
			c.order = c.order[1:]
		}
		compile = sync.OnceValues(func() (*validator, error) { return newValidator(raw, source) })
		c.byKey[key] = compile
		c.order = append(c.order, key)
	}
	c.mu.Unlock()
	return compile()
}

// contract is one schema of one record, compiled on first use.
type contract struct {
	once      sync.Once
	validator *validator
	branches  *discriminator // of an output schema that depends on the input
	err       error
}

func (k *contract) get(r *record, raw json.RawMessage, output bool) (*contract, error) {
	k.once.Do(func() {
		if len(raw) == 0 {
			return
		}
		k.validator, k.err = r.catalog.contracts.get(raw, r.tool.Source)
		if k.err == nil && output {
			k.branches, k.err = newDiscriminator(raw)
		}
	})
	return k, k.err
}

// CheckInput checks an argument against the input schema, after the host's hooks and before the tool. Only host tools
// are checked: MCP servers and clients check their own. Errors are *Error with
//
//   - CodeInputContract: it does not fit. The message names each path, what was expected there, the nearest property
//     name for a wrong one, and the expected input; Nearest has the suggested names. Nothing of the value is in it
//     but the names of undeclared properties.
//   - CodeInvalidContract: the schema cannot be compiled, or would take too long for this argument.
func (e *Entry) CheckInput(input json.RawMessage) error {
	if e.UntrustedText() {
		return nil
	}
	k, err := e.rec.input.get(e.rec, e.rec.tool.InputSchema, false)
	if err != nil {
		return e.invalidContract("input", err)
	}
	if k.validator == nil || !k.validator.doc.otherThanObjects() {
		if !isJSONObject(input) {
			return &Error{Code: CodeInputContract, Message: fmt.Sprintf("The argument of %q must be one object%s.", e.callable, e.expected())}
		}
		if k.validator == nil {
			return nil
		}
	}
	issues, err := k.validator.check(input)
	if err != nil {
		return e.invalidContract("input", err)
	}
	if len(issues) == 0 {
		return nil
	}
	var nearest []string
	suggest := func(path []string, name string) string {
		near := nearestOf(name, k.validator.doc.propertiesAt(path))
		if near != "" {
			nearest = append(nearest, near)
		}
		return near
	}
	text := issueText(issues, 8, nil, "the argument", suggest)
	return &Error{
		Code:    CodeInputContract,
		Message: fmt.Sprintf("The argument of %q does not fit: %s%s.", e.callable, text, e.expected()),
		Nearest: nearest,
	}
}

// expected is the end of a message: what the input should look like, when that can be said shortly.
func (e *Entry) expected() string {
	if hint := e.InputHint(); hint != "unknown" {
		return ". Expected input: " + hint
	}
	return ""
}

func (e *Entry) invalidContract(which string, cause error) *Error {
	return &Error{
		Code:    CodeInvalidContract,
		Message: fmt.Sprintf("Tool %q cannot be called: its %s schema is unusable, %v. It did not run.", e.callable, which, cause),
		Err:     cause,
	}
}

// CompileOutput compiles the output schema. It is called before the tool may run, so that no tool runs whose value
// could not be judged. The error is an *Error with CodeInvalidContract.
func (e *Entry) CompileOutput() error {
	if e.UntrustedText() {
		return nil
	}
	if _, err := e.rec.output.get(e.rec, e.rec.tool.OutputSchema, true); err != nil {
		return e.invalidContract("output", err)
	}
	return nil
}

// CheckOutput checks a value against the output schema, after the host's hooks. inputs are the argument that the tool
// ran with and, when hooks changed it, the one that the cell sent: a schema whose alternatives depend on the input must
// fit all of them. Results with IsError or Blocked are not to be checked. The error is an *Error with
// CodeOutputContract; its message says that the tool did run, and never shows the value or names from it.
func (e *Entry) CheckOutput(output json.RawMessage, inputs ...json.RawMessage) error {
	if e.UntrustedText() {
		return nil
	}
	k, err := e.rec.output.get(e.rec, e.rec.tool.OutputSchema, true)
	if err != nil {
		return e.invalidContract("output", err)
	}
	if k.validator == nil {
		return nil
	}
	if len(bytes.TrimSpace(output)) == 0 {
		output = jsonNull
	}
	judge := []*validator{k.validator}
	if k.branches != nil {
		if judge, err = k.branches.choose(e.rec, inputs); err != nil {
			return e.outputError(err.Error())
		}
	}
	for _, v := range judge {
		issues, err := v.check(output)
		if err != nil {
			if !errors.Is(err, errTooDear) {
				err = errors.New("it cannot be checked")
			}
			return e.outputError("the value " + err.Error())
		}
		if len(issues) > 0 {
			return e.outputError(issueText(issues, 5, v.doc.declaredNames(), "the value", nil))
		}
	}
	return nil
}

func (e *Entry) outputError(what string) *Error {
	return &Error{
		Code: CodeOutputContract,
		Message: fmt.Sprintf("Tool %q gave back a value that does not fit its output schema. It did run and may have had effects: "+
			"check the current state before you call it again. What does not fit: %s.", e.callable, what),
	}
}

// otherThanObjects reports whether the root says by its type that it takes something that is not an object.
func (d *schemaDoc) otherThanObjects() bool {
	switch t := d.root.object["type"].(type) {
	case string:
		return t != "object"
	case []any:
		for _, name := range t {
			if name != "object" {
				return true
			}
		}
	}
	return false
}

// declaredNames is every property name that the schema itself spells out.
func (d *schemaDoc) declaredNames() map[string]bool {
	names := map[string]bool{}
	for _, n := range d.nodes {
		for name := range n.properties {
			names[name] = true
		}
		if required, ok := n.object["required"].([]any); ok {
			for _, name := range required {
				if s, ok := name.(string); ok {
					names[s] = true
				}
			}
		}
	}
	return names
}

// propertiesAt returns the names of the properties that the schema declares for the object at a path, sorted.
func (d *schemaDoc) propertiesAt(path []string) []string {
	here := reach([]*schemaNode{d.root})
	for _, step := range path {
		var next []*schemaNode
		for _, n := range here {
			for _, child := range []*schemaNode{n.properties[step], n.items, n.moreItems, n.additional} {
				if child != nil {
					next = append(next, child)
				}
			}
			next = append(next, n.prefix...)
		}
		here = reach(next)
	}
	names := map[string]bool{}
	for _, n := range here {
		for name := range n.properties {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

// reach adds every schema that applies to the same value.
func reach(nodes []*schemaNode) []*schemaNode {
	const most = 1000
	seen := map[*schemaNode]bool{}
	var all []*schemaNode
	for len(nodes) > 0 && len(all) < most {
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		if !seen[n] {
			seen[n] = true
			all = append(all, n)
			nodes = append(nodes, n.inPlace...)
		}
	}
	return all
}
