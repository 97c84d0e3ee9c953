package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"codemode/catalog"
	"codemode/guestabi"
	"codemode/internal/lazyregexp"
	"codemode/limits"
	"codemode/quickjs"
	"codemode/transpile"
)

var (
	errDeadlock = errors.New("the cell waits for a promise that nothing can settle: no tool call, timer or yield is pending")
	errTooMany  = &limits.Error{Limit: limits.BreachSuspendedCells}
)

// refuse is the result of a cell that was not run.
func (c *cell) refuse(message string, location *transpile.Location, limit string) *Result {
	r := c.result(Failed)
	r.Code, r.FailurePhase, r.Error, r.Location, r.Limit = InvalidInput, PhaseInput, message, location, limit
	return r
}

// refuseSource is the result of a cell whose source was refused.
func (c *cell) refuseSource(err error) *Result {
	var e *transpile.Error
	if !errors.As(err, &e) {
		return c.refuse(err.Error(), nil, "")
	}
	limit := ""
	if e.Kind == transpile.KindTooLarge {
		limit = string(limits.BreachSource)
	}
	message := e.Error()
	if e.Location != nil {
		message += "\n" + e.Location.Caret()
	}
	return c.refuse(message, e.Location, limit)
}

// refuseBatch ends a cell that asked what it must not; nothing of the batch was started.
func (c *cell) refuseBatch(message string) *Result {
	r := c.failed(InvalidInput, PhaseInput, message)
	c.end(nil, r)
	return r
}

// failed starts a failed result with what every failure says. It takes the output so far.
func (c *cell) failed(code Code, phase Phase, message string) *Result {
	r := c.result(Failed)
	if c.dispatched {
		phase = PhaseBridge
	}
	r.Code, r.FailurePhase, r.BridgeDispatchStarted = code, phase, c.dispatched
	c.mu.Lock()
	for _, p := range c.pending {
		if p.isCall() && p.began && !p.settled {
			r.UnknownEffects = append(r.UnknownEffects, UnknownEffect{p.bridgeID(), p.tool, c.location(p.site)})
		}
	}
	c.mu.Unlock()
	if n := len(r.UnknownEffects); n > 0 {
		names := make([]string, n)
		for i, u := range r.UnknownEffects {
			names[i] = u.Tool
		}
		message += fmt.Sprintf("\nUnder way when the cell ended, with unknown effect: %s.", strings.Join(names, ", "))
	}
	r.Error, r.Output = c.output.FitFailure(message)
	return r
}

// fail ends the cell for a reason that is not an error of its code.
func (c *cell) fail(err error) *Result {
	code, phase, message, limit := c.classify(err)
	var location *transpile.Location
	if limit != "" && c.vm != nil {
		if frames := c.frames(c.vm.Position()); len(frames) > 0 {
			location = &frames[0].location
			message += "\n" + renderFrames(frames) + location.Caret()
		}
	}
	if c.output == nil { // refused before it could emit
		c.output = limits.NewOutput(c.limits.MaxOutputBytes)
	}
	r := c.failed(code, phase, message)
	r.Limit, r.Location = limit, location
	c.end(err, r)
	return r
}

func (c *cell) classify(err error) (code Code, phase Phase, message, limit string) {
	var l *limits.Error
	switch {
	case errors.As(err, &l):
		return c.classifyLimit(l)
	case errors.Is(err, errDeadlock):
		return InternalError, PhaseGuest, "The cell can never finish: " + err.Error() + ".", ""
	case errors.Is(err, errClosed), errors.Is(err, quickjs.ErrClosed):
		return RuntimeUnavailable, PhaseHost, "Code mode is shut down.", ""
	case err == c.host.noEngine:
		return RuntimeUnavailable, PhaseHost, "Code mode cannot run: " + strings.TrimPrefix(err.Error(), "quickjs: ") + ".", ""
	case errors.Is(err, errExpired):
		return InvalidInput, PhaseInput, MessageUnavailable, ""
	case errors.Is(err, errCancelled):
		return Aborted, PhaseHost, "The run was cancelled.", ""
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Aborted, PhaseHost, "The caller cancelled the cell.", ""
	}
	// What is left is a fault of ours or of the store; its text is for the log, not for the model.
	c.host.log.Error().Str("run", c.id).Err(err).Msg("cell failed")
	if errors.Is(err, quickjs.ErrSnapshotDamaged) || errors.Is(err, quickjs.ErrSnapshotForeign) ||
		errors.Is(err, quickjs.ErrSnapshotTruncated) || errors.Is(err, quickjs.ErrNotSnapshot) {
		return InternalError, PhaseHost, "The suspended cell cannot be restored: " + strings.TrimPrefix(err.Error(), "quickjs: ") + ".", ""
	}
	return InternalError, PhaseHost, "The engine that ran the cell failed; this is a fault of the host, not of the code.", ""
}

