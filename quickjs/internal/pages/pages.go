// Package pages asks the kernel which pages of a private mapping this process has written, so that resetting and
// snapshotting an instance touches those pages and no others.
package pages

import "errors"

// Size is the unit of everything here, in bytes.
const Size = 4096

// Run is a run of written pages: byte offsets from the start of the range that was asked about, end exclusive.
type Run struct{ Start, End int }

// ErrUnsupported says that this kernel cannot answer.
var ErrUnsupported = errors.New("pages: the kernel does not say which pages were written")
