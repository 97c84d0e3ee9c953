package transpile

import (
	"strings"
)

// RuntimeHint is one sentence for a cell that fails because a name is not defined, or "". Some shell commands are valid
// JavaScript: `ls -la` subtracts la from ls. Such a text is run, since it may mean what it says, but when its names turn out
// not to exist this is what to add to the error.
func (c *Cell) RuntimeHint() string {
	text := strings.TrimSpace(c.source)
	if len(text) > 400 {
		return ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(strings.TrimSpace(line), ";")
		if _, known := shellCommands[line]; !known && !looksLikeShell(line) {
			return ""
		}
	}
	return "exec runs JavaScript or TypeScript, and this looks like " + aShell + `: call a tool instead; await catalog.search("what you need") finds one.`
}
