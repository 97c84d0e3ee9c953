package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns up to n names of visible tools that name may have been meant for, best first.
func (v *View) Nearest(name string, n int) []string { return v.nearest(name, n, SurfaceCatalog) }

// Closest returns up to n of candidates that name may have been meant for, best first. It is Nearest for names that are
// not tools.
func Closest(name string, candidates []string, n int) []string {
	want := normalForm(name)
	if len(name) > 4*maxNameBytes {
		return nil
	}
	scores := map[string]int{}
	var found []string
	for _, c := range candidates {
		if score := likeness(want, normalForm(c)); score > 0 {
			scores[c] = score
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(scores[b], scores[a]) })
	found = found[:min(n, len(found))]
	// Beside one that is nearly right, those that only contain a part of it are noise.
	return slices.DeleteFunc(found, func(c string) bool { return scores[c] < scores[found[0]]-20 })
}

// Unknown returns the error for a tool that does not exist, in the words of the API that was used.
func (v *View) Unknown(name string, surface Surface) *Error {
	near := v.nearest(name, 3, surface)
	var b strings.Builder
	fmt.Fprintf(&b, "There is no tool %s.", printable(name))
	if len(near) > 0 {
		fmt.Fprintf(&b, " Did you mean %s?", strings.Join(near, ", "))
	}
	if surface == SurfaceCatalog {
		b.WriteString(" Find tools with catalog.search(query) and call the handle, or the global of its callableName.")
	} else {
		b.WriteString(" Find tools with tools.search(query), look at one with tools.describe, and use its exact id or name.")
		if len(v.mcpServers()) > 0 {
			b.WriteString(" Tools of MCP servers are not among them: find those with catalog.search(query) and call the handle, or MCP.<server>.<tool>(input).")
		}
	}
	return &Error{Code: CodeInvalidInput, Message: b.String(), Nearest: near}
}

func (v *View) nearest(name string, n int, surface Surface) []string {
	type candidate struct {
		name  string
		score int
	}
	var found []candidate
	want := normalForm(name)
	if want == "" || len(name) > 4*maxNameBytes {
		return nil
	}
	forms := v.proj.tables().normalForms()
	for i, e := range v.proj.entries {
		score := likeness(want, forms[i].name)
		if forms[i].callable != "" {
			score = max(score, likeness(want, forms[i].callable))
		}
		if score == 0 || !v.permits(e) {
			continue
		}
		shown := e.callable
		if surface == SurfaceTools {
			if e.rec.tool.MCP != nil {
				continue
			}
			if shown = e.rec.tool.Name; v.proj.literal[shown] == nil {
				shown = e.rec.id
			}
		}
		found = append(found, candidate{shown, score})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range found[:min(n, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// entryForms are the normal forms of an entry's name and, if it is another one, callable name.
type entryForms struct{ name, callable string }

// normalForms are those of p.entries, made once.
func (p *projection) normalForms() []entryForms {
	p.formsOnce.Do(func() {
		p.forms = make([]entryForms, len(p.entries))
		for i, e := range p.entries {
			f := entryForms{name: normalForm(e.rec.tool.Name)}
			if c := normalForm(e.callable); c != f.name {
				f.callable = c
			}
			p.forms[i] = f
		}
	})
	return p.forms
}

// normalForm is a name without case and separators, for comparing: "llm-Task" is "llmtask".
func normalForm(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r != '_' && r != '-' && r != '.' && r != ' ' && r != '$' && r != ':' && r != '/' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// likeness scores two normal forms, 0 for unlike, 100 for equal.
func likeness(a, b string) int {
	if a == b {
		return 100
	}
	if a == "" || b == "" {
		return 0
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	if short >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return 60 + 30*short/long
	}
	limit := min(3, max(1, (len(a)+2)/3))
	if long-short > limit {
		return 0
	}
	if d := editDistance(a, b, limit); d <= limit {
		return 95 - 10*d
	}
	return 0
}

// editDistance is the Damerau-Levenshtein distance (neighbours swapped count once), in bytes, up to limit; more is
// limit+1.
func editDistance(a, b string, limit int) int {
	const longest = 256
	if len(a) > longest || len(b) > longest {
		return limit + 1
	}
	var rows [3][longest + 1]int16
	prev2, prev, row := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		prev[j] = int16(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = int16(i)
		best := row[0]
		for j := 1; j <= len(b); j++ {
			cost := int16(1)
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			row[j] = d
			best = min(best, d)
		}
		if int(best) > limit {
			return limit + 1
		}
		prev2, prev, row = prev, row, prev2
	}
	return min(int(prev[len(b)]), limit+1)
}
