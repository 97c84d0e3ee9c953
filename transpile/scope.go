package transpile

// A scope holds the names that one function, block, class or catch clause declares: enough to refuse what is declared
// twice and to know whose name `require` is.
type scope struct {
	kind     scopeKind
	with     bool // the body of a with statement: any name may be a property
	decls    []decl
	index    map[string]int32 // position in decls, once there are many
	refsFrom int              // references from here on were made inside the scope
}

type scopeKind uint8

const (
	scopeFunction scopeKind = iota
	scopeBlock
	scopeCatch
)

type declKind uint8

const (
	declVar     declKind = iota // also functions at the top of a function
	declLexical                 // let, const, using
	declClass                   // as lexical, but a namespace may add to it
	declBlockFn                 // a function in a block: as lexical, but sloppy code may repeat it
	declParam
	declCatch // a plain catch parameter, which var may repeat
	declName  // a function expression's own name, which anything may hide
)

type decl struct {
	name string
	at   int32
	kind declKind
}

// A reference is a use of the names require or module.
type reference struct {
	at     int32
	word   word
	kind   refKind
	inWith bool
}

type refKind uint8

const (
	refUse refKind = iota
	refTypeof
	refAssigned
)

const indexAbove = 24

func (p *parser) pushScope(k scopeKind) *scope {
	if p.nscopes == len(p.scopes) {
		p.scopes = append(p.scopes, scope{})
	}
	s := &p.scopes[p.nscopes]
	p.nscopes++
	s.kind, s.with, s.decls, s.index, s.refsFrom = k, false, s.decls[:0], nil, len(p.refs)
	return s
}

// popScope leaves the innermost scope and settles the references that it declares.
func (p *parser) popScope() {
	p.nscopes--
	s := &p.scopes[p.nscopes]
	if s.refsFrom >= len(p.refs) {
		return
	}
	kept := p.refs[:s.refsFrom]
	for _, r := range p.refs[s.refsFrom:] {
		name := "require"
		if r.word == wordModule {
			name = "module"
		}
		if s.find(name) >= 0 {
			continue
		}
		r.inWith = r.inWith || s.with
		kept = append(kept, r)
	}
	p.refs = kept
}

// find is the position of the first declaration of a name, or -1.
func (s *scope) find(name string) int {
	if s.index != nil {
		if i, ok := s.index[name]; ok {
			return int(i)
		}
		return -1
	}
	for i := range s.decls {
		if s.decls[i].name == name {
			return i
		}
	}
	return -1
}

func (s *scope) add(d decl) {
	s.decls = append(s.decls, d)
	if s.index != nil {
		s.index[d.name] = int32(len(s.decls) - 1)
		return
	}
	if len(s.decls) > indexAbove {
		s.index = make(map[string]int32, 4*indexAbove)
		for i, d := range s.decls {
			if _, ok := s.index[d.name]; !ok {
				s.index[d.name] = int32(i)
			}
		}
	}
}

// declare adds a name to the scope that its kind belongs to, and fails if it is there already in a way that clashes.
func (p *parser) declare(t token, k declKind) {
	if p.err != nil {
		return
	}
	name := p.text(t)
	if k == declVar {
		p.declareVar(name, t.start)
		return
	}
	s := &p.scopes[p.nscopes-1]
	i := s.find(name)
	if i < 0 {
		s.add(decl{name, t.start, k})
		return
	}
	switch old := s.decls[i].kind; {
	case k == declParam, old == declName:
		if old == declName {
			s.decls[i] = decl{name, t.start, k}
		}
	case k == declBlockFn && old == declBlockFn:
	default:
		p.declaredTwice(name, t.start, s.decls[i].at)
	}
}

// declareVar declares in the enclosing function, past every block on the way, whose own names it must not repeat.
func (p *parser) declareVar(name string, at int32) {
	for n := p.nscopes - 1; n >= 0; n-- {
		s := &p.scopes[n]
		i := s.find(name)
		if i < 0 {
			s.add(decl{name, at, declVar})
		} else {
			switch s.decls[i].kind {
			case declLexical, declClass, declBlockFn:
				p.declaredTwice(name, at, s.decls[i].at)
				return
			case declName:
				s.decls[i] = decl{name, at, declVar}
			}
		}
		if s.kind == scopeFunction {
			return
		}
	}
}

func (p *parser) declaredTwice(name string, at, first int32) {
	if p.err != nil || p.quiet > 0 {
		p.failHint(int(at), "", "")
		return
	}
	line, column := lineColumn(p.src, int(first))
	p.fail(int(at), "The name %q is declared twice: first at line %d, column %d", name, line, column)
}

// declareFunction declares a function statement's name: like var at the top of a function, like let in a block.
func (p *parser) declareFunction(t token, plain bool) {
	if p.scopes[p.nscopes-1].kind == scopeFunction {
		p.declareVar(p.text(t), t.start)
		return
	}
	k := declBlockFn
	if !plain {
		k = declLexical
	}
	p.declare(t, k)
}

// refer notes a use of a name, if it is one of the two that matter.
func (p *parser) refer(t token) {
	if t.word == wordRequire || t.word == wordModule {
		p.refs = append(p.refs, reference{at: t.start, word: t.word})
	}
}

// referredAs tells what the reference at an offset is for, if the last one noted is there.
func (p *parser) referredAs(at int32, k refKind) {
	if n := len(p.refs); n > 0 && p.refs[n-1].at == at {
		p.refs[n-1].kind = k
	}
}

// unrefer takes back the reference at an offset: the name turned out to be declared there.
func (p *parser) unrefer(at int32) {
	if n := len(p.refs); n > 0 && p.refs[n-1].at == at {
		p.refs = p.refs[:n-1]
	}
}
