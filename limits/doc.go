// Package limits holds every limit of codemode in one table: name, unit, default, range, and what a breach returns. A
// Limits value is plain data; Clamp makes it valid, and it reads and writes as JSON.
//
//	l := limits.Default()
//	l.TimeoutMs = 500
//	l = l.Clamp()
//
// The package also has what measures: Clock, which drives the epoch that stops WebAssembly code, and Output, the budget
// that a cell's output and value share.
package limits
