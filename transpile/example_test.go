package transpile_test

import (
	"fmt"

	"codemode/transpile"
)

func ExamplePrepare() {
	cell, err := transpile.Prepare("const rows = await search('x');\nrows.length", transpile.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cell.Body)
	fmt.Println(cell.Language, cell.Notes)
	// Output:
	// const rows = await search('x');
	// return rows.length
	// javascript [The value of the last expression is returned.]
}

func ExamplePrepare_refused() {
	_, err := transpile.Prepare("const rows = await search('x';", transpile.Options{})
	fmt.Println(err)
	fmt.Println(err.(*transpile.Error).Location.Caret())
	// Output:
	// SyntaxError at 1:30: Expected ) to close the ( of line 1, column 26, but found ;. No tools were called; correct the source and submit it again.
	//   1 | const rows = await search('x';
	//     |                              ^
}

func ExampleCell_Position() {
	cell, err := transpile.Prepare("enum Mode { Fast = 1 << 3 }\nfunction go(m: Mode): void { throw m }\ngo(Mode.Fast)", transpile.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The engine reports that something was thrown in line 2 of Body. This leads back:
	if at, ok := cell.Position(2, 30); ok {
		fmt.Println(cell.Locate(at).Caret())
	}
	// Output:
	//   2 | function go(m: Mode): void { throw m }
	//     |                              ^
}

func ExamplePreparer() {
	preparer := transpile.NewPreparer(0, 0) // the default sizes
	for range 2 {
		cell, err := preparer.Prepare("let n: number = 1; n + 1", transpile.Options{})
		fmt.Println(cell.Body, err) // the second time from memory
	}
	// Output:
	// let n         = 1; return n + 1 <nil>
	// let n         = 1; return n + 1 <nil>
}
