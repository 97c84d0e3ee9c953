package mcp

import (
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

// npmInstalled is where the npm packages of testdata/servers are, once they are.
var npmInstalled struct {
	once sync.Once
	dir  string
	err  error
}

// npmServers installs the packages of testdata/servers, as its lock file has them, into a cache folder that tests share.
// Without npm, or without a network where they are not installed yet, it skips the test.
func npmServers(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("this test runs MCP servers from npm, and there is no %s", program)
		}
	}
	npmInstalled.once.Do(func() { npmInstalled.dir, npmInstalled.err = npmInstall() })
	if npmInstalled.err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(npmInstalled.err)
		}
		t.Skipf("this test runs MCP servers from npm, and they cannot be installed: %v", npmInstalled.err)
	}
	return npmInstalled.dir
}

func npmInstall() (string, error) {
	files := map[string][]byte{}
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join("testdata", "servers", name))
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
	install := exec.Command("npm", "ci", "--ignore-scripts")
	install.Dir = fresh
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
