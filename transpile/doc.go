// Package transpile turns the text that a model submitted into the body of exactly one async function for QuickJS, with
// positions that lead back to the submitted text. It runs nothing.
//
// A whole program:
//
//	cell, err := transpile.Prepare("const rows = await search('x');\nrows.length", transpile.Options{})
//	if err != nil {
//		fmt.Println(err) // one sentence for the model, with line and column; err is always a *transpile.Error
//		return
//	}
//	run("(async () => {\n" + cell.Body + "\n})") // Body ends in `return rows.length`; its first line is line 1
//	for _, note := range cell.Notes {
//		fmt.Println(note) // "The value of the last expression is returned."
//	}
//
// # What it does
//
// JavaScript stays as it was written, byte for byte, but for what is inserted to return the last expression or to call
// a function that is the whole text. TypeScript's types are blanked out in place, so that lines and columns stay; what
// TypeScript adds that runs (enums, namespaces, parameter properties, decorators) is compiled by esbuild, whose source
// map is then part of the way back. A text is read by this package's own parser. Where that fails esbuild decides, so
// this parser is never the reason why a valid program is refused, unless the text is so large or so full of brackets that
// esbuild might not survive it (128 KiB, 4,000 characters that open something) or nests more than 3,000 levels deep.
//
// Modules are refused by syntax, not by text: import declarations, import(), import.meta, export from, and the free
// names require and module. The same words in strings, comments, regular expressions, as properties, or as names that
// the text declares itself are fine. This refusal is a courtesy that comes early and reads well; that the engine has no
// module loader is what makes it hold.
//
// # Who may call what
//
// Prepare and all methods of Cell may be called from any goroutine. A Preparer adds a cache and may be shared.
//
//	text ─ fence, #! line blanked ─ parse ─┬─ JavaScript ──────────────────────────┬─ plan: return, call ─ Body
//	                                       └─ TypeScript ─ blank types, or esbuild ─┘
package transpile
