package transpile

import (
	"unicode"
)

// Character classes of ASCII, for the lexer's inner loops.
const (
	charIdentStart = 1 << iota // a-z A-Z $ _
	charDigit
	charLower // a-z
	charHex
)

var charClass = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= charIdentStart | charLower
		t[c-'a'+'A'] |= charIdentStart
	}
	t['$'] |= charIdentStart
	t['_'] |= charIdentStart
	for c := '0'; c <= '9'; c++ {
		t[c] |= charDigit | charHex
	}
	for c := 'a'; c <= 'f'; c++ {
		t[c] |= charHex
		t[c-'a'+'A'] |= charHex
	}
	return t
}()

func isDigit(c byte) bool      { return charClass[c]&charDigit != 0 }
func isHex(c byte) bool        { return charClass[c]&charHex != 0 }
func isIdentStart(c byte) bool { return charClass[c]&charIdentStart != 0 }
func isIdentPart(c byte) bool  { return charClass[c]&(charIdentStart|charDigit) != 0 }

// identRune reports whether a character outside ASCII may be part of an identifier. Code points that this build's
// Unicode tables do not know are let through: the engine's tables may be newer, and it has the last word.
func identRune(r rune) bool {
	if r == '\u200c' || r == '\u200d' || r == '\u30fb' || r == '\uff65' { // joiners; ID_Continue since Unicode 15.1
		return true
	}
	if unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc,
		unicode.Other_ID_Start, unicode.Other_ID_Continue) {
		return true
	}
	return !unicode.In(r, unicode.C, unicode.P, unicode.S, unicode.Z, unicode.No, unicode.Me)
}

// identStartRune reports whether an identifier may begin with a character outside ASCII.
func identStartRune(r rune) bool {
	return identRune(r) && (unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start) ||
		!unicode.In(r, unicode.M, unicode.Nd, unicode.Pc, unicode.Cf, unicode.Other_ID_Continue) && r != '\u30fb' && r != '\uff65')
}

func spaceRune(r rune) bool { return r == 0xFEFF || unicode.Is(unicode.Zs, r) }

// isLineSeparator reports whether U+2028 or U+2029 stands at offset i.
func isLineSeparator(s string, i int) bool {
	return s[i] == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8
}

// byteAt is the byte at offset i, or 0 past the end.
func (p *parser) byteAt(i int) byte {
	if i < len(p.src) {
		return p.src[i]
	}
	return 0
}
