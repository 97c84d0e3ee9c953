package jsontext

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// Valid is json.Valid.
func Valid(b []byte) bool {
	if end := Value(b, Space(b, 0)); end >= 0 && Space(b, end) == len(b) {
		return true
	}
	return json.Valid(b)
}

// Space skips white space.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// maxDepth is how many levels Value goes down.
const maxDepth = 200

// Value reads any value of at most 200 levels, with simple numbers.
func Value(b []byte, i int) int { return value(b, i, maxDepth) }

func value(b []byte, i, depth int) int {
	if i >= len(b) || depth == 0 {
		return -1
	}
	switch b[i] {
	case '"':
		end, _ := String(b, i)
		return end
	case '{':
		i, more := Open(b, i, '}')
		for ; more; i, more = More(b, i, '}') {
			if i, _ = Name(b, i); i < 0 {
				return -1
			}
			if i = value(b, i, depth-1); i < 0 {
				return -1
			}
		}
		return i
	case '[':
		i, more := Open(b, i, ']')
		for ; more; i, more = More(b, i, ']') {
			if i = value(b, i, depth-1); i < 0 {
				return -1
			}
		}
		return i
	case 't':
		return Word(b, i, "true")
	case 'f':
		return Word(b, i, "false")
	case 'n':
		return Word(b, i, "null")
	}
	end, _ := Number(b, i)
	return end
}

// Open goes into the list or the object that begins at i and ends with the bracket closing: to the first member, or,
// where there is none, behind the end.
func Open(b []byte, i int, closing byte) (next int, more bool) {
	i = Space(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, false
	}
	return i, true
}

// More goes from behind a member to the next one, or behind the end where there are no more.
func More(b []byte, i int, closing byte) (next int, more bool) {
	i = Space(b, i)
	switch {
	case i >= len(b):
		return -1, false
	case b[i] == closing:
		return i + 1, false
	case b[i] == ',':
		return Space(b, i+1), true
	}
	return -1, false
}

// Name reads the name of a property, to its value. name is nil where it has escapes.
func Name(b []byte, i int) (value int, name []byte) {
	end, plain := String(b, i)
	if end < 0 {
		return -1, nil
	}
	if plain {
		name = b[i+1 : end-1 : end-1]
	}
	i = Space(b, end)
	if i >= len(b) || b[i] != ':' {
		return -1, nil
	}
	return Space(b, i+1), name
}

// Word reads one of the words that JSON has.
func Word(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// Number reads a number of at most a thousand digits and with an exponent of at most two. whole says that it has
// neither a fraction nor an exponent.
func Number(b []byte, i int) (end int, whole bool) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	i = digits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return -1, false
	}
	whole = true
	if i < len(b) && b[i] == '.' {
		whole = false
		fraction := i + 1
		if i = digits(b, fraction); i == fraction {
			return -1, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		whole = false
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(b, exponent); i == exponent || i > exponent+2 {
			return -1, false
		}
	}
	if i-start > 1000 {
		return -1, false
	}
	return i, whole
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// String reads a string. plain says that it has no escapes. Whether it is UTF-8 is not looked at.
func String(b []byte, i int) (end int, plain bool) {
	if i >= len(b) || b[i] != '"' {
		return -1, false
	}
	plain = true
	for i = run(b, i+1); i < len(b); i = run(b, i) {
		switch {
		case b[i] == '"':
			return i + 1, plain
		case b[i] < 0x20 || i+1 >= len(b):
			return -1, false
		}
		plain = false // a backslash
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if len(b)-i < 6 || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]) || !isHex(b[i+5]) {
				return -1, false
			}
			i += 6
		default:
			return -1, false
		}
	}
	return -1, false
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks in the high bit of each byte of w, up to the first that it marks, those that a string has to escape:
// control characters, the quote and the backslash. The quote is below 0x21, as control characters are, once a bit of
// each is turned over, and nothing else is. What the other bits say means nothing.
func special(w uint64) uint64 {
	low, backslash := w^ones*2, w^ones*'\\'
	return (low-ones*0x21)&^low | (backslash-ones)&^backslash
}

// run is the index of the first byte from i on that a string has to escape, or the length of b.
func run(b []byte, i int) int {
	for len(b)-i >= 32 {
		p := (*[32]byte)(b[i:])
		if (special(load(p, 0))|special(load(p, 8))|special(load(p, 16))|special(load(p, 24)))&highs != 0 {
			break
		}
		i += 32
	}
	for ; len(b)-i >= 8; i += 8 {
		if m := special(binary.LittleEndian.Uint64(b[i:])) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

func load(p *[32]byte, at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
