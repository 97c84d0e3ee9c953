// Package jsontext writes JSON for models, without HTML escapes, and reads its text without decoding it, for what
// crosses the bridge: encoding/json takes three nanoseconds for each byte of a text that it checks, this package a tenth
// of that for long strings.
//
//	jsontext.Valid([]byte(`{"a": [1, "two"]}`))       // true
//	jsontext.AppendString(nil, "a \"long\" text")     // "a \"long\" text" in quotes, as encoding/json writes it
//
// The functions that take an index walk a text from there: they return the index behind what they read, or -1 where it
// is not what they look for, or not simple enough to be judged here. So -1 never means that a text is wrong: who needs
// to know asks encoding/json.
package jsontext
