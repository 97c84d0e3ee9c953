package jsontext

import (
	"bytes"
	"encoding/json"
	"sync"
)

// encoder is json.Marshal's, without HTML escapes: results are read by models, not by browsers.
type encoder struct {
	text bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.text)
	e.json.SetEscapeHTML(false)
	return e
}}

// keptBuffer is how large a buffer may be that is kept; what is larger is given out itself.
const keptBuffer = 16 << 10

// Marshal is json.Marshal without HTML escapes.
func Marshal(value any) (json.RawMessage, error) {
	if text, ok := value.(string); ok {
		return AppendString(make([]byte, 0, len(text)+len(text)/16+8), text), nil
	}
	e := encoders.Get().(*encoder)
	e.text.Reset()
	if err := e.json.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(e.text.Bytes(), []byte("\n"))
	if e.text.Cap() > keptBuffer {
		return text, nil
	}
	text = bytes.Clone(text)
	encoders.Put(e)
	return text, nil
}
