package mcp

import (
	"fmt"
	"os"
	"strings"

	"codemode/internal/lazyregexp"
)

// environment knows the variables that a configuration may name.
type environment struct {
	lookup func(string) (string, bool)
}

var (
	reference    = lazyregexp.New(`\$\{([^}]*)\}`)
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expand replaces ${NAME} and ${NAME:-default}. Everything else stays: there is no $NAME and no command. What a variable
// holds is not expanded again.
func (e environment) expand(text string) (string, error) {
	var problem error
	out := reference().ReplaceAllStringFunc(text, func(match string) string {
		name, fallback, hasFallback := strings.Cut(match[2:len(match)-1], ":-")
		if !variableName().MatchString(name) {
			hint := ""
			if plain, ok := strings.CutPrefix(name, "env:"); ok {
				hint = fmt.Sprintf("; write ${%s}", plain)
			}
			problem = fmt.Errorf("%s is not the name of a variable of the environment%s", match, hint)
			return match
		}
		value, ok := e.lookup(name)
		switch {
		case ok && (value != "" || !hasFallback):
			return value
		case hasFallback:
			return fallback
		}
		problem = fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", name, name)
		return match
	})
	return out, problem
}

// basicVariables are what every stdio server gets of the environment: what a program needs to run, and no secrets.
var basicVariables = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SHELL", "TERM",
	"SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "PATHEXT", "TEMP", "USERPROFILE", "COMSPEC"}

// programEnvironment is the environment of a stdio server.
func programEnvironment(s *ServerConfig) []string {
	var env []string
	seen := map[string]bool{}
	for name, value := range s.Env {
		env = append(env, name+"="+value)
		seen[name] = true
	}
	for _, names := range [][]string{basicVariables, s.InheritEnv} {
		for _, name := range names {
			if value, ok := os.LookupEnv(name); ok && !seen[name] {
				env = append(env, name+"="+value)
				seen[name] = true
			}
		}
	}
	return env
}
