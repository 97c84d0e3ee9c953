// Package mcp puts code mode between MCP servers and MCP clients. Upstream connects to the servers of a configuration and
// makes their tools entries of a catalog; Server gives clients the tools exec and wait.
//
//	config, err := mcp.LoadConfig("mcp.json")
//	if err != nil {
//		log.Fatal(err)
//	}
//	tools := host.NewCatalog(nil)
//	upstream := mcp.NewUpstream(config, tools, nil)
//	defer upstream.Close()
//	h, err := host.New(&host.Options{Catalog: tools, Approve: mcp.Approve})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer h.Close()
//	server := mcp.NewServer(h, tools, &mcp.ServerOptions{Upstream: upstream})
//	defer server.Close()
//	if err := server.ServeStdio(ctx); err != nil {
//		log.Fatal(err)
//	}
//
// A program without clients needs no Server: after [Upstream.Ready] its cells find the tools in the catalog.
//
//	client ──stdio, HTTP── Server ── host ── cell ── catalog ── Upstream ──stdio, HTTP, SSE── servers
//
// Close comes in the opposite order: server, host, upstream. What servers say is never trusted: results that hold it are
// marked in the text that a model reads, and nothing of it is in the definitions of exec and wait.
package mcp
