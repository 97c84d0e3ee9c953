// Package guest is what `make guest` builds. Its files are ignored by git, but for this one and the README; without
// them everything compiles, and the variables are empty.
package guest

// Module is guest.wasm, and Manifest is manifest.json. They are strings, so that they stay in the executable's file
// until they are read: to copy them at each start would take longer than to check them.
var Module, Manifest string
