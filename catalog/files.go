package catalog

import (
	"strings"
)

// File is a virtual file of API.list and API.read.
type File struct {
	Path        string
	Description string
	Content     string // of ReadFile only
	Bytes       int    // length of Content in bytes; 0 in a listing, because a file is made when it is read
	Untrusted   bool   // its text comes from outside the embedding program
	Describes   bool   // reading it counts as describing a tool
}

// cleanPath takes white space, leading and trailing slashes off a virtual path. ok is false when a step in it is empty,
// a dot or two dots.
func cleanPath(path string) (string, bool) {
	path = strings.Trim(strings.TrimSpace(path), "/")
	if path == "" {
		return "", true
	}
	for step := range strings.SplitSeq(path, "/") {
		if step == "" || step == "." || step == ".." || strings.Contains(step, "\x00") {
			return "", false
		}
	}
	return path, true
}

func errPath(path string) *Error {
	return invalidInput("%s is not a path of an API file. Paths look like tools/name.d.ts.", printable(cutUTF16(path, 200)))
}

// Files lists the virtual files at or below prefix, all of them when it is empty: mcp/index.d.ts and mcp/<server>.d.ts
// when MCP tools are visible, then tools/<callable>.d.ts for each native and client tool. A prefix is a path or a
// folder: mcp/git does not match mcp/gitHub.d.ts. Nothing is rendered. A malformed prefix is an *Error with
// CodeInvalidInput.
func (v *View) Files(prefix string) ([]File, error) {
	given := prefix
	prefix, ok := cleanPath(given)
	if !ok {
		return nil, errPath(given)
	}
	files := []File{}
	add := func(f File) {
		if prefix == "" || f.Path == prefix || strings.HasPrefix(f.Path, prefix+"/") {
			files = append(files, f)
		}
	}
	if servers := v.mcpServers(); len(servers) > 0 {
		add(File{Path: "mcp/index.d.ts", Description: "The MCP servers", Untrusted: true})
		for _, s := range servers {
			if s.identifier != "index" {
				add(File{Path: s.path(), Description: "MCP server " + plainLine(s.name, 120), Untrusted: true})
			}
		}
	}
	for _, e := range v.Callables() {
		add(File{Path: e.file, Untrusted: e.UntrustedText(), Describes: true})
	}
	return files, nil
}

// ReadFile renders one virtual file. Errors are *Error with CodeInvalidInput.
func (v *View) ReadFile(path string) (File, error) {
	clean, ok := cleanPath(path)
	if !ok || clean == "" {
		return File{}, errPath(path)
	}
	f := File{Path: clean}
	switch {
	case strings.HasPrefix(clean, "mcp/"):
		f.Content = v.mcpFile(strings.TrimSuffix(strings.TrimPrefix(clean, "mcp/"), ".d.ts"), clean)
		f.Untrusted = true
	case strings.HasPrefix(clean, "tools/"):
		if e, ok := v.Callable(strings.TrimSuffix(strings.TrimPrefix(clean, "tools/"), ".d.ts")); ok && e.file == clean {
			f.Content, f.Untrusted, f.Describes = e.declarationFile(), e.UntrustedText(), true
		}
	}
	if f.Content == "" {
		return File{}, v.unknownFile(clean)
	}
	f.Bytes = len(f.Content)
	return f, nil
}

func (v *View) unknownFile(path string) *Error {
	files, _ := v.Files("")
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Path
	}
	err := invalidInput("There is no API file %s. API.list() shows those there are.", printable(cutUTF16(path, 200)))
	if near := nearestOf(path, names); near != "" {
		err = invalidInput("There is no API file %s. Did you mean %s?", printable(cutUTF16(path, 200)), near)
		err.Nearest = []string{near}
	}
	return err
}

// mcpServers returns the servers with a tool that may be used.
func (v *View) mcpServers() []*mcpServer {
	tree := v.proj.tables().mcp
	if v.check == nil {
		return tree.servers
	}
	var servers []*mcpServer
	for _, s := range tree.servers {
		if len(s.permitted(v.permits)) > 0 {
			servers = append(servers, s)
		}
	}
	return servers
}

func (v *View) mcpFile(name, path string) string {
	servers := v.mcpServers()
	if len(servers) == 0 {
		return ""
	}
	if path == "mcp/index.d.ts" {
		return v.proj.mcp.indexFile(v.permits)
	}
	for _, s := range servers {
		if s.identifier == name && s.path() == path {
			if v.check == nil {
				return s.declarations(nil)
			}
			return s.declarations(v.permits)
		}
	}
	return ""
}