func (c *cell) classifyLimit(l *limits.Error) (Code, Phase, string, string) {
	limit := string(l.Limit)
	switch l.Limit {
	case limits.BreachTimeout:
		return TimedOut, PhaseGuest, fmt.Sprintf("The cell computed for longer than its %d ms. Do less in one cell, or yield.", c.limits.TimeoutMs), limit
	case limits.BreachFuel:
		return TimedOut, PhaseGuest, fmt.Sprintf("The cell used up its fuel of %d instructions. Do less in one cell.", c.limits.Fuel), limit
	case limits.BreachMemory:
		return InternalError, PhaseGuest, fmt.Sprintf("The cell needed more memory than its %d bytes. Keep less at once.", c.limits.MemoryLimitBytes), limit
	case limits.BreachStack:
		return InternalError, PhaseGuest, "The cell nested calls or values too deep for the engine's stack.", limit
	case limits.BreachOutput:
		return OutputLimitExceeded, PhaseGuest, fmt.Sprintf("Output and value take more than %d bytes. Return or emit less.", c.limits.MaxOutputBytes), limit
	case limits.BreachSnapshot:
		return SnapshotLimitExceeded, PhaseHost, fmt.Sprintf("The cell cannot be suspended: its snapshot takes more than %d bytes. Keep less in memory across waits.", c.limits.MaxSnapshotBytes), limit
	case limits.BreachPendingCalls:
		return InvalidInput, PhaseInput, "Too many requests: " + l.Detail + ".", limit
	case limits.BreachSuspendedCells:
		return InvalidInput, PhaseInput, messageTooMany, limit
	}
	return InternalError, PhaseHost, l.Error(), limit
}

// failThrown ends a cell whose promise was rejected.
func (c *cell) failThrown(payload []byte) *Result {
	var thrown guestabi.Thrown
	if err := json.Unmarshal(payload, &thrown); err != nil {
		return c.fail(err)
	}
	code, phase := InternalError, PhaseGuest
	if c.refusedByEngine(&thrown) {
		code, phase = InvalidInput, PhaseInput
	}
	message, location := c.describeThrown(&thrown)
	if list := c.rejections(); len(list) > 0 {
		message += "\nRejected as well, with nothing to handle it:"
		for i := range list {
			message += "\n- " + c.headline(&list[i]) + c.origin(&list[i], "\n")
		}
	}
	r := c.failed(code, phase, message)
	r.Location = location
	c.end(nil, r)
	return r
}

// refusedByEngine says whether the engine refused the source that the transpiler let pass: nothing of it ran then.
func (c *cell) refusedByEngine(t *guestabi.Thrown) bool {
	return t.Name == "SyntaxError" && !c.dispatched && strings.HasPrefix(t.Stack, "    at "+cellFile+":")
}

// failRejections ends a cell that left rejected promises behind, and names every one.
func (c *cell) failRejections() *Result {
	if c.vm == nil {
		return nil
	}
	list := c.rejections()
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	if len(list) == 1 {
		b.WriteString("A promise was rejected and nothing handled it: ")
	} else {
		fmt.Fprintf(&b, "%d promises were rejected and nothing handled them:\n", len(list))
	}
	var location *transpile.Location
	for i := range list {
		message, at := c.describeThrown(&list[i])
		if location == nil {
			location = at
		}
		if len(list) > 1 {
			fmt.Fprintf(&b, "%d. ", i+1)
		}
		b.WriteString(message + "\n")
	}
	r := c.failed(InternalError, PhaseGuest, strings.TrimSuffix(b.String(), "\n"))
	r.Location = location
	c.end(nil, r)
	return r
}

