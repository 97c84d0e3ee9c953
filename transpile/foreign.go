package transpile

import (
	"encoding/json"
	"path"
	"strings"
	"unicode"

	"codemode/internal/lazyregexp"
)

// What a text may be that is neither JavaScript nor TypeScript.
const (
	aShell  = "a shell command"
	aPython = "Python"
	aJSON   = "JSON"
	aSQL    = "SQL"
	aMarkup = "HTML or XML"
	aPatch  = "a patch"
	aProse  = "prose"
)

func notCode(what string, at *Location) *Error {
	hint := `Write JavaScript that calls tools, for example: const found = await catalog.search("what you need"); return found;`
	switch what {
	case aShell:
		hint = `Call a tool from JavaScript instead; await catalog.search("what you need") finds one. The same command will be refused again.`
	case aJSON:
		hint = "To return the value, put return in front of it; to call a tool with it, write await tools.name(value)."
	}
	return &Error{Kind: KindNotCode, Message: "exec runs JavaScript or TypeScript, and this is " + what, Location: at, Hint: hint}
}

// recognise says what a text is that no parser accepts, or returns the syntax error as it is. It is never asked about a
// text that is valid.
func recognise(source string, syntax *Error) *Error {
	text := strings.TrimSpace(strings.TrimPrefix(source, "\ufeff"))
	what := ""
	switch {
	case fenceLines(text) > 2:
		e := notCode(aProse+" with several blocks of code", nil)
		e.Hint = "Send one block of code, without fences and without text around it."
		return e
	case (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)):
		what = aJSON
	case looksLikePatch(text):
		what = aPatch
	case looksLikeMarkup(text):
		what = aMarkup
	default:
		head := firstCodeLine(text)
		switch {
		case looksLikePython(text, head):
			what = aPython
		case looksLikeShell(head):
			what = aShell
		case looksLikeSQL().MatchString(head):
			what = aSQL
		case looksLikeProse(head):
			what = aProse
		}
	}
	if what != "" {
		return notCode(what, nil)
	}
	if text[0] == '{' && syntax.Hint == "" && isObjectLiteral(text) {
		syntax.Hint = "An object at the start of a statement is read as a block: write return {...} or put it in parentheses."
	}
	return syntax
}

func isObjectLiteral(text string) bool {
	p := newParser("("+strings.TrimRight(text, "; \t\r\n")+")", false)
	defer p.release()
	p.parseBody()
	return p.err == nil && p.body.statements == 1 && p.body.last.expr.kind == exprObject
}

// firstCodeLine is the first line that is not blank and no comment of any kind.
func firstCodeLine(text string) string {
	inBlock := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case inBlock:
			inBlock = !strings.Contains(line, "*/")
		case line == "", strings.HasPrefix(line, "//"), strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "#!"):
		case strings.HasPrefix(line, "/*"):
			inBlock = !strings.Contains(line, "*/")
		default:
			return line
		}
	}
	return ""
}

var (
	looksLikeSQL = lazyregexp.New(`^(?i:(SELECT\s+.*\bFROM\b|INSERT\s+INTO\b|UPDATE\s+\S+\s+SET\b|DELETE\s+FROM\b|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|VIEW)\b))`)

	pythonLine = lazyregexp.New(`^\s*(async\s+)?(def\s+\w+\s*\(.*\).*:|class\s+\w+(\(.*\))?:|(if|elif|while|for|with|except)\b[^{(]*[^{]*:|(else|try|finally|except):)\s*(#.*)?$|^\s*for\s+\w+(\s*,\s*\w+)*\s+in\s[^;{]+:`)
	// Outside of strings: f"...", lambda x: ..., and [x for x in ...].
	pythonExpr = lazyregexp.New(`(?m)^"""|^[^'"\x60/]*((return|[(=,+:\[])\s*[fbr]{1,2}["']|[=(,]\s*lambda\b[^:]*:|[({\[][^'"\x60]*(["'][^'"]*["'][^'"\x60]*)*\sfor\s+\w+(\s*,\s*\w+)*\s+in\s)`)
	pythonHead = lazyregexp.New(`^(from\s+[\w.]+\s+import\s+[\w*(]|import\s+[\w.]+(\s+as\s+\w+)?(\s*,\s*[\w.]+)*\s*(#.*)?$|print\s+["'\w]|@\w+[\w.()]*$)`)
)

