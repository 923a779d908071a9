package typecheck_test

import (
	"slices"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// objects are object types by their names, with their fields.
type objects map[string]map[string]*types.Type

func (o objects) Has(name string) bool { return o[name] != nil }

func (o objects) Field(name, field string) (*types.Type, bool) {
	t, ok := o[name][field]
	return t, ok
}

func (o objects) Lacks(name, field string) string { return name + " has no " + field }

// number is the type of a field that may be an int or a double.
var number = types.NewOpaqueType("number")

// typing has the composite for an app, and resource for what it was without.
func typing() expression.Typing {
	app, spec, part := types.NewObjectType("@app"), types.NewObjectType("@spec"), types.NewObjectType("@part")
	all := objects{
		"@app": {
			"number": number, "numbers": types.NewListType(number), "numberOf": types.NewMapType(types.StringType, number),
			"name": types.StringType, "port": types.IntType, "on": types.BoolType, "ratio": types.DoubleType, "raw": types.BytesType, "any": types.DynType,
			"spec": spec, "names": types.NewListType(types.StringType), "ports": types.NewListType(types.IntType), "parts": types.NewListType(part),
			"tags": types.NewMapType(types.StringType, types.StringType), "specs": types.NewMapType(types.StringType, spec),
		},
		"@spec": {"size": types.StringType},
		"@part": {"size": types.StringType, "kind": types.StringType},
	}
	return expression.Typing{Objects: all, Number: number, Variables: map[string]*types.Type{expression.Composite: app}}
}

var env = func() *expression.Environment {
	e, err := advice.NewEnvironment()
	if err != nil {
		panic(err)
	}
	return e
}()

func compiled(t testing.TB, text string, want expression.Want) *expression.Expression {
	t.Helper()
	x, wrong := env.Compile(expression.Source{Text: text, Path: "here", Want: want})
	if len(wrong) > 0 {
		t.Fatalf("Compile(%s): %v", text, wrong)
	}
	return x
}

// checkTypes compiles an expression and checks its types.
func checkTypes(t testing.TB, text string, want expression.Want) (string, []string) {
	t.Helper()
	result, faults := typecheck.CheckExpression(env, compiled(t, text, want), typing())
	var out []string
	for _, f := range faults {
		out = append(out, f.Error())
	}
	slices.Sort(out)
	return result.String(), out
}

func TestTypingFinds(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Field":            {"a field that there is not", "composite.nmae", []string{"here:1:10: @app has no nmae"}},
		"Index":            {"an index is a field in other words", "composite['spec']['sice']", []string{"here:1:18: @spec has no sice"}},
		"OptionalField":    {"and so is an optional one", "composite.?nmae.orValue('')", []string{"here:1:10: @app has no nmae"}},
		"BelowOptional":    {"below what is optional", "composite.?spec.?sice.orValue('')", []string{"here:1:16: @spec has no sice"}},
		"OfList":           {"a list has none", "composite.parts.size", []string{"here:1:16: a list(map(string, dyn)) has no field size: write size(...) around it"}},
		"OfElement":        {"an element has some", "composite.parts[0].name", []string{"here:1:19: @part has no name"}},
		"OfScalar":         {"a string has none", "composite.name.first", []string{"here:1:15: cannot select first from a string"}},
		"OfComputed":       {"what a map holds has some", "composite.specs.x.sice", []string{"here:1:18: @spec has no sice"}},
		"Walked":           {"an integer has no elements", "composite.port.map(x, x)", []string{"here:1:10: cannot be iterated: it is an int, not a list or map"}},
		"Local":            {"an element is of the list's type", "composite.parts.map(p, p.name)", []string{"here:1:25: @part has no name"}},
		"And":              {"an operand that is no boolean", "composite.on && composite.name", []string{"here:1:26: must be true or false, but is a string: compare it with something"}},
		"Condition":        {"a condition that is none", "composite.name ? 'a' : 'b'", []string{"here:1:16: the condition of ?: is a string: compare it with something"}},
		"Sum":              {"an operator's operands", "composite.port + composite.name", []string{"here:1:16: + does not accept int and string: wrap the operand that is not a string in string(...)"}},
		"SumRatio":         {"an integer is no double", "composite.port + composite.ratio", []string{"here:1:16: + does not accept int and double: wrap the int in double(...)"}},
		"MergeObjects":     {"objects are maps at run time", "json.encode(composite.spec.merge(composite.spec)) + composite.spec.merge({'a': 'b'}).a", nil},
		"LessText":         {"a string is not less than an integer", "composite.name < composite.port", []string{"here:1:16: < does not accept string and int: wrap the string in int(...) or double(...)"}},
		"Member":           {"a function behind another type", "composite.port.startsWith('a')", []string{"here:1:16: startsWith does not accept int and string: wrap the int in string(...)"}},
		"Equal":            {"an integer is no string", "composite.port == 'a'", []string{"here:1:16: can never be true: it compares an int with a string: leave out the quotes, or wrap the int in string(...)"}},
		"EqualLiteral":     {"a literal is mended where it is", "composite.name == 5432", []string{"here:1:16: can never be true: it compares a string with an int: write it in quotes, '5432'"}},
		"EqualObject":      {"an object is no string", "composite.spec == composite.name", []string{"here:1:16: can never be true: it compares a map(string, dyn) with a string"}},
		"In":               {"an integer is in no list of strings", "composite.port in composite.names", []string{"here:1:16: can never be true: it looks for an int in a list(string): wrap the int in string(...)"}},
		"Two":              {"two faults are two", "composite.nmae + composite.spec.sice", []string{"here:1:10: @app has no nmae", "here:1:32: @spec has no sice"}},
		"SumListText":      {"a list and a string are joined", "composite.names + composite.name", []string{"here:1:17: + does not accept list(string) and string: write .join(',') after the list, or [ ] around the string"}},
		"ConditionUnknown": {"a mistake after a mistake is not reported", "composite.nmae ? 'a' : 'b'", []string{"here:1:10: @app has no nmae"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := checkTypes(t, c.text, expression.WantAny)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", c.reason, c.text, diff)
			}
		})
	}
}

