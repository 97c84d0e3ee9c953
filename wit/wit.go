package wit

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode"

	"codemode/internal/wasmbin"
)

// Source is the text of codemode.wit.
//
//go:embed codemode.wit
var Source string

// File is a parsed WIT file: one package, its interfaces and what its world imports and exports.
type File struct {
	Package    string // namespace and name: "codemode:host"
	Version    string // "1.0.0"
	Interfaces []*Interface
	World      World
}

// World says which interfaces a guest imports and which it exports.
type World struct {
	Name             string
	Imports, Exports []string
}

// Interface is a named set of types and functions.
type Interface struct {
	Name      string
	Functions []*Function
	types     map[string]*Type
	module    string
}

// Function is one function with its documentation.
type Function struct {
	Interface *Interface
	Name      string
	Doc       string // the /// lines before it, joined with newlines
	Params    []Field
	Result    *Type // nil for none
}

// Field is a parameter or a member of a record.
type Field struct {
	Name string
	Type *Type
}

// Kind tells types apart.
type Kind string

// The kinds of type that the ABI uses.
const (
	KindBool   Kind = "bool"
	KindU8     Kind = "u8"
	KindU32    Kind = "u32"
	KindU64    Kind = "u64"
	KindString Kind = "string"
	KindOption Kind = "option"
	KindEnum   Kind = "enum"
	KindRecord Kind = "record"
)

// Type is a type of the interface.
type Type struct {
	Kind   Kind
	Name   string   // of an enum or a record
	Cases  []string // of an enum
	Fields []Field  // of a record
	Elem   *Type    // of an option
}

// Module is the name under which a core module imports the interface, or the prefix of its exports:
// "codemode:host/bridge@1.0.0".
func (i *Interface) Module() string { return i.module }

// Imports lists the functions that a guest imports, in the file's order.
func (f *File) Imports() []*Function { return f.functions(f.World.Imports) }

// Exports lists the functions that a guest exports, in the file's order.
func (f *File) Exports() []*Function { return f.functions(f.World.Exports) }

func (f *File) functions(names []string) []*Function {
	var out []*Function
	for _, name := range names {
		for _, i := range f.Interfaces {
			if i.Name == name {
				out = append(out, i.Functions...)
			}
		}
	}
	return out
}

// Most values that a function takes or gives back flat, by the canonical ABI.
const (
	maxFlatParams  = 16
	maxFlatResults = 1
)

// LowerImport is the core signature with which a guest imports the function: a result that is not one flat value is
// written where an extra last parameter points.
func (f *Function) LowerImport() wasmbin.Signature {
	s := f.lowerParams()
	if f.Result == nil {
		return s
	}
	if flat := f.Result.flatten(); len(flat) <= maxFlatResults {
		s.Results = flat
	} else {
		s.Params = append(s.Params, "i32")
	}
	return s
}

// LowerExport is the core signature with which a guest exports the function: a result that is not one flat value comes
// back as a pointer.
func (f *Function) LowerExport() wasmbin.Signature {
	s := f.lowerParams()
	if f.Result == nil {
		return s
	}
	if flat := f.Result.flatten(); len(flat) <= maxFlatResults {
		s.Results = flat
	} else {
		s.Results = []string{"i32"}
	}
	return s
}

func (f *Function) lowerParams() wasmbin.Signature {
	var s wasmbin.Signature
	for _, p := range f.Params {
		s.Params = append(s.Params, p.Type.flatten()...)
	}
	if len(s.Params) > maxFlatParams {
		s.Params = []string{"i32"}
	}
	return s
}

func (t *Type) flatten() []string {
	switch t.Kind {
	case KindU64:
		return []string{"i64"}
	case KindString:
		return []string{"i32", "i32"}
	case KindOption:
		return append([]string{"i32"}, t.Elem.flatten()...)
	case KindRecord:
		var flat []string
		for _, f := range t.Fields {
			flat = append(flat, f.Type.flatten()...)
		}
		return flat
	}
	return []string{"i32"}
}

// String writes the function as it stands in the file.
func (f *Function) String() string {
	var b strings.Builder
	b.WriteString(f.Name + ": func(")
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": " + p.Type.String())
	}
	b.WriteString(")")
	if f.Result != nil {
		b.WriteString(" -> " + f.Result.String())
	}
	return b.String()
}

// String writes the type as it is named in the file.
func (t *Type) String() string {
	switch t.Kind {
	case KindOption:
		return "option<" + t.Elem.String() + ">"
	case KindEnum, KindRecord:
		return t.Name
	}
	return string(t.Kind)
}

// Parse reads a WIT file of the kind that doc.go describes.
func Parse(source string) (*File, error) {
	p := &parser{tokens: tokenize(source)}
	f, err := p.file()
	if err != nil {
		return nil, fmt.Errorf("wit: line %d: %w", p.line(), err)
	}
	for _, i := range f.Interfaces {
		i.module = f.Package + "/" + i.Name + "@" + f.Version
	}
	return f, nil
}

type token struct {
	text string
	line int
}

