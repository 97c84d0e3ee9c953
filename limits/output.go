package limits

import (
	"encoding/json"
	"unicode/utf8"

	"codemode/internal/jsontext"
)

// Output is what a cell has emitted, under the budget that output and value share. It keeps the entries while they fit
// the budget, and after that only a prefix and the true size, so that a cell that floods costs the host no more than
// the budget. The zero value is not usable; make one with NewOutput.
type Output struct {
	budget    int
	entries   []json.RawMessage
	prefix    []byte // of the compact JSON of all entries, at most budget bytes; kept from the first overflow on
	bytes     int64  // of the compact JSON of all entries
	delivered int    // entries given out already
	overflow  bool
	shown     int64 // bytes at the last marker that was given out, to give an equal one only once
}

// Marker stands for what was left out of a result.
type Marker struct {
	Truncated    bool   `json:"truncated"` // always true
	OmittedBytes int64  `json:"omittedBytes"`
	Guidance     string `json:"guidance"`
	// Prefix is the start of the compact JSON of what is left out.
	Prefix string `json:"prefix"`
}

// Guidance is what a marker tells the model to do.
const Guidance = "The output was cut here. Return or emit less: filter, count or slice in the cell."

// NewOutput makes an empty output with a budget in bytes of compact JSON.
func NewOutput(budget int64) *Output { return &Output{budget: int(budget)} }

// Text adds a text entry.
func (o *Output) Text(text string) {
	const head = `{"type":"text","text":`
	more := int64(0)
	if o.overflow || o.bytes+int64(len(text)+len(head)+len(`""}`)) > int64(o.budget) {
		// No entry is made of what cannot be shown whole: a flood is only counted.
		cut := Cut(text, o.budget)
		more, text = int64(len(text)-len(cut)), cut
	}
	entry := make([]byte, 0, len(head)+len(text)+len(text)/16+8)
	entry = jsontext.AppendString(append(entry, head...), text)
	o.add(append(entry, '}'), more)
}

// Cut is the start of a text, of so many bytes at most, and not in the middle of a code point.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// JSON adds a JSON entry; value is valid JSON.
func (o *Output) JSON(value json.RawMessage) {
	entry := make([]byte, 0, len(value)+32)
	entry = append(entry, `{"type":"json","value":`...)
	entry = append(entry, value...)
	o.add(append(entry, '}'), 0)
}

// encode is json.Marshal without HTML escapes; what it is given always marshals.
func encode(v any) []byte {
	text, err := jsontext.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// add appends an entry of which more bytes were left out already.
func (o *Output) add(entry json.RawMessage, more int64) {
	size := int64(len(entry)) + more + 1 // a comma or a bracket
	if o.bytes == 0 {
		o.bytes = 1
	}
	o.bytes += size
	if !o.overflow && o.bytes <= int64(o.budget) {
		o.entries = append(o.entries, entry)
		return
	}
	if !o.overflow {
		o.overflow = true
		o.prefix = joined(o.entries, o.budget)
		o.entries = nil
	}
	if room := o.budget - len(o.prefix); room > 0 {
		if len(o.prefix) > 1 {
			o.prefix = append(o.prefix, ',')
			room--
		}
		o.prefix = append(o.prefix, entry[:max(0, min(room, len(entry)))]...)
	}
}

// joined is the start of the JSON array of entries, without the closing bracket.
func joined(entries []json.RawMessage, most int) []byte {
	out := []byte{'['}
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
		if len(out) >= most {
			return out[:most]
		}
	}
	return out
}

// Bytes is the size of everything emitted, as compact JSON.
func (o *Output) Bytes() int64 { return max(o.bytes, 2) }

// Fits says whether everything emitted and a value of so many bytes fit the budget.
func (o *Output) Fits(valueBytes int64) bool {
	return !o.overflow && o.Bytes()+valueBytes <= int64(o.budget)
}

// Fitted is what of a cell's output and value goes into a result.
type Fitted struct {
	// Output has the entries that were not given out before, or one Marker for all there are.
	Output []json.RawMessage
	// Value is the value, or a Marker for it; nil where none was given.
	Value json.RawMessage
	// Truncated says that something was left out.
	Truncated bool
}

