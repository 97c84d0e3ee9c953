package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"codemode/host"
	"codemode/limits"
	"codemode/transpile"
)

// show is a result as transcripts have it: what a reader wants to know first, then output, value or error.
//
//	failed timeout guest, limit timeout, at 1:15
//	text: kept
//	error: The cell computed for longer than its 100 ms. …
//
// What is the usual case is left out: the language javascript, no notes, not replay-safe.
func show(r *host.Result, more, less []string) string {
	var b strings.Builder
	if slices.Contains(less, "place") {
		placeless := *r
		placeless.Location, placeless.Error = nil, places.ReplaceAllString(r.Error, "")
		r = &placeless
	}
	b.WriteString(string(r.Status))
	switch r.Status {
	case host.Waiting:
		fmt.Fprintf(&b, " %s", r.Reason)
	case host.Failed:
		fmt.Fprintf(&b, " %s %s", r.Code, r.FailurePhase)
		if r.Limit != "" {
			fmt.Fprintf(&b, ", limit %s", r.Limit)
		}
		if r.Location != nil {
			fmt.Fprintf(&b, ", at %s", place(r.Location))
		}
	}
	b.WriteByte('\n')
	if r.Language == transpile.TypeScript {
		b.WriteString("language: typescript\n")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.ReplaySafe, "replay-safe"}, {r.Terminate, "terminate"}, {r.Untrusted, "untrusted"}} {
		if flag.set {
			b.WriteString(flag.name + "\n")
		}
	}
	for _, call := range r.PendingToolCalls {
		fmt.Fprintf(&b, "pending: %s\n", strings.TrimSpace(call.ID+" "+call.Tool))
	}
	for _, u := range r.UnknownEffects {
		fmt.Fprintf(&b, "unknown effect: %s %s at %s\n", u.ID, u.Tool, place(u.Location))
	}
	if slices.Contains(more, "telemetry") {
		t := r.Telemetry
		fmt.Fprintf(&b, "telemetry: catalog %s, %d tools, %d searches, %d describes, %d calls\n",
			t.CounterScope, t.CatalogSize, t.SearchCount, t.DescribeCount, t.CallCount)
	}
	if slices.Contains(more, "keys") {
		fmt.Fprintf(&b, "keys: %s\n", strings.Join(keys(r), " "))
	}
	for _, entry := range r.Output {
		b.WriteString(showEntry(entry))
	}
	switch r.Status {
	case host.Completed:
		value := r.Value
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		b.WriteString(showValue(value))
	case host.Failed:
		b.WriteString("error: " + indent(shorten(r.Error)))
	}
	return blanks.ReplaceAllString(rename(b.String()), "")
}

// places are frames and source lines in an error's text.
var places = regexp.MustCompile(`(?m)\n(    at |\s*\d+ \| |\s+\| ).*$`)

var blanks = regexp.MustCompile(`(?m)[ \t]+$`)

func place(l *transpile.Location) string {
	if l == nil {
		return "an unknown place"
	}
	return fmt.Sprintf("%d:%d", l.Line, l.Column)
}

// showEntry is an output entry in a line: "text: …", "json: …", or what was cut.
func showEntry(entry json.RawMessage) string {
	var e struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Value json.RawMessage `json:"value"`
	}
	if cut, ok := showMarker(entry); ok {
		return "output " + cut
	}
	switch err := json.Unmarshal(entry, &e); {
	case err != nil:
		return "not JSON: " + string(entry) + "\n"
	case e.Type == "text":
		return "text: " + plain(shorten(e.Text)) + "\n"
	case e.Type == "json":
		return "json: " + showJSON(e.Value)
	}
	return "neither text nor json: " + string(entry) + "\n"
}

func showValue(value json.RawMessage) string {
	if cut, ok := showMarker(value); ok {
		return "value " + cut
	}
	return "value: " + showJSON(value)
}

// showMarker is a marker for what was cut, with the ends of its prefix:
//
//	cut: 3370 bytes left out after 625: [{"type":"text","text":"line 0 of many"},{"t…"text":"line 17 of
//	     The output was cut here. …
func showMarker(text json.RawMessage) (string, bool) {
	var m struct {
		limits.Marker
		Reference json.RawMessage `json:"reference"`
	}
	if decode(text, &m) != nil || !m.Truncated {
		return "", false
	}
	line := fmt.Sprintf("cut: %d bytes left out after %d: %s", m.OmittedBytes, len(m.Prefix), ends(m.Prefix))
	if m.Reference != nil {
		line = "cut, kept as " + strings.TrimSuffix(showJSON(m.Reference), "\n")
	}
	return line + "\n     " + m.Guidance + "\n", true
}

