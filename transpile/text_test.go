package transpile

import (
	"strings"
	"testing"
)

// Texts that are odd as texts.
func TestOddTexts(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"CRLF stays", "let a = 1;\r\na\r\n", "let a = 1;\r\nreturn a\r\n"},
		{"CRLF in a template", "`a\r\nb`", "return `a\r\nb`"},
		{"CR is a line feed", "let a = 1\ra", "let a = 1\nreturn a"},
		{"CR in a template", "`a\rb`", "return `a\nb`"},
		{"CR in comments", "/* a\r */ // b\rc", "/* a\n */ // b\nreturn c"},
		{"U+2028 is a line feed", "let a = 1\u2028a", "let a = 1\nreturn a"},
		{"U+2029 is a line feed", "a // b\u2029c", "a // b\nreturn c"},
		{"U+2028 ends a line comment", "// a\u2028b", "// a\nreturn b"},
		{"U+2028 in a block comment", "a /* \u2028 */ b", "a /* \n */ return b"},
		{"U+2028 in a string", "'a\u2028b'", "return 'a\u2028b'"},
		{"U+2028 in a template", "`a\u2028b`", "return `a\u2028b`"},
		{"U+2028 in a type", "let a: {\u2028b: C\u2028}\na", "let a     \n      \n \nreturn a"},
		{"NUL in a string", "'a\x00b'", "return 'a\x00b'"},
		{"NUL in a comment", "a // \x00", "return a // \x00"},
		{"BOM", "\ufeffa", "\ufeffreturn a"},
		{"BOM and #!", "\ufeff#!/usr/bin/env node\na", "\ufeff                   \nreturn a"},
		{"#! is blanked", "#!/usr/bin/env node\na", "                   \nreturn a"},
		{"#! alone", "#!x", "   "},
		{"comment without a line feed", "a // b", "return a // b"},
		{"HTML-like comments", "<!-- a\nb\n--> c", "<!-- a\nreturn b\n--> c"},
		{"only a comment", "// a", "// a"},
		{"only a semicolon", ";", ";"},
		{"use strict first", "'use strict'\na", "'use strict'\nreturn a"},
		{"escaped line end", "'a\\\r\nb'", "return 'a\\\r\nb'"},
		{"astral names", "let 𠮷 = '😀'; 𠮷", "let 𠮷 = '😀'; return 𠮷"},
		{"non-breaking spaces", "let\u00a0a\u3000=\ufeff1", "let\u00a0a\u3000=\ufeff1"},
	} {
		t.Run(c.name, func(t *testing.T) { expectBody(t, c.source, c.want) })
	}
	for _, c := range []struct{ source, want string }{
		{"", "syntax The source is empty"},
		{" \n\t\r\n", "syntax The source is empty"},
		{"a = '\xff'", "encoding 1:6 byte 5 (0xFF) begins no character"},
		{"é\n\xed\xa0\x80", "encoding 2:1 byte 3 (0xED)"}, // a lone surrogate
		{"#!/bin/bash\nls", "not_code 1:1 a shell command"},
		{"#!/usr/bin/env python3\nprint(1)", "not_code 1:1 Python"},
		{"a\n#!/x", "syntax 2:1 Unexpected character #"},
	} {
		expectRefused(t, c.source, c.want)
	}
}

func TestLargeTexts(t *testing.T) {
	line := "var x = [1, 'two', `three`, {four: 5}]; // six\n"
	big := strings.Repeat(line, DefaultMaxSourceBytes/len(line))
	expectSame(t, big)
	expectRefused(t, big+line, "too_large The source is ")
	expectRefusedAs(t, "12345", Options{MaxSourceBytes: 4}, "too_large The source is 5 bytes long; the limit is 4")
	if _, err := Prepare(big+line, Options{MaxSourceBytes: 2 << 20}); err != nil {
		t.Errorf("with a limit of 2 MiB: %v", err)
	}
}

// No text may cost a stack, or time without bound: a Go program does not survive the end of its stack.
func TestDeepTexts(t *testing.T) {
	const n = 100_000
	for _, c := range []struct{ open, close string }{
		{"(", ")"}, {"[", "]"}, {"{", "}"}, {"{a:", "}"}, {"f(", ")"}, {"!", ""}, {"-", ""}, {"a=>", ""}, {"()=>", ""}, {"(a=", ")"}, {"((a=", ")=>1)"}, {"async(a=", ")=>1"},
		{"`${", "}`"}, {"a?", ":b"}, {"a?b:", ""}, {"a=", ""}, {"a**", ""}, {"new ", ""}, {"typeof ", ""}, {"await ", ""}, {"if(a)", ""}, {"if(a);else ", ""}, {"for(;;)", ""}, {"a:", ""},
		{"class{x=", "}"}, {"function(){", "}"}, {"[...", "]"}, {"({a:", "})"}, {"do ", " while(1)"}, {"try{", "}catch{}"}, {"switch(a){case ", ":}"}, {"x.y(z=>{", "})"}, {"a[", "]"}, {"a?.[", "]"},
		{"<T>", ""}, {"a<", ""}, {"a<b<", ""}, {"f<(a:", ""}, {"(a:", ")"}, {"(a?:", ""}, {"<T>(a:", ""}, {"a as ", ""}, {"a?(b):c=>", ""}, {"a?(b:c):d=>", ""}, {"@a(", ""}, {"x as {a:", ""}, {"x as [", ""}, {"x as (a:", ""}, {"x as A extends ", ""},
	} {
		for _, prefix := range []string{"x = ", "let t: any = "} {
			for _, count := range []int{2000, n / len(c.open)} {
				Prepare(prefix+strings.Repeat(c.open, count)+"1"+strings.Repeat(c.close, count), Options{}) // that it returns is the test
				Prepare(prefix+strings.Repeat(c.open, count), Options{})
			}
		}
	}
	expectRefused(t, strings.Repeat("(", 5000)+strings.Repeat(")", 5000), "syntax 1:3000 The source nests more than 3000 levels deep")
	expectSame(t, strings.Repeat("[", 1000)+strings.Repeat("]", 1000))
	expectSame(t, "a"+strings.Repeat("+a", 100_000))
	expectSame(t, "a"+strings.Repeat(".b()", 100_000))
	expectSame(t, strings.Repeat("a;", 100_000))
}
