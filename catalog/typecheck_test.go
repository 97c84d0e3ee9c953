package catalog

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// checkTypeText asks a real parser whether a rendered type is one type and nothing else: after the types are erased,
// nothing may be left.
func checkTypeText(t testing.TB, text string, hint bool) {
	t.Helper()
	if hint {
		text = strings.NewReplacer("; ... }", " }", "{ ... }", "{}").Replace(text)
	}
	checkTypeScript(t, "type T = "+text+";")
}

func checkTypeScript(t testing.TB, source string) {
	t.Helper()
	result := api.Transform(source, api.TransformOptions{Loader: api.LoaderTS})
	if len(result.Errors) > 0 {
		t.Fatalf("not TypeScript: %s\n%s", result.Errors[0].Text, source)
	}
	if code := strings.TrimSpace(string(result.Code)); code != "" {
		t.Fatalf("something is left when the types are gone: %s\n%s", code, source)
	}
}
