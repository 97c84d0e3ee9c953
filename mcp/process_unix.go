//go:build unix

package mcp

import (
	"os"
	"os/exec"
	"syscall"
)

const (
	terminateSignal = syscall.SIGTERM
	killSignal      = syscall.SIGKILL
)

// ownGroup makes the program lead a process group, so that what it starts ends with it, and so that an interrupt in a
// terminal reaches us alone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(p *os.Process, s syscall.Signal) { _ = syscall.Kill(-p.Pid, s) }
