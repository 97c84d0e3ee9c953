package catalog

import (
	"fmt"
	"strings"
)

const quickIndexHead = "Tools you can call as async globals (no descriptions here):\n" +
	"Each line is `name input -> output`; `-> ?` means that the output is not declared.\n"

// shortestLine is the least that one more tool takes: "- f {} -> ?" and its line end.
const shortestLine = 12

// QuickIndex returns the list of callables for the description of exec, at most Options.IndexChars characters: tools
// with a declared output first, then by name, whole lines only, and at the end how many tools were left out. Only host
// tools are named, because names of others are not trusted in a prompt; those are counted. It is empty when nothing is
// visible. It is made once for all views without a policy check.
func (v *View) QuickIndex() string {
	if v.check != nil {
		return v.quickIndex()
	}
	p := v.proj.tables()
	p.indexOnce.Do(func() { p.index = v.quickIndex() })
	return p.index
}

func (v *View) quickIndex() string {
	var named []*Entry
	for _, e := range v.Callables() {
		if e.rec.trusted() {
			named = append(named, e)
		}
	}
	total := v.Len()
	if total == 0 {
		return ""
	}
	foot := func(omitted int) string {
		switch {
		case omitted == 0:
			return "\nCall them directly. When in doubt which, use catalog.search(query).\n"
		case len(named) == 0:
			return fmt.Sprintf("%d tools are available: use catalog.search(query); what it finds can be called.\n", omitted)
		case omitted == 1:
			return "\n1 more tool is not listed: use catalog.search(query); what it finds can be called.\n"
		}
		return fmt.Sprintf("\n%d more tools are not listed: use catalog.search(query); what it finds can be called.\n", omitted)
	}
	if len(named) == 0 {
		return foot(total)
	}
	room := v.proj.snap.catalog.options.IndexChars - len(quickIndexHead) - len(foot(total))
	var b strings.Builder
	b.WriteString(quickIndexHead)
	listed := 0
	add := func(e *Entry, output string) {
		line := "- " + e.callable + " " + e.InputHint() + " -> " + output + "\n"
		if len(line) <= room {
			room -= len(line)
			b.WriteString(line)
			listed++
		}
	}
	for _, e := range named {
		if room < shortestLine {
			break
		}
		if len(e.rec.tool.OutputSchema) > 0 && e.OutputHint() != "" {
			add(e, e.OutputHint())
		}
	}
	for _, e := range named {
		if room < shortestLine {
			break
		}
		if len(e.rec.tool.OutputSchema) == 0 || e.OutputHint() == "" {
			add(e, "?")
		}
	}
	b.WriteString(foot(total - listed))
	return b.String()
}
