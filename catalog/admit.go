package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxNameBytes        = 256
	maxDescriptionBytes = 64 << 10
)

// record is one registered tool: immutable, and shared by every snapshot that has it.
type record struct {
	tool    Tool
	id      string
	catalog *Catalog
	hints   hintCache
	input   contract
	output  contract
	pace    pace
}

// trusted reports whether the tool's names and texts may stand in a prompt: they come from the embedding program.
func (r *record) trusted() bool { return r.tool.Source != SourceMCP && r.tool.Source != SourceClient }

// sourceLabel is the source as ids and metadata spell it.
func (r *record) sourceLabel() string {
	if r.tool.Source == SourceHost {
		return r.catalog.options.HostLabel
	}
	return string(r.tool.Source)
}

// admitAll checks tools and makes records of those that are fit. Of several with the same id the last one stays.
func (c *Catalog) admitAll(tools []Tool) ([]*record, []Problem) {
	var records []*record
	var problems []Problem
	seen := make(map[string]int, len(tools))
	for i := range tools {
		r, reasons, err := c.admit(&tools[i])
		problem := func(kept bool, reason string) {
			problems = append(problems, Problem{
				Owner: printable(ownerOf(&tools[i])), Tool: printable(tools[i].Name), Index: i, Reason: reason, Kept: kept,
			})
		}
		for _, reason := range reasons {
			problem(true, reason)
		}
		if err != nil {
			problem(false, err.Error())
			continue
		}
		if earlier, dup := seen[r.id]; dup {
			problem(true, "it replaces an earlier tool of the same name and owner in the same registration")
			records[earlier] = r
			continue
		}
		seen[r.id] = len(records)
		records = append(records, r)
	}
	return records, problems
}

func (c *Catalog) admit(t *Tool) (r *record, reasons []string, err error) {
	if t.invalid != nil {
		return nil, nil, t.invalid
	}
	r = &record{tool: *t, catalog: c}
	tool := &r.tool
	tool.Owner = ownerOf(t)
	if tool.Source == "" {
		tool.Source = SourceHost
	}
	if tool.MCP != nil {
		m := *tool.MCP
		tool.MCP = &m
		if m.Server == "" {
			tool.MCP.Server = tool.Owner
		}
		if m.ServerName == "" {
			tool.MCP.ServerName = tool.MCP.Server
		}
		if m.Operation == "" {
			tool.MCP.Operation = OpTool
		}
		if m.Tool == "" {
			tool.MCP.Tool = tool.Name
		}
	}
	if err := checkIdentity(tool); err != nil {
		return nil, nil, err
	}
	if tool.Label == "" {
		tool.Label = tool.Name
	}
	r.id = r.sourceLabel() + ":" + tool.Owner + ":" + tool.Name
	for _, schema := range []struct {
		what string
		raw  *json.RawMessage
	}{{"input", &tool.InputSchema}, {"output", &tool.OutputSchema}} {
		raw := bytes.TrimSpace(*schema.raw)
		if bytes.Equal(raw, []byte("null")) {
			raw = nil
		}
		*schema.raw = slices.Clone(raw)
		note, err := checkSchema(raw, tool.Source)
		if note != "" && r.trusted() {
			reasons = append(reasons, fmt.Sprintf("in its %s schema, %s", schema.what, note))
		}
		if err != nil {
			if r.trusted() {
				return nil, nil, fmt.Errorf("its %s schema is unusable: %w", schema.what, err)
			}
			reasons = append(reasons, fmt.Sprintf("its %s schema is ignored: %v", schema.what, err))
			*schema.raw = nil
		}
	}
	return r, reasons, nil
}

func ownerOf(t *Tool) string {
	switch {
	case t.Owner != "":
		return t.Owner
	case t.MCP != nil && t.MCP.Server != "":
		return t.MCP.Server
	case t.Source == SourceClient:
		return "client"
	}
	return "core"
}

func checkIdentity(t *Tool) error {
	switch {
	case t.Name == "":
		return fmt.Errorf("it has no name")
	case len(t.Name) > maxNameBytes:
		return fmt.Errorf("its name has %d bytes, %d are allowed", len(t.Name), maxNameBytes)
	case !printableText(t.Name):
		return fmt.Errorf("its name has characters that cannot be printed")
	case strings.TrimSpace(t.Name) != t.Name:
		return fmt.Errorf("its name begins or ends with white space")
	case !utf8.ValidString(t.Description) || !utf8.ValidString(t.Label):
		return fmt.Errorf("its label or description is not UTF-8")
	case len(t.Description) > maxDescriptionBytes || len(t.Label) > maxDescriptionBytes:
		return fmt.Errorf("its description or label has more than %d bytes", maxDescriptionBytes)
	case strings.Contains(t.Owner, ":") || !printableText(t.Owner) || len(t.Owner) > maxNameBytes:
		return fmt.Errorf("its owner %s must be printable, without a colon, and at most %d bytes", printable(t.Owner), maxNameBytes)
	case t.Run == nil:
		return fmt.Errorf("it has nothing to run")
	case t.Source != SourceHost && t.Source != SourceMCP && t.Source != SourceClient:
		return fmt.Errorf("its source %s is none of host, mcp, client", printable(string(t.Source)))
	case (t.MCP != nil) != (t.Source == SourceMCP):
		return fmt.Errorf("a tool has the source mcp if and only if it says which MCP tool it is")
	}
	if t.MCP != nil {
		switch t.MCP.Operation {
		case OpTool, OpResourcesList, OpResourcesRead, OpPromptsList, OpPromptsGet:
		default:
			return fmt.Errorf("its MCP operation %s is unknown", printable(string(t.MCP.Operation)))
		}
		for _, s := range []string{t.MCP.Server, t.MCP.ServerName, t.MCP.Tool} {
			if !printableText(s) || len(s) > 4*maxNameBytes {
				return fmt.Errorf("its MCP server or tool name cannot be printed or is too long")
			}
		}
	}
	return nil
}

// printableText reports whether s is UTF-8 without control and format characters (the latter hide or reorder text).
func printableText(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return false
		}
	}
	return true
}

// printable returns s fit for a message: as it is when it is plain and short, otherwise quoted and cut.
func printable(s string) string {
	if printableText(s) && s != "" && len(s) <= maxNameBytes {
		return s
	}
	if len(s) > 64 {
		s = s[:64] + "…"
	}
	return strconv.QuoteToASCII(s)
}

func isLabel(s string) bool {
	for _, c := range []byte(s) {
		if !isIdentifierByte(c, false) && c != '-' || c == '$' {
			return false
		}
	}
	return s != "" && s != string(SourceMCP) && s != string(SourceClient)
}
