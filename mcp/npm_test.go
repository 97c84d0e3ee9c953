package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The packages of testdata/servers and of testdata/inspector are installed when a test first asks for them.
var (
	serversInstalled   = sync.OnceValues(func() (string, error) { return npmInstall("servers") })
	inspectorInstalled = sync.OnceValues(func() (string, error) { return npmInstall("inspector") })
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
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("this test runs %s from npm, and there is no %s", what, program)
		}
	}
	dir, err := install()
	if err != nil {
		missing("this test runs %s from npm, and they cannot be installed: %v", what, err)
	}
	return dir
}

// npmInstall installs the packages of a folder in testdata, as its lock file has them, into a cache that tests share.
func npmInstall(folder string) (string, error) {
	files := map[string][]byte{}
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join("testdata", folder, name))
		if err != nil {
			return "", err
		}
		files[name] = text
		sum.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	parent := filepath.Join(cache, "codemode-test-servers")
	dir := filepath.Join(parent, hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(parent, "install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), text, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--fetch-retries=1")
	install.Dir = fresh
	install.WaitDelay = time.Second // npm's children may hold its output open
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		} // another test run was faster
	}
	return dir, nil
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
