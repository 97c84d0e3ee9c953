package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"codemode/catalog"
	"codemode/host"
	"codemode/limits"
	"codemode/mcp"
	"codemode/quickjs"
)

// catalogFlags say which tools there are.
type catalogFlags struct {
	tools   []string
	config  string
	allow   []string
	deny    []string
	verbose bool
	refused int  // tools of the files that were left out
	warn    bool // log warnings without --verbose: the command has no other way to tell them
}

func (f *catalogFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.tools, "tools", nil, "JSON `FILE` with tools; may be given more than once")
	cmd.Flags().StringVar(&f.config, "config", "", "JSON `FILE` with MCP servers (mcpServers)")
	cmd.Flags().StringArrayVar(&f.allow, "allow", nil, "show only tools whose name, name in cells or id matches `PATTERN`, such as 'MCP.files.*'; * stands for anything")
	cmd.Flags().StringArrayVar(&f.deny, "deny", nil, "hide tools that match `PATTERN`, as for --allow")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log what happens to standard error")
}

// load makes the catalog, and connects nothing. A tool that is wrong is reported and left out. What MCP servers report
// goes to events, unless it is nil.
func (f *catalogFlags) load(s streams, events func(mcp.Event)) (*catalog.Catalog, *mcp.Upstream, error) {
	c := host.NewCatalog(nil)
	for _, path := range f.tools {
		tools, problems, err := catalog.LoadFile(path)
		if err != nil {
			return nil, nil, usageError{err}
		}
		for _, p := range append(problems, c.Add(tools...)...) {
			fmt.Fprintf(s.err, "codemode: %s: %s\n", path, p)
			if !p.Kept {
				f.refused++
			}
		}
	}
	if f.config == "" {
		return c, nil, nil
	}
	config, err := mcp.LoadConfig(f.config)
	if err != nil {
		return nil, nil, usageError{err}
	}
	for _, name := range config.Ignored {
		fmt.Fprintf(s.err, "codemode: %s: %s is ignored\n", f.config, name)
	}
	return c, mcp.NewUpstream(config, c, &mcp.UpstreamOptions{Logger: f.logger(s), Events: events}), nil
}

func (f *catalogFlags) logger(s streams) *zerolog.Logger {
	switch {
	case f.verbose:
		return s.logger(zerolog.DebugLevel)
	case f.warn:
		return s.logger(zerolog.WarnLevel)
	}
	return s.logger(zerolog.Disabled)
}

// checkPolicy says which patterns match no tool: a misspelt one hides nothing.
func checkPolicy(s streams, snapshot *catalog.Snapshot, policy *catalog.Policy) {
	for _, pattern := range snapshot.Unmatched(policy) {
		fmt.Fprintf(s.err, "codemode: the pattern %q of --allow or --deny matches no tool\n", pattern)
	}
}

// connect waits for the MCP servers, and says which are down.
func connect(ctx context.Context, s streams, upstream *mcp.Upstream) error {
	if upstream == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	err := upstream.Ready(ctx)
	for _, server := range upstream.Status() {
		if server.State == mcp.StateDown || server.State == mcp.StateConnecting {
			fmt.Fprintf(s.err, "codemode: MCP server %s is %s: %s\n", server.Name, server.State, oneLine(server.Error))
		}
		for _, p := range server.Problems {
			fmt.Fprintf(s.err, "codemode: MCP server %s: %s\n", server.Name, oneLine(p))
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // those that are late are not there, which was said
	}
	return err
}

// connectTime is how long a command waits for its MCP servers.
const connectTime = 30 * time.Second

// oneLine makes text of a server fit to print: nothing that a terminal obeys or that reorders text, and not too long.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
	return fmt.Sprintf("%.300s", text)
}

func (f *catalogFlags) policy() *catalog.Policy {
	if len(f.allow) == 0 && len(f.deny) == 0 {
		return nil
	}
	return catalog.NewPolicy(f.allow, f.deny)
}

// runFlags are those of commands that run cells.
type runFlags struct{ trajectory string }

func (f *runFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.trajectory, "trajectory", "", "append a line of JSON to this `FILE` for every nested call, and for what MCP servers report meanwhile")
}

// session is a host with its catalog, for one run of the command.
type session struct {
	host     *host.Host
	catalog  *catalog.Catalog
	upstream *mcp.Upstream
	policy   *catalog.Policy
	state    string   // the folder of suspended cells, or empty
	log      *os.File // the trajectory
}

// open makes the host. MCP servers are not connected yet.
func (f *catalogFlags) open(s streams, l limits.Limits, state stateFlags, run runFlags) (*session, error) {
	session := &session{policy: f.policy()}
	var record func(host.Record)
	var events func(mcp.Event)
	if run.trajectory != "" {
		var err error
		if session.log, err = os.OpenFile(run.trajectory, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return nil, usageError{err}
		}
		record = host.WriteTrajectory(session.log, func(err error) { fmt.Fprintln(s.err, "codemode: trajectory:", err) })
		events = writeEvents(session.log)
	}
	c, upstream, err := f.load(s, events)
	if err != nil {
		return nil, err
	}
	options := &host.Options{
		Catalog: c, Policy: session.policy, Limits: l, Logger: f.logger(s), Approve: mcp.Approve, Trajectory: record,
		EngineOptions: &quickjs.EngineOptions{Progress: s.progress()},
	}
	if state.state != "" {
		if options.Store, err = host.OpenFileStore(state.state); err != nil {
			return nil, usageError{err}
		}
	}
	session.catalog, session.upstream, session.state = c, upstream, state.state
	session.host, err = host.New(options)
	return session, err
}

