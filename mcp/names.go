package mcp

import (
	"strconv"
	"strings"
)

// Lengths of the parts of a tool's name, in bytes.
const (
	maxServerName = 30
	maxToolName   = 64
)

// fragment makes a name of letters, digits, - and _: every other run of characters is one -.
func fragment(name, fallback string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(name) {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	if strings.Trim(b.String(), "-_") == "" {
		return fallback
	}
	return b.String()
}

// unique cuts name to max bytes and adds -2, -3, … where it is taken, whatever the case of its letters. It marks the
// result as taken.
func unique(name string, max int, taken map[string]bool) string {
	if len(name) > max {
		name = name[:max]
	}
	out := name
	for n := 2; taken[strings.ToLower(out)]; n++ {
		suffix := "-" + strconv.Itoa(n)
		out = name[:min(len(name), max-len(suffix))] + suffix
	}
	taken[strings.ToLower(out)] = true
	return out
}

// safeServerNames gives each server a name that is fit for ids, in the order of the configuration.
func safeServerNames(servers []ServerConfig) []string {
	taken := map[string]bool{}
	names := make([]string, len(servers))
	for i, s := range servers {
		name := fragment(s.Name, "mcp")
		if c := name[0] | 0x20; c < 'a' || c > 'z' {
			name = "mcp-" + name
		}
		names[i] = unique(name, maxServerName, taken)
	}
	return names
}

// matches says whether a pattern, in which * stands for any run of characters, matches a name.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// permits says whether the server's lists let a tool through.
func (s *ServerConfig) permits(tool string) bool {
	for _, pattern := range s.Deny {
		if matches(pattern, tool) {
			return false
		}
	}
	if s.Allow == nil {
		return true
	}
	for _, pattern := range s.Allow {
		if matches(pattern, tool) {
			return true
		}
	}
	return false
}
