package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"codemode/catalog"
	"codemode/guestabi"
	"codemode/limits"
)

// runCall runs a tool call, from look-up to answer.
func (c *cell) runCall(r *request) {
	if r.done != nil { // sequential tools of a cell run in the order in which the cell asked
		defer close(r.done)
	}
	if r.after != nil {
		select {
		case <-r.after:
		case <-r.ctx.Done():
		}
	}
	started := time.Now()
	ctx, observed := c.host.observe.call(&r.ctx)
	var under struct { // in one piece, as every call needs both
		nested NestedCall
		call   catalog.Call
	}
	call := &under.nested
	*call = NestedCall{RunID: c.id, Scope: c.scope, ID: c.id + ":" + strconv.Itoa(r.order), Input: r.input}
	if o := &c.host.options; len(o.Hooks) > 0 || o.Trajectory != nil || o.Approve != nil { // who may look at it
		call.Location = c.location(r.site)
	}
	value, ran, err := c.call(ctx, r, call, &under.call)
	if call.Entry != nil {
		took := time.Since(started)
		call.Entry.Took(took)
		c.usedTool(call.Entry.CallableName(), took, err != nil)
	}
	if record := c.host.options.Trajectory; record != nil {
		out := Record{RunID: c.id, Scope: c.scope, ParentID: c.parentID, CallID: call.ID, Tool: r.tool, Order: r.order,
			Input: bounded(call.Input, maxRecordInput), Result: bounded(value, maxRecordResult), IsError: err != nil,
			StartedAt: started, EndedAt: time.Now(), Location: call.Location}
		if err != nil {
			out.Error = clip(err.Error(), maxRecordResult)
		}
		if c.host.options.Redact != nil {
			c.host.options.Redact(&out)
		}
		record(out)
	}
	if log := c.host.log.Debug(); log.Enabled() {
		log.Str("run", c.id).Str("tool", r.tool).RawJSON("input", bounded(call.Input, 256)).Dur("tookMs", time.Since(started)).Err(err).Msg("nested call ended")
	}
	if err == nil {
		observed(r.tool, "")
		c.settle(r, true, value)
		return
	}
	code := ""
	if e := asToolError(err); e != nil {
		code = e.Code
	}
	observed(r.tool, code)
	var panicked *catalog.PanicError
	if errors.As(err, &panicked) {
		c.host.log.Error().Str("run", c.id).Str("tool", r.tool).Any("panic", panicked.Value).Bytes("stack", panicked.Stack).Msg("a tool panicked")
	}
	c.settle(r, false, c.errorReply(r, err, ran))
}

// call finds the tool, lets the hooks see it, checks its contracts, and runs it. ran says whether the tool was started.
func (c *cell) call(ctx context.Context, r *request, call *NestedCall, run *catalog.Call) (value json.RawMessage, ran bool, err error) {
	entry, input, local, err := c.target(r)
	if err != nil || local != nil {
		return local, false, err
	}
	c.mu.Lock()
	r.entry, r.tool = entry, entry.CallableName()
	c.mu.Unlock()
	call.Entry, call.Input = entry, input
	c.counts.call.Add(1)
	if current := c.host.options.Catalog; !current.Holds(entry) {
		// A tool that was replaced since the cell started is the one that the cell knows; one that was taken out must
		// not run any more.
		if _, err := current.Snapshot().View(nil).Lookup(entry.ID()); err != nil && entry.Source() != catalog.SourceMCP {
			return nil, false, &catalog.Error{Code: catalog.CodeInvalidInput, Message: fmt.Sprintf("Tool %q was taken out of the catalog after the cell started.", entry.CallableName())}
		}
	}
	hooks := c.host.options.Hooks
	for _, h := range hooks {
		if h.Before == nil {
			continue
		}
		if err := h.Before(ctx, call); err != nil {
			return nil, false, blocked(entry, err)
		}
	}
	if len(hooks) > 0 && !json.Valid(call.Input) {
		return nil, false, &catalog.Error{Code: catalog.CodeInvalidInput, Message: "A hook of the host made the input invalid."}
	}
	if err := entry.CheckInput(call.Input); err != nil {
		return nil, false, err
	}
	if err := entry.CompileOutput(); err != nil {
		return nil, false, err
	}
	*run = catalog.Call{
		ID: call.ID, ParentID: c.parentID, Session: c.scope.Session, AgentRun: c.scope.AgentRun, Tool: entry, Input: call.Input,
		AwaitApproval: c.approval(ctx, call),
	}
	result, err := entry.Run(ctx, run)
	if err != nil {
		if entry.Untrusted() { // what a server says of a failure is its text too
			c.untrusted.Store(true)
		}
		return nil, true, err
	}
	if result.Blocked != "" {
		return nil, false, blocked(entry, errors.New(result.Blocked))
	}
	for i := len(hooks) - 1; i >= 0; i-- {
		if hooks[i].After == nil {
			continue
		}
		if err := hooks[i].After(ctx, call, result); err != nil {
			return nil, true, blocked(entry, err)
		}
	}
	if len(hooks) > 0 && !json.Valid(result.JSON()) {
		return nil, true, &catalog.Error{Code: catalog.CodeToolError, Message: "A hook of the host made the result invalid."}
	}
	if !result.IsError {
		inputs := []json.RawMessage{call.Input}
		if string(input) != string(call.Input) {
			inputs = append(inputs, input)
		}
		if err := entry.CheckOutput(result.JSON(), inputs...); err != nil {
			return nil, true, err
		}
	}
	c.mu.Lock()
	c.finished++
	c.unhurried = c.unhurried || !result.Terminate
	c.mu.Unlock()
	if entry.Untrusted() || result.Untrusted {
		c.untrusted.Store(true)
	}
	if r.shape == guestabi.Envelope {
		value, err = result.Envelope(entry)
		return value, true, err
	}
	return result.JSON(), true, nil
}

