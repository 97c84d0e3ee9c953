package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// isIdentifier reports whether s is an ASCII JavaScript identifier: [A-Za-z_$][A-Za-z0-9_$]*.
func isIdentifier(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isIdentifierByte(s[i], i == 0) {
			return false
		}
	}
	return s != ""
}

func isIdentifierByte(c byte, first bool) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || !first && '0' <= c && c <= '9'
}

// callableBase turns any tool name into an identifier: every character outside [A-Za-z0-9_$] becomes _, and names that
// would start with a digit or with two underscores (the spelling of engine internals) get the prefix tool_. A name
// without a single ASCII letter or digit says nothing once it is replaced: its base is "tool", and telling is false,
// so that it always gets a hash.
func callableBase(name string) (base string, telling bool) {
	var b strings.Builder
	for _, r := range name {
		if r < 0x80 && isIdentifierByte(byte(r), false) {
			telling = telling || r != '_' && r != '$'
			b.WriteByte(byte(r))
		} else {
			b.WriteByte('_')
		}
	}
	base = b.String()
	switch {
	case !telling:
		return "tool", false
	case !isIdentifierByte(base[0], true), strings.HasPrefix(base, "__"):
		return "tool_" + base, true
	}
	return base, true
}

// keepsSpelling reports whether a tool may be called by its own name as it is.
func keepsSpelling(name string, taken func(string) bool) bool {
	base, telling := callableBase(name)
	return telling && base == name && !taken(name)
}

// callableNames gives each record (all native and client, in id order) exactly one callable name. The outcome depends
// on the set of records and of reserved names only:
//
//  1. A name that is a safe identifier keeps its spelling. Of several tools with the same name a client tool wins,
//     then the lowest id.
//  2. The others, by base name and id, get their base name if it is still free, or the base name and the first eight
//     hexadecimal digits of the id's SHA-256, two more at a time until it is free.
func callableNames(records []*record, reserved func(string) bool) []string {
	names := make([]string, len(records))
	owner := make(map[string]int, len(records))
	var rest []int
	for i, r := range records {
		if !keepsSpelling(r.tool.Name, reserved) {
			rest = append(rest, i)
			continue
		}
		winner, contested := owner[r.tool.Name]
		switch {
		case !contested:
			owner[r.tool.Name] = i
		case r.tool.Source == SourceClient && records[winner].tool.Source != SourceClient:
			owner[r.tool.Name] = i
			rest = append(rest, winner)
		default:
			rest = append(rest, i)
		}
	}
	for name, i := range owner {
		names[i] = name
	}
	bases, telling := make(map[int]string, len(rest)), make(map[int]bool, len(rest))
	for _, i := range rest {
		bases[i], telling[i] = callableBase(records[i].tool.Name)
	}
	slices.SortFunc(rest, func(a, b int) int {
		return cmp.Or(cmp.Compare(bases[a], bases[b]), cmp.Compare(records[a].id, records[b].id))
	})
	free := func(name string) bool {
		_, used := owner[name]
		return !used && !reserved(name)
	}
	for _, i := range rest {
		name := bases[i]
		if !telling[i] || !free(name) {
			name = hashedName(bases[i], records[i].id, free)
		}
		owner[name] = i
		names[i] = name
	}
	return names
}

// hashedName appends as many hexadecimal digits of the id's hash as it takes to be free, at least eight.
func hashedName(base, id string, free func(string) bool) string {
	sum := sha256.Sum256([]byte(id))
	digits := hex.EncodeToString(sum[:])
	base += "_"
	for n := 8; n < len(digits); n += 2 {
		if name := base + digits[:n]; free(name) {
			return name
		}
	}
	// 62 digits of a hash taken by others is not chance; the id itself, spelled in hexadecimal, is unique.
	name := base + digits + "_"
	for !free(name) {
		name += hex.EncodeToString([]byte(id))
	}
	return name
}
