package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	santhosh "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	xeipuuv "github.com/xeipuuv/gojsonschema"
)

// issue is one thing that does not fit, the same whichever library found it.
type issue struct {
	path  []string // where in the value
	kind  string
	text  string   // what is expected, to be read after the path
	names []string // property names from the value, for the kind "additional"
}

// issueText writes issues as one line: at most limit of them, sorted, repeated ones once. root is what the value is
// called. When known is not nil, names that are not in it come from the value and are not shown. suggest finds the
// nearest property name.
func issueText(issues []issue, limit int, known map[string]bool, root string, suggest func(path []string, name string) string) string {
	slices.SortStableFunc(issues, func(a, b issue) int {
		return cmp.Or(slices.Compare(a.path, b.path), cmp.Compare(a.text, b.text))
	})
	var lines []string
	seen, more := map[string]bool{}, 0
	add := func(line string, rest func() string) {
		switch {
		case seen[line]:
		case len(lines) < limit:
			lines = append(lines, line+rest())
		default:
			more++ // without looking for a suggestion: a value may have any number of wrong names
		}
		seen[line] = true
	}
	nothing := func() string { return "" }
	for _, is := range issues {
		where := pathText(is.path, known, root)
		if is.kind != "additional" {
			add(where+" "+is.text, nothing)
			continue
		}
		slices.Sort(is.names)
		for _, name := range is.names {
			if known != nil && !known[name] {
				add(where+" has a property that is not declared", nothing)
				continue
			}
			add(fmt.Sprintf("%s has no property %q", where, printable(cutUTF16(name, 64))), func() string {
				if suggest == nil {
					return ""
				}
				if near := suggest(is.path, name); near != "" {
					return fmt.Sprintf(" (did you mean %q?)", near)
				}
				return ""
			})
		}
	}
	for i, line := range lines {
		if len(line) > 300 {
			lines[i] = cutUTF16(line, 290) + "…"
		}
	}
	text := strings.Join(lines, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// pathText writes a path like items[3].name.
func pathText(path []string, known map[string]bool, root string) string {
	var b strings.Builder
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil && len(step) < 10 {
			b.WriteString("[" + step + "]")
			continue
		}
		if known != nil && !known[step] {
			step = "*"
		}
		step = printable(cutUTF16(step, 64))
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	if b.Len() == 0 {
		return root
	}
	return b.String()
}

// literalList writes up to twelve allowed values.
func literalList(values []any) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, cutUTF16(string(mustMarshal(v)), 64))
		if len(parts) == 12 && len(values) > 12 {
			parts = append(parts, fmt.Sprintf("… (%d values)", len(values)))
			break
		}
	}
	return strings.Join(parts, ", ")
}

func missing(path []string, name string) issue {
	return issue{path: append(slices.Clone(path), name), kind: "required", text: "is required"}
}

func xeipuuvIssues(result *xeipuuv.Result) []issue {
	var issues []issue
	const maxIssues = 1000
	for _, e := range result.Errors() {
		if len(issues) >= maxIssues {
			break
		}
		path := strings.Split(e.Context().String("\x00"), "\x00")[1:]
		d := e.Details()
		is := issue{path: path, kind: e.Type()}
		name, _ := d["property"].(string)
		switch e.Type() {
		case "required":
			is = missing(path, name)
		case "missing_dependency":
			dependency, _ := d["dependency"].(string)
			is = missing(path, dependency)
		case "additional_property_not_allowed":
			is.kind, is.names = "additional", []string{name}
		case "invalid_type":
			is.text = fmt.Sprintf("must be %s, not %v", typeNames(fmt.Sprint(d["expected"])), d["given"])
		case "enum":
			is.text = "must be one of " + cutUTF16(strings.ReplaceAll(fmt.Sprint(d["allowed"]), `","`, `", "`), 400)
		case "const":
			is.text = "must be " + cutUTF16(fmt.Sprint(d["allowed"]), 200)
		case "number_any_of":
			is.text = "fits none of its alternatives"
		case "number_one_of":
			is.text = "must fit exactly one of its alternatives"
		case "number_all_of", "condition_then", "condition_else":
			continue // the parts that failed are reported themselves
		case "number_not":
			is.text = "is of a kind that is not allowed"
		case "number_gte":
			is.text = "must be >= " + ratText(d["min"])
		case "number_gt":
			is.text = "must be > " + ratText(d["min"])
		case "number_lte":
			is.text = "must be <= " + ratText(d["max"])
		case "number_lt":
			is.text = "must be < " + ratText(d["max"])
		case "multiple_of":
			is.text = "must be a multiple of " + ratText(d["multiple"])
		case "string_gte":
			is.text = fmt.Sprintf("must have at least %v characters", d["min"])
		case "string_lte":
			is.text = fmt.Sprintf("must have at most %v characters", d["max"])
		case "pattern":
			is.text = fmt.Sprintf("must match %s", cutUTF16(fmt.Sprint(d["pattern"]), 120))
		case "format":
			is.text = fmt.Sprintf("must be a %v", d["format"])
		case "array_min_items":
			is.text = fmt.Sprintf("must have at least %v items", d["min"])
		case "array_max_items", "array_no_additional_items":
			is.text = "has too many items"
			if d["max"] != nil {
				is.text = fmt.Sprintf("must have at most %v items", d["max"])
			}
		case "unique":
			is.text = "must not have equal items"
		case "contains":
			is.text = "lacks an item of the required kind"
		case "array_min_properties":
			is.text = fmt.Sprintf("must have at least %v properties", d["min"])
		case "array_max_properties":
			is.text = fmt.Sprintf("must have at most %v properties", d["max"])
		case "invalid_property_name", "invalid_property_pattern":
			is.text = "has a property whose name is not allowed"
		case "false":
			is.text = "is not allowed"
		default:
			is.text = "does not fit (" + e.Type() + ")"
		}
		issues = append(issues, is)
	}
	if len(issues) == 0 && !result.Valid() {
		issues = append(issues, issue{kind: "other", text: "does not fit"})
	}
	return issues
}

