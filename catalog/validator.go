package catalog

import (
	"errors"
	"fmt"
	"sync"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	xeipuuv "github.com/xeipuuv/gojsonschema"
)

// validator is a schema that can judge values. Each library's form is compiled when it is first needed.
type validator struct {
	doc      *schemaDoc
	fast     *fastCheck
	xeipuuv  func() (*xeipuuv.Schema, error)
	santhosh func() (*santhosh.Schema, error)
}

// newValidator compiles a schema with the library that its dialect asks for.
func newValidator(raw []byte, source Source) (*validator, error) {
	doc, err := parseSchema(raw, source)
	if err != nil {
		return nil, err
	}
	plain := doc.plain()
	v := &validator{
		doc:      doc,
		fast:     doc.fast(),
		xeipuuv:  sync.OnceValues(func() (*xeipuuv.Schema, error) { return compileXeipuuv(plain, doc.dialect) }),
		santhosh: sync.OnceValues(func() (*santhosh.Schema, error) { return compileSanthosh(plain, doc.dialect) }),
	}
	if chooseEngine(doc.dialect, len(doc.nodes), 0) == engineXeipuuv {
		_, err = v.xeipuuv()
	} else {
		_, err = v.santhosh()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// errTooDear is for a value that a schema would look at far more often than the value is long.
var errTooDear = errors.New("checking it would take too many steps")

// check judges a value. Nil issues mean that it fits; an error means that nobody can say.
func (v *validator) check(raw []byte) (issues []issue, err error) {
	if v.fast.fits(raw) && v.judges(len(raw)) {
		return nil, nil
	}
	if jsonDepth(raw) > maxValueDepth {
		return []issue{{kind: "depth", text: fmt.Sprintf("is nested more than %d levels deep", maxValueDepth)}}, nil
	}
	value, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	return v.checkValue(value, len(raw))
}

// judges says whether the library that judges a value of so many bytes has a form of the schema. What newValidator
// compiled has; the one for large values may find something in the schema that it does not read.
func (v *validator) judges(size int) bool {
	if size/2 < manyValues || v.doc.dialect > draft7 {
		return true
	}
	_, err := v.santhosh()
	return err == nil
}

// maxValueDepth is how deep a value may nest. Validators note the path of every value they visit, which takes depth
// times depth memory.
const maxValueDepth = 2000

func (v *validator) checkValue(value any, size int) (issues []issue, err error) {
	if err := checkNumbers(value); err != nil {
		return []issue{{kind: "number", text: "has a number that is out of range"}}, nil
	}
	nodes := countNodes(value)
	if !v.doc.affordable(value, nodes, size) {
		return nil, errTooDear
	}
	defer catch(&err)
	if chooseEngine(v.doc.dialect, len(v.doc.nodes), nodes) == engineXeipuuv {
		if nodes > 10*manyValues {
			return nil, errTooDear
		}
		schema, err := v.xeipuuv()
		if err != nil {
			return nil, err
		}
		result, err := schema.Validate(xeipuuv.NewRawLoader(value))
		if err != nil {
			return nil, err
		}
		return xeipuuvIssues(result), nil
	}
	schema, err := v.santhosh()
	if err != nil {
		return nil, err
	}
	err = schema.Validate(value)
	var mismatch *santhosh.ValidationError
	if errors.As(err, &mismatch) {
		return santhoshIssues(mismatch), nil
	}
	return nil, err
}

// catch turns a panic of a validation library into an error, because no schema may end the process.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the validator gave up: %v", r)
	}
}