func looksLikePython(text, head string) bool {
	if pythonHead().MatchString(head) {
		return !strings.HasPrefix(head, "@") || strings.Contains(text, "\ndef ")
	}
	if !strings.Contains(text, "`") && !strings.HasSuffix(head, ";") && pythonExpr().MatchString(text) {
		return true
	}
	if strings.ContainsAny(head, ";{") {
		return false
	}
	for line := range strings.Lines(text) {
		if pythonLine().MatchString(strings.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

func looksLikePatch(text string) bool {
	return strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "*** Begin Patch") ||
		strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ")
}

func looksLikeMarkup(text string) bool {
	lower := strings.ToLower(text[:min(len(text), 16)])
	return strings.HasPrefix(lower, "<!doctype") || strings.HasPrefix(lower, "<?xml") || strings.HasPrefix(lower, "<html")
}

// shellCommands are programs and built-ins that models call. Those after the blank line are also names that code uses:
// they need another sign of a shell.
var shellCommands = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`apt apt-get awk bash brew bun cargo cat cd chmod chown clang cmd cp curl cut df dig
		docker dotnet du echo env fish gcc git go gradle grep gunzip gzip hostname java javac jq kill kubectl less ln ls lsof
		make mkdir mktemp mv mvn nano netstat node npm npx perl php ping pip pip3 pnpm poetry popd powershell printenv printf
		ps psql pushd pwd pwsh pytest python python3 rg rm rmdir rsync ruby rustc rustup scp sed sh sqlite3 ssh stat sudo
		swift systemctl tar tee terraform tmux touch ulimit umask uname uniq unset unzip uv uvx vi vim vitest wc wget
		whereis whoami xargs xxd yarn zip zsh`) {
		m[w] = true
	}
	for _, w := range strings.Fields(`alias bg builtin command date diff exec exit fg file find getopts hash head help
		history id jobs local logout nohup open read readonly set shift sleep sort source tail test time top trap tree type
		wait watch which declare export`) {
		m[w] = false
	}
	return m
}()

var (
	shellAssignment = lazyregexp.New(`^[A-Za-z_]\w*=("[^"]*"|'[^']*'|[^\s;&|(){}]*)\s+`)
	shellExport     = lazyregexp.New(`^(export|declare|local|readonly|unset|set)\s+(-\w|[A-Z_][A-Z0-9_]*(=|\s*$))`)
	shellControl    = lazyregexp.New(`^(if|while|until|elif)\s+(\[|test\s|!|[a-z]+\s+-)|^(for|case)\s+\w+\s+in\b|^function\s+\w+\s*\{|^until\s`)
	shellSign       = lazyregexp.New(`(^|\s)(--?[A-Za-z]|\||&&|\|\||>>?|2>|\./|\.\./|~/|/\w|\$\w|\$\(|"|'|\*\.\w)`)
	shellPath       = lazyregexp.New(`^(\.{1,2}/|~/|/(usr|bin|opt|home|tmp|etc|sbin)/|[A-Za-z]:\\)\S*`)
)

func looksLikeShell(head string) bool {
	head = strings.TrimPrefix(head, "$ ")
	for {
		m := shellAssignment().FindString(head)
		if m == "" {
			break
		}
		head = head[len(m):]
	}
	if shellExport().MatchString(head) || shellControl().MatchString(head) || shellPath().MatchString(head) {
		return true
	}
	word, rest, _ := strings.Cut(head, " ")
	word = strings.TrimRight(word, ";&|")
	sure, known := shellCommands[word]
	if !known {
		return false
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, ":") {
		return false
	}
	return sure || word == "find" && strings.HasPrefix(rest, ".") || word != "type" && word != "declare" && shellSign().MatchString(" "+rest)
}

// looksLikeProse wants a line of at least four words that has next to nothing of code in it.
func looksLikeProse(line string) bool {
	words, letters, others := 0, 0, 0
	for _, f := range strings.Fields(line) {
		switch f {
		case "const", "var", "function", "async", "await", "typeof", "instanceof", "=>":
			return false
		}
		f = strings.TrimRight(strings.Trim(f, `"'()*_`), ".,:;!?")
		word := f != ""
		for _, r := range f {
			if unicode.IsLetter(r) || r == '\'' || r == '’' || r == '-' {
				letters++
			} else {
				others++
				word = false
			}
		}
		if word {
			words++
		}
	}
	if strings.ContainsAny(line, "{}=;<>") || words < 4 || letters < 10*others || letters < 3*words {
		return false
	}
	first, _, _ := strings.Cut(line, " ")
	k, _ := classify(first)
	return !k.reserved() || k == kindDo || k == kindIf || k == kindThis || k == kindFor || k == kindTry || k == kindWith
}

// foreignInterpreter names what a #! line runs, if it is not JavaScript.
func foreignInterpreter(line string) string {
	for _, f := range strings.Fields(strings.TrimPrefix(line, "#!")) {
		name := strings.TrimRight(path.Base(f), "0123456789.")
		if name == "env" || strings.HasPrefix(f, "-") {
			continue
		}
		switch name {
		case "sh", "bash", "zsh", "dash", "fish", "ksh", "pwsh":
			return aShell
		case "python":
			return aPython
		case "perl", "ruby", "php", "lua", "Rscript", "awk":
			return "a program in another language"
		}
		return ""
	}
	return ""
}

// foreignTag names what the tag of a fence says, if it is not JavaScript or TypeScript.
func foreignTag(tag string) string {
	switch tag {
	case "sh", "bash", "shell", "zsh", "console", "powershell", "ps1", "bat", "cmd":
		return aShell
	case "py", "python", "python3":
		return aPython
	case "json":
		return aJSON
	case "sql":
		return aSQL
	case "html", "xml":
		return aMarkup
	case "diff", "patch":
		return aPatch
	case "go", "rust", "java", "c", "cpp", "ruby", "php", "yaml", "yml", "toml", "css", "perl", "lua":
		return "in another language"
	}
	return ""
}
