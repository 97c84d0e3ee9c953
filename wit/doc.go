// Package wit holds codemode.wit, the host ABI, and reads it: functions, their types, and how the component model's
// canonical ABI lowers them to WebAssembly. The file is the one source of truth; the guest module and the Go bindings
// are compared with it (package guestabi).
//
//	file, err := wit.Parse(wit.Source)
//	for _, f := range file.Functions() {
//		fmt.Println(f.Module(), f.Name, f.Lower())
//	}
//
// The reader knows the part of WIT that a host ABI of flat data needs: interfaces, functions, enums, records,
// option, string and numbers. Anything else is an error that names the line.
package wit
