package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	fastjson "github.com/segmentio/encoding/json"

	"codemode/internal/jsontext"
)

// Func makes a tool of a Go function. Both schemas are inferred from the types: field names from json tags,
// descriptions from jsonschema tags, fields with omitempty or omitzero are optional, unknown properties are refused.
//
//	type In struct {
//		City string `json:"city" jsonschema:"name of the city"`
//	}
//
// In must be a struct or a map with string keys; struct{} takes no properties. Out may be anything that encodes as
// JSON; any promises nothing. An [*Error] that fn returns keeps its code and data. fn reaches approval and progress
// through [CallFrom]. The fields of the returned Tool may be changed before it is added. Types that have no schema are
// reported by Add.
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	t := Tool{Name: name, Description: description}
	in, err := jsonschema.For[In](nil)
	if err == nil && in.Type != "object" {
		// A pointer to a struct is inferred as object or null.
		if underlying := reflect.TypeFor[In](); underlying.Kind() == reflect.Pointer && underlying.Elem().Kind() == reflect.Struct {
			in.Types, in.Type = nil, "object"
		} else {
			err = fmt.Errorf("its input type %v is not an object", underlying)
		}
	}
	if err == nil {
		t.InputSchema, err = jsontext.Marshal(in)
	}
	if err == nil && reflect.TypeFor[Out]() != reflect.TypeFor[any]() && reflect.TypeFor[Out]() != reflect.TypeFor[json.RawMessage]() {
		var out *jsonschema.Schema
		if out, err = jsonschema.For[Out](nil); err == nil {
			t.OutputSchema, err = jsontext.Marshal(out)
		}
	}
	if err != nil {
		t.invalid = fmt.Errorf("its types have no JSON Schema: %w", err)
	}
	if fn == nil {
		return t
	}
	t.Run = func(ctx context.Context, call *Call) (*Result, error) {
		var arg In
		if err := decode(call.Input, &arg); err != nil {
			return nil, &Error{Code: CodeInputContract, Message: fmt.Sprintf("The argument of %q cannot be read: %v.", name, err), Err: err}
		}
		out, err := fn(ctx, arg)
		if err != nil {
			return nil, err
		}
		value, err := jsontext.Marshal(out)
		if err != nil {
			return nil, &Error{Code: CodeToolError, Message: fmt.Sprintf("The value of %q cannot be written as JSON.", name), Err: err}
		}
		return &Result{Value: value}, nil
	}
	return t
}

// fastInputBytes is how long an input may be for the fast decoder, which recurses as deep as brackets nest: so many of
// them cannot use up the stack, which would end the process.
const fastInputBytes = 64 << 10

// decode reads what encoding/json reads, which also has the last word on what cannot be read.
func decode[T any](input json.RawMessage, to *T) error {
	if len(input) <= fastInputBytes && fastjson.Unmarshal(input, to) == nil {
		return nil
	}
	var fresh T
	*to = fresh
	return json.Unmarshal(input, to)
}
