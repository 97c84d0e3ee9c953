package catalog

import (
	"slices"
	"strings"
)

// Policy says which tools a session may see and use. It is immutable and safe to share. A nil *Policy allows all.
//
// A pattern is a tool's own name or the name that cells call it by (MCP.gitHub.createIssue), or with a colon in it an id
// (source:owner:name); * stands for any run of characters. Names are those that the whole catalog gives: a suffix that
// tells two tools apart may change when tools are added, an id never does.
// A tool is allowed when no deny pattern matches it and the allow list is empty or one of its patterns matches.
// A tool that is not allowed has no name, no hit and no id in the views of that policy.
type Policy struct {
	allow, deny []string
	check       func(*Entry) bool
	key         string
}

// NewPolicy makes a policy from allow and deny patterns. Nil allow means everything, an empty list nothing. Sessions
// whose patterns are the same set share all that is made for them, so a host may make a policy per session.
func NewPolicy(allow, deny []string) *Policy {
	p := &Policy{allow: patternSet(allow), deny: patternSet(deny)}
	if allow != nil && len(p.allow) == 0 {
		p.allow = []string{""} // an allow list that lists nothing allows nothing
	}
	p.key = strings.Join(p.allow, "\x00") + "\x01" + strings.Join(p.deny, "\x00")
	return p
}

// patternSet sorts patterns and drops those that no tool can match: empty ones, and ones with control characters, which
// separate patterns in the key.
func patternSet(patterns []string) []string {
	set := slices.Clone(patterns)
	slices.Sort(set)
	return slices.DeleteFunc(slices.Compact(set), func(s string) bool { return s == "" || strings.ContainsAny(s, "\x00\x01") })
}

// WithCheck returns a copy that also asks check on every search, lookup, description and call, so that a permission
// taken back while a cell waits is gone at its next use. Names given at the start of the cell do not move. check may
// be called from many goroutines and must not block.
func (p *Policy) WithCheck(check func(*Entry) bool) *Policy {
	q := Policy{key: "\x01"}
	if p != nil {
		q = *p
	}
	q.check = check
	return &q
}

func (p *Policy) everything() bool { return p == nil || (len(p.allow) == 0 && len(p.deny) == 0) }

// allows says whether the patterns allow a tool that the whole catalog calls by the name callable, which is empty for
// direct-only tools.
func (p *Policy) allows(r *record, callable string) bool {
	if p == nil {
		return true
	}
	for _, pattern := range p.deny {
		if r.matches(pattern, callable) {
			return false
		}
	}
	if len(p.allow) == 0 {
		return true
	}
	for _, pattern := range p.allow {
		if r.matches(pattern, callable) {
			return true
		}
	}
	return false
}

func (r *record) matches(pattern, callable string) bool {
	if strings.Contains(pattern, ":") {
		return globMatch(pattern, r.id)
	}
	return globMatch(pattern, r.tool.Name) || (callable != "" && globMatch(pattern, callable))
}

// Unmatched returns the patterns of p that match no tool, sorted: most likely they are misspelt, and what they should
// hide is not hidden.
func (s *Snapshot) Unmatched(p *Policy) []string {
	if p == nil {
		return nil
	}
	entries := slices.Concat(s.all.tables().entries, s.direct)
	return slices.DeleteFunc(patternSet(slices.Concat(p.allow, p.deny)), func(pattern string) bool {
		return slices.ContainsFunc(entries, func(e *Entry) bool { return e.rec.matches(pattern, e.callable) })
	})
}

// globMatch matches with * as the only wildcard, in time proportional to pattern times text at worst.
func globMatch(pattern, text string) bool {
	star, mark, p, t := -1, 0, 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
