package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// discriminatorKeys are the annotations on an output schema that say which alternative belongs to which input:
//
//	{"anyOf": [A, B], "x-codemode-input-discriminator":
//	  {"version": 1, "inputProperty": "action", "mapping": {"list": 0, "get": 1}}}
//
// The second spelling is that of the reference system.
var discriminatorKeys = []string{"x-codemode-input-discriminator", "x-openclaw-input-discriminator"}

// discriminator picks the alternative of an output schema that belongs to an input.
type discriminator struct {
	property string
	mapping  map[string]int
	branches map[int]json.RawMessage // whole schemas, the definitions of the root included
}

// newDiscriminator reads the annotation of an output schema; nil without one.
func newDiscriminator(raw json.RawMessage) (*discriminator, error) {
	var schema map[string]json.RawMessage
	if json.Unmarshal(raw, &schema) != nil {
		return nil, nil
	}
	var annotation json.RawMessage
	for _, key := range discriminatorKeys {
		if a, ok := schema[key]; ok {
			annotation = a
			break
		}
	}
	if annotation == nil {
		return nil, nil
	}
	var a struct {
		Version       int            `json:"version"`
		InputProperty string         `json:"inputProperty"`
		Mapping       map[string]int `json:"mapping"`
	}
	if err := json.Unmarshal(annotation, &a); err != nil || a.Version != 1 || a.InputProperty == "" {
		return nil, errors.New(`its input discriminator is not {"version": 1, "inputProperty": name, "mapping": {value: number}}`)
	}
	if len(a.Mapping) == 0 {
		return nil, errors.New("its input discriminator maps nothing")
	}
	var alternatives []json.RawMessage
	if err := json.Unmarshal(schema["anyOf"], &alternatives); err != nil {
		return nil, errors.New("its input discriminator needs anyOf beside it")
	}
	d := &discriminator{property: a.InputProperty, mapping: a.Mapping, branches: map[int]json.RawMessage{}}
	for value, index := range a.Mapping {
		if index < 0 || index >= len(alternatives) {
			return nil, fmt.Errorf("its input discriminator sends %s to alternative %d of %d", printable(value), index, len(alternatives))
		}
		// The whole schema with one alternative, so that references keep their meaning. The others stay under a
		// keyword that no validator reads.
		branch := map[string]json.RawMessage{}
		for key, v := range schema {
			branch[key] = v
		}
		branch["allOf"] = mustMarshal([]any{map[string]string{"$ref": "#/anyOf/" + strconv.Itoa(index)}})
		if own, ok := schema["allOf"]; ok {
			var list []json.RawMessage
			if json.Unmarshal(own, &list) == nil {
				branch["allOf"] = mustMarshal(append(list, mustMarshal(map[string]string{"$ref": "#/anyOf/" + strconv.Itoa(index)})))
			}
		}
		d.branches[index] = mustMarshal(branch)
	}
	return d, nil
}

// branch returns the index of the alternative for an input.
func (d *discriminator) branch(input json.RawMessage) (int, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return 0, false
	}
	v, ok := object[d.property]
	if !ok {
		return 0, false
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	index, ok := d.mapping[text]
	return index, ok
}

// choose returns the validators of the alternatives for the inputs. An input without a mapped value leaves the whole
// union.
func (d *discriminator) choose(r *record, inputs []json.RawMessage) ([]*validator, error) {
	var out []*validator
	seen := map[int]bool{}
	for _, input := range inputs {
		index, ok := d.branch(input)
		if !ok || seen[index] {
			continue
		}
		seen[index] = true
		v, err := r.catalog.contracts.get(d.branches[index], r.tool.Source)
		if err != nil {
			return nil, errors.New("the alternative for this input cannot be compiled")
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		v, err := r.catalog.contracts.get(r.tool.OutputSchema, r.tool.Source)
		if err != nil {
			return nil, errors.New("it cannot be compiled")
		}
		out = append(out, v)
	}
	return out, nil
}
