package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"codemode/catalog"
)

// The tools files that README.md and exec --help show are tools files.
func TestTheToolsFilesInTheTexts(t *testing.T) {
	found := regexp.MustCompile("(?s)### Tools files.*?```json\n(.*?)```").FindStringSubmatch(readme(t))
	if found == nil {
		t.Fatal("README.md shows no tools file")
	}
	long := newExec(streams{}).Long
	start, end := strings.Index(long, "[{"), strings.Index(long, "}]")
	if start < 0 || end < 0 {
		t.Fatal("exec --help shows no tools file")
	}
	for where, text := range map[string]string{"README.md": found[1], "exec --help": long[start : end+2]} {
		tools, problems, err := catalog.ParseFile([]byte(text), t.TempDir())
		c := catalog.New(nil)
		if problems = append(problems, c.Add(tools...)...); err != nil || problems != nil {
			t.Errorf("%s: %v, %v", where, problems, err)
			continue
		}
		sum, ok := c.Snapshot().View(nil).Callable("sum")
		if !ok {
			t.Errorf("%s has no sum", where)
			continue
		}
		// Where jq is not installed the error says so; the file was right.
		r, err := sum.Run(t.Context(), &catalog.Call{Input: json.RawMessage(`{"a":1,"b":2}`)})
		if err == nil && string(r.Value) != "3" || err != nil && !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: sum gives %v, %v", where, r, err)
		}
	}
}
