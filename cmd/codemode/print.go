package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"codemode/host"
)

// outputFormat is the format that a flag asks for: by default text for a person, and JSON for a program.
func outputFormat(s streams, flag string) (string, error) {
	switch flag {
	case "json", "text":
		return flag, nil
	case "":
		if terminal(s.out) {
			return "text", nil
		}
		return "json", nil
	}
	return "", usageError{fmt.Errorf("--format is json or text, not %q", flag)}
}

// printer writes results.
type printer struct {
	streams
	format string
}

func (p printer) result(r *host.Result) error {
	if p.format == "json" {
		text, err := r.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "%s\n", text)
		return err
	}
	if err := p.output(r); err != nil {
		return err
	}
	for _, note := range r.Notes {
		fmt.Fprintln(p.err, "note:", note)
	}
	switch r.Status {
	case host.Completed:
		_, err := fmt.Fprintln(p.out, indented(r.Value))
		return err
	case host.Waiting:
		fmt.Fprintf(p.err, "waiting (%s), run %s\n", r.Reason, r.RunID)
		for _, call := range r.PendingToolCalls {
			what := call.Method
			if call.Tool != "" {
				what += " " + call.Tool
			}
			fmt.Fprintf(p.err, "  %s, for %d ms\n", what, call.ElapsedMs)
		}
	case host.Failed:
		kind := string(r.Code)
		if r.Limit != "" {
			kind += ", limit " + r.Limit
		}
		fmt.Fprintf(p.err, "failed (%s): %s\n", kind, r.Error)
	}
	return nil
}

// output writes what the cell emitted.
func (p printer) output(r *host.Result) error {
	for _, raw := range r.Output {
		var entry struct {
			Type      string
			Text      string
			Value     json.RawMessage
			Truncated bool
			Omitted   int64 `json:"omittedBytes"`
			Prefix    string
		}
		if json.Unmarshal(raw, &entry) != nil {
			continue
		}
		text := indented(entry.Value)
		switch {
		case entry.Truncated:
			text = entry.Prefix
			fmt.Fprintf(p.err, "note: %d bytes of output were left out\n", entry.Omitted)
		case entry.Type == "text":
			text = strings.TrimSuffix(entry.Text, "\n")
		}
		if _, err := fmt.Fprintln(p.out, text); err != nil {
			return err
		}
	}
	return nil
}

// indented is JSON for people; text on its own is shown without quotes.
func indented(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// shortBytes is what parseBytes reads, in the largest unit that has no fraction.
func shortBytes(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB"}
	unit := 0
	for n >= 1024 && n%1024 == 0 && unit < len(units)-1 {
		n /= 1024
		unit++
	}
	return fmt.Sprintf("%d%s", n, units[unit])
}

// parseBytes reads 1048576, 64MiB, 512k.
func parseBytes(text string) (int64, error) {
	number := strings.TrimRight(text, "BbIiKkMmGg")
	var shift uint
	switch unit := strings.ToLower(strings.TrimSpace(text[len(number):])); strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i") {
	case "":
	case "k":
		shift = 10
	case "m":
		shift = 20
	case "g":
		shift = 30
	default:
		return 0, fmt.Errorf("%q has a unit other than KiB, MiB, GiB", text)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("%q is not a number of bytes such as 16777216 or 16MiB", text)
	}
	return n << shift, nil
}