// rejections are the promises that are rejected with nobody to handle it.
func (c *cell) rejections() []guestabi.Thrown {
	if c.vm == nil || c.rejected == 0 {
		return nil
	}
	text, err := c.vm.Rejections()
	var list []guestabi.Thrown
	if err == nil {
		err = json.Unmarshal([]byte(text), &list)
	}
	if err != nil {
		c.host.log.Error().Str("run", c.id).Err(err).Msg("rejections cannot be read")
	}
	return list
}

// describeThrown is the text of a thrown value and where it was thrown.
func (c *cell) describeThrown(t *guestabi.Thrown) (string, *transpile.Location) {
	frames := c.frames(t.Stack)
	for i := 0; len(frames) == 0 && i < len(t.Errors); i++ { // the engine made t: of Promise.any, or of using
		frames = c.frames(t.Errors[i].Stack)
	}
	var location *transpile.Location
	message := c.headline(t)
	if len(frames) > 0 {
		location = &frames[0].location
		if hint := c.notAFunction(t, *location); hint != "" {
			message += ": " + hint
		} else if hint := c.undefinedObject(t, *location); hint != "" {
			message += ". " + hint
		}
		message += "\n" + renderFrames(frames) + location.Caret()
	}
	return message + c.within(t, "\n"), location
}

// within lists the errors that an error holds, each with its own. The guest has bounded them.
func (c *cell) within(t *guestabi.Thrown, newline string) string {
	var b strings.Builder
	for i := range t.Errors {
		fmt.Fprintf(&b, "%sError %d: %s%s", newline, i+1, c.headline(&t.Errors[i]), c.origin(&t.Errors[i], newline))
		b.WriteString(c.within(&t.Errors[i], newline+"  "))
	}
	if t.Cause != nil {
		b.WriteString(newline + "Caused by: " + c.headline(t.Cause) + c.origin(t.Cause, newline) + c.within(t.Cause, newline))
	}
	return b.String()
}

// origin is the innermost frame of an error that is told beside another.
func (c *cell) origin(t *guestabi.Thrown, newline string) string {
	frames := c.frames(t.Stack)
	if len(frames) == 0 {
		return ""
	}
	return newline + strings.TrimSuffix(renderFrames(frames[:1]), "\n")
}

// headline is name, message and own fields in one line.
func (c *cell) headline(t *guestabi.Thrown) string {
	line := t.Name
	switch {
	case t.Name == "" && t.Message == "" && t.Text == "" && len(t.Value) > 0:
		var text string
		if t.Value[0] == '"' && json.Unmarshal(t.Value, &text) == nil {
			return text // a BigInt, a proxy: what JSON shows as text
		}
		return string(t.Value)
	case t.Name == "" && t.Message == "" && t.Text == "":
		return "an empty string was thrown"
	case t.Name == "" && t.Message == "":
		return t.Text
	case t.Name != "" && t.Message != "":
		line += ": " + t.Message
	case t.Name == "":
		line = t.Message
	}
	if hint := c.nearest(t); hint != "" {
		line += ". " + hint
	}
	// Where a tool was called is what the frames say.
	delete(t.Fields, "location")
	if len(t.Fields) > 0 {
		if fields, err := marshal(t.Fields); err == nil {
			line += " " + string(fields)
		}
	}
	return line
}

// nearest names what may have been meant where a name is not known.
func (c *cell) nearest(t *guestabi.Thrown) string {
	m := notDefined().FindStringSubmatch(t.Message)
	if t.Name != "ReferenceError" || m == nil {
		return ""
	}
	name := m[1]
	if hint := c.prepared.RuntimeHint(); hint != "" {
		return hint // the text is not code for people, though it happens to be JavaScript: ls -la
	}
	if hint := absent[name]; hint != "" {
		return hint
	}
	if name == "MCP" { // the view has no server, or it would be defined
		return c.noServers()
	}
	names := c.view.Nearest(name, 3)
	for _, near := range catalog.Closest(name, guestNames(), 2) {
		if full := members[near]; full != "" {
			near = full
		}
		names = append(names, near)
	}
	names = slices.DeleteFunc(names, func(near string) bool { return near == name })
	if len(names) == 0 {
		return ""
	}
	return "Did you mean " + strings.Join(names[:min(3, len(names))], ", ") + "?"
}

