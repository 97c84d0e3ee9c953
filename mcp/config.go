package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Config says which MCP servers there are. LoadConfig reads it from a file.
type Config struct {
	// Servers are in the order of the file; that order decides who keeps a name that two servers want.
	Servers []ServerConfig
	// Ignored lists settings of other clients that the file has and that change nothing here, such as
	// "mcpServers.git.autoApprove". A person who sets things up should see them.
	Ignored []string
}

// Kinds of transport.
const (
	TransportStdio = "stdio" // a program that is started, on its standard input and output
	TransportHTTP  = "http"  // streamable HTTP; SSE where the server turns out to have only that
	TransportSSE   = "sse"   // the older HTTP transport, and nothing else
)

// Defaults and ranges of the times of a server, in milliseconds.
const (
	DefaultTimeoutMs      = 60_000
	DefaultStartTimeoutMs = 30_000
	MaxTimeoutMs          = 86_400_000
)

// ServerConfig is one server.
type ServerConfig struct {
	// Name is the key in the file, any text without control characters.
	Name string
	// Transport is one of the kinds above.
	Transport string

	// Command and Args start a stdio server, without a shell. A command without a slash is looked up in PATH; one with a
	// slash is relative to the folder of the file.
	Command string
	Args    []string
	// Env is set for the program, over a small environment (PATH, HOME and the like): it does not inherit the rest.
	Env map[string]string
	// InheritEnv names further variables of this process that the program gets.
	InheritEnv []string
	// Cwd is where the program runs. Default: the folder of this process. A relative one is relative to the file.
	Cwd string

	// URL is the endpoint of an HTTP server, and Headers are sent with every request.
	URL     string
	Headers map[string]string

	// Timeout bounds one call. 1 ms to 24 h; default 60 s.
	Timeout time.Duration
	// StartTimeout bounds connecting and listing what the server has. 1 ms to 24 h; default 30 s.
	StartTimeout time.Duration
	// Allow and Deny are patterns over the server's own tool names and resources_list, resources_read, prompts_list,
	// prompts_get; * stands for any run of characters. A tool is there when no deny pattern matches it, and Allow is nil
	// or one of its patterns does.
	Allow, Deny []string
	// Sequential makes the server's calls wait for one another. Default: they run in parallel.
	Sequential bool
	// Disabled servers are not connected to.
	Disabled bool
}

// maxConfigBytes bounds a configuration file.
const maxConfigBytes = 16 << 20

// LoadConfig reads a configuration file, in the format that MCP clients share:
//
//	{
//	  "mcpServers": {
//	    "files":  {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/notes"]},
//	    "search": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
//	    "slow":   {"command": "report", "timeoutMs": 120000, "sequential": true, "deny": ["delete_*"]}
//	  }
//	}
//
// Fields of a server:
//
//	type                stdio, http (also streamable-http, streamableHttp) or sse; known from command or url without it
//	command args        the program, and its arguments
//	env inheritEnv cwd  see ServerConfig
//	url headers         the endpoint
//	timeoutMs           of one call, 1 to 86,400,000; default 60,000
//	startTimeoutMs      of connecting, 1 to 86,400,000; default 30,000
//	allow deny          patterns over tool names
//	sequential parallel one of them true; default parallel
//	disabled            leaves the server out
//
// ${NAME} in command, args, env, cwd, url and headers is that variable of the environment, and ${NAME:-text} has a
// default; a variable that is not set is an error, an unknown field of a server too. "servers" is read where
// "mcpServers" is absent; other keys beside it are other clients' business.
func LoadConfig(path string) (*Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("mcp: configuration: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("mcp: configuration: %w", err)
	}
	if len(data) > maxConfigBytes {
		return nil, fmt.Errorf("mcp: %s: more than %d bytes", path, maxConfigBytes)
	}
	// A program is started in its cwd: a command that is relative to this process's folder would not be found there.
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	config, err := ParseConfig(data, dir, os.LookupEnv)
	if err != nil {
		return nil, fmt.Errorf("mcp: %s: %w", path, err)
	}
	return config, nil
}

// ParseConfig is LoadConfig for the contents of a file. dir is what relative paths are relative to, itself
// absolute, and lookup knows the environment.
func ParseConfig(data []byte, dir string, lookup func(string) (string, bool)) (*Config, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	top, err := orderedObject(data)
	if err != nil {
		return nil, fmt.Errorf("the file must hold an object with mcpServers: %w", err)
	}
	key := "mcpServers"
	servers, ok := top.get(key)
	if !ok {
		key = "servers"
		if servers, ok = top.get(key); !ok {
			if near := nearest("mcpServers", top.names()); near != "" {
				return nil, fmt.Errorf("there is no mcpServers; %q must be spelled so", near)
			}
			return nil, errors.New("there is no mcpServers")
		}
	}
	object, err := orderedObject(servers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	config := &Config{}
	env := environment{lookup}
	var problems []error
	for _, field := range object {
		server, ignored, err := parseServer(field.name, field.value, dir, env)
		for _, name := range ignored {
			config.Ignored = append(config.Ignored, key+"."+field.name+"."+name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: %w", key, field.name, err))
			continue
		}
		config.Servers = append(config.Servers, *server)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return config, nil
}

// checkJSON says where a text is not JSON, by line and column.
func checkJSON(data []byte) error {
	var ignored json.RawMessage
	err := json.Unmarshal(data, &ignored)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at := min(max(int(syntax.Offset)-1, 0), len(data))
	before := data[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := at - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("not JSON at line %d, column %d: %w", line, column, err)
}

// object is a JSON object with its fields in order.
type object []field

type field struct {
	name  string
	value json.RawMessage
}

func (o object) get(name string) (json.RawMessage, bool) {
	for _, f := range o {
		if f.name == name {
			return f.value, true
		}
	}
	return nil, false
}

func (o object) names() []string {
	names := make([]string, len(o))
	for i, f := range o {
		names[i] = f.name
	}
	return names
}

// orderedObject reads an object. A name that is there twice is an error: one of the two would be lost without a word.
func orderedObject(data []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	var o object
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := field{name: name.(string)}
		if err := d.Decode(&f.value); err != nil {
			return nil, err
		}
		if _, twice := o.get(f.name); twice {
			return nil, fmt.Errorf("%q is there twice", f.name)
		}
		o = append(o, f)
	}
	return o, nil
}

// suggest is " (is x meant?)" with the name that is nearest, or nothing.
func suggest(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(" (is %q meant?)", near)
	}
	return ""
}

// nearest is the known name that differs least from name, whatever the case; "" where none is like it.
func nearest(name string, known []string) string {
	best, distance := "", len(name)/2+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
