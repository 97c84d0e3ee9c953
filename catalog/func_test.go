package catalog

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type embedded struct{ Embedded string }

type kinds struct {
	embedded
	Text     string `json:"text"`
	Count    int8
	Unsigned *uint64
	Ratio    float32
	On       bool
	Bytes    []byte
	Any      any
	Raw      json.RawMessage
	Number   json.Number
	Time     time.Time
	Wait     time.Duration
	List     []*kinds
	Pair     [2]string
	ByName   map[string]any
	ByNumber map[int]bool
	Address  netip.Addr
	Big      *big.Int
	Quoted   int `json:",string"`
	Hidden   int `json:"-"`
	Left     string
}

// A Func tool is given what encoding/json would give it.
func TestFuncInputsAreReadAsByTheStandardLibrary(t *testing.T) {
	for _, input := range []string{
		`{}`, `null`, `[]`, `"x"`, `1`, ``, ` `, `{`, `{"text":1}`, `{"text":"a"}}`, `{"text":"a"} x`, `{"text":"a",}`,
		`{"text":"é\n\u00e9\ud83d\ude00\ud800","TEXT":"again"}`, `{"Embedded":"e","embedded":"f"}`, "{\"text\":\"\xff\"}",
		`{"Count":127}`, `{"Count":128}`, `{"Count":1.0}`, `{"Count":1e2}`, `{"Count":"1"}`, `{"Count":null}`, `{"Count":-0}`,
		`{"Unsigned":18446744073709551615}`, `{"Unsigned":18446744073709551616}`, `{"Unsigned":-1}`, `{"Unsigned":null}`,
		`{"Ratio":0.1}`, `{"Ratio":1e39}`, `{"Ratio":NaN}`, `{"On":true}`, `{"On":1}`, `{"On":tru}`,
		`{"Bytes":"aGk="}`, `{"Bytes":"?"}`, `{"Bytes":[104,105]}`, `{"Bytes":null}`,
		`{"Any":[1,"a",null,{"b":[true,1e400]}]}`, `{"Any":[1,9007199254740993,"a",null,{"b":[true,-0.5]}]}`, `{"Any":{"a":1,"a":2}}`,
		`{"Raw": {"a" : [ 1 ]} }`, `{"Raw":null}`, `{"Number":12345678901234567890}`, `{"Number":"1"}`,
		`{"Time":"2026-01-02T03:04:05.678+02:00"}`, `{"Time":"yesterday"}`, `{"Wait":5}`,
		`{"List":[{"text":"a"},null,{"List":[]}]}`, `{"Pair":["a"]}`, `{"Pair":["a","b","c"]}`,
		`{"ByName":{"a":{"b":[]}, "":null}}`, `{"ByNumber":{"1":true,"-2":false}}`, `{"ByNumber":{"x":true}}`,
		`{"Address":"127.0.0.1"}`, `{"Address":"nowhere"}`, `{"Big":123456789012345678901234567890}`,
		`{"Quoted":"5"}`, `{"Hidden":5,"-":6}`, `{"unknown":{"a":[{}]},"Left":"kept"}`,
	} {
		var got, want kinds
		err, standard := decode(json.RawMessage(input), &got), json.Unmarshal([]byte(input), &want)
		if (err == nil) != (standard == nil) {
			t.Errorf("%s: error %v, want %v", input, err, standard)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(kinds{}), cmpopts.EquateComparable(netip.Addr{}), cmp.Comparer(func(a, b *big.Int) bool {
			return a == b || a != nil && b != nil && a.Cmp(b) == 0
		})); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
	for _, levels := range []int{fastInputBytes - 100, 8 << 20} {
		var got kinds
		if err := decode([]byte(`{"Any":`+strings.Repeat("[", levels)), &got); err == nil {
			t.Errorf("%d open brackets were read", levels)
		}
	}
}
