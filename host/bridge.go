package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codemode/catalog"
	"codemode/guestabi"
)

// The cell is the bridge of its VM: what the guest asks is written down here and dispatched when the step is over, so
// that a whole batch can be refused before any of it runs.

// ask adds a request to the step's frontier, to be filled in.
func (c *cell) ask(id uint32, method string) (*request, error) {
	// A guest counts up; only where it does not somebody has to look.
	if id <= c.lastAsked && (id == 0 || c.find(id) != nil) {
		return nil, fmt.Errorf("%w: request id %d is in use", guestabi.ErrGuest, id)
	}
	c.lastAsked = max(c.lastAsked, id)
	if len(c.spare) == 0 { // few at first, as a suspended cell keeps them
		c.spare = make([]request, min(maxSpare, len(c.frontier)+1))
	}
	r := &c.spare[0]
	c.spare = c.spare[1:]
	r.id, r.method, r.number = id, method, c.numbers.next(method)
	c.frontier = append(c.frontier, r)
	return r, nil
}

// maxSpare is how many requests are made in one piece, where a step asks for many.
const maxSpare = 16

// find gives the request with an id that has no answer yet.
func (c *cell) find(id uint32) *request {
	for _, r := range c.frontier {
		if r.id == id {
			return r
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.pending {
		if r.id == id {
			return r
		}
	}
	return nil
}

// Names and references longer than this are of no tool.
const maxName = 4096

// Call is guestabi.Bridge's.
func (c *cell) Call(call guestabi.Call) error {
	if len(call.Tool) > maxName {
		return fmt.Errorf("%w: a tool name of %d bytes", guestabi.ErrGuest, len(call.Tool))
	}
	method := methodCallValue
	switch {
	case call.Binding == guestabi.ByPath:
		method = methodNamespace
	case call.Shape == guestabi.Envelope:
		method = methodCall
	}
	r, err := c.ask(call.ID, method)
	if err == nil {
		r.tool, r.binding, r.shape, r.input, r.site = call.Tool, call.Binding, call.Shape, call.Input, call.Site
	}
	return err
}

// Search is guestabi.Bridge's.
func (c *cell) Search(id uint32, query string, limit uint32, surface guestabi.Surface) error {
	r, err := c.ask(id, methodSearch)
	if err == nil {
		r.query, r.limit, r.surface = query, limit, surface
	}
	return err
}

// Describe is guestabi.Bridge's.
func (c *cell) Describe(id uint32, binding guestabi.Binding, tool string) error {
	r, err := c.ask(id, methodDescribe)
	if err == nil {
		r.tool, r.binding = tool, binding
	}
	return err
}

// Timer is guestabi.Bridge's.
func (c *cell) Timer(id, milliseconds uint32) error {
	r, err := c.ask(id, methodSleep)
	if err == nil {
		r.milliseconds = milliseconds
	}
	return err
}

// Yield is guestabi.Bridge's.
func (c *cell) Yield(id uint32, reason *string) error {
	reply, err := marshal(struct {
		Status string  `json:"status"`
		Reason *string `json:"reason"`
	}{"yielded", reason})
	if err != nil {
		return err
	}
	r, err := c.ask(id, methodYield)
	if err == nil {
		r.input = reply
	}
	return err
}

// Save is guestabi.Bridge's.
func (c *cell) Save(id uint32, value json.RawMessage) error {
	r, err := c.ask(id, methodSave)
	if err == nil {
		r.input = value
	}
	return err
}

// Load is guestabi.Bridge's.
func (c *cell) Load(id uint32, reference string) error {
	r, err := c.ask(id, methodLoad)
	if err == nil {
		r.query = reference
	}
	return err
}

// Drop is guestabi.Bridge's.
func (c *cell) Drop(id uint32, reference string) error {
	r, err := c.ask(id, methodDelete)
	if err == nil {
		r.query = reference
	}
	return err
}

// Cancel is guestabi.Bridge's: the guest gives a request up.
func (c *cell) Cancel(id uint32) error {
	for i, r := range c.frontier {
		if r.id == id {
			c.frontier = slices.Delete(c.frontier, i, i+1)
			return nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.pending {
		if r.id == id {
			c.giveUp(r)
			break
		}
	}
	return nil
}

// Text is guestabi.Bridge's.
func (c *cell) Text(value string) error {
	c.output.Text(value)
	return nil
}

// JSON is guestabi.Bridge's.
func (c *cell) JSON(value json.RawMessage) error {
	c.output.JSON(value)
	return nil
}

const toolsPrefix = "tools."

// Resolve is guestabi.Bridge's.
func (c *cell) Resolve(path string) (guestabi.Node, bool) {
	if len(path) > maxName {
		return guestabi.Node{}, false
	}
	if path == "ALL_TOOLS" {
		return guestabi.Node{Standing: guestabi.StandingValue, Data: string(c.view.AllTools())}, true
	}
	entry, ok := c.view.Callable(path)
	if len(path) > len(toolsPrefix) && path[:len(toolsPrefix)] == toolsPrefix {
		entry, ok = c.view.Tool(path[len(toolsPrefix):])
		if !ok {
			return guestabi.Node{}, false
		}
	}
	if ok {
		return guestabi.Node{Binding: guestabi.ByCallable, Name: entry.CallableName(), Data: string(entry.Handle())}, true
	}
	if path == "namespaces" {
		return guestabi.Node{Standing: guestabi.StandingNamespace}, true
	}
	n, ok := c.view.Resolve(path)
	if !ok {
		return guestabi.Node{}, false
	}
	if n.Untrusted && n.Kind == catalog.NodeValue {
		c.untrusted.Store(true)
	}
	switch n.Kind {
	case catalog.NodeNamespace:
		return guestabi.Node{Standing: guestabi.StandingNamespace}, true
	case catalog.NodeValue:
		return guestabi.Node{Standing: guestabi.StandingValue, Data: string(n.Value)}, true
	}
	return guestabi.Node{Binding: guestabi.ByPath, Name: path}, true
}

// Names is guestabi.Bridge's.
func (c *cell) Names(path string) string {
	var names []string
	switch path {
	case "":
		for _, e := range c.view.Callables() {
			names = append(names, e.CallableName())
		}
	case "tools":
		names = c.view.ToolNames()
	default:
		names = c.view.Children(path)
	}
	if names == nil {
		names = []string{}
	}
	text, err := marshal(names)
	if err != nil {
		return "[]"
	}
	return string(text)
}

// Entries is guestabi.Bridge's.
func (c *cell) Entries(listing guestabi.Listing) string {
	if listing == guestabi.AllTools {
		return string(c.view.AllTools())
	}
	list := []json.RawMessage{}
	for _, e := range c.view.Callables() {
		list = append(list, e.Handle())
	}
	text, err := marshal(list)
	if err != nil {
		return "[]"
	}
	return string(text)
}

type file struct {
	Path        string `json:"path"`
	Description string `json:"description,omitempty"`
	Content     string `json:"content,omitempty"`
	Bytes       int    `json:"bytes,omitempty"`
}

// resultsFile declares the guest's results.
var resultsFile = func() file {
	f := file{Path: "results.d.ts", Description: "Values kept for later cells", Content: `/** A value that was kept. bytes is its size as JSON, count the length of a list or the number of an object's keys. */
interface ResultReference { id: string; bytes: number; count: number; shape: string; preview: string; previewTruncated: boolean }
declare const results: {
  /** Keeps a JSON value for later cells of this session: at most 64, and 10 MiB together by default. */
  save(value: unknown): Promise<ResultReference>;
  /** A copy of a kept value. Rejects where there is none under this id. */
  load(id: string): Promise<unknown>;
  /** Drops a kept value. */
  delete(id: string): Promise<true>;
};
`}
	f.Bytes = len(f.Content)
	return f
}()

// refusal tells the guest what is wrong with a path: a string in place of the list or the file.
func refusal(err error) (string, bool) {
	e := asToolError(err)
	if e == nil {
		return "", false
	}
	text, err := marshal(e.Message)
	return string(text), err == nil
}

// Files is guestabi.Bridge's.
func (c *cell) Files(prefix string) (string, bool) {
	found, err := c.view.Files(prefix)
	if err != nil {
		return refusal(err)
	}
	list := []file{}
	if clean := strings.Trim(strings.TrimSpace(prefix), "/"); clean == "" || clean == resultsFile.Path {
		list = append(list, file{Path: resultsFile.Path, Description: resultsFile.Description, Bytes: len(resultsFile.Content)})
	}
	for _, f := range found {
		if f.Untrusted {
			c.untrusted.Store(true)
		}
		list = append(list, file{Path: f.Path, Description: f.Description, Bytes: f.Bytes})
	}
	text, err := marshal(list)
	return string(text), err == nil
}

// File is guestabi.Bridge's.
func (c *cell) File(path string) (string, bool) {
	if strings.Trim(strings.TrimSpace(path), "/") == resultsFile.Path {
		text, err := marshal(resultsFile)
		return string(text), err == nil
	}
	f, err := c.view.ReadFile(path)
	if err != nil {
		return refusal(err)
	}
	if f.Untrusted {
		c.untrusted.Store(true)
	}
	if f.Describes {
		c.counts.describe.Add(1)
	}
	text, err := marshal(file{f.Path, f.Description, f.Content, f.Bytes})
	return string(text), err == nil
}
