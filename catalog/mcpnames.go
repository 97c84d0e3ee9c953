package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// mcpTree is the MCP namespace of a projection: its servers, and the functions of each.
type mcpTree struct {
	servers []*mcpServer // by identifier
	byName  map[string]*mcpServer
}

type mcpServer struct {
	identifier string // MCP.<identifier>
	name       string // as the configuration spells it
	tools      []*mcpTool
	byMethod   map[string]*mcpTool
	fileOnce   sync.Once
	file       string
}

// mcpTool is one function below MCP.<server>. method is its path there: createIssue, resources.list.
type mcpTool struct {
	entry  *Entry
	server *mcpServer
	method string

	argsOnce sync.Once
	args     mcpArguments
}

func (t *mcpTool) path() string { return "MCP." + t.server.identifier + "." + t.method }

var mcpMethods = map[Operation]string{
	OpResourcesList: "resources.list", OpResourcesRead: "resources.read",
	OpPromptsList: "prompts.list", OpPromptsGet: "prompts.get",
}

// mcpServerReserved are the names below a server that are not tools.
var mcpServerReserved = wordSet("$api $serverName resources prompts")

// newMCPTree gives every server and tool its identifier. entries are in id order, and the outcome depends on them
// alone.
func newMCPTree(entries []*Entry) *mcpTree {
	t := &mcpTree{byName: map[string]*mcpServer{}}
	byServer := map[string][]*Entry{}
	for _, e := range entries {
		byServer[e.rec.tool.MCP.Server] = append(byServer[e.rec.tool.MCP.Server], e)
	}
	usedServers := map[string]bool{}
	for _, server := range sortedKeys(byServer) {
		group := byServer[server]
		s := &mcpServer{name: group[0].rec.tool.MCP.ServerName, byMethod: map[string]*mcpTool{}}
		s.identifier = uniqueIdentifier(server, "server", func(name string) bool {
			return usedServers[name] || name == "$api" || fixedReserved(name)
		})
		usedServers[s.identifier] = true
		t.servers = append(t.servers, s)
		t.byName[s.identifier] = s
		for _, e := range group {
			m := e.rec.tool.MCP
			method := mcpMethods[m.Operation]
			if _, taken := s.byMethod[method]; method == "" || taken {
				method = uniqueIdentifier(m.Tool, "tool", func(name string) bool {
					return s.byMethod[name] != nil || mcpServerReserved[name] || jsWords[name] || objectNames[name]
				})
			}
			tool := &mcpTool{entry: e, server: s, method: method}
			e.node, e.callable, e.file = tool, "MCP."+s.identifier+"."+method, s.path()
			s.byMethod[method] = tool
			s.tools = append(s.tools, tool)
		}
		slices.SortFunc(s.tools, func(a, b *mcpTool) int { return cmp.Compare(a.method, b.method) })
	}
	slices.SortFunc(t.servers, func(a, b *mcpServer) int { return cmp.Compare(a.identifier, b.identifier) })
	return t
}

// path is the virtual file that declares the server.
func (s *mcpServer) path() string { return "mcp/" + s.identifier + ".d.ts" }

// camelIdentifier writes a name in lower camel case: git-hub and git_hub are gitHub, create_issue is createIssue, $api
// is api. It is empty when nothing in the name can begin an identifier.
func camelIdentifier(name string) string {
	var b strings.Builder
	words := strings.FieldsFunc(name, func(r rune) bool {
		return r >= 0x80 || !isIdentifierByte(byte(r), false) || r == '_' || r == '$'
	})
	for i, word := range words {
		first := rune(word[0])
		if i == 0 {
			first = unicode.ToLower(first)
		} else {
			first = unicode.ToUpper(first)
		}
		b.WriteRune(first)
		b.WriteString(word[1:])
	}
	return strings.TrimLeft(b.String(), "0123456789")
}

// uniqueIdentifier is the camel case of name, with a number from 2 when it is taken.
func uniqueIdentifier(name, fallback string, taken func(string) bool) string {
	base := camelIdentifier(name)
	if base == "" {
		base = fallback
	}
	if !taken(base) {
		return base
	}
	for n := 2; ; n++ {
		if numbered := base + strconv.Itoa(n); !taken(numbered) {
			return numbered
		}
	}
}