func blocked(entry *catalog.Entry, why error) error {
	reason := strings.TrimSpace(why.Error())
	if reason == "" {
		reason = "the host's policy does not allow it"
	}
	return &catalog.Error{Code: "blocked", Message: fmt.Sprintf("Tool %q was not run: %s", entry.CallableName(), reason), Err: why}
}

// target finds what a request calls: a tool with its input, or a namespace's own function with its answer.
func (c *cell) target(r *request) (entry *catalog.Entry, input, local json.RawMessage, err error) {
	switch r.binding {
	case guestabi.ByReference:
		if entry, err = c.view.Lookup(r.tool); err != nil {
			if e := c.byCallableName(r.tool); e != nil {
				entry, err = e, nil
			}
		}
	case guestabi.ByCallable:
		var ok bool
		if entry, ok = c.view.Callable(r.tool); !ok {
			err = c.view.Unknown(r.tool, catalog.SurfaceCatalog)
		}
	case guestabi.ByPath:
		var args []json.RawMessage
		if err := json.Unmarshal(r.input, &args); err != nil {
			return nil, nil, nil, &catalog.Error{Code: catalog.CodeInvalidInput, Message: "The arguments are not a list."}
		}
		n, ok := c.view.Resolve(r.tool)
		switch {
		case ok && n.Kind == catalog.NodeTool:
			input, err = n.Input(args)
			return n.Entry, input, nil, err
		case ok && n.Kind == catalog.NodeLocal:
			if n.Untrusted {
				c.untrusted.Store(true)
			}
			local, err = n.Call(args)
			if local == nil {
				local = json.RawMessage("null")
			}
			return nil, nil, local, err
		}
		return nil, nil, nil, &catalog.Error{Code: catalog.CodeInvalidInput, Message: fmt.Sprintf("%s cannot be called.", r.tool)}
	}
	if err != nil {
		return nil, nil, nil, err
	}
	input, err = entry.Input([]json.RawMessage{r.input})
	return entry, input, nil, err
}

// byCallableName finds a tool that a reference names by its callable name: handles carry those, and models pass them on.
// A name that is also a tool's own was looked up as that before, and is ambiguous.
func (c *cell) byCallableName(reference string) *catalog.Entry {
	if e, ok := c.view.Callable(reference); ok && e.Name() != reference {
		return e
	}
	return nil
}

// callee gives the tool that a call runs; nil where there is none, or none that is known before its input is looked at.
func (c *cell) callee(r *request) *catalog.Entry {
	switch r.binding {
	case guestabi.ByReference:
		if entry, err := c.view.Lookup(r.tool); err == nil {
			return entry
		}
		return c.byCallableName(r.tool)
	case guestabi.ByCallable:
		entry, _ := c.view.Callable(r.tool)
		return entry
	case guestabi.ByPath:
		n, _ := c.view.Resolve(r.tool)
		return n.Entry
	}
	return nil
}

