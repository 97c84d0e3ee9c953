package host_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/catalog"
	"codemode/host"
)

// toolbox is the catalog of a transcript. It counts what runs.
type toolbox struct {
	catalog *catalog.Catalog

	mu     sync.Mutex
	change chan struct{} // closed and replaced when a count changes
	gates  map[string]chan struct{}
	counts map[string]*count
	calls  []host.Record
}

// count is what became of a tool's calls.
type count struct{ started, running, most, cancelled int }

func newToolbox() *toolbox {
	return &toolbox{catalog: host.NewCatalog(nil), change: make(chan struct{}), gates: map[string]chan struct{}{}, counts: map[string]*count{}}
}

// builtin is a tool that a tools file cannot say, under the name that "builtin" gives.
var builtins = map[string]func(b *toolbox, ctx context.Context, call *catalog.Call) (any, error){
	// echo gives its input.
	"echo": func(_ *toolbox, _ context.Context, call *catalog.Call) (any, error) { return call.Input, nil },
	// gate gives its input once its gate, which has the tool's name, is released. Where the input has fail it fails then.
	"gate": func(b *toolbox, ctx context.Context, call *catalog.Call) (any, error) {
		select {
		case <-b.gate(call.Tool.Name()):
			if message := field[string](call, "fail"); message != "" {
				return nil, errors.New(message)
			}
			return call.Input, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	},
	// deaf is a gate that does not notice when its call is cancelled.
	"deaf": func(b *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		<-b.gate(call.Tool.Name())
		return call.Input, nil
	},
	// release releases the gate of a name.
	"release": func(b *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		return true, b.release(field[string](call, "gate"))
	},
	// started waits until the tool of a name was started.
	"started": func(b *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		return true, b.until(field[string](call, "tool"), 1)
	},
	// counter says how often it was called.
	"counter": func(b *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.counts[call.Tool.Name()].started, nil
	},
	// sleep gives v after ms milliseconds.
	"sleep": func(_ *toolbox, ctx context.Context, call *catalog.Call) (any, error) {
		select {
		case <-time.After(time.Duration(field[float64](call, "ms")) * time.Millisecond):
			return field[json.RawMessage](call, "v"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	},
	// fail fails with an error that is not a catalog.Error.
	"fail": func(_ *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		return nil, errors.New(field[string](call, "message"))
	},
	// panic panics.
	"panic": func(*toolbox, context.Context, *catalog.Call) (any, error) {
		panic("index out of range [3] with length 3")
	},
	// ask asks a person.
	"ask": func(_ *toolbox, ctx context.Context, call *catalog.Call) (any, error) {
		if call.AwaitApproval == nil {
			return nil, errors.New("nobody can be asked")
		}
		if err := call.AwaitApproval(ctx, field[string](call, "question")); err != nil {
			return nil, err
		}
		return "agreed", nil
	},
	// who says for whom it runs.
	"who": func(_ *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		return host.Scope{Session: call.Session, AgentRun: call.AgentRun}, nil
	},
	// bytes gives a string of n bytes.
	"bytes": func(_ *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		return strings.Repeat("x", int(field[float64](call, "n"))), nil
	},
	// result gives a catalog.Result with the fields of its input: value, content, isError, terminate, blocked, untrusted.
	"result": func(_ *toolbox, _ context.Context, call *catalog.Call) (any, error) {
		r := &catalog.Result{}
		return r, json.Unmarshal(call.Input, r)
	},
}

func field[T any](call *catalog.Call, name string) T {
	var fields map[string]json.RawMessage
	json.Unmarshal(call.Input, &fields)
	var value T
	json.Unmarshal(fields[name], &value)
	return value
}

// add adds the tools of a tools file. Beside the fields of catalog.LoadFile an entry may have "builtin"; a string in the
// list is a built-in tool under its own name; and {"count": n, "name": "tool%d", …} is n tools.
func (b *toolbox) add(data []byte) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return err
	}
	var all []catalog.Tool
	for _, entry := range entries {
		var fields map[string]json.RawMessage
		var name string
		if json.Unmarshal(entry, &name) == nil {
			fields = map[string]json.RawMessage{"name": entry, "builtin": entry}
		} else if err := json.Unmarshal(entry, &fields); err != nil {
			return err
		}
		tools, err := toolsOf(fields, b)
		if err != nil {
			return err
		}
		all = append(all, tools...)
	}
	if problems := b.catalog.Add(all...); len(problems) > 0 {
		return errors.New(problems[0].String())
	}
	return nil
}

func toolsOf(fields map[string]json.RawMessage, b *toolbox) ([]catalog.Tool, error) {
	number := 1
	many := fields["count"] != nil
	if many {
		if err := json.Unmarshal(fields["count"], &number); err != nil {
			return nil, err
		}
		delete(fields, "count")
	}
	var run func(*toolbox, context.Context, *catalog.Call) (any, error)
	if raw, ok := fields["builtin"]; ok {
		var name string
		json.Unmarshal(raw, &name)
		if run = builtins[name]; run == nil {
			return nil, fmt.Errorf("there is no built-in tool %s", raw)
		}
		delete(fields, "builtin")
		fields["reply"] = json.RawMessage("null")
	}
	pattern := fields["name"]
	var all []catalog.Tool
	for i := range number {
		if many {
			fields["name"] = json.RawMessage(strings.ReplaceAll(string(pattern), "%d", fmt.Sprint(i)))
		}
		text, err := json.Marshal([]any{fields})
		if err != nil {
			return nil, err
		}
		tools, problems, err := catalog.ParseFile(text, ".")
		if err == nil && len(problems) > 0 {
			err = errors.New(problems[0].String())
		}
		if err != nil {
			return nil, err
		}
		if run != nil {
			tools[0].Run = func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
				value, err := run(b, ctx, call)
				if err != nil {
					return nil, err
				}
				if r, ok := value.(*catalog.Result); ok {
					return r, nil
				}
				text, err := json.Marshal(value)
				return &catalog.Result{Value: text}, err
			}
		}
		tools[0].Run = b.counted(tools[0].Name, tools[0].Run)
		all = append(all, tools[0])
	}
	return all, nil
}

