package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func TestOptionals(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Field":    {"Data without ? is never an optional.", "composite.spec.x.orValue('y')", []string{"18: orValue needs an optional: write composite.spec.?x.orValue('y')"}},
		"Typed":    {"The checker refuses a typed field, with the same message.", "secret.x.orValue('y')", []string{"10: orValue needs an optional: write secret.?x.orValue('y')"}},
		"Index":    {"A key in brackets.", "resource.list['x'].orValue('y')", []string{"20: orValue needs an optional: write resource.list[?'x'].orValue('y')"}},
		"Element":  {"An index.", "resource.list[0].orValue('y')", []string{"18: orValue needs an optional: write resource.list[?0].orValue('y')"}},
		"Variable": {"A variable itself has no ?.", "string(composite.hasValue())", []string{"18: hasValue needs an optional: write ? before the last field, as in composite.spec.?host.hasValue()"}},
		"Local":    {"The element of a list.", "resource.list.map(x, x.a.orValue('y'))[0]", []string{"26: orValue needs an optional: write x.?a.orValue('y')"}},
		"Bound":    {"A local variable.", "cel.bind(x, resource.a, x.b.orValue('y'))", []string{"29: orValue needs an optional: write x.?b.orValue('y')"}},
		"Decoded":  {"The result of decoding.", "json.decode(secret.x).a.orValue('y')", []string{"25: orValue needs an optional: write .?a.orValue('y')"}},
		"Dyn":      {"dyn() does not change a value.", "dyn(composite.spec.x).orValue('y')", []string{"23: orValue needs an optional: write ? before the last field, as in composite.spec.?host.orValue('y')"}},
		"Macro":    {"The two calls of the macro are one mistake.", "composite.a.optMap(v, v + 'x')", []string{"13: optMap needs an optional: write composite.?a.optMap(v, v + 'x')"}},
		"FlatMap":  {"The other macro.", "composite.a.optFlatMap(v, v.?b)", []string{"13: optFlatMap needs an optional: write composite.?a.optFlatMap(v, v.?b)"}},
		"Or":       {"", "composite.a.or(composite.?b)", []string{"13: or needs an optional: write composite.?a.or(composite.?b)"}},
		"Value":    {"The value is already there.", "composite.a.value()", []string{"13: value needs an optional, but composite.a is the value itself: leave out .value()"}},
		"Long":     {"Long arguments are not repeated.", "composite.a.orValue('" + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + "')", []string{"13: orValue needs an optional: write composite.?a.orValue(...)"}},
		"Entry":    {"An optional entry.", "json.encode({?'a': composite.b})", []string{"29: an entry with ? needs an optional: write composite.?b"}},
		"EntryOf":  {"An optional entry of a typed field.", "json.encode({?'a': secret.b})", []string{"26: an entry with ? needs an optional: write secret.?b"}},

		"Operand":   {"An operator does not take an optional.", "'a' + secret.?b", []string{"5: + does not accept string and optional: write secret.?b.orValue('')"}},
		"Condition": {"The default is a condition.", "composite.?a ? 'b' : 'c'", []string{"14: the condition of ?: is an optional: write composite.?a.orValue(false)"}},
		"Iterated":  {"The default is a list.", "composite.?a.map(x, x)[0]", []string{"10: cannot be iterated: it is an optional, not a list or map: write composite.?a.orValue([])"}},
		"Convert":   {"A conversion can be left out with its key.", "string(composite.?a)", []string{"1: string does not accept optional: write composite.?a.orValue(''), or composite.?a.optMap(v, string(v)) with optional: true"}},
		"Method":    {"A method of a text.", "secret.?a.trim()", []string{"11: trim does not accept optional: write secret.?a.orValue('')"}},

		"Before":      {"An earlier step is optional.", "composite.?spec.x.orValue('y')", nil},
		"Variables":   {"A variable may be an optional.", "variables.x.orValue('y')", nil},
		"Chosen":      {"A branch is an optional.", "cel.bind(x, composite.a ? composite.?b : optional.none(), x.orValue('y'))", nil},
		"Shadowed":    {"A local variable has the name of an input.", "[optional.of('a')].map(secret, secret.orValue('y'))[0]", nil},
		"Accumulator": {"An optional in a local variable.", "cel.bind(composite, optional.of('a'), composite.orValue('y'))", nil},
		"Filtered":    {"The result of a macro.", "resource.list.filter(x, x.a).first().orValue('y')", nil},
		"Field name":  {"A field that is called like a method.", "composite.spec.value + composite.spec.or", nil},
		"Optional":    {"An optional entry of an optional.", "json.encode({?'a': secret.?b})", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, messages(tc.text, expression.WantText)); diff != "" {
				t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

func TestEntries(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Int":      {"The message names the key.", "{'a': 'b', 'c': 5}", []string{`17: the value of key "c" must be a string, but is an int: write it in quotes, '5'`}},
		"Two":      {"Each value is a mistake.", "{'a': 5, 'b': ['c']}", []string{`7: the value of key "a" must be a string, but is an int: write it in quotes, '5'`, `15: the value of key "b" must be a string, but is a list(string): join it with .join(',') or json.encode(...)`}},
		"Null":     {"null is not an empty text.", "{'a': null}", []string{`7: the value of key "a" must be a string, but is null: write '' for an empty text, or leave the key out`}},
		"Computed": {"A computed key may be data.", "{secret.a: 5}", []string{"12: a value of the map must be a string, but is an int: write it in quotes, '5'"}},
		"Number":   {"A key that is a number.", "{5: 'a'}", []string{"1: must return a map(string, string), but returns a map(int, string): write its keys in quotes"}},
		"Optional": {"The value in an optional.", "{?'a': optional.of(5)}", []string{`17: the value of key "a" must be a string, but is an int: convert the optional value with .optMap(v, string(v))`}},
		"Plus":     {"Maps are merged, but not added.", "secret + {'a': 'b'}", []string{"8: + does not accept map(string, string) and map(string, string): write a.merge(b), which uses the value in b if both maps have a key"}},
		"Bytes":    {"Bytes are text.", "{'a': b'c', 'b': secret.c, ?'d': secret.?e, 'f': resource.g}", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, messages(tc.text, expression.WantTextMap)); diff != "" {
				t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}
