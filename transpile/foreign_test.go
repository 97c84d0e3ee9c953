package transpile

import "testing"

func TestNotCodeIsRecognised(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"ls -la *.go", "not_code a shell command"},
		{"git status && git diff", "not_code a shell command"},
		{"cat foo.txt | grep bar", "not_code a shell command"},
		{"npm install express", "not_code a shell command"},
		{"npx vitest run", "not_code a shell command"},
		{"sudo apt-get update", "not_code a shell command"},
		{"curl -s https://example.com", "not_code a shell command"},
		{"echo \"hello world\"", "not_code a shell command"},
		{"python3 script.py --all", "not_code a shell command"},
		{"FOO=1 BAR='x' node a.js", "not_code a shell command"},
		{"$ ls -la", "not_code a shell command"},
		{"./run.sh --fast", "not_code a shell command"},
		{"/usr/bin/env foo", "not_code a shell command"},
		{"# list the files\nls *.go", "not_code a shell command"},
		{"export PATH=/usr/bin:$PATH", "not_code a shell command"},
		{"for f in *.txt; do echo $f; done", "not_code a shell command"},
		{"if [ -f a ]; then echo b; fi", "not_code a shell command"},
		{"mkdir -p a/b\ncd a/b\ntouch c", "not_code a shell command"},
		{"find . -name '*.go'", "not_code a shell command"},
		{"head -n 5 a.txt", "not_code a shell command"},
		{"sort a.txt > b.txt", "not_code a shell command"},
		{"docker run --rm -it alpine sh", "not_code a shell command"},
		{"test -f a.txt", "not_code a shell command"},
		{"tar xzf a.tgz", "not_code a shell command"},

		{"def f(x):\n    return x + 1\n", "not_code Python"},
		{"import os\nprint(os.getcwd())", "not_code Python"},
		{"from pathlib import Path\np = Path('.')", "not_code Python"},
		{"for x in range(3):\n    print(x)", "not_code Python"},
		{"if __name__ == '__main__':\n    main()", "not_code Python"},
		{"print 'hello'", "not_code Python"},
		{"with open('a') as f:\n    f.read()", "not_code Python"},
		{"x = 1\nwhile x < 3:\n    x += 1", "not_code Python"},
		{"class A(B):\n    pass", "not_code Python"},
		{"async def main():\n    await f()", "not_code Python"},
		{"try:\n    f()\nexcept ValueError:\n    pass", "not_code Python"},
		{"name = 'x'\nprint(f\"hello {name}\")", "not_code Python"},
		{"rows = [row['id'] for row in await fetch_rows() if row['open']]", "not_code Python"},
		{"total = sum(x * 2 for x in range(3))", "not_code Python"},
		{"rows = sorted(rows, key=lambda row: row['id'])", "not_code Python"},
		{"# list\nrows = [1, 2]\nfor row in rows: print(row)", "not_code Python"},
		{"\"\"\"Lists the rows.\"\"\"\nrows = 1", "not_code Python"},

		{`{"a": 1, "b": [2, 3]}`, "not_code JSON"},
		{"{\n  \"query\": \"x\"\n}", "not_code JSON"},

		{"SELECT * FROM users WHERE id = 1", "not_code SQL"},
		{"insert into a values (1)", "not_code SQL"},
		{"<!DOCTYPE html><html></html>", "not_code HTML or XML"},
		{"<?xml version=\"1.0\"?><a/>", "not_code HTML or XML"},
		{"diff --git a/x b/x\n--- a/x\n+++ b/x", "not_code a patch"},
		{"*** Begin Patch\n*** Update File: a", "not_code a patch"},

		{"Please list all the open issues", "not_code prose"},
		{"I will now search for the weather tool.", "not_code prose"},
		{"Let me check what tools are available first", "not_code prose"},
		{"Find the largest file in the repository, then delete it.", "not_code prose"},
		{"Suche bitte alle offenen Tickets", "not_code prose"},
	} {
		expectRefused(t, c.source, c.want)
	}
}

// Broken code stays broken code, whatever its first word.
func TestCodeIsNotTakenForSomethingElse(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"const x = await search(", "syntax 1:24 "},
		{"type A = {", "syntax 1:11 "},
		{"type A = string | ;\nlet b: A", "syntax 1:19 "},
		{"declare const x: string y", "syntax 1:25 "},
		{"interface A { b: string c: number }", "syntax 1:25 "},
		{"export const x = ;", "syntax 1:18 "},
		{"test(", "syntax 1:6 "},
		{"date = new Date(", "syntax 1:17 "},
		{"find(x => )", "syntax 1:11 "},
		{"read = ", "syntax 1:7 "},
		{"set x", "syntax 1:5 "},
		{"if (a) { b( }", "syntax 1:13 "},
		{"for (const x of y { z }", "syntax 1:19 "},
		{"function f( { }", "syntax 1:16 "},
		{"let x = {a: 1", "syntax 1:14 "},
		{"foo bar", "syntax 1:5 "},
		{"a b c d", "syntax 1:3 "},
		{"return the value of x;", "syntax 1:12 "},
		{"import x from y", "syntax 1:15 "},
		{"class A { b c }", "syntax 1:13 "},
		{"// list files\nconst a = ;", "syntax 2:11 "},
		{"const a = [1, 2\nconst b = 3", "syntax 2:1 "},
		{"async def() => {}", "syntax 1:10 "},
		{"text('wait [x for x in y]' 1)", "syntax 1:28 "},
		{"const rows = [a for (const a of b)]", "syntax 1:17 "},
		{"await run({code: `print(f\"x\")\n`)", "syntax 2:2 "},
		{"const a = f\"x\";", "syntax 1:12 "},
	} {
		expectRefused(t, c.source, c.want)
	}
}

// One word, or two with an operator, may be a program.
func TestShortProgramsRun(t *testing.T) {
	for _, source := range []string{"«ls", "«date", "«test", "«help", "«id", "«a && b", "«x > y", "«ls -la", "«print('x')", "«exec({})", "«history", "«git", "«make.it", "«cat(1)", "«echo`x`", "«SELECT", "«node", "«a | b"} {
		expectReturned(t, source)
	}
}

func TestRuntimeHint(t *testing.T) {
	for _, c := range []struct {
		source string
		want   bool
	}{
		{"ls", true}, {"ls -la /tmp", true}, {"cd /work && make", true}, {"ls\npwd", true}, {"ls\nx", false}, {"ls -la", true}, {"pwd;", true}, {"git", true}, {"cat", true}, {"a", false}, {"ls()", false}, {"tools.x()", false}, {"ls -la\n+ 1", false}, {"date", true}, {"x > y", false},
	} {
		hint := prepared(t, c.source, Options{}).RuntimeHint()
		if (hint != "") != c.want {
			t.Errorf("hint of %q: %q", c.source, hint)
		}
	}
}

func TestObjectHint(t *testing.T) {
	_, err := Prepare("{ a: 1, b: 2 }", Options{})
	if want := "An object at the start of a statement is read as a block: write return {...} or put it in parentheses."; err == nil || err.(*Error).Hint != want {
		t.Errorf("got %v", err)
	}
}
