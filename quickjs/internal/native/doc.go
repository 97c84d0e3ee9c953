// Package native is codemode's supplement to wasmtime-go: the few parts of wasmtime's C API that the library links but
// does not offer, and one struct that keeps a store with all that belongs to it. It is the only cgo of this module.
//
// Rules: an Instance is used by one goroutine at a time; every Instance is closed; nothing of one instance is ever
// handed to another, which would abort the process.
package native
