package transpile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrorKind tells refusals apart.
type ErrorKind string

const (
	KindSyntax       ErrorKind = "syntax"        // neither JavaScript nor TypeScript
	KindModuleAccess ErrorKind = "module_access" // import, export from, require, module
	KindNotCode      ErrorKind = "not_code"      // a shell command, Python, JSON, prose
	KindTooLarge     ErrorKind = "too_large"     // longer than Options.MaxSourceBytes
	KindLanguage     ErrorKind = "language"      // JSX, a language that does not exist
	KindEncoding     ErrorKind = "encoding"      // not UTF-8
)

// An Error is why a text was refused, in words for whoever wrote it. Nothing ran.
type Error struct {
	Kind ErrorKind
	// Message is one sentence without its full stop.
	Message string
	// Location is where in the submitted text, or nil when it is about the whole.
	Location *Location
	// Hint is one sentence about what to do, or "".
	Hint string

	plain, sure bool // as in parseError
	reached     int
}

const nothingRan = "No tools were called; correct the source and submit it again."

// Error renders the refusal in one line.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Kind == KindSyntax && e.Location != nil:
		fmt.Fprintf(&b, "SyntaxError at %d:%d: ", e.Location.Line, e.Location.Column)
	case e.Kind == KindSyntax:
		b.WriteString("SyntaxError: ")
	case e.Location != nil:
		fmt.Fprintf(&b, "At %d:%d: ", e.Location.Line, e.Location.Column)
	}
	b.WriteString(e.Message)
	b.WriteString(". ")
	if e.Hint != "" {
		b.WriteString(e.Hint)
		b.WriteByte(' ')
	}
	b.WriteString(nothingRan)
	return b.String()
}

// syntaxError turns a parser's failure into an Error about the submitted text.
func (a *attempt) syntaxError(pe *parseError, layers []layer) *Error {
	e := &Error{Kind: KindSyntax, Message: pe.msg, Hint: pe.hint, plain: pe.plain, sure: pe.sure, reached: pe.reached}
	e.Location = a.locate(pe.at, layers)
	return e
}

// locate leads an offset back to the submitted text; nil if it is not of it.
func (a *attempt) locate(offset int, layers []layer) *Location {
	ok := true
	for _, l := range layers {
		if offset, ok = l.back(offset); !ok {
			return nil
		}
	}
	// The end of a text that ends in blanks is where its last token ends.
	if trimmed := len(strings.TrimRight(a.text, " \t\r\n")); offset > trimmed {
		offset = trimmed
	}
	return locationAt(a.source, offset)
}

func tooLarge(n, limit int) *Error {
	return &Error{
		Kind:    KindTooLarge,
		Message: fmt.Sprintf("The source is %d bytes long; the limit is %d", n, limit),
		Hint:    "Keep data out of the source: fetch it with tools, or split the work over several cells.",
	}
}

func invalidUTF8(source string) *Error {
	i := 0
	for i < len(source) {
		r, n := utf8.DecodeRuneInString(source[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	clean := strings.ToValidUTF8(source[:min(len(source), i+256)], "\ufffd")
	return &Error{
		Kind:     KindEncoding,
		Message:  fmt.Sprintf("The source is not valid UTF-8: byte %d (0x%02X) begins no character", i, source[i]),
		Location: locationAt(clean, i),
		Hint:     `Write such characters as escapes, for example "\ud83d".`,
	}
}

// quoteShort quotes at most 40 bytes of s.
func quoteShort(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "..."
	}
	return strconv.Quote(s)
}

const moduleHint = "Call the tools instead: they are globals and properties of tools, and search finds them."

// moduleError refuses the first use of modules.
func (a *attempt) moduleError(findings []finding, layers []layer) *Error {
	if len(findings) == 0 {
		return nil
	}
	f := findings[0]
	e := &Error{Kind: KindModuleAccess, Hint: moduleHint}
	e.Location = a.locate(int(f.at), layers)
	what := ""
	switch f.what {
	case useImportDeclaration:
		what = "import declarations have nothing to load"
	case useImportCall:
		what = "import() has nothing to load"
	case useImportMeta:
		what = "import.meta does not exist"
	case useRequire:
		what = "require does not exist"
	case useModule:
		what = "the object module does not exist"
	case useExportFrom:
		what = "export from has nothing to load"
	}
	e.Message = "Modules are not available here: " + what
	return e
}
