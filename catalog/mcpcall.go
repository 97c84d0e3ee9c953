package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/jsontext"
)

// mcpArguments is what the client side does with an argument: fill in defaults, miss what is required.
type mcpArguments struct {
	defaults map[string]json.RawMessage
	required []string
	optional bool // nothing is required but what has a default
}

func (t *mcpTool) arguments() *mcpArguments {
	t.argsOnce.Do(func() {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		// A schema that is not as it should be asks for nothing; the server will say what it thinks.
		_ = json.Unmarshal(t.entry.inputSchema(), &schema)
		t.args = mcpArguments{defaults: map[string]json.RawMessage{}, required: schema.Required, optional: true}
		for name, raw := range schema.Properties {
			var property struct {
				Default json.RawMessage `json:"default"`
			}
			if json.Unmarshal(raw, &property) == nil && property.Default != nil {
				t.args.defaults[name] = property.Default
			}
		}
		for _, name := range schema.Required {
			if _, ok := t.args.defaults[name]; !ok {
				t.args.optional = false
			}
		}
	})
	return &t.args
}

// input makes the argument of an MCP call: one object at most, its missing properties from the defaults.
func (t *mcpTool) input(args []json.RawMessage) (json.RawMessage, error) {
	fail := func(format string, a ...any) (json.RawMessage, error) {
		return nil, &Error{Code: CodeToolError, Message: fmt.Sprintf(format, a...)}
	}
	if len(args) > 1 {
		return fail("%s takes one object, not %d arguments.", t.path(), len(args))
	}
	arg := firstArgument(args)
	if !isJSONObject(arg) {
		return fail("%s takes one object with named arguments.", t.path())
	}
	rules := t.arguments()
	if len(rules.defaults) == 0 && len(rules.required) == 0 {
		return arg, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arg, &object); err != nil {
		return fail("%s takes one object with named arguments.", t.path())
	}
	filled := false
	for name, value := range rules.defaults {
		if _, given := object[name]; !given {
			object[name] = value
			filled = true
		}
	}
	var absent []string
	for _, name := range rules.required {
		if _, given := object[name]; !given && !slices.Contains(absent, name) {
			absent = append(absent, printable(cutUTF16(name, 128)))
		}
	}
	switch {
	case len(absent) == 1:
		return fail("%s needs the argument %s.", t.path(), absent[0])
	case len(absent) > 1:
		return fail("%s needs the arguments %s.", t.path(), strings.Join(absent, ", "))
	case !filled:
		return arg, nil
	}
	return jsontext.Marshal(object)
}

// apiObject is what MCP.$api and MCP.<server>.$api give.
type apiObject struct {
	Kind    string               `json:"kind"`
	Scope   string               `json:"scope"`
	Server  *apiServer           `json:"server,omitempty"`
	Header  string               `json:"header"`
	Tools   []apiTool            `json:"tools"`
	Schemas map[string]apiSchema `json:"schemas,omitempty"`
	Servers []apiServer          `json:"servers,omitempty"`
	Note    string               `json:"note"`
}

type apiServer struct {
	Identifier string `json:"identifier"`
	ServerName string `json:"serverName"`
	Tools      int    `json:"tools,omitempty"`
	File       string `json:"file,omitempty"`
}

type apiTool struct {
	Method      string    `json:"method"`
	Path        string    `json:"path"`
	MCPTool     string    `json:"mcpTool"`
	Operation   Operation `json:"operation"`
	Description string    `json:"description"`
}

type apiSchema struct {
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output,omitempty"`
}

// rootAPI answers MCP.$api().
func (t *mcpTree) rootAPI(permits func(*Entry) bool) json.RawMessage {
	o := apiObject{Kind: "mcp_api", Scope: "root", Header: "MCP.<server>.<function>(object)", Tools: []apiTool{},
		Note: "Ask a server for its functions with MCP.<server>.$api(), or read its file with API.read."}
	for _, s := range t.servers {
		if n := len(s.permitted(permits)); n > 0 {
			o.Servers = append(o.Servers, apiServer{s.identifier, s.name, n, s.path()})
		}
	}
	return mustMarshal(o)
}

func (s *mcpServer) permitted(permits func(*Entry) bool) []*mcpTool {
	return slices.DeleteFunc(slices.Clone(s.tools), func(t *mcpTool) bool { return !permits(t.entry) })
}

// api answers MCP.<server>.$api(selector?, {schema?}). A selector is a method, or a tool's name on the server, which
// several methods may share.
func (s *mcpServer) api(args []json.RawMessage, permits func(*Entry) bool) (json.RawMessage, error) {
	var selector string
	var options struct {
		Schema bool `json:"schema"`
	}
	for i, arg := range args {
		switch arg = bytes.TrimSpace(arg); {
		case len(arg) == 0 || bytes.Equal(arg, jsonNull):
		case i == 0 && arg[0] == '"':
			_ = json.Unmarshal(arg, &selector)
		case i <= 1 && arg[0] == '{':
			_ = json.Unmarshal(arg, &options)
		default:
			return nil, &Error{Code: CodeToolError, Message: "MCP." + s.identifier + ".$api takes a function's name and {schema: true}, both optional."}
		}
	}
	tools := s.permitted(permits)
	o := apiObject{Kind: "mcp_api", Scope: "server", Server: &apiServer{Identifier: s.identifier, ServerName: s.name}, Tools: []apiTool{}}
	o.Header = "MCP." + s.identifier + ".<function>(object)"
	o.Note = "Each function takes one object. With {schema: true} as the second argument, $api adds the schemas."
	if selector != "" {
		chosen := slices.DeleteFunc(slices.Clone(tools), func(t *mcpTool) bool { return t.method != selector })
		if len(chosen) == 0 {
			chosen = slices.DeleteFunc(slices.Clone(tools), func(t *mcpTool) bool { return t.entry.rec.tool.MCP.Tool != selector })
		}
		if len(chosen) > 0 {
			o.Scope = "tool"
		} else {
			var methods []string
			for _, t := range tools {
				methods = append(methods, t.method)
			}
			o.Note = "There is no such function."
			if near := nearestOf(selector, methods); near != "" {
				o.Note += " Did you mean " + near + "?"
			}
		}
		tools = chosen
	}
	for _, t := range tools {
		m := t.entry.rec.tool.MCP
		o.Tools = append(o.Tools, apiTool{t.method, t.path(), m.Tool, m.Operation, t.entry.rec.tool.Description})
		if options.Schema {
			if o.Schemas == nil {
				o.Schemas = map[string]apiSchema{}
			}
			o.Schemas[t.method] = apiSchema{t.entry.inputSchema(), t.entry.rec.tool.OutputSchema}
		}
	}
	return mustMarshal(o), nil
}

// describe is what describe() of an MCP handle gives.
func (t *mcpTool) describe() json.RawMessage {
	args := []json.RawMessage{mustMarshal(t.method), json.RawMessage(`{"schema":true}`)}
	out, err := t.server.api(args, func(e *Entry) bool { return e == t.entry })
	if err != nil {
		return jsonNull
	}
	return out
}
