package catalog

// stem takes English endings off a lower-case word, in place, so that schedule, schedules, scheduled and scheduling
// become one term. It is deliberately small: it need not give words, only bring forms together.
func stem(word []byte) []byte {
	if len(word) <= 3 || unstemmed[string(word)] || !isASCII(string(word)) {
		return word
	}
	for range 3 {
		before := len(word)
		word = stemOnce(word)
		if len(word) == before {
			break
		}
	}
	if n := len(word); n > 3 && word[n-1] == 'y' && !isVowel(word[n-2]) {
		word[n-1] = 'i' // query and queries, reply and replied
	}
	return word
}

func stemOnce(word []byte) []byte {
	n := len(word)
	ends := func(suffix string) bool { return n-len(suffix) >= 3 && string(word[n-len(suffix):]) == suffix }
	switch {
	case n <= 3:
	case ends("ies"):
		return word[:n-2]
	case ends("ing"):
		return undouble(word[:n-3])
	case ends("ed"):
		return undouble(word[:n-2])
	case ends("ly"):
		return word[:n-2]
	case ends("es"):
		return word[:n-2]
	case ends("er"):
		return undouble(word[:n-2])
	case ends("s") && word[n-2] != 's':
		return word[:n-1]
	case ends("e"):
		return word[:n-1]
	}
	return word
}

// undouble makes one of a doubled consonant at the end (running, run), except where words end so by themselves.
func undouble(word []byte) []byte {
	n := len(word)
	if n > 3 && word[n-1] == word[n-2] && !isVowel(word[n-1]) {
		switch word[n-1] {
		case 'l', 's', 'f', 'z':
		default:
			return word[:n-1]
		}
	}
	return word
}

func isVowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

// unstemmed are words that only look like forms of others.
var unstemmed = wordSet(`news status alias canvas focus bonus virus atlas lens axis basis analysis gas bus plus redis
kubernetes postgres jenkins aws dns https css canvas address process access order number user server folder header thing
string ping sing king ring bring wing speed feed seed need red bed led media this always series species chess`)
