package catalog

import "strings"

// The names that no tool may take as a bare global. The engine's own globals are not among them: the host asks the
// engine and passes them in Options.Reserved.

// jsWords are the words that JavaScript or TypeScript treat specially, in any mode.
var jsWords = wordSet(`break case catch class const continue debugger default delete do else enum export extends false
finally for function if import in instanceof new null return super switch this throw true try typeof var void while with
let static yield await async of implements interface package private protected public arguments eval undefined NaN
Infinity globalThis`)

// guestNames are the guest API's globals, and the module system's names, which a cell that uses them by mistake should
// be told about.
var guestNames = wordSet(`ALL_TOOLS API MCP agents catalog clearTimeout console json log namespaces nodes phase results
setTimeout skills text tools yield_control require module exports process`)

// objectNames are the properties that JavaScript looks for on objects by itself, or that every object inherits. A tool
// under such a name would change how unrelated values behave (then makes an object a promise, toJSON rewrites it).
var objectNames = wordSet(`then catch finally toJSON toString toLocaleString valueOf constructor prototype
hasOwnProperty isPrototypeOf propertyIsEnumerable __proto__ __defineGetter__ __defineSetter__ __lookupGetter__
__lookupSetter__`)

// toolsHelpers are the functions on the tools object; a tool of that name is not reachable as tools.<name>.
var toolsHelpers = wordSet(`search describe call callValue`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// fixedReserved reports whether name is reserved whatever the engine has.
func fixedReserved(name string) bool {
	return jsWords[name] || guestNames[name] || objectNames[name]
}
