package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The texts of tools end up in prompts, in TypeScript, and in comments. Everything that goes there passes through
// these functions: quoteLiteral for strings and keys, commentLines for prose.

// quoteLiteral writes s as a JavaScript string literal in ASCII quotes that cannot end a comment, hide text or reorder
// it: control, format and private characters are escaped, and so is the end of a comment.
func quoteLiteral(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	prev := rune(0)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '/' && prev == '*':
			b.WriteString(`\/`)
		case hiddenRune(r):
			if r > 0xFFFF {
				fmt.Fprintf(&b, `\u{%X}`, r)
			} else {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	b.WriteByte('"')
	return b.String()
}

// hiddenRune reports whether a character does not show, or changes how others show.
func hiddenRune(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// literal writes a JSON primitive as a TypeScript literal type; false for arrays and objects.
func literal(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case bool:
		return fmt.Sprint(v), true
	case string:
		return quoteLiteral(v), true
	case json.Number:
		return string(v), true
	}
	return "", false
}

// key writes a property name, quoted unless it is an identifier.
func key(name string) string {
	if isIdentifier(name) {
		return name
	}
	return quoteLiteral(name)
}

const (
	maxCommentLines = 12
	maxCommentLine  = 400
)

// commentLines makes prose fit for a comment: at most 12 non-blank lines of 400 characters, without a way to end the
// comment and without characters that hide or reorder text.
func commentLines(text string) []string {
	var lines []string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\v' || r == '\f' || r == '\u0085'
	}) {
		line = plainLine(line, maxCommentLine)
		if line == "" {
			continue
		}
		if len(lines) == maxCommentLines {
			lines[maxCommentLines-1] = "…"
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// plainLine is one line of prose, at most n UTF-16 units, safe inside a comment.
func plainLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case hiddenRune(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if short := cutUTF16(s, n); short != s {
		s = short + "…"
	}
	for strings.Contains(s, "*/") {
		s = strings.ReplaceAll(s, "*/", "* /")
	}
	return s
}