// An expression that works at run time, or that may work, has no diagnostic.
func TestTypingLetsBe(t *testing.T) {
	for _, text := range []string{
		"composite.spec.size == 'small' && 'large' != composite.spec.size",
		"composite == {'name': 'a'}",
		"composite.spec == composite.parts[0]",
		"composite.spec in [{}]",
		"composite.spec in composite.parts",
		"composite.specs == {}",
		"composite.parts == [{}]",
		"composite.port == null && null != composite.spec && composite.name == null",
		"null in composite.names && composite.port in [1, null] && composite.names == [null]",
		"composite.names + composite.ports + composite.parts",
		"size(composite.spec) + size(composite.parts) + size(composite.tags)",
		"'size' in composite.spec && composite.name in composite.tags",
		"composite.spec.map(k, k + 'x')",
		"composite.spec.all(k, v, v != null)",
		"composite[composite.name]",
		"composite.any.x.y + composite.any",
		"resource.x == 1 && resource.spec.size == 'tiny'",
		"composite.port < composite.ratio && composite.port < 1.5",
		"json.encode(composite.on ? composite.spec : {})",
		"string(composite.on ? composite.port : 'none')",
		"string(composite.?port.orValue('none'))",
		"composite.?spec.orValue({}).size",
		"dyn(composite.port) == 'a' && (dyn(composite.on) ? true : false)",
		"cel.bind(s, composite.spec, s.size)",
		"has(composite.spec.size) == true",
		"(composite.on ? composite.spec.size : 'other') == 'other'",
		"{'size': composite.name + composite.spec.size}['size'] == 'other'",
		"{'a': composite.spec, 'b': composite.parts[0]}.a.size == 'other'",
		"composite['na' + 'me'] == 1",
		"cel.bind(s, composite.on ? composite.spec : resource.spec, s.size == 'other')",
		"[composite.spec, resource.spec].exists(s, s.size == 'other')",
		"(composite.on ? composite.spec : resource.spec).size == 'other'",
		"optional.of(composite).spec.size",
		"composite.parts.filter(p, p.kind == 'x')[0].size",
	} {
		t.Run(text, func(t *testing.T) {
			if _, got := checkTypes(t, text, expression.WantAny); got != nil {
				t.Errorf("want no diagnostic, got %q", got)
			}
		})
	}
}