// Fit gives out what was emitted since the last Fit, and the value, within the budget: the value may take what the
// output leaves, and at least half of it. valueBytes is the value's true size where value is only its start. Without a
// value, value is nil.
func (o *Output) Fit(value json.RawMessage, valueBytes int64) Fitted {
	var f Fitted
	reserved := int64(0)
	if value != nil {
		reserved = min(valueBytes, int64(o.budget)/2)
	}
	var used int64
	f.Output, used, f.Truncated = o.fit(int64(o.budget) - reserved)
	if value != nil {
		if valueBytes <= int64(o.budget)-used && int64(len(value)) == valueBytes {
			f.Value = value
		} else {
			f.Truncated = true
			f.Value, _ = marker(value, valueBytes, int64(o.budget)-used)
		}
	}
	return f
}

// fit gives out what was emitted since the last time, in so much room, and says how much of it all the output takes.
func (o *Output) fit(room int64) (output []json.RawMessage, used int64, truncated bool) {
	output, used = []json.RawMessage{}, o.Bytes()
	if !o.overflow && used <= room {
		output = append(output, o.entries[o.delivered:]...)
		o.delivered = len(o.entries)
		return output, used, false
	}
	prefix := o.prefix
	if !o.overflow {
		prefix = joined(o.entries, o.budget)
	}
	m, used := marker(prefix, used, room-2)
	if o.shown != o.bytes {
		o.shown = o.bytes
		output = append(output, m)
	}
	return output, used + 2, true
}

// marker makes a Marker for something of which prefix is the start and total the size, at most room bytes long, and
// gives its size.
func marker(prefix []byte, total, room int64) (json.RawMessage, int64) {
	low, high := 0, len(prefix)
	var best []byte
	for low <= high {
		n := (low + high) / 2
		cut := n
		for cut > 0 && cut < len(prefix) && !utf8.RuneStart(prefix[cut]) {
			cut--
		}
		text := encode(Marker{true, total - int64(cut), Guidance, string(prefix[:cut])})
		if int64(len(text)) <= room || best == nil && n == 0 {
			best = text
			low = n + 1
		} else {
			high = n - 1
		}
	}
	return best, int64(len(best))
}

// ErrorSuffix ends a message that was cut.
const ErrorSuffix = " [error truncated]"

// FitFailure is Fit for an error's message: it is cut to what the budget leaves beside the output, and at least half of
// it, and the output has what the message leaves.
func (o *Output) FitFailure(message string) (string, []json.RawMessage) {
	message = o.cutError(message)
	if !o.overflow && o.delivered == len(o.entries) { // all was given out before, and needs no marker
		return message, []json.RawMessage{}
	}
	output, _, _ := o.fit(int64(o.budget - len(encode(message))))
	return message, output
}

func (o *Output) cutError(message string) string {
	allowed := int64(o.budget) - min(o.Bytes(), int64(o.budget)/2)
	if quoted := encode(message); int64(len(quoted)) <= allowed {
		return message
	}
	low, high := 0, min(len(message), int(allowed))
	for low < high {
		n := (low + high + 1) / 2
		if quoted := encode(message[:n] + ErrorSuffix); int64(len(quoted)) <= allowed {
			low = n
		} else {
			high = n - 1
		}
	}
	for low > 0 && !utf8.RuneStart(message[low]) {
		low--
	}
	return message[:low] + ErrorSuffix
}

// State is an Output as data, for a store.
type State struct {
	Entries   []json.RawMessage `json:"entries,omitempty"`
	Prefix    []byte            `json:"prefix,omitempty"`
	Bytes     int64             `json:"bytes"`
	Delivered int               `json:"delivered"`
	Overflow  bool              `json:"overflow,omitempty"`
	Shown     int64             `json:"shown,omitempty"`
}

// State is the output as data. Entries that were given out are only counted.
func (o *Output) State() State {
	return State{o.entries, o.prefix, o.bytes, o.delivered, o.overflow, o.shown}
}

// RestoreOutput makes an Output of its data.
func RestoreOutput(budget int64, s State) *Output {
	return &Output{budget: int(budget), entries: s.Entries, prefix: s.Prefix, bytes: s.Bytes, delivered: s.Delivered,
		overflow: s.Overflow, shown: s.Shown}
}
