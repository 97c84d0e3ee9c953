package catalog

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// The catalog can be used alone: it imports no other room of this module.
func TestImports(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range packages["catalog"].Files {
		for _, imported := range f.Imports {
			if strings.HasPrefix(imported.Path.Value, `"codemode`) && !strings.HasPrefix(imported.Path.Value, `"codemode/internal/`) {
				t.Errorf("it imports %s", imported.Path.Value)
			}
		}
	}
}
