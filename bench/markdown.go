package bench

import (
	"bytes"
	"fmt"
	"strings"
)

// Markdown is a result as tables for a README: the targets, the peers, and what a suspended cell takes.
func Markdown(r *Result) []byte {
	var b bytes.Buffer
	cell := func(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
	fmt.Fprintf(&b, "<!-- Made by `codemode bench report`; do not edit. -->\n\n%s\n\n", cell(machineLine(r)))
	b.WriteString("| target | what | goal | measured | |\n| --- | --- | --- | --- | --- |\n")
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", t.ID, cell(t.What), cell(t.Goal), cell(t.Measured), t.Verdict)
	}
	for _, t := range r.Targets {
		if t.Verdict != Met {
			fmt.Fprintf(&b, "\n%s: %s.\n", t.ID, cell(t.Why))
		}
	}
	if rows := sideBySide(r); len(rows) > 0 {
		b.WriteString("\n| | peer | theirs | codemode | peer takes | what differs |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, row := range rows {
			factor := row.Factor
			if row.PeerBetter {
				factor = "**" + factor + "**"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cell(row.What), cell(row.Peer), row.Theirs, row.Ours, factor, cell(row.Differs))
		}
	}
	b.WriteString("\n| suspended cell | whole memory | delta | s2 | zstd |\n| --- | --- | --- | --- | --- |\n")
	for _, w := range snapshotWorkloads {
		line := "| " + w.name
		found := false
		for _, kind := range []string{"image", "none", "s2", "zstd"} {
			c, ok := r.find("snapshot/" + w.name + "/size/" + kind)
			if ok {
				found = true
				line += " | " + value(c.P50, Bytes)
			}
		}
		if found {
			b.WriteString(line + " |\n")
		}
	}
	return b.Bytes()
}
