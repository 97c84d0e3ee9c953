// Package guestabi is the host ABI in Go: the Bridge that a host implements, bound to the imports that wit/codemode.wit
// names, and the outcome that a guest reports. The guest's side of the same contract is in guest/: the C shim and the
// TypeScript prelude that are linked into the guest module.
//
// A host implements Bridge and hands it to a VM (package quickjs). Nothing here trusts the guest: pointers and lengths
// are checked against its memory, enumeration values against the WIT, text against UTF-8 and JSON. A wrong one is an
// error that ends that guest.
//
//	report, err := guestabi.Check(module)
//	if !report.OK() {
//		fmt.Println(report)
//	}
package guestabi