// typeNames reads gojsonschema's "string,null" style lists.
func typeNames(list string) string {
	return strings.Join(strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' }), " or ")
}

func ratText(v any) string {
	switch v := v.(type) {
	case *big.Rat:
		if v.IsInt() {
			return v.Num().String()
		}
		f, _ := v.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	case *big.Float:
		return v.Text('g', 17)
	case json.Number:
		return string(v)
	}
	return fmt.Sprint(v)
}

// santhoshIssues flattens the tree of causes to its leaves. Of alternatives that all failed, the branch that came
// closest speaks for them.
func santhoshIssues(e *santhosh.ValidationError) []issue {
	var issues []issue
	collectIssues(e, &issues)
	if len(issues) == 0 {
		issues = append(issues, issue{kind: "other", text: "does not fit"})
	}
	return issues
}

func collectIssues(e *santhosh.ValidationError, into *[]issue) {
	const maxIssues = 1000
	if len(*into) >= maxIssues {
		return
	}
	add := func(kindName, format string, args ...any) {
		*into = append(*into, issue{path: e.InstanceLocation, kind: kindName, text: fmt.Sprintf(format, args...)})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if one, ok := k.(*kind.OneOf); ok && len(one.Subschemas) > 0 {
			add("oneOf", "must fit exactly one of its alternatives")
			return
		}
		add("anyOf", "fits none of its alternatives")
		var best []issue
		for _, cause := range e.Causes {
			var branch []issue
			collectIssues(cause, &branch)
			if best == nil || branchScore(branch, len(e.InstanceLocation)) > branchScore(best, len(e.InstanceLocation)) {
				best = branch
			}
		}
		*into = append(*into, best...)
		return
	case *kind.Required:
		for _, name := range k.Missing {
			*into = append(*into, missing(e.InstanceLocation, name))
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			*into = append(*into, missing(e.InstanceLocation, name))
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			*into = append(*into, missing(e.InstanceLocation, name))
		}
	case *kind.AdditionalProperties:
		*into = append(*into, issue{path: e.InstanceLocation, kind: "additional", names: slices.Clone(k.Properties)})
	case *kind.Type:
		add("type", "must be %s, not %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		add("enum", "must be one of %s", literalList(k.Want))
	case *kind.Const:
		add("const", "must be %s", cutUTF16(string(mustMarshal(k.Want)), 200))
	case *kind.Minimum:
		add("minimum", "must be >= %s", ratText(k.Want))
	case *kind.Maximum:
		add("maximum", "must be <= %s", ratText(k.Want))
	case *kind.ExclusiveMinimum:
		add("minimum", "must be > %s", ratText(k.Want))
	case *kind.ExclusiveMaximum:
		add("maximum", "must be < %s", ratText(k.Want))
	case *kind.MultipleOf:
		add("multipleOf", "must be a multiple of %s", ratText(k.Want))
	case *kind.MinLength:
		add("minLength", "must have at least %d characters", k.Want)
	case *kind.MaxLength:
		add("maxLength", "must have at most %d characters", k.Want)
	case *kind.Pattern:
		add("pattern", "must match %s", cutUTF16(k.Want, 120))
	case *kind.Format:
		add("format", "must be a %s", k.Want)
	case *kind.MinItems:
		add("minItems", "must have at least %d items", k.Want)
	case *kind.MaxItems:
		add("maxItems", "must have at most %d items", k.Want)
	case *kind.AdditionalItems:
		add("additionalItems", "has too many items")
	case *kind.UniqueItems:
		add("uniqueItems", "must not have equal items")
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		add("contains", "has the wrong number of items of the required kind")
		return // the causes are the items that may well be of another kind
	case *kind.MinProperties:
		add("minProperties", "must have at least %d properties", k.Want)
	case *kind.MaxProperties:
		add("maxProperties", "must have at most %d properties", k.Want)
	case *kind.PropertyNames:
		add("propertyNames", "has a property whose name is not allowed")
		return
	case *kind.FalseSchema:
		add("false", "is not allowed")
	case *kind.Not:
		add("not", "is of a kind that is not allowed")
	case *kind.RefCycle:
		add("cycle", "cannot be checked, its schema refers to itself")
	default:
		if len(e.Causes) == 0 {
			add("other", "does not fit")
		}
	}
	for _, cause := range e.Causes {
		collectIssues(cause, into)
	}
}

// branchScore says how close an alternative came: one whose issues lie deeper, or that at least had the right type,
// comes before one of another type; then the one with fewer issues.
func branchScore(branch []issue, depth int) int {
	score := 1000 - min(len(branch), 1000)
	for _, is := range branch {
		if is.kind == "type" && len(is.path) == depth {
			score -= 10_000
		}
		if is.kind == "const" || is.kind == "enum" {
			score -= 100
		}
	}
	return score
}