// A number is an int or a double at run time. A use that works for one of them has no diagnostic.
func TestTypingNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		text   string
		want   expression.Want
		result string
		fault  string
	}{
		"Value":       {"neither is text", "composite.number", expression.WantText, "number", "here:1:1: must return a string, but returns a number: wrap it in string(...)"},
		"Converted":   {"both can be converted", "string(composite.number)", expression.WantText, "string", ""},
		"Formatted":   {"both can be formatted", "'%d'.format([composite.number])", expression.WantText, "string", ""},
		"Int":         {"it may be an int", "composite.number + 1", expression.WantJSON, "dyn", ""},
		"Double":      {"it may be a double", "composite.number / 2.0", expression.WantJSON, "dyn", ""},
		"Round":       {"only a double is rounded", "math.round(composite.number)", expression.WantJSON, "dyn", ""},
		"Index":       {"only an int is an index", "composite.names[composite.number]", expression.WantText, "dyn", ""},
		"Sum":         {"neither is added to text", "composite.name + composite.number", expression.WantText, "dyn", "here:1:16: + does not accept string and number: wrap the operand that is not a string in string(...)"},
		"Compared":    {"neither is text", "composite.number == '1'", expression.WantAny, "dyn", "here:1:18: can never be true: it compares a number with a string: leave out the quotes, or wrap the number in string(...)"},
		"ComparedInt": {"each is compared with each", "composite.number == 1 || composite.number > 1.5", expression.WantAny, "bool", ""},
		"In":          {"also in a list", "composite.number in composite.ports", expression.WantAny, "dyn", ""},
		"Branches":    {"a number and an int are both no text", "composite.on ? composite.number : composite.port", expression.WantText, "dyn", "here:1:1: must return a string, but returns a number: wrap it in string(...)"},
		"Element":     {"an element of a list", "composite.numbers[0]", expression.WantText, "number", "here:1:1: must return a string, but returns a number: wrap it in string(...)"},
		"Elements":    {"a list", "composite.numbers", expression.WantText, "list(number)", "here:1:1: must return a string, but returns a list(number): join it with .join(',') or json.encode(...)"},
		"Join":        {"a list of numbers is not joined", "composite.numbers.join(',')", expression.WantText, "dyn", "here:1:19: join does not accept list(number) and string: convert its elements with .map(x, string(x))"},
		"Map":         {"a map", "composite.numberOf", expression.WantTextMap, "map(string, number)", "here:1:1: must return a map(string, string), but returns a map(string, number): convert its values with .transformMap(k, v, string(v)), or with json.encode(v)"},
		"Member":      {"a function of a string", "composite.number.lowerAscii()", expression.WantText, "dyn", "here:1:18: lowerAscii does not accept number: wrap the number in string(...)"},
		"Optional":    {"an optional one", "composite.?number", expression.WantText, "optional_type(number)", "here:1:1: must return a string, but returns a number: convert the optional value with .optMap(v, string(v))"},
		"Bound":       {"a local variable", "cel.bind(n, composite.number, n)", expression.WantText, "number", "here:1:31: must return a string, but returns a number: wrap it in string(...)"},
		"Dyn":         {"dyn turns the check off", "dyn(composite.number)", expression.WantText, "dyn", ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, faults := typecheck.CheckExpression(env, compiled(t, c.text, c.want), typing())
			got := ""
			for _, f := range faults {
				got += f.Error()
			}
			if diff := cmp.Diff(c.fault, got); diff != "" {
				t.Errorf("%s: %s: -want, +got:\n%s", c.reason, c.text, diff)
			}
			if text := cel.FormatCELType(result); text != c.result && c.result != "dyn" {
				t.Errorf("%s: %s: want the type %q, got %q", c.reason, c.text, c.result, text)
			}
		})
	}
}