// maxEventData is how much of a server's log event a trajectory keeps, as for a call's input.
const maxEventData = 8 << 10

// writeEvents makes a function that writes each event as a line of JSON. A line is one write, so that those of calls and
// of events do not mix. An error of the file is told by the calls' writer.
func writeEvents(file io.Writer) func(mcp.Event) {
	return func(e mcp.Event) {
		if len(e.Data) > maxEventData {
			e.Data = json.RawMessage(`"[omitted: larger than the display limit]"`)
		}
		line, err := json.Marshal(struct {
			At time.Time `json:"at"`
			mcp.Event
		}{time.Now(), e})
		if err == nil {
			_, _ = file.Write(append(line, '\n'))
		}
	}
}

func (s *session) Close() error {
	err := s.host.Close()
	if s.upstream != nil {
		err = errors.Join(err, s.upstream.Close())
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	return err
}

// commandScope is the scope of all cells that people run with the command.
var commandScope = host.Scope{Session: "command"}

// follow runs a cell, waits for it unless noWait, prints the last result and gives the exit code.
func (s *session) follow(ctx context.Context, p printer, noWait bool, start func() *host.Result) error {
	if err := connect(ctx, p.streams, s.upstream); err != nil {
		return err
	}
	checkPolicy(p.streams, s.catalog.Snapshot(), s.policy)
	result := start()
	for result.Status == host.Waiting && !noWait {
		if p.format == "text" {
			if err := p.output(result); err != nil { // what it has said so far
				return err
			}
		}
		result = s.host.Wait(ctx, commandScope, host.WaitInput{RunID: result.RunID})
	}
	if err := p.result(result); err != nil {
		return err
	}
	switch result.Status {
	case host.Completed:
		return nil
	case host.Failed:
		if result.Error == host.MessageUnavailable && s.state != "" {
			fmt.Fprintf(p.err, "codemode: codemode runs --state %s lists the runs there are\n", s.state)
		}
		return exitCode(exitFailed)
	}
	if calls := running(result); s.state != "" && calls > 0 {
		are := "1 call is"
		if calls > 1 {
			are = fmt.Sprintf("%d calls are", calls)
		}
		fmt.Fprintf(p.err, "codemode: %s under way; this command stays until all have ended, so that the answers are kept (interrupt to leave)\n", are)
		s.host.Drain(ctx)
	}
	return exitCode(exitWaiting)
}

// running counts the tool calls of a waiting result.
func running(r *host.Result) int {
	n := 0
	for _, call := range r.PendingToolCalls {
		if call.Tool != "" {
			n++
		}
	}
	return n
}

// noTools says why the catalog is empty.
func (f *catalogFlags) noTools(snapshot *catalog.Snapshot, upstream *mcp.Upstream) error {
	if snapshot.Len() > 0 {
		return usageError{fmt.Errorf("--allow and --deny leave none of the %d tools", snapshot.Len())}
	}
	if len(f.tools) == 0 && f.config == "" {
		return usageError{errors.New("no tools: name a tools file with --tools FILE, or MCP servers with --config FILE")}
	}
	var down, reasons []string
	if upstream != nil {
		enabled := 0
		for _, server := range upstream.Status() {
			switch server.State {
			case mcp.StateDown, mcp.StateConnecting:
				down = append(down, server.Name)
			case mcp.StateDisabled:
				continue
			}
			enabled++
		}
		switch {
		case len(down) == 1:
			reasons = append(reasons, "the MCP server "+down[0]+" is not available")
		case len(down) > 1:
			reasons = append(reasons, "the MCP servers "+strings.Join(down, ", ")+" are not available")
		case enabled == 0:
			reasons = append(reasons, fmt.Sprintf("%s has no MCP server that is enabled", f.config))
		default:
			reasons = append(reasons, fmt.Sprintf("the MCP servers of %s have none", f.config))
		}
	}
	if len(f.tools) > 0 {
		files := strings.Join(f.tools, ", ")
		switch direct := len(snapshot.Direct(nil)); {
		case direct > 0:
			reasons = append(reasons, fmt.Sprintf("those of %s are directOnly, which cells do not see", files))
		case f.refused > 0:
			reasons = append(reasons, fmt.Sprintf("all of %s were left out", files))
		default:
			reasons = append(reasons, fmt.Sprintf("%s has none", files))
		}
	}
	err := fmt.Errorf("no tools: %s", strings.Join(reasons, "; "))
	if len(down) > 0 {
		return err // the command line is right
	}
	return usageError{err}
}