// tokenize splits names and numbers, punctuation, and whole /// comments.
func tokenize(source string) []token {
	var out []token
	for n, line := range strings.Split(source, "\n") {
		rest := strings.TrimSpace(line)
		for rest != "" {
			if strings.HasPrefix(rest, "///") {
				out = append(out, token{rest, n + 1})
				break
			}
			if strings.HasPrefix(rest, "//") {
				break
			}
			size := strings.IndexFunc(rest, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' && r != '%'
			})
			if strings.HasPrefix(rest, "->") {
				size = 2
			} else if size == 0 {
				size = 1
			} else if size < 0 {
				size = len(rest)
			}
			out = append(out, token{rest[:size], n + 1})
			rest = strings.TrimSpace(rest[size:])
		}
	}
	return out
}

type parser struct {
	tokens []token
	at     int
	doc    []string
}

func (p *parser) line() int {
	if len(p.tokens) == 0 {
		return 0
	}
	return p.tokens[min(p.at, len(p.tokens)-1)].line
}

// next gives the next token that is not documentation, which it keeps for the function that follows.
func (p *parser) next() string {
	for p.at < len(p.tokens) {
		t := p.tokens[p.at].text
		p.at++
		if !strings.HasPrefix(t, "///") {
			return t
		}
		p.doc = append(p.doc, strings.TrimSpace(strings.TrimPrefix(t, "///")))
	}
	return ""
}

func (p *parser) peek() string {
	at, doc := p.at, len(p.doc)
	t := p.next()
	p.at, p.doc = at, p.doc[:doc]
	return t
}

func (p *parser) want(text string) error {
	if got := p.next(); got != text {
		return fmt.Errorf("want %q, have %q", text, got)
	}
	return nil
}

func (p *parser) wants(texts ...string) error {
	for _, t := range texts {
		if err := p.want(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) file() (*File, error) {
	f := &File{}
	if err := p.want("package"); err != nil {
		return nil, err
	}
	namespace := p.next()
	if err := p.want(":"); err != nil {
		return nil, err
	}
	f.Package = namespace + ":" + p.next()
	if err := p.want("@"); err != nil {
		return nil, err
	}
	f.Version = p.next()
	if err := p.want(";"); err != nil {
		return nil, err
	}
	for {
		p.doc = nil
		switch word := p.next(); word {
		case "":
			return f, nil
		case "interface":
			i, err := p.iface()
			if err != nil {
				return nil, err
			}
			f.Interfaces = append(f.Interfaces, i)
		case "world":
			if err := p.world(&f.World); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%q is neither an interface nor a world", word)
		}
	}
}

func (p *parser) world(w *World) error {
	w.Name = p.next()
	if err := p.want("{"); err != nil {
		return err
	}
	for {
		switch word := p.next(); word {
		case "}":
			return nil
		case "import":
			w.Imports = append(w.Imports, p.next())
		case "export":
			w.Exports = append(w.Exports, p.next())
		default:
			return fmt.Errorf("%q in a world", word)
		}
		if err := p.want(";"); err != nil {
			return err
		}
	}
}

func (p *parser) iface() (*Interface, error) {
	i := &Interface{Name: p.next(), types: map[string]*Type{}}
	if err := p.want("{"); err != nil {
		return nil, err
	}
	for {
		p.doc = nil
		word := p.next()
		doc := strings.Join(p.doc, "\n")
		switch word {
		case "}":
			return i, nil
		case "enum", "record":
			t := &Type{Kind: Kind(word), Name: p.next()}
			if err := p.want("{"); err != nil {
				return nil, err
			}
			if err := p.members(i, t); err != nil {
				return nil, err
			}
			i.types[t.Name] = t
		case "":
			return nil, fmt.Errorf("interface %s does not end", i.Name)
		default:
			f := &Function{Interface: i, Name: word, Doc: doc}
			if err := p.function(i, f); err != nil {
				return nil, err
			}
			i.Functions = append(i.Functions, f)
		}
	}
}

func (p *parser) members(i *Interface, t *Type) error {
	for {
		name := p.next()
		if name == "}" {
			return nil
		}
		if t.Kind == KindEnum {
			t.Cases = append(t.Cases, name)
		} else {
			if err := p.want(":"); err != nil {
				return err
			}
			typ, err := p.typ(i)
			if err != nil {
				return err
			}
			t.Fields = append(t.Fields, Field{name, typ})
		}
		if p.peek() == "," {
			p.next()
		}
	}
}

func (p *parser) function(i *Interface, f *Function) error {
	if err := p.wants(":", "func", "("); err != nil {
		return err
	}
	for p.peek() != ")" {
		name := p.next()
		if err := p.want(":"); err != nil {
			return err
		}
		t, err := p.typ(i)
		if err != nil {
			return err
		}
		f.Params = append(f.Params, Field{name, t})
		if p.peek() == "," {
			p.next()
		}
	}
	p.next()
	if p.peek() == "->" {
		p.next()
		t, err := p.typ(i)
		if err != nil {
			return err
		}
		f.Result = t
	}
	return p.want(";")
}

func (p *parser) typ(i *Interface) (*Type, error) {
	switch name := p.next(); name {
	case "bool", "u8", "u32", "u64", "string":
		return &Type{Kind: Kind(name)}, nil
	case "option":
		if err := p.want("<"); err != nil {
			return nil, err
		}
		elem, err := p.typ(i)
		if err != nil {
			return nil, err
		}
		return &Type{Kind: KindOption, Elem: elem}, p.want(">")
	default:
		if t := i.types[name]; t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("type %q is not known here", name)
	}
}
