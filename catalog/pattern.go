package catalog

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"codemode/internal/lazyregexp"
)

const (
	maxPatternBytes = 8 << 10
	maxPatternSteps = 20_000
)

// checkPattern translates a JavaScript regular expression into Go's, whose matching time is linear. steps is about how
// many instructions it compiles to. A pattern that Go cannot express (look-around, back references) comes back as ""
// without an error: it is not checked. Patterns that are too large once their repetitions are written out are refused.
func checkPattern(pattern string) (translated string, steps int, err error) {
	if len(pattern) > maxPatternBytes {
		return "", 0, fmt.Errorf("a pattern has %d bytes, %d are allowed", len(pattern), maxPatternBytes)
	}
	translated = goPattern(pattern)
	parsed, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return "", 0, nil
	}
	steps = patternSize(parsed)
	if steps > maxPatternSteps {
		return "", 0, fmt.Errorf("a pattern is too large: its repetitions multiply to over %d steps", maxPatternSteps)
	}
	return translated, steps, nil
}

// patternSize is the number of nodes of a regular expression with its repetitions written out, saturated.
func patternSize(re *syntax.Regexp) int {
	const ceiling = 1 << 30
	size := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		size = min(size+patternSize(sub), ceiling)
	}
	if re.Op == syntax.OpRepeat {
		size = min(size*max(re.Max, re.Min, 1), ceiling)
	}
	return size
}

// goPattern rewrites what JavaScript spells differently: \uXXXX, \u{X} and \/ .
func goPattern(pattern string) string {
	if !strings.Contains(pattern, `\`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' || i+1 == len(pattern) {
			b.WriteByte(pattern[i])
			continue
		}
		rest := pattern[i+1:]
		switch {
		case rest[0] == '/':
			b.WriteByte('/')
			i++
		case unicodeEscape().MatchString(rest):
			m := unicodeEscape().FindStringSubmatch(rest)
			b.WriteString(`\x{` + m[1] + m[2] + `}`)
			i += len(m[0])
		default: // any other escape, and the backslash of an escaped backslash
			b.WriteString(pattern[i : i+2])
			i++
		}
	}
	return b.String()
}

var unicodeEscape = lazyregexp.New(`^u(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))`)
