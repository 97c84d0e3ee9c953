package mcp_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"codemode/host"
	"codemode/mcp"
)

// A whole program: the servers of a configuration behind exec and wait, on standard input and output.
func Example() {
	config, err := mcp.LoadConfig("mcp.json")
	if err != nil {
		log.Fatal(err)
	}
	tools := host.NewCatalog(nil)
	upstream := mcp.NewUpstream(config, tools, nil)
	defer upstream.Close()
	h, err := host.New(&host.Options{Catalog: tools, Approve: mcp.Approve})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	server := mcp.NewServer(h, tools, &mcp.ServerOptions{Upstream: upstream})
	defer server.Close()
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Over HTTP, each client has a session of its own.
func ExampleServer_ListenHTTP() {
	tools := host.NewCatalog(nil)
	h, err := host.New(&host.Options{Catalog: tools})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	server := mcp.NewServer(h, tools, nil)
	defer server.Close()
	token := mcp.NewToken()
	listening, err := server.ListenHTTP("127.0.0.1:8931", &mcp.HTTPOptions{Token: token})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, listening.URL(), token)
	if err := listening.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A program without clients waits for the servers, and then its cells find their tools.
func ExampleUpstream_Ready() {
	config, err := mcp.LoadConfig("mcp.json")
	if err != nil {
		log.Fatal(err)
	}
	tools := host.NewCatalog(nil)
	upstream := mcp.NewUpstream(config, tools, nil)
	defer upstream.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := upstream.Ready(ctx); err != nil {
		log.Print("some servers are not there yet")
	}
	for _, server := range upstream.Status() {
		fmt.Println(server.Name, server.State, server.Tools, server.Error)
	}
}

func ExampleParseConfig() {
	variables := map[string]string{"TOKEN": "secret"}
	lookup := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	config, err := mcp.ParseConfig([]byte(`{"mcpServers": {
	  "search": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
	  "files":  {"command": "files-server", "args": ["${FOLDER:-/srv}"], "timeoutMs": 5000, "deny": ["delete_*"]}
	}}`), ".", lookup)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range config.Servers {
		fmt.Println(s.Name, s.Transport, s.Headers, s.Args, s.Timeout, s.Deny)
	}
	_, err = mcp.ParseConfig([]byte(`{"mcpServers": {"files": {"comand": "files-server"}}}`), ".", lookup)
	fmt.Println(err)
	// Output:
	// search http map[Authorization:Bearer secret] [] 1m0s []
	// files stdio map[] [/srv] 5s [delete_*]
	// mcpServers.files: comand: unknown field (is "command" meant?)
}