// shorten leaves out the middle of a very long text, and says how long it is.
func shorten(text string) string {
	if r := []rune(text); len(r) > 400 {
		return fmt.Sprintf("%s… (%d characters) …%s", string(r[:60]), len(r), string(r[len(r)-60:]))
	}
	return text
}

func ends(text string) string {
	const first, last = 60, 20
	r := []rune(text)
	if len(r) > first+last {
		return string(r[:first]) + "…" + string(r[len(r)-last:])
	}
	return text
}

// plain is a text as it is where that is clear, and quoted where not.
func plain(text string) string {
	quoted := quote(text)
	if text == "" || text != strings.TrimSpace(text) || strings.HasPrefix(text, `"`) || strings.Trim(quoted, `"`) != text && strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
		return quoted
	}
	return text
}

func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// maxLine is how long JSON in one line may be.
const maxLine = 140

func showJSON(value json.RawMessage) string {
	if len(value) <= maxLine {
		return string(value) + "\n"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, value, "  ", "  "); err != nil || !bytes.Contains(b.Bytes(), []byte("\n")) {
		return string(value) + "\n"
	}
	return "\n  " + b.String() + "\n"
}

// indent is a text of several lines, each but the first indented.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// keys are the names in a result's JSON, in their order.
func keys(r *host.Result) []string {
	text, err := json.Marshal(r)
	if err != nil {
		return []string{err.Error()}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token()
	var names []string
	for d.More() {
		name, _ := d.Token()
		names = append(names, fmt.Sprint(name))
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return names
		}
	}
	return names
}

var volatile = regexp.MustCompile(`\b(cm|result)_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// rename gives ids that are new in every run fixed names, in the order in which they appear.
func rename(text string) string {
	seen := map[string]string{}
	return volatile.ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			kind, _, _ := strings.Cut(id, "_")
			seen[id] = fmt.Sprintf("%s_%d", kind, len(seen)+1)
		}
		return seen[id]
	})
}

// check reports what must not be in any result.
func (p *player) check(r *host.Result) {
	text, err := json.Marshal(r)
	if err != nil || !json.Valid(text) {
		p.t.Errorf("a result that is not JSON: %v", err)
		return
	}
	names := keys(r)
	if names[0] != "status" || !slices.Contains(names, "output") || !slices.Contains(names, "telemetry") || !slices.Contains(names, "replaySafe") {
		p.t.Errorf("the result's keys are %v", names)
	}
	switch last := names[len(names)-1]; {
	case r.Status == host.Completed && last != "value", r.Status == host.Failed && last != "error", r.Status == host.Waiting && last != "output":
		p.t.Errorf("a %s result ends in %s", r.Status, last)
	case r.Status == host.Waiting && (len(r.PendingToolCalls) == 0 || r.RunID == ""):
		p.t.Error("a waiting result without pending calls or run id")
	case r.Status == host.Failed && r.Error == "":
		p.t.Error("a failed result without an error")
	case r.Status == host.Failed && (r.FailurePhase == host.PhaseBridge) != r.BridgeDispatchStarted:
		p.t.Errorf("phase %s, but bridgeDispatchStarted is %v", r.FailurePhase, r.BridgeDispatchStarted)
	case r.Status == host.Failed && !slices.Contains(codes, r.Code):
		p.t.Errorf("there is no code %q", r.Code)
	}
	if found := internals.FindString(string(text)); found != "" {
		p.t.Errorf("the result shows %q, which is of the host:\n%s", found, text)
	}
	if l := r.Location; l != nil && p.source != "" {
		source := strings.Split(p.source, "\n")
		if l.Line < 1 || l.Line > len(source) || l.Column < 1 {
			p.t.Errorf("the location %d:%d is outside the cell", l.Line, l.Column)
		} else if line := source[l.Line-1]; !strings.ContainsRune(l.LineText, '…') && strings.TrimRight(line, "\r") != l.LineText {
			p.t.Errorf("the location's line is %q, line %d is %q", l.LineText, l.Line, line)
		}
	}
}

var codes = []host.Code{
	host.InvalidInput, host.RuntimeUnavailable, host.Aborted, host.TimedOut, host.OutputLimitExceeded, host.SnapshotLimitExceeded, host.InternalError,
}

// internals are what a model must never see of the host: its source files, its stacks, its temporary files.
var internals = regexp.MustCompile(`goroutine \d+|\.go:\d+|/tmp/|wasm trap|wasmtime`)
