package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// serverFields are the fields of a server, as text says them.
var serverFields = []string{"type", "command", "args", "env", "inheritEnv", "cwd", "url", "headers", "timeoutMs",
	"startTimeoutMs", "allow", "deny", "sequential", "parallel", "disabled"}

// foreignFields are settings of other clients that mean nothing here.
var foreignFields = []string{"alwaysAllow", "autoApprove", "autoStart", "description", "dev", "gallery", "icon", "id", "name",
	"note", "title", "trust", "version"}

// renamedFields are what other clients call something that is here too.
var renamedFields = map[string]string{
	"timeout": "timeoutMs, in milliseconds", "initTimeout": "startTimeoutMs, in milliseconds",
	"startup_timeout_sec": "startTimeoutMs, in milliseconds", "tool_timeout_sec": "timeoutMs, in milliseconds",
	"serverUrl": "url", "httpUrl": "url", "endpoint": "url", "transport": "type", "transportType": "type",
	"includeTools": "allow", "excludeTools": "deny", "disabledTools": "deny", "enabledTools": "allow",
	"enabled_tools": "allow", "disabled_tools": "deny", "http_headers": "headers", "cmd": "command", "workingDirectory": "cwd",
	"enabled": "disabled, which is the opposite", "env_vars": "inheritEnv", "envFile": "env, with the variables in it",
}

// parseServer reads one server. ignored are fields that other clients know.
func parseServer(name string, data []byte, dir string, env environment) (server *ServerConfig, ignored []string, err error) {
	fields, err := orderedObject(data)
	if err != nil {
		return nil, nil, err
	}
	r := serverReader{env: env}
	s := &ServerConfig{Name: name, Timeout: DefaultTimeoutMs * time.Millisecond, StartTimeout: DefaultStartTimeoutMs * time.Millisecond}
	if strings.TrimSpace(name) == "" || len(name) > 256 || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		r.fail("name", errors.New("it must have 1 to 256 bytes that can be printed"))
	}
	var parallel bool
	var kind string
	for _, f := range fields {
		switch f.name {
		case "type":
			kind = r.text(f)
		case "command":
			s.Command = r.expanded(f)
		case "args":
			s.Args = r.expandedList(f)
		case "env":
			s.Env = r.expandedMap(f)
		case "inheritEnv":
			s.InheritEnv = r.list(f)
		case "cwd":
			s.Cwd = r.expanded(f)
		case "url":
			s.URL = r.expanded(f)
		case "headers":
			s.Headers = r.expandedMap(f)
		case "timeoutMs":
			s.Timeout = r.milliseconds(f)
		case "startTimeoutMs":
			s.StartTimeout = r.milliseconds(f)
		case "allow":
			s.Allow = r.list(f)
		case "deny":
			s.Deny = r.list(f)
		case "sequential":
			s.Sequential = r.flag(f)
		case "parallel":
			parallel = r.flag(f)
			if !parallel {
				s.Sequential = true
			}
		case "disabled":
			s.Disabled = r.flag(f)
		default:
			switch other, renamed := renamedFields[f.name]; {
			case slices.Contains(foreignFields, f.name):
				ignored = append(ignored, f.name)
			case renamed:
				r.fail(f.name, fmt.Errorf("it is called %s here", other))
			default:
				r.fail(f.name, fmt.Errorf("unknown field%s", suggest(f.name, serverFields)))
			}
		}
	}
	if s.Disabled {
		// What it needs may be missing on this machine: that may be why it is disabled.
		return s, ignored, nil
	}
	if s.Sequential && parallel {
		r.fail("sequential", errors.New("parallel is true too"))
	}
	if len(r.problems) == 0 {
		s.Transport, err = transportOf(kind, s)
		if err != nil {
			r.problems = append(r.problems, err)
		}
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		s.Cwd = filepath.Join(dir, s.Cwd)
	}
	if strings.ContainsRune(s.Command, filepath.Separator) && !filepath.IsAbs(s.Command) {
		s.Command = filepath.Join(dir, s.Command)
	}
	return s, ignored, errors.Join(r.problems...)
}

// transportOf finds the transport, and checks that what it needs is there and nothing of another.
func transportOf(kind string, s *ServerConfig) (string, error) {
	switch kind {
	case "":
		switch {
		case s.Command != "" && s.URL != "":
			return "", errors.New("it has both command and url: one of them, or a type that says which")
		case s.Command != "":
			kind = TransportStdio
		case s.URL != "":
			kind = TransportHTTP
		default:
			return "", errors.New("it needs a command or a url")
		}
	case "streamable-http", "streamableHttp", "streamable_http":
		kind = TransportHTTP
	case TransportStdio, TransportHTTP, TransportSSE:
	default:
		return "", fmt.Errorf("type: %q is none of stdio, http, sse", kind)
	}
	if kind == TransportStdio {
		switch {
		case s.Command == "":
			return "", errors.New("a stdio server needs a command")
		case s.URL != "" || s.Headers != nil:
			return "", errors.New("a stdio server has no url and no headers")
		}
		return kind, nil
	}
	switch {
	case s.URL == "":
		return "", errors.New("an HTTP server needs a url")
	case s.Command != "" || s.Args != nil || s.Env != nil || s.InheritEnv != nil || s.Cwd != "":
		return "", errors.New("an HTTP server has no command, args, env, inheritEnv and cwd")
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		return "", errors.New("url: it is not a URL") // err quotes it, and it may hold a secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("url: it must begin with http:// or https:// and name a host")
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n\x00") {
			return "", fmt.Errorf("headers: %q is not a header", name)
		}
	}
	return kind, nil
}

// serverReader reads fields and gathers what is wrong with them.
type serverReader struct {
	env      environment
	problems []error
}

func (r *serverReader) fail(name string, err error) {
	r.problems = append(r.problems, fmt.Errorf("%s: %w", name, err))
}

func decodeField[T any](r *serverReader, f field, what string) (value T) {
	if string(f.value) == "null" || json.Unmarshal(f.value, &value) != nil {
		r.fail(f.name, fmt.Errorf("it must be %s", what))
	}
	return value
}

func (r *serverReader) text(f field) string { return decodeField[string](r, f, "text") }
func (r *serverReader) flag(f field) bool   { return decodeField[bool](r, f, "true or false") }

func (r *serverReader) list(f field) []string {
	l := decodeField[[]string](r, f, "a list of texts")
	if l == nil {
		l = []string{}
	}
	return l
}

func (r *serverReader) milliseconds(f field) time.Duration {
	n := decodeField[int64](r, f, "a whole number of milliseconds")
	if n < 1 || n > MaxTimeoutMs {
		r.fail(f.name, fmt.Errorf("it must be 1 to %d milliseconds", MaxTimeoutMs))
	}
	return time.Duration(n) * time.Millisecond
}

func (r *serverReader) expand(where, text string) string {
	out, err := r.env.expand(text)
	if err != nil {
		r.fail(where, err)
	}
	return out
}

func (r *serverReader) expanded(f field) string { return r.expand(f.name, r.text(f)) }

func (r *serverReader) expandedList(f field) []string {
	l := r.list(f)
	for i, text := range l {
		l[i] = r.expand(fmt.Sprintf("%s[%d]", f.name, i), text)
	}
	return l
}

func (r *serverReader) expandedMap(f field) map[string]string {
	m := decodeField[map[string]string](r, f, "an object of texts")
	if m == nil {
		m = map[string]string{}
	}
	for name, text := range m {
		m[name] = r.expand(f.name+"."+name, text)
	}
	return m
}
