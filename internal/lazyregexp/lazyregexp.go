// Package lazyregexp compiles regular expressions when they are first used: a process should not pay at its start for
// those that only an error needs.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New gives a function that gives the expression, and panics where it does not compile.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
