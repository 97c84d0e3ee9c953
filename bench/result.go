package bench

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Format names the form of a result file; schema.json describes it. Another number is another form.
const Format = "codemode-bench/1"

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema of a result file.
func Schema() []byte { return bytes.Clone(schema) }

// Result is what a run of the bench found.
type Result struct {
	Format  string    `json:"format"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Quick   bool      `json:"quick"`
	Machine Machine   `json:"machine"`
	Build   Build     `json:"build"`
	Suites  []Suite   `json:"suites"`
	Targets []Target  `json:"targets"`
}

// Suite is what one suite measured.
type Suite struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Seconds float64 `json:"seconds"`
	Cases   []Case  `json:"cases"`
	Ratios  []Ratio `json:"ratios"`
	Skipped []Skip  `json:"skipped"`
}

// Unit is what a case's numbers are.
type Unit string

// The units.
const (
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	PerSecond   Unit = "1/s"
	Times       Unit = "x" // a ratio
)

// Case is one thing that was measured.
type Case struct {
	ID      string  `json:"id"`    // suite/case, and /peer where it is a peer's
	Group   string  `json:"group"` // cases of one group were measured in turn
	Title   string  `json:"title"`
	Subject string  `json:"subject"` // whose it is: codemode, or a peer's name
	Unit    Unit    `json:"unit"`
	N       int     `json:"n"` // samples
	Min     float64 `json:"min"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
	// Low and High are the 95 % interval of the median, from the rounds.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Rounds are the medians of the rounds, in order.
	Rounds []float64 `json:"rounds"`
	// Quantiles are 41 evenly spaced quantiles of the samples, from the smallest to the largest.
	Quantiles []float64 `json:"quantiles,omitempty"`
	// Differs says what a peer does otherwise than codemode in this case.
	Differs string `json:"differs,omitempty"`
}

// Ratio compares two cases, round by round.
type Ratio struct {
	ID     string    `json:"id"`
	Of     string    `json:"of"` // the case above the line
	To     string    `json:"to"` // the case below it
	P50    float64   `json:"p50"`
	Low    float64   `json:"low"` // 95 % interval of the median
	High   float64   `json:"high"`
	Rounds []float64 `json:"rounds"`
}

// Skip is something that was not measured.
type Skip struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Read reads a result file.
func Read(path string) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("bench: %s is not a result file: %w", path, err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("bench: %s has the format %q; this build reads %q", path, r.Format, Format)
	}
	return &r, nil
}

// Write writes a result file.
func (r *Result) Write(path string) error {
	text, err := r.JSON()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return nil
}

// JSON is the result as a file has it.
func (r *Result) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("bench: writing a result: %w", err)
	}
	return append(compactNumbers(text), '\n'), nil
}

// compactNumbers puts lists of numbers on one line each.
func compactNumbers(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '[' {
			out = append(out, text[i])
			continue
		}
		end := bytes.IndexByte(text[i:], ']')
		inner := text[i : i+end+1]
		if bytes.ContainsAny(inner, "\"{[") && bytes.ContainsAny(inner[1:], "\"{[") {
			out = append(out, '[')
			continue
		}
		for _, b := range inner {
			if b != ' ' && b != '\n' {
				out = append(out, b)
			}
		}
		i += end
	}
	return out
}

// find gives a case by its id.
func (r *Result) find(id string) (*Case, bool) {
	for s := range r.Suites {
		for c := range r.Suites[s].Cases {
			if r.Suites[s].Cases[c].ID == id {
				return &r.Suites[s].Cases[c], true
			}
		}
	}
	return nil, false
}

// ratio gives a ratio by its id.
func (r *Result) ratio(id string) (*Ratio, bool) {
	for s := range r.Suites {
		for i := range r.Suites[s].Ratios {
			if r.Suites[s].Ratios[i].ID == id {
				return &r.Suites[s].Ratios[i], true
			}
		}
	}
	return nil, false
}