// Each value that an expression may return is checked: a branch, a default, or an entry of a map.
func TestTypingResults(t *testing.T) {
	const text, entries = expression.WantText, expression.WantTextMap
	for name, c := range map[string]struct {
		reason string
		text   string
		want   expression.Want
		faults []string
	}{
		"Branch":       {"the second branch is no text", "composite.on ? composite.name : composite.port", text, []string{"here:1:33: must return a string, but returns an int: wrap it in string(...)"}},
		"InnerBranch":  {"a branch of a branch", "composite.on ? 'a' : composite.port > 1 ? composite.on : 'b'", text, []string{"here:1:43: must return a string, but returns a bool: wrap it in string(...)"}},
		"Both":         {"if no branch is text, it is about the whole expression", "composite.on ? composite.on : composite.port", text, []string{"here:1:1: must return a string, but returns a bool: wrap it in string(...)"}},
		"Default":      {"a literal is put in quotes", "composite.?name.orValue(5)", text, []string{"here:1:25: must return a string, but returns an int: write it in quotes, '5'"}},
		"DefaultField": {"a field is converted", "composite.?name.orValue(composite.port)", text, []string{"here:1:25: must return a string, but returns an int: wrap it in string(...)"}},
		"DefaultText":  {"the value is no text, but its default is", "composite.?port.orValue('x')", text, []string{"here:1:1: must return a string, but returns an int: convert the optional value with .optMap(v, string(v))"}},
		"DefaultBoth":  {"neither is", "composite.?port.orValue(5)", text, []string{"here:1:1: must return a string, but returns an int: wrap it in string(...)"}},
		"Or":           {"one of two optional values", "composite.?name.or(composite.?port)", text, []string{"here:1:20: must return a string, but returns an int: convert the optional value with .optMap(v, string(v))"}},
		"Converted":    {"string accepts both", "string(composite.?name.orValue(5))", text, nil},
		"Unknown":      {"an unknown type may be text", "composite.on ? composite.any : 'x'", text, nil},
		"Any":          {"a variable may have any type", "composite.on ? composite.port : 'x'", expression.WantAny, nil},
		"Entries": {"each entry of a map", "{'a': composite.name, 'b': composite.port, 'c': composite.names, ?'d': composite.?on}", entries, []string{
			"here:1:28: the value of key \"b\" must be a string, but is an int: wrap it in string(...)",
			"here:1:49: the value of key \"c\" must be a string, but is a list(string): join it with .join(',') or json.encode(...)",
			"here:1:72: the value of key \"d\" must be a string, but is a bool: convert the optional value with .optMap(v, string(v))",
		}},
		"EntryOfBranch": {"a map in a branch", "composite.on ? {'a': composite.port} : {'a': 'x'}", entries, []string{"here:1:22: the value of key \"a\" must be a string, but is an int: wrap it in string(...)"}},
		"Bytes":         {"a value may be bytes", "{'a': composite.raw, 'b': composite.name}", entries, nil},
		"BytesOfLabel":  {"but a label may not", "{'a': composite.raw, 'b': composite.name}", expression.WantLabels, []string{"here:1:7: the value of key \"a\" must be a string, but is a bytes: wrap it in string(...)"}},
		"MapElsewhere":  {"a map that is no result", "json.encode({'a': composite.port})", text, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := checkTypes(t, c.text, c.want)
			if diff := cmp.Diff(c.faults, got); diff != "" {
				t.Errorf("%s: %s: -want, +got:\n%s", c.reason, c.text, diff)
			}
		})
	}
}
