package catalog

import (
	"encoding/json"
)

// schemaText calls use with the property names, titles and descriptions in a schema, to a depth of four objects. It
// reads the JSON text as it is, because building values of ten thousand schemas would take most of the index's time.
func schemaText(raw []byte, use func(string)) {
	s := &schemaScanner{data: raw, use: use}
	s.schema(0)
}

const maxTextDepth = 4

type schemaScanner struct {
	data []byte
	pos  int
	use  func(string)
}

// next skips white space and returns the next byte, 0 at the end.
func (s *schemaScanner) next() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// str reads a string, the position being at its opening quote.
func (s *schemaScanner) str() string {
	start, escaped := s.pos, false
	for s.pos++; s.pos < len(s.data) && s.data[s.pos] != '"'; s.pos++ {
		if s.data[s.pos] == '\\' {
			escaped = true
			s.pos++
		}
	}
	s.pos = min(s.pos+1, len(s.data))
	raw := s.data[start:s.pos]
	if escaped {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return text
	}
	if len(raw) < 2 {
		return ""
	}
	return string(raw[1 : len(raw)-1])
}

// members calls member for every key of an object, with the position at its value, which member must read.
func (s *schemaScanner) members(member func(key string)) {
	for s.pos++; ; {
		switch s.next() {
		case '"':
			key := s.str()
			if s.next() == ':' {
				s.pos++
			}
			before := s.pos
			s.next()
			member(key)
			if s.pos == before {
				return
			}
		case ',':
			s.pos++
		case '}':
			s.pos++
			return
		default:
			return
		}
	}
}

// skip reads any value without looking at it.
func (s *schemaScanner) skip() {
	depth := 0
	for {
		switch s.next() {
		case 0:
			return
		case '"':
			s.str()
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				return
			}
			s.pos++
		default:
			for s.pos < len(s.data) {
				c := s.data[s.pos]
				if c == ',' || c == '}' || c == ']' || c == ':' || c <= ' ' {
					break
				}
				s.pos++
			}
		}
		if depth <= 0 {
			return
		}
	}
}

func (s *schemaScanner) schema(depth int) {
	if s.next() != '{' || depth > maxTextDepth {
		s.skip()
		return
	}
	s.members(func(key string) {
		switch key {
		case "description", "title":
			if s.next() == '"' {
				s.use(s.str())
				return
			}
		case "properties":
			if s.next() == '{' {
				s.members(func(name string) {
					s.use(name)
					s.schema(depth + 1)
				})
				return
			}
		case "items", "additionalProperties":
			s.schema(depth + 1)
			return
		case "anyOf", "oneOf", "allOf":
			if s.next() == '[' {
				s.list(func() { s.schema(depth + 1) })
				return
			}
		}
		s.skip()
	})
}

func (s *schemaScanner) list(item func()) {
	for s.pos++; ; {
		switch s.next() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return
		case 0:
			return
		default:
			before := s.pos
			item()
			if s.pos == before {
				return
			}
		}
	}
}
