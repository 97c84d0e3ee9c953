// Package component holds no Go code to use: it proves that the guest module is a WebAssembly component, by its names
// and by its lowering, with a second host. wrap.mjs wraps the finished guest with jco; run.mjs runs a cell in it on Node
// against the bridge of bridge.mjs. The test drives both. See README.md.
package component
