package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// eachWord calls use for every run of letters, marks, digits and underscores in text, with its place in bytes, and stops
// when use says so.
func eachWord(text string, use func(word string, at int) bool) {
	start := -1
	for i, r := range text {
		inWord := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		switch {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			if !use(text[start:i], start) {
				return
			}
			start = -1
		}
	}
	if start >= 0 {
		use(text[start:], start)
	}
}

// foldText takes accents off and unifies the forms of letters; text that is ASCII stays as it is.
func foldText(s string) string {
	if isASCII(s) {
		return s
	}
	decomposed := norm.NFKD.String(s)
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) && r < 0x0590 { // the accents of Latin, Greek and Cyrillic, not the vowels of others
			return -1
		}
		return r
	}, decomposed))
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unspaced reports whether a character belongs to a script that is written without spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// termWriter turns text into search terms.
type termWriter struct {
	emit func(term []byte)
	// both says that single characters of unspaced scripts are terms beside their pairs: in documents, so that a query
	// of one character finds them.
	both  bool
	buf   []byte
	whole []byte
}

// text emits the terms of a text: for every word the stems of its parts (at underscores, at changes of case and
// between letters and digits) without stop-words, and, when there are several parts, all of them written together. Two
// words with nothing but a hyphen between them are also a term together (e-mail, to-do). Runs in scripts without
// spaces become pairs of characters.
func (w *termWriter) text(s string) {
	s = foldText(s)
	last, end := "", -1
	eachWord(s, func(word string, at int) bool {
		w.word(word)
		if end >= 0 && at == end+1 && s[end] == '-' && len(last)+len(word) <= 24 {
			w.whole = appendLower(appendLower(w.whole[:0], last), word)
			w.emit(stem(w.whole))
		}
		last, end = word, at+len(word)
		return true
	})
}

const maxWordBytes = 256

func (w *termWriter) word(word string) {
	if len(word) > maxWordBytes {
		word = strings.ToValidUTF8(word[:maxWordBytes], "")
	}
	if !isASCII(word) && strings.ContainsFunc(word, unspaced) {
		w.pairs(word)
		return
	}
	parts := 0
	w.whole = w.whole[:0]
	eachPart(word, func(part string) {
		parts++
		w.buf = appendLower(w.buf[:0], part)
		w.whole = append(w.whole, w.buf...)
		if !stopWords[string(w.buf)] {
			w.emit(stem(w.buf))
		}
	})
	if parts > 1 {
		w.emit(stem(w.whole))
	}
}

func appendLower(dst []byte, s string) []byte {
	for _, r := range s {
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	return dst
}

// pairs emits a word that mixes scripts: overlapping pairs of characters for the unspaced ones, words for the rest.
func (w *termWriter) pairs(word string) {
	rest := 0
	var run []rune
	flush := func() {
		for i := range run {
			if w.both || len(run) == 1 {
				w.emit([]byte(string(run[i])))
			}
			if i > 0 {
				w.emit([]byte(string(run[i-1 : i+1])))
			}
		}
		run = run[:0]
	}
	for i, r := range word {
		if unspaced(r) {
			if rest < i {
				w.word(word[rest:i])
			}
			run = append(run, r)
			rest = i + utf8.RuneLen(r)
		} else {
			flush()
		}
	}
	flush()
	if rest < len(word) && rest > 0 {
		w.word(word[rest:])
	}
}

// eachPart splits a word at underscores, where small letters meet capitals, before the last capital of a run (JSONFile
// is JSON and File), and between letters and digits. The plural of an acronym (URLs) stays whole.
func eachPart(word string, use func(part string)) {
	start := 0
	cut := func(end int) {
		if start < end {
			use(word[start:end])
		}
	}
	prev, prevAt := rune(0), 0
	for i, r := range word {
		switch {
		case r == '_':
			cut(i)
			start = i + 1
		case i == start:
		case unicode.IsUpper(r) && unicode.IsLower(prev),
			unicode.IsDigit(r) != unicode.IsDigit(prev) && prev != '_':
			cut(i)
			start = i
		case unicode.IsLower(r) && unicode.IsUpper(prev) && prevAt > start && !pluralOfAcronym(word[i:]):
			cut(prevAt)
			start = prevAt
		}
		prev, prevAt = r, i
	}
	cut(len(word))
}

// pluralOfAcronym reports whether what follows a run of capitals is a lone s.
func pluralOfAcronym(rest string) bool {
	if rest[0] != 's' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest[1:])
	return len(rest) == 1 || r == '_' || unicode.IsUpper(r) || unicode.IsDigit(r)
}

// stopWords say nothing about what a tool does. Words that name an ability, such as get, list, read and run, are not
// among them.
var stopWords = wordSet(`a an and are as at be but by can could do does for from had has have here how i if in into is it
its me my no not of off on or our please should so some that the their them then there these they this those to up us
want was we were what when where which who whom whose why will with would you your`)
