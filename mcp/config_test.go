package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
}

func TestParseConfig(t *testing.T) {
	text := `{
	  "globalShortcut": "Ctrl+Space",
	  "mcpServers": {
	    "files": {"command": "npx", "args": ["-y", "${HOME}/x", "$HOME", "${NONE:-d}"], "env": {"K": "${KEY}"}, "cwd": "sub", "autoApprove": ["a"]},
	    "web": {"type": "streamable-http", "url": "https://example.com/${KEY}", "headers": {"Authorization": "Bearer ${KEY}"}, "timeoutMs": 120000},
	    "old": {"type": "sse", "url": "http://localhost:1/sse", "startTimeoutMs": 5, "allow": [], "deny": ["x*"], "sequential": true},
	    "local": {"command": "./bin/server", "parallel": false, "inheritEnv": ["TOKEN"]},
	    "off": {"command": "x", "args": ["${NOT_SET}"], "disabled": true}
	  }
	}`
	config, err := ParseConfig([]byte(text), "/etc/mcp", lookup(map[string]string{"HOME": "/home/me", "KEY": "${HOME}"}))
	if err != nil {
		// A disabled server may need what is not there, and is not expanded.
		t.Fatal(err)
	}
	second, half := 60*time.Second, 30*time.Second
	want := &Config{
		Ignored: []string{"mcpServers.files.autoApprove"},
		Servers: []ServerConfig{
			{Name: "files", Transport: "stdio", Command: "npx", Args: []string{"-y", "/home/me/x", "$HOME", "d"}, Env: map[string]string{"K": "${HOME}"},
				Cwd: "/etc/mcp/sub", Timeout: second, StartTimeout: half},
			{Name: "web", Transport: "http", URL: "https://example.com/$%7BHOME%7D", Headers: map[string]string{"Authorization": "Bearer ${HOME}"},
				Timeout: 2 * time.Minute, StartTimeout: half},
			{Name: "old", Transport: "sse", URL: "http://localhost:1/sse", Timeout: second, StartTimeout: 5 * time.Millisecond, Allow: []string{},
				Deny: []string{"x*"}, Sequential: true},
			{Name: "local", Transport: "stdio", Command: "/etc/mcp/bin/server", InheritEnv: []string{"TOKEN"}, Sequential: true, Timeout: second, StartTimeout: half},
			{Name: "off", Command: "x", Args: []string{"${NOT_SET}"}, Disabled: true, Timeout: second, StartTimeout: half},
		},
	}
	want.Servers[1].URL = "https://example.com/${HOME}"
	if diff := cmp.Diff(want, config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigErrors(t *testing.T) {
	server := func(fields string) string { return `{"mcpServers":{"s":` + fields + `}}` }
	for _, test := range []struct{ name, text, want string }{
		{"syntax", "{\n  \"mcpServers\": {,}\n}", "line 2, column 18"},
		{"list", `[]`, "must hold an object"},
		{"nothing", `{}`, "there is no mcpServers"},
		{"near miss", `{"mcpservers":{}}`, `"mcpservers" must be spelled so`},
		{"twice", `{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`, `"a" is there twice`},
		{"unknown field", server(`{"comand":"x"}`), `mcpServers.s: comand: unknown field (is "command" meant?)`},
		{"renamed", server(`{"command":"x","timeout":5}`), "timeout: it is called timeoutMs, in milliseconds here"},
		{"variable", server(`{"command":"${GONE}"}`), "the variable GONE is not set"},
		{"code", server(`{"command":"${$(id)}"}`), "is not the name of a variable"},
		{"other client's", server(`{"command":"${env:PATH}"}`), "write ${PATH}"},
		{"both", server(`{"command":"x","url":"http://x"}`), "both command and url"},
		{"neither", server(`{}`), "needs a command or a url"},
		{"type", server(`{"type":"websocket","url":"http://x"}`), `"websocket" is none of`},
		{"mixed", server(`{"type":"http","url":"http://x","args":["y"]}`), "has no command, args"},
		{"scheme", server(`{"url":"file:///etc"}`), "must begin with http://"},
		{"header", server(`{"url":"http://x","headers":{"A":"b\r\nC: d"}}`), "is not a header"},
		{"time", server(`{"command":"x","timeoutMs":0}`), "1 to 86400000 milliseconds"},
		{"wrong type", server(`{"command":["x"]}`), "command: it must be text"},
		{"contradiction", server(`{"command":"x","sequential":true,"parallel":true}`), "parallel is true too"},
		{"name", `{"mcpServers":{"a\u202eb":{"command":"x"}}}`, "can be printed"},
		{"several", `{"mcpServers":{"a":{},"b":{"command":1}}}`, "mcpServers.b: command"},
	} {
		_, err := ParseConfig([]byte(test.text), "/", lookup(map[string]string{}))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
}

// An expanded value that is refused may be a secret: no error shows it.
func TestConfigErrorsKeepSecrets(t *testing.T) {
	for _, text := range []string{`{"url":"${S}"}`, `{"url":"http://x","headers":{"A":"${S}\n"}}`, `{"url":"http://x/%zz${S}"}`} {
		_, err := ParseConfig([]byte(`{"mcpServers":{"s":`+text+`}}`), "/", lookup(map[string]string{"S": "hunter2"}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func TestLoadConfigNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if _, err := LoadConfig(path); err == nil || !strings.HasPrefix(err.Error(), "mcp: ") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte("\xef\xbb\xbf{\"servers\":{\"a\":{\"command\":\"x\"}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := LoadConfig(path)
	if err != nil || len(config.Servers) != 1 {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestLoadConfigMakesPathsAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("mcp.json", []byte(`{"mcpServers":{"a":{"command":"./server","cwd":"data"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := LoadConfig("mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = os.Getwd(); err != nil { // what the folder is called without symbolic links
		t.Fatal(err)
	}
	if s := config.Servers[0]; s.Command != filepath.Join(dir, "server") || s.Cwd != filepath.Join(dir, "data") {
		t.Errorf("command %s in %s, want both in %s", s.Command, s.Cwd, dir)
	}
}

func TestSafeNames(t *testing.T) {
	var servers []ServerConfig
	for _, name := range []string{"git-hub", "Git Hub", " GIT-HUB ", "1st", "日本", strings.Repeat("x", 40), strings.Repeat("x", 41), "a.b"} {
		servers = append(servers, ServerConfig{Name: name})
	}
	want := []string{"git-hub", "Git-Hub-2", "GIT-HUB-3", "mcp-1st", "mcp", strings.Repeat("x", 30), strings.Repeat("x", 28) + "-2", "a-b"}
	if diff := cmp.Diff(want, safeServerNames(servers)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "ab", true}, {"*", "", true}, {"a*a", "a", false}, {"a*b*c", "axxbyc", true},
		{"*b", "ab", true}, {"a*b*", "acb", true}, {"a**c", "ac", true}, {"a*bc*c", "abc", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("matches(%q, %q) is %v", test.pattern, test.name, got)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"${X:-y}","args":["b"],"timeoutMs":5}}}`))
	f.Add([]byte(`{"servers":{"a":{"url":"http://x","headers":{"a":"b"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := ParseConfig(data, "/", lookup(nil))
		if (config == nil) == (err == nil) {
			t.Errorf("config %v and error %v", config, err)
		}
	})
}