var notDefined = lazyregexp.New(`^'?([\p{L}_$][\p{L}\p{N}_$]*)'? is not defined$`)

// absent are names that models know from elsewhere, with what to use here.
var absent = map[string]string{
	"print": "Use text(value).", "fetch": "There is no network here; call a tool.", "process": "There is no process here.",
	"require": "There are no modules here; call a tool.", "module": "There are no modules here.", "exports": "There are no modules here; return the value.",
	"None": "Write null.", "True": "Write true.", "False": "Write false.", "len": "Use value.length.",
	"Intl":   "Use toFixed for numbers and toISOString for dates.",
	"Buffer": "Use Uint8Array and TextEncoder.", "window": "There is no browser here; globalThis is the global object.",
	"document": "There is no browser here.", "fs": "There are no files here; call a tool.", "functions": "Tools are functions of their own: await name({...}).",
	"search": "Use catalog.search(query).", "describe": "Use tools.describe(id).", "call": "Use tools.call(id, input).", "sleep": "Use await new Promise(r => setTimeout(r, ms)).",
}

// noServers says why there is no MCP.
func (c *cell) noServers() string {
	missing := c.view.MissingServers()
	if len(missing) == 0 {
		return "There are no MCP servers here."
	}
	return "No MCP server is available now; there may be later: MCP." + strings.Join(missing, ", MCP.") + "."
}

var ofUndefined = lazyregexp.New(`^cannot read property '([\p{L}_$][\p{L}\p{N}_$]*)' of undefined$`)

// objectPath is MCP.<name>, or a longer path, before a member.
var objectPath = lazyregexp.New(`([\p{L}_$][\p{L}\p{N}_$]*(?:\s*\.\s*[\p{L}_$][\p{L}\p{N}_$]*)+)\s*\.\s*([\p{L}_$][\p{L}\p{N}_$]*)`)

// undefinedObject says which part of a namespace is not there where a member of it was read: MCP.filesytem.readFile.
func (c *cell) undefinedObject(t *guestabi.Thrown, at transpile.Location) string {
	m := ofUndefined().FindStringSubmatch(t.Message)
	if t.Name != "TypeError" || m == nil || len(at.LineText) > 4*maxName {
		return ""
	}
	for _, found := range objectPath().FindAllStringSubmatch(at.LineText, -1) {
		if found[2] != m[1] {
			continue
		}
		path := strings.Join(strings.Fields(found[1]), "")
		last := strings.LastIndex(path, ".")
		parent, name := path[:last], path[last+1:]
		names := slices.DeleteFunc(c.view.Children(parent), func(n string) bool { return strings.HasPrefix(n, "$") })
		switch {
		case parent == "MCP" && slices.Contains(c.view.MissingServers(), name):
			return path + " is not available now: its server is not connected."
		case len(names) == 0 || slices.Contains(names, name):
			continue
		case len(names) > 8:
			if names = catalog.Closest(name, names, 3); len(names) == 0 {
				return "There is no " + path + "."
			}
			return "There is no " + path + ". Did you mean " + parent + "." + strings.Join(names, ", "+parent+".") + "?"
		case len(names) == 1:
			return "There is no " + path + ". There is " + parent + "." + names[0] + "."
		}
		return "There is no " + path + ". There are " + parent + "." + strings.Join(names, ", "+parent+".") + "."
	}
	return ""
}

var (
	calledName = lazyregexp.New(`[\p{L}_$][\p{L}\p{N}_$]*(?:\s*\.\s*[\p{L}_$][\p{L}\p{N}_$]*|` + quotedMember + `)*\s*\(`)
	fromTools  = lazyregexp.New(`\}\s*=\s*tools\b`) // const {name} = tools
	memberText = lazyregexp.New(quotedMember)
	noName     = lazyregexp.New(`^(async|await|case|catch|do|else|for|function|if|in|new|of|return|switch|throw|typeof|void|while|with|yield)$`)
)

const quotedMember = `\s*\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\]`

