package transpile

import (
	"strings"
)

// A wrapping is what stood around the code and was blanked.
type wrapping struct {
	text     string // as long as the source, in bytes
	notes    []string
	language Language // what a fence says, "" when it says nothing of use
	fenced   bool
	err      *Error
}

// unwrap blanks a #! line and a Markdown fence that is the first and last line. Three backticks in front of anything are
// an empty template and the start of another: no program that does not throw at once begins like that.
func unwrap(source string) wrapping {
	w := wrapping{text: source}
	i := 0
	if strings.HasPrefix(source, "\ufeff") {
		i = len("\ufeff")
	}
	if strings.HasPrefix(source[i:], "#!") {
		end := i + lineLen(source[i:])
		if what := foreignInterpreter(source[i:end]); what != "" {
			w.err = notCode(what, locationAt(source, i))
			return w
		}
		w.text = source[:i] + blankText(source[i:end]) + source[end:]
		w.notes = append(w.notes, noteHashbang)
		return w
	}
	for i < len(source) && (source[i] == ' ' || source[i] == '\t' || breakLen(source, i) > 0) {
		i++
	}
	mark := fenceMark(source[i:])
	if mark == "" {
		return w
	}
	open := i + lineLen(source[i:])
	if strings.Contains(source[i+len(mark):open], mark[:1]) {
		return w
	}
	trimmed := strings.TrimRight(source, " \t\r\n")
	last := strings.LastIndexAny(trimmed, "\n\r") + 1
	if last <= open || strings.Trim(trimmed[last:], " \t"+mark[:1]) != "" || !strings.Contains(trimmed[last:], mark) {
		if strings.Count(source, mark) > 1 { // closed somewhere: text follows
			return w
		}
		w.err = &Error{
			Kind: KindSyntax, Message: "The Markdown fence is not closed", Location: locationAt(source, i),
			Hint: "The text may have been cut off; send the code without a fence.",
		}
		return w
	}
	w.fenced = true
	w.takeFence(source, i, open, last)
	return w
}

// takeFence blanks everything but what stands between the fence lines.
func (w *wrapping) takeFence(source string, start, open, last int) {
	tag := strings.ToLower(strings.Trim(source[start:open], " \t`~"))
	tag, _, _ = strings.Cut(tag, " ")
	if what := foreignTag(tag); what != "" {
		w.err = notCode(what, locationAt(source, start))
		return
	}
	switch tag {
	case "ts", "typescript", "mts", "cts":
		w.language = TypeScript
	}
	w.text = blankText(source[:open]) + source[open:last] + blankText(source[last:])
	w.notes = append(w.notes, noteFence)
}

// onlyFence finds the one fenced block in a text of something else.
func onlyFence(source string) (w wrapping, ok bool) {
	starts := lineStarts(source)
	blocks, start, open, last := 0, 0, 0, 0
	mark := ""
	for _, s := range starts {
		line := source[s : int(s)+lineLen(source[s:])]
		trimmed := strings.TrimLeft(line, " \t")
		m := fenceMark(trimmed)
		switch {
		case m == "":
		case mark == "":
			if blocks++; blocks > 1 {
				return w, false
			}
			mark, start, open = m, int(s)+len(line)-len(trimmed), int(s)+len(line)
		case m[0] == mark[0] && len(m) >= len(mark) && strings.Trim(trimmed, " \t"+mark[:1]) == "":
			last, mark = int(s), ""
		}
	}
	if blocks != 1 || mark != "" || last <= open {
		return w, false
	}
	w.takeFence(source, start, open, last)
	if len(w.notes) > 0 {
		w.notes = []string{noteProse}
	}
	return w, true
}

// fenceLines counts the lines that open or close a fence.
func fenceLines(text string) (n int) {
	for line := range strings.Lines(text) {
		if fenceMark(strings.TrimLeft(line, " \t")) != "" {
			n++
		}
	}
	return n
}

// fenceMark is the run of three or more backticks or tildes that s begins with, or "".
func fenceMark(s string) string {
	if len(s) < 3 || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	if n < 3 {
		return ""
	}
	return s[:n]
}

// lineLen is the length of the first line of s without its terminator.
func lineLen(s string) int {
	n := 0
	for n < len(s) && breakLen(s, n) == 0 {
		n++
	}
	return n
}
