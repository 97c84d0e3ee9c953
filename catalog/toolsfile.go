package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxToolsFile is the size of a tools file in bytes, at most.
const maxToolsFile = 64 << 20

// FileTool is one entry of a tools file. See [LoadFile].
type FileTool struct {
	Name         string          `json:"name"`
	Label        string          `json:"label"`
	Description  string          `json:"description"`
	Owner        string          `json:"owner"`
	Source       Source          `json:"source"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Sequential   bool            `json:"sequential"`
	Lane         string          `json:"lane"`
	ReplaySafe   bool            `json:"replaySafe"`
	DirectOnly   bool            `json:"directOnly"`
	Untrusted    bool            `json:"untrusted"`

	Reply   json.RawMessage `json:"reply"`
	Error   *FileError      `json:"error"`
	Run     *Program        `json:"run"`
	DelayMS int             `json:"delayMs"`
}

// FileError is the failure of an entry that answers with one.
type FileError struct {
	Message string          `json:"message"`
	Code    string          `json:"code"`
	Data    json.RawMessage `json:"data"`
}

// LoadFile reads a tools file: a JSON list of tools, or an object {"tools": [...]}.
//
//	[
//	  {"name": "ping", "description": "Say pong.", "reply": "pong"},
//	  {"name": "slow", "description": "Say done after a while.", "reply": {"done": true}, "delayMs": 500},
//	  {"name": "broken", "description": "Always fail.", "error": {"message": "no luck", "code": "no_luck"}},
//	  {"name": "sum", "description": "Add two numbers.",
//	   "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]},
//	   "run": {"argv": ["jq", "-c", ".a + .b"]}}
//	]
//
// Fields of a tool, with those of [Tool] under their names in lower camel case:
//
//	name          required
//	label, description, owner, source ("host" or "client"), inputSchema, outputSchema
//	sequential, lane, replaySafe, directOnly, untrusted
//	delayMs       0 to 86,400,000: how long the answer takes, before a program starts too
//	reply         any JSON, the value of every call
//	error         {"message", "code"?, "data"?}: every call fails with it. code defaults to tool_error
//	run           a program, see [Program]
//
// Each tool has exactly one of reply, error and run. An unknown field is refused with the place where it belongs or the
// nearest known name. A tool that is wrong is left out with a [Problem] that names it; the error is for a file that cannot
// be read at all: not there, over 64 MiB, not JSON (with line and column), not a list of tools. A relative cwd is relative to the folder of the
// file; a program with a slash, such as ./sum, to cwd where that is set, and to the folder of the file where it is not.
func LoadFile(path string) ([]Tool, []Problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("catalog: tools file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxToolsFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("catalog: tools file: %w", err)
	}
	tools, problems, err := ParseFile(data, filepath.Dir(path))
	if err != nil {
		return nil, nil, fmt.Errorf("catalog: tools file %s: %w", path, err)
	}
	return tools, problems, nil
}

// ParseFile is LoadFile for the contents of a tools file; programs start in dir unless they say otherwise.
func ParseFile(data []byte, dir string) ([]Tool, []Problem, error) {
	if len(data) > maxToolsFile {
		return nil, nil, fmt.Errorf("it has more than %d bytes", maxToolsFile)
	}
	list, err := toolList(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, nil, err
	}
	var tools []Tool
	var problems []Problem
	for i, raw := range list {
		var ft FileTool
		err := decodeTool(raw, &ft)
		var t Tool
		if err == nil {
			t, err = ft.tool(dir)
		}
		if err != nil {
			name := "(without a name)"
			if ft.Name != "" {
				name = printable(ft.Name)
			}
			problems = append(problems, Problem{Owner: cmp.Or(ft.Owner, "core"), Tool: name, Index: i, Reason: err.Error()})
			continue
		}
		tools = append(tools, t)
	}
	return tools, problems, nil
}

func toolList(data []byte) ([]json.RawMessage, error) {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return nil, errors.New("it is empty; write a list of tools: []")
	}
	var list []json.RawMessage
	if trimmed[0] == '[' {
		return list, located(data, json.Unmarshal(data, &list))
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, located(data, err)
	}
	for key := range object {
		if key != "tools" && key != "$schema" {
			return nil, fmt.Errorf("%s is not a field of the file; its only field is tools", printable(key))
		}
	}
	if _, ok := object["tools"]; !ok {
		return nil, errors.New(`it has no field "tools"`)
	}
	if err := json.Unmarshal(object["tools"], &list); err != nil {
		return nil, errors.New("tools is not a list")
	}
	return list, nil
}

// located adds line and column to a JSON error, both from 1.
func located(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var offset int64
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mismatch):
		return errors.New("it is neither a list of tools nor an object with the field tools")
	default:
		return err
	}
	before := data[:min(max(0, int(offset)-1), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// decodeTool decodes one tool, and says where a field belongs that is not where it should be.
func decodeTool(raw json.RawMessage, ft *FileTool) error {
	err := json.Unmarshal(raw, ft)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		where := mismatch.Field
		switch {
		case where == "":
			return fmt.Errorf("it is a JSON %s, not an object", mismatch.Value)
		case fileForms[where] != "":
			return fmt.Errorf("%s is a JSON %s; write %s as %s", where, mismatch.Value, where, fileForms[where])
		}
		return fmt.Errorf("%s is a JSON %s, which does not fit", where, mismatch.Value)
	}
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // it is an object, or null, which has no fields
	for _, level := range fileLevels {
		object := fields
		if level.in != "" {
			object = nil
			_ = json.Unmarshal(fieldOf(fields, level.in), &object)
		}
		for _, name := range sortedKeys(object) {
			if !isField(name, level.fields) {
				return strayField(name, object[name], level)
			}
		}
	}
	return nil
}

// fileLevel is an object of a tools file: the tool, or the field of it that is named.
type fileLevel struct {
	in     string
	fields []string
}

var fileLevels = []fileLevel{
	{"", strings.Fields("name label description owner source inputSchema outputSchema sequential lane replaySafe directOnly untrusted delayMs reply error run")},
	{"error", strings.Fields("message code data")},
	{"run", strings.Fields("argv cwd env inheritEnv timeoutMs maxOutputBytes")},
}

// fileForms is how fields are written that are often written in another way.
var fileForms = map[string]string{
	"run":            `{"argv": ["program", "argument"]}`,
	"run.argv":       `a list, ["program", "argument"]`,
	"run.env":        `{"NAME": "text"}`,
	"run.inheritEnv": `a list, ["NAME"]`,
	"error":          `{"message": "what went wrong"}`,
}

// isField matches as encoding/json does, whatever the case.
func isField(name string, fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, name) })
}

func fieldOf(object map[string]json.RawMessage, name string) json.RawMessage {
	for _, key := range sortedKeys(object) {
		if strings.EqualFold(key, name) {
			return object[key]
		}
	}
	return nil
}

// strayField is the error for a field that its level does not have: where it goes, or what may have been meant.
func strayField(name string, value json.RawMessage, level fileLevel) error {
	for _, other := range fileLevels {
		switch {
		case !isField(name, other.fields):
		case other.in == "":
			return fmt.Errorf("%s goes beside %s, not inside it", name, level.in)
		default:
			var short bytes.Buffer
			if json.Compact(&short, value) != nil || short.Len() > 80 {
				short.Reset()
				short.WriteString("…")
			}
			return fmt.Errorf(`%s goes inside %s: {"%s": {"%s": %s}}`, name, other.in, other.in, name, &short)
		}
	}
	if near := nearestOf(name, level.fields); near != "" {
		return fmt.Errorf("it has an unknown field %s; did you mean %s?", printable(name), near)
	}
	for _, other := range fileLevels[1:] {
		if near := nearestOf(name, other.fields); near != "" {
			return fmt.Errorf("it has an unknown field %s; did you mean %s, inside %s?", printable(name), near, other.in)
		}
	}
	where := "it"
	if level.in != "" {
		where = level.in
	}
	return fmt.Errorf("%s has an unknown field %s; the fields are %s", where, printable(name), strings.Join(level.fields, ", "))
}

// nearestOf returns the candidate most like name, or "" when none is.
func nearestOf(name string, candidates []string) string {
	best, score := "", 0
	for _, c := range candidates {
		if s := likeness(normalForm(name), normalForm(c)); s > score {
			best, score = c, s
		}
	}
	return best
}

func (ft *FileTool) tool(dir string) (Tool, error) {
	t := Tool{
		Name: ft.Name, Label: ft.Label, Description: ft.Description, Owner: ft.Owner, Source: ft.Source,
		InputSchema: ft.InputSchema, OutputSchema: ft.OutputSchema, Sequential: ft.Sequential, Lane: ft.Lane,
		ReplaySafe: ft.ReplaySafe, DirectOnly: ft.DirectOnly, Untrusted: ft.Untrusted,
	}
	var ways []string
	for _, w := range []struct {
		name string
		set  bool
	}{{"reply", ft.Reply != nil}, {"error", ft.Error != nil}, {"run", ft.Run != nil}} {
		if w.set {
			ways = append(ways, w.name)
		}
	}
	switch {
	case ft.Name == "":
		return t, errors.New("it has no name")
	case len(ways) == 0:
		return t, errors.New("it has none of reply, error and run, so it cannot answer")
	case len(ways) > 1:
		return t, fmt.Errorf("it has %s; one is enough", strings.Join(ways, " and "))
	case ft.DelayMS < 0 || ft.DelayMS > 86_400_000:
		return t, fmt.Errorf("delayMs is %d; it goes from 0 to 86400000", ft.DelayMS)
	case !slices.Contains([]Source{"", SourceHost, SourceClient}, ft.Source):
		return t, fmt.Errorf("source is %s; it may be host or client", printable(string(ft.Source)))
	}
	var answer RunFunc
	switch {
	case ft.Run != nil:
		if err := ft.Run.check(); err != nil {
			return t, err
		}
		p := *ft.Run
		answer = func(ctx context.Context, call *Call) (*Result, error) { return p.run(ctx, ft.Name, dir, call.Input) }
	case ft.Error != nil:
		if ft.Error.Message == "" {
			return t, errors.New("error has no message")
		}
		fail := *ft.Error
		answer = func(context.Context, *Call) (*Result, error) {
			return nil, &Error{Code: cmp.Or(fail.Code, CodeToolError), Message: fail.Message, Data: fail.Data}
		}
	default:
		reply := slices.Clone(ft.Reply)
		answer = func(context.Context, *Call) (*Result, error) { return &Result{Value: reply}, nil }
	}
	t.Run = after(time.Duration(ft.DelayMS)*time.Millisecond, answer)
	return t, nil
}

// after delays answer, and gives up when the call is cancelled meanwhile.
func after(delay time.Duration, answer RunFunc) RunFunc {
	if delay == 0 {
		return answer
	}
	return func(ctx context.Context, call *Call) (*Result, error) {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return answer(ctx, call)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
