package transpile

// Snippets is for the tests that run cells: they are outside this package, which host imports.
var Snippets = snippets
