package transpile

// A kind is the lexical class of a token. Every punctuator and every reserved word has its own; words that are
// reserved only in places (let, async, of, type...) are kindIdent and told apart by token.word.
type kind uint8

const (
	kindEOF kind = iota
	kindIdent
	kindPrivate // #name
	kindNumber
	kindString
	kindTemplate // the opening backtick; the parser scans the rest
	kindLBrace
	kindRBrace
	kindLParen
	kindRParen
	kindLBracket
	kindRBracket
	kindDot
	kindEllipsis
	kindSemicolon
	kindComma
	kindQuestion
	kindQuestionDot
	kindColon
	kindArrow
	kindAt
	kindNot
	kindTilde
	kindInc
	kindDec
	kindAssign   // =
	kindAssignOp // += and its like, the logical ones included

	// Binary operators, in the order that precedenceOf expects nothing of.
	kindCoalesce
	kindOr
	kindAnd
	kindBitOr
	kindBitXor
	kindBitAnd
	kindEq // == != === !==
	kindLess
	kindGreater
	kindLessEq
	kindGreaterEq
	kindShiftLeft
	kindShiftRight // >> and >>>
	kindPlus
	kindMinus
	kindStar
	kindSlash
	kindPercent
	kindPower

	kindBreak // first reserved word
	kindCase
	kindCatch
	kindClass
	kindConst
	kindContinue
	kindDebugger
	kindDefault
	kindDelete
	kindDo
	kindElse
	kindEnum
	kindExport
	kindExtends
	kindFalse
	kindFinally
	kindFor
	kindFunction
	kindIf
	kindImport
	kindIn
	kindInstanceof
	kindNew
	kindNull
	kindReturn
	kindSuper
	kindSwitch
	kindThis
	kindThrow
	kindTrue
	kindTry
	kindTypeof
	kindVar
	kindVoid
	kindWhile
	kindWith // last reserved word
)

func (k kind) reserved() bool { return k >= kindBreak }

// A word is an identifier that the grammar, or a rule of this package, gives a meaning in some places.
type word uint8

const (
	wordNone word = iota
	wordAbstract
	wordAccessor
	wordAs
	wordAsserts
	wordAsync
	wordAwait
	wordConstructor
	wordDeclare
	wordFrom
	wordGet
	wordGlobal
	wordInfer
	wordInterface
	wordIs
	wordKeyof
	wordLet
	wordMeta
	wordModule
	wordNamespace
	wordOf
	wordOut
	wordOverride
	wordPrivate
	wordProtected
	wordPublic
	wordReadonly
	wordRequire
	wordSatisfies
	wordSet
	wordStatic
	wordTarget
	wordType
	wordUnique
	wordUsing
	wordYield
)

// A token is one lexical element; start and end are byte offsets into the source.
type token struct {
	kind    kind
	word    word
	newline bool // a line terminator stands between the token before and this one
	escaped bool // an identifier spelt with \u escapes
	start   int32
	end     int32
}

