//go:build !unix

package catalog

import "os/exec"

// ownGroup does nothing where there are no process groups; cancelling kills the program alone.
func ownGroup(*exec.Cmd) {}