// notAFunction says what was called that is not a function, as far as the source line tells, and what may have been
// meant.
func (c *cell) notAFunction(t *guestabi.Thrown, at transpile.Location) string {
	if t.Name != "TypeError" || t.Message != "not a function" || len(at.LineText) > 4*maxName {
		return ""
	}
	// Of the calls on the line, the one around the column.
	line := utf16.Encode([]rune(at.LineText))
	column := len(string(utf16.Decode(line[:max(0, min(at.LineColumn()-1, len(line)))])))
	found := ""
	for _, m := range calledName().FindAllStringIndex(at.LineText, -1) {
		if m[0] <= column && column < m[1] {
			found = strings.TrimSpace(strings.TrimSuffix(at.LineText[m[0]:m[1]], "("))
		}
	}
	if found == "" || noName().MatchString(found) {
		return ""
	}
	found = memberText().ReplaceAllString(found, ".$1$2")
	if top, _, _ := strings.Cut(t.Stack, "\n"); strings.HasSuffix(top, " (native)") {
		return "an argument of " + found
	}
	hint := found
	object, member, ok := strings.Cut(found, ".")
	if !ok && fromTools().MatchString(c.prepared.Source()) {
		object, member = "tools", found
	} else if !ok {
		return hint
	}
	var names []string
	switch object {
	case "tools":
		names = append(append(names, "search", "describe", "call", "callValue"), c.view.ToolNames()...)
	case "catalog":
		names = []string{"search", "all"}
	case "console":
		names = []string{"log", "info", "warn", "error", "debug", "table", "dir", "time", "timeEnd", "assert", "count", "group", "groupEnd", "trace"}
	case "results":
		names = []string{"save", "load", "delete"}
	case "API":
		names = []string{"list", "read"}
	default:
		if object == "MCP" || len(c.view.Children(object)) > 0 {
			last := strings.LastIndex(found, ".")
			names, object, member = c.view.Children(found[:last]), found[:last], found[last+1:]
		}
	}
	if near := catalog.Closest(member, names, 3); len(near) > 0 {
		for i, name := range near {
			near[i] = object + "." + name
		}
		hint += ". Did you mean " + strings.Join(near, ", ") + "?"
	} else if ok && len(names) > 0 && len(names) <= 8 {
		hint += ". There are " + object + "." + strings.Join(names, ", "+object+".")
	}
	return hint
}

// members are names of the guest API that are often written without the object they belong to.
var members = map[string]string{
	"search": "catalog.search", "searchTools": "catalog.search", "describe": "tools.describe", "callTool": "tools.call",
	"callValue": "tools.callValue", "save": "results.save", "load": "results.load", "log": "console.log",
}

// guestNames are the names of the guest API and the engine's globals.
func guestNames() []string {
	names := append([]string{"ALL_TOOLS", "MCP", "namespaces"}, quickjs.Globals()...)
	return append(names, slices.Sorted(maps.Keys(members))...)
}

// cellFile is the name under which the cell's body appears in stacks.
const cellFile = "cell"

type frame struct {
	function string
	location transpile.Location
}

var stackLine = lazyregexp.New(`^\s+at (?:(.*) \()?` + cellFile + `:(\d+):(\d+)\)?$`)

// frames are the frames of a stack that are in the submitted text, innermost first.
func (c *cell) frames(stack string) []frame {
	var out []frame
	for line := range strings.Lines(stack) {
		m := stackLine().FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		at, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		if p, ok := c.prepared.Position(at, column); ok {
			out = append(out, frame{m[1], c.prepared.Locate(p)})
		}
	}
	for len(out) > 1 && out[0].isDefaultConstructor() {
		out = out[1:]
	}
	return out
}

// isDefaultConstructor says whether a frame is of a constructor that its class does not write. Its place is the class;
// where an instance was made says more.
func (f frame) isDefaultConstructor() bool {
	line := utf16.Encode([]rune(f.location.LineText))
	at := f.location.Column - 1
	return f.function != "" && f.function != "<anonymous>" && at >= 0 && at <= len(line) &&
		strings.HasPrefix(string(utf16.Decode(line[at:])), "class ")
}

func renderFrames(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.function == "" || f.function == "<anonymous>" {
			fmt.Fprintf(&b, "    at %d:%d\n", f.location.Line, f.location.Column)
		} else {
			fmt.Fprintf(&b, "    at %s (%d:%d)\n", f.function, f.location.Line, f.location.Column)
		}
	}
	return b.String()
}
