package mcp

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"codemode/internal/npmtest"
)

// The packages of testdata/servers and of testdata/inspector are installed when a test first asks for them.
var (
	serversInstalled   = sync.OnceValues(func() (string, error) { return npmtest.Install("mcp", "testdata/servers", nil) })
	inspectorInstalled = sync.OnceValues(func() (string, error) { return npmtest.Install("mcp", "testdata/inspector", nil) })
)

// npmServers is where the packages of testdata/servers are.
func npmServers(t *testing.T) string {
	t.Helper()
	return npmPackages(t, "MCP servers", serversInstalled)
}

// npmPackages is the folder that an install gives. Without npm, or without a network where the packages are not installed
// yet, it skips the test; in CI it fails.
func npmPackages(t *testing.T, what string, install func() (string, error)) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			npmtest.Missing(t, "this test runs %s from npm, and there is no %s", what, program)
		}
	}
	dir, err := install()
	if err != nil {
		npmtest.Missing(t, "this test runs %s from npm, and they cannot be installed: %v", what, err)
	}
	return dir
}

// npmConfig is a configuration entry for a program of the packages.
func npmConfig(t *testing.T, name, program string, args ...string) ServerConfig {
	t.Helper()
	return ServerConfig{Name: name, Transport: TransportStdio, Command: filepath.Join(npmServers(t), "node_modules", ".bin", program),
		Args: args, Timeout: 60 * time.Second, StartTimeout: 60 * time.Second}
}

// memoryConfig is the memory server with a file of its own.
func memoryConfig(t *testing.T) ServerConfig {
	c := npmConfig(t, "memory", "mcp-server-memory")
	c.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	return c
}

// listening runs a program that listens on a port, until the test ends, and waits until it does.
func listening(t *testing.T, program string, args ...string) (address string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	server := exec.Command(filepath.Join(npmServers(t), "node_modules", ".bin", program), args...)
	server.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	server.Stderr = os.Stderr
	if testing.Verbose() {
		server.Stdout = os.Stderr
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	for _, host := range []string{"127.0.0.1", "localhost"} {
		address = fmt.Sprintf("%s:%d", host, port)
		for range 100 {
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				return address
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	t.Fatalf("%s does not listen on port %d", program, port)
	return ""
}