// approval is how a tool asks a person; nil where nobody can be asked. The cell's deadline stands still meanwhile, as long
// as the call is under way: one that the cell has given up has nobody waiting for its answer.
func (c *cell) approval(underWay context.Context, call *NestedCall) func(context.Context, string) error {
	approve := c.host.options.Approve
	if approve == nil {
		return nil
	}
	return func(ctx context.Context, question string) error {
		c.mu.Lock()
		if c.approvals == 0 {
			c.asked = time.Now()
		}
		c.approvals++
		c.nudge()
		c.mu.Unlock()
		resume := sync.OnceFunc(func() {
			c.mu.Lock()
			c.approvals--
			if c.approvals == 0 {
				c.paused += time.Since(c.asked)
			}
			c.nudge()
			c.mu.Unlock()
		})
		defer resume()
		defer context.AfterFunc(underWay, resume)()
		return approve(ctx, Approval{Call: call, Question: question})
	}
}

// search answers a search.
func (c *cell) search(r *request) (json.RawMessage, error) {
	limit := int(r.limit)
	if limit == 0 {
		limit = int(c.limits.SearchDefaultLimit)
	}
	surface := catalog.SurfaceTools
	if r.surface == guestabi.SurfaceCatalog {
		surface = catalog.SurfaceCatalog
	}
	hits, err := c.view.Search(r.query, min(limit, int(c.limits.MaxSearchLimit)), surface)
	if err != nil {
		return nil, err
	}
	list := make([]json.RawMessage, len(hits))
	for i, e := range hits {
		if surface == catalog.SurfaceTools {
			list[i] = e.Compact()
			continue
		}
		list[i] = e.Handle()
		if e.UntrustedText() {
			c.untrusted.Store(true)
		}
	}
	return marshal(list)
}

// describeTool answers a describe.
func (c *cell) describeTool(r *request) (json.RawMessage, error) {
	switch r.binding {
	case guestabi.ByReference:
		entry, err := c.view.Lookup(r.tool)
		if err != nil {
			if e := c.byCallableName(r.tool); e != nil {
				return e.Describe(true), nil
			}
			return nil, err
		}
		return entry.Describe(true), nil
	case guestabi.ByPath:
		if n, ok := c.view.Resolve(r.tool); ok && n.Entry != nil {
			return n.Entry.Describe(false), nil
		}
	default:
		if entry, ok := c.view.Callable(r.tool); ok {
			return entry.Describe(false), nil
		}
	}
	return nil, c.view.Unknown(r.tool, catalog.SurfaceCatalog)
}

// saved answers results.save, load and delete.
func (c *cell) saved(r *request) (json.RawMessage, error) {
	results := &c.host.results
	switch r.method {
	case methodSave:
		ref, err := results.save(c.scope, r.input, c.inboxLimit())
		if err != nil {
			return nil, err
		}
		return marshal(ref)
	case methodLoad:
		return results.load(c.scope, r.query)
	}
	return json.RawMessage("true"), results.delete(c.scope, r.query)
}

// notRestartSafe says why a request may not be made by a cell that promised to be restartable.
func (c *cell) notRestartSafe(r *request) string {
	switch {
	case r.method == methodSave || r.method == methodLoad || r.method == methodDelete:
		return "A restartSafe cell cannot use results: they outlive the cell."
	case !r.isCall():
		return ""
	case r.method == methodNamespace:
		return "A restartSafe cell cannot call namespace tools: nothing shows that calling them twice does no harm."
	}
	entry, _, _, err := c.target(r)
	if err == nil && entry != nil && !entry.ReplaySafe() {
		return fmt.Sprintf("A restartSafe cell cannot call %q: nothing shows that calling it twice does no harm.", entry.CallableName())
	}
	return ""
}

// asToolError is the part of an error that the cell may read; nil where there is none.
func asToolError(err error) *catalog.Error {
	var e *catalog.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return &catalog.Error{Code: "cancelled", Message: "The call was cancelled."}
	}
	return nil
}

// clip cuts a text to so many bytes, at a code point.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = "…"
	return limits.Cut(text, max(0, most-len(mark))) + mark
}
