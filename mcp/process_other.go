//go:build !unix

package mcp

import (
	"os"
	"os/exec"
)

// There are no process groups to signal: the program itself is killed.
const (
	terminateSignal = false
	killSignal      = true
)

func ownGroup(*exec.Cmd) {}

func signalGroup(p *os.Process, kill bool) {
	if kill {
		_ = p.Kill()
	}
}