// classify tells reserved and contextual words from plain identifiers. Its argument has 2 to 11 lower-case letters.
func classify(s string) (kind, word) {
	switch s {
	case "as":
		return kindIdent, wordAs
	case "do":
		return kindDo, wordNone
	case "if":
		return kindIf, wordNone
	case "in":
		return kindIn, wordNone
	case "is":
		return kindIdent, wordIs
	case "of":
		return kindIdent, wordOf
	case "for":
		return kindFor, wordNone
	case "get":
		return kindIdent, wordGet
	case "let":
		return kindIdent, wordLet
	case "new":
		return kindNew, wordNone
	case "out":
		return kindIdent, wordOut
	case "set":
		return kindIdent, wordSet
	case "try":
		return kindTry, wordNone
	case "var":
		return kindVar, wordNone
	case "case":
		return kindCase, wordNone
	case "else":
		return kindElse, wordNone
	case "enum":
		return kindEnum, wordNone
	case "from":
		return kindIdent, wordFrom
	case "meta":
		return kindIdent, wordMeta
	case "null":
		return kindNull, wordNone
	case "this":
		return kindThis, wordNone
	case "true":
		return kindTrue, wordNone
	case "type":
		return kindIdent, wordType
	case "void":
		return kindVoid, wordNone
	case "with":
		return kindWith, wordNone
	case "async":
		return kindIdent, wordAsync
	case "await":
		return kindIdent, wordAwait
	case "break":
		return kindBreak, wordNone
	case "catch":
		return kindCatch, wordNone
	case "class":
		return kindClass, wordNone
	case "const":
		return kindConst, wordNone
	case "false":
		return kindFalse, wordNone
	case "infer":
		return kindIdent, wordInfer
	case "keyof":
		return kindIdent, wordKeyof
	case "super":
		return kindSuper, wordNone
	case "throw":
		return kindThrow, wordNone
	case "using":
		return kindIdent, wordUsing
	case "while":
		return kindWhile, wordNone
	case "yield":
		return kindIdent, wordYield
	case "delete":
		return kindDelete, wordNone
	case "export":
		return kindExport, wordNone
	case "global":
		return kindIdent, wordGlobal
	case "import":
		return kindImport, wordNone
	case "module":
		return kindIdent, wordModule
	case "public":
		return kindIdent, wordPublic
	case "return":
		return kindReturn, wordNone
	case "static":
		return kindIdent, wordStatic
	case "switch":
		return kindSwitch, wordNone
	case "target":
		return kindIdent, wordTarget
	case "typeof":
		return kindTypeof, wordNone
	case "unique":
		return kindIdent, wordUnique
	case "asserts":
		return kindIdent, wordAsserts
	case "declare":
		return kindIdent, wordDeclare
	case "default":
		return kindDefault, wordNone
	case "extends":
		return kindExtends, wordNone
	case "finally":
		return kindFinally, wordNone
	case "private":
		return kindIdent, wordPrivate
	case "require":
		return kindIdent, wordRequire
	case "abstract":
		return kindIdent, wordAbstract
	case "accessor":
		return kindIdent, wordAccessor
	case "continue":
		return kindContinue, wordNone
	case "debugger":
		return kindDebugger, wordNone
	case "function":
		return kindFunction, wordNone
	case "override":
		return kindIdent, wordOverride
	case "readonly":
		return kindIdent, wordReadonly
	case "interface":
		return kindIdent, wordInterface
	case "namespace":
		return kindIdent, wordNamespace
	case "protected":
		return kindIdent, wordProtected
	case "satisfies":
		return kindIdent, wordSatisfies
	case "instanceof":
		return kindInstanceof, wordNone
	case "constructor":
		return kindIdent, wordConstructor
	}
	return kindIdent, wordNone
}

// Binding strengths of the binary operators; 0 is not one.
const (
	precNone = iota
	precCoalesce
	precOr
	precAnd
	precBitOr
	precBitXor
	precBitAnd
	precEquality
	precRelational
	precShift
	precAdditive
	precMultiplicative
	precPower
)

var precedences = [...]uint8{
	kindCoalesce: precCoalesce, kindOr: precOr, kindAnd: precAnd, kindBitOr: precBitOr, kindBitXor: precBitXor,
	kindBitAnd: precBitAnd, kindEq: precEquality, kindLess: precRelational, kindGreater: precRelational,
	kindLessEq: precRelational, kindGreaterEq: precRelational, kindIn: precRelational, kindInstanceof: precRelational,
	kindShiftLeft: precShift, kindShiftRight: precShift, kindPlus: precAdditive, kindMinus: precAdditive,
	kindStar: precMultiplicative, kindSlash: precMultiplicative, kindPercent: precMultiplicative, kindPower: precPower,
	kindWith: precNone,
}
