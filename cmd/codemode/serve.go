package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"codemode/mcp"
)

type serveFlags struct {
	http      string
	token     string
	anonymous bool
	origins   []string
	direct    []string
	catalogFlags
	limitFlags
	runFlags
}

// tokenVariable is where the bearer token comes from that --token does not give: a command line is visible to others.
const tokenVariable = "CODEMODE_TOKEN"

func newServe(s streams) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be an MCP server: exec and wait, with other MCP servers behind them",
		Long: `Be an MCP server with two tools, exec and wait. The tools of --tools and of the MCP
servers of --config are behind them: cells find them, and the model's prompt holds none
of their schemas. Serves one client on standard input and output, or many with --http.

--config takes the file that MCP clients have:

  {"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"]}}}

A client's own configuration then has codemode as its one server:

  {"mcpServers": {"codemode": {"command": "codemode", "args": ["serve", "--config", "/path/mcp.json"]}}}

Over HTTP every request needs a bearer token: --token, the variable CODEMODE_TOKEN, or
one that is made and printed at the start.`,
		Example: `  codemode serve --config mcp.json
  codemode serve --config mcp.json --http 127.0.0.1:8931
  codemode serve --tools tools.json --direct ping`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "serve streamable HTTP at this `ADDRESS`, such as 127.0.0.1:8931, instead of stdio")
	flags.StringVar(&f.token, "token", "", "bearer token that HTTP requests must carry (default: $"+tokenVariable+", or a new one)")
	flags.BoolVar(&f.anonymous, "no-token", false, "serve HTTP without a token: anyone on this machine can run cells")
	flags.StringArrayVar(&f.origins, "origin", nil, "web `ORIGIN` that may send HTTP requests, such as http://localhost:6274")
	flags.StringArrayVar(&f.direct, "direct", nil, "tool `NAME` that clients see beside exec and wait")
	f.catalogFlags.add(cmd)
	f.limitFlags.add(cmd)
	f.runFlags.add(cmd)
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, s streams) error {
	if f.http == "" && (f.token != "" || f.anonymous || len(f.origins) > 0) {
		return usageError{errors.New("--token, --no-token and --origin go with --http")}
	}
	if f.anonymous && f.token != "" {
		return usageError{errors.New("give --token or --no-token, not both")}
	}
	cellLimits, err := f.limits(s)
	if err != nil {
		return err
	}
	f.warn = true
	session, err := f.open(s, cellLimits, stateFlags{}, f.runFlags)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.host.Available(); err != nil {
		return err // no client shall be shown tools that cannot work
	}
	server := mcp.NewServer(session.host, session.catalog, &mcp.ServerOptions{
		Upstream: session.upstream, Policy: f.policy(), Direct: f.direct, Logger: f.logger(s),
	})
	defer server.Close()
	if all := session.catalog.Snapshot(); all.Len() == 0 && len(all.Direct(nil)) == 0 && (session.upstream == nil || !enabled(session.upstream)) {
		fmt.Fprintln(s.err, "codemode: there are no tools, so that cells can only compute: --tools FILE and --config FILE name some")
	}
	if f.http == "" {
		if terminal(s.in) {
			f.tellPerson(s)
		}
		return server.ServeStdio(cmd.Context())
	}
	options := &mcp.HTTPOptions{Token: f.token, AllowAnonymous: f.anonymous, Origins: f.origins}
	if options.Token == "" && !f.anonymous {
		options.Token = os.Getenv(tokenVariable)
	}
	made := options.Token == "" && !f.anonymous
	if made {
		options.Token = mcp.NewToken()
	}
	listening, err := server.ListenHTTP(f.http, options)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintf(s.err, "codemode: serving MCP at %s\n", listening.URL())
	if made {
		fmt.Fprintf(s.err, "codemode: clients must send the header  Authorization: Bearer %s\n", options.Token)
	}
	return listening.Wait(cmd.Context())
}

// enabled says whether there is a server that will be connected to.
func enabled(upstream *mcp.Upstream) bool {
	return slices.ContainsFunc(upstream.Status(), func(s mcp.ServerStatus) bool { return s.State != mcp.StateDisabled })
}

// tellPerson says to who started the command at a terminal what it waits for: it would be silent for ever.
func (f *serveFlags) tellPerson(s streams) {
	fmt.Fprintln(s.err, "codemode: serving MCP on standard input and output, which must be connected to an MCP client, not to a terminal")
	if f.config != "" {
		fmt.Fprintf(s.err, "codemode: MCP servers are started when a client connects; codemode tools --config %s shows whether they start\n", f.config)
	}
}