// addNamespaces registers namespaces; {"$tool": name} in a scope is a function that calls that tool.
func (b *toolbox) addNamespaces(data []byte) error {
	var list []struct {
		ID, Plugin, Global, Description string
		Requires                        []string
		Scope                           map[string]any
	}
	if err := decode(data, &list); err != nil {
		return err
	}
	for _, n := range list {
		scope := functions(n.Scope).(map[string]any)
		err := b.catalog.RegisterNamespace(catalog.Namespace{
			ID: n.ID, Plugin: n.Plugin, Global: n.Global, Description: n.Description, Requires: n.Requires,
			Scope: func(catalog.Session) (map[string]any, error) { return scope, nil },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func functions(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if name, ok := object["$tool"].(string); ok {
		return catalog.NamespaceTool(name, nil)
	}
	out := map[string]any{}
	for k, v := range object {
		out[k] = functions(v)
	}
	return out
}

// record keeps a nested call for trajectory.
func (b *toolbox) record(r host.Record) {
	b.mu.Lock()
	b.calls = append(b.calls, r)
	b.mu.Unlock()
}

// trajectory is a line for each nested call that has ended, in the order in which they were started.
func (b *toolbox) trajectory() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(b.calls, func(x, y host.Record) int { return cmp.Compare(x.Order, y.Order) })
	var out bytes.Buffer
	for _, r := range b.calls {
		outcome := string(r.Result)
		if r.IsError {
			outcome = "error: " + r.Error
		}
		fmt.Fprintf(&out, "%d %s %s -> %s\n", r.Order, r.Tool, r.Input, outcome)
	}
	return out.Bytes()
}

// counted counts a tool's calls.
func (b *toolbox) counted(name string, run catalog.RunFunc) catalog.RunFunc {
	return func(ctx context.Context, call *catalog.Call) (*catalog.Result, error) {
		b.mu.Lock()
		c := b.counts[name]
		if c == nil {
			c = &count{}
			b.counts[name] = c
		}
		c.started++
		c.running++
		c.most = max(c.most, c.running)
		b.changed()
		b.mu.Unlock()
		defer func() {
			b.mu.Lock()
			c.running--
			if ctx.Err() != nil {
				c.cancelled++
			}
			b.changed()
			b.mu.Unlock()
		}()
		return run(ctx, call)
	}
}

// changed wakes until. The caller holds mu.
func (b *toolbox) changed() {
	close(b.change)
	b.change = make(chan struct{})
}

func (b *toolbox) gate(name string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gates[name] == nil {
		b.gates[name] = make(chan struct{})
	}
	return b.gates[name]
}

func (b *toolbox) release(name string) error {
	gate := b.gate(name)
	select {
	case <-gate:
		return fmt.Errorf("gate %q is open", name)
	default:
		close(gate)
		return nil
	}
}

// until waits until a tool was started n times.
func (b *toolbox) until(name string, n int) error {
	late := time.After(10 * time.Second)
	for {
		b.mu.Lock()
		started, change := 0, b.change
		if c := b.counts[name]; c != nil {
			started = c.started
		}
		b.mu.Unlock()
		if started >= n {
			return nil
		}
		select {
		case <-change:
		case <-late:
			return fmt.Errorf("%s was started %d times", name, started)
		}
	}
}

// ran is a line for each tool that ran: its name and how often, how many calls were cancelled, and for the tools of
// atOnce how many ran at once.
func (b *toolbox) ran(atOnce []string) []byte {
	b.settle()
	b.mu.Lock()
	defer b.mu.Unlock()
	names := make([]string, 0, len(b.counts))
	for name := range b.counts {
		names = append(names, name)
	}
	slices.Sort(names)
	var out bytes.Buffer
	for _, name := range names {
		c := b.counts[name]
		fmt.Fprintf(&out, "%s %d", name, c.started)
		if c.cancelled > 0 {
			fmt.Fprintf(&out, ", %d cancelled", c.cancelled)
		}
		if slices.Contains(atOnce, name) {
			fmt.Fprintf(&out, ", %d at once", c.most)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// settle gives calls that were cancelled a moment to notice.
func (b *toolbox) settle() {
	for range 50 {
		b.mu.Lock()
		running := 0
		for _, c := range b.counts {
			running += c.running
		}
		change := b.change
		b.mu.Unlock()
		if running == 0 {
			return
		}
		select {
		case <-change:
		case <-time.After(2 * time.Millisecond):
		}
	}
}
