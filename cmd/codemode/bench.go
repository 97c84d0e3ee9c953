package main

import (
	"os"

	"github.com/spf13/cobra"

	"codemode/bench"
)

// newBench is the harness of package bench, which also starts this command anew to measure its start.
func newBench() *cobra.Command {
	var self []string
	if path, err := os.Executable(); err == nil {
		self = []string{path, "exec", "-e"}
	}
	return bench.Command(self)
}
