package environment

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/wire"
	"github.com/crossplane-contrib/function-export/internal/wire/wiretest"
)

const labelHelp = "use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit"

func TestCompileFaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []string // after "environment."
	}{
		"Empty": {
			reason: "an environment may say nothing",
			in:     `{}`,
		},
		"NullDefaultData": {
			reason: "null is as if it were not there",
			in:     `{defaultData: null, policy: null, environmentConfigs: null}`,
		},
		"DefaultDataText": {
			reason: "only an object can be merged, and its text is nobody's business",
			in:     `{defaultData: "hush"}`,
			want:   []string{"defaultData: must be a JSON object"},
		},
		"DefaultDataList": {
			reason: "only an object can be merged",
			in:     `{defaultData: [{}]}`,
			want:   []string{"defaultData: must be a JSON object"},
		},
		"NothingSet": {
			reason: "the default type needs a reference, and says what else there is",
			in:     `{environmentConfigs: [{}, {selector: {}}, {type: Selector}, {type: Selector, ref: {name: a}}, {ref: {}}]}`,
			want: []string{
				"environmentConfigs[0].ref: must be set for type Reference: name an EnvironmentConfig, or set type to Selector",
				"environmentConfigs[1].ref: must be set for type Reference: name an EnvironmentConfig, or set type to Selector",
				"environmentConfigs[2].selector: must be set for type Selector",
				"environmentConfigs[3].selector: must be set for type Selector",
				"environmentConfigs[4].ref.name: must be set",
			},
		},
		"Names": {
			reason: "Crossplane would fail on a name that no object can have",
			in:     `{environmentConfigs: [{ref: {name: a/b%c}}, {ref: {name: ..}}, {ref: {name: A_b}}]}`,
			want: []string{
				"environmentConfigs[0].ref.name: is no name of an object: it may not contain '/'",
				"environmentConfigs[0].ref.name: is no name of an object: it may not contain '%'",
				"environmentConfigs[1].ref.name: is no name of an object: it may not be '..'",
			},
		},
		"Words": {
			reason: "a word that is none of those known is refused, not taken for the default; in the order of the input",
			in: `{
				policy: {resolution: Always},
				environmentConfigs: [
					{type: selector, toFieldPath: "a["},
					{type: Selector, selector: {mode: Many, matchLabels: [{type: value, key: a}, {key: b, valueFromFieldPath: c, fromFieldPathPolicy: Always}]}},
				],
			}`,
			want: []string{
				"environmentConfigs[0].type: must be Reference or Selector",
				"environmentConfigs[0].toFieldPath: cannot be parsed as a field path: unterminated '[' at position 1",
				"environmentConfigs[1].selector.mode: must be Single or Multiple",
				"environmentConfigs[1].selector.matchLabels[0].type: must be FromCompositeFieldPath, FromEnvironmentFieldPath or Value",
				"environmentConfigs[1].selector.matchLabels[1].fromFieldPathPolicy: must be Required or Optional",
				"policy.resolution: must be Required or Optional",
			},
		},
		"Labels": {
			reason: "a label must be one, and have a value",
			in: `{environmentConfigs: [{type: Selector, selector: {matchLabels: [
				{valueFromFieldPath: a},
				{key: two words, valueFromFieldPath: a},
				{key: A.b/c/d, type: Value, value: two words},
				{key: a, value: b},
				{key: a, type: FromEnvironmentFieldPath, value: b},
				{key: a, type: Value, valueFromFieldPath: b},
				{key: example.org/a_b, type: Value, value: ""},
			]}}]}`,
			want: []string{
				"environmentConfigs[0].selector.matchLabels[0].key: must be set",
				"environmentConfigs[0].selector.matchLabels[1].key: is no key of a label: " + labelHelp + "; a DNS name and a slash may stand before",
				"environmentConfigs[0].selector.matchLabels[2].key: is no key of a label: " + labelHelp + "; a DNS name and a slash may stand before",
				"environmentConfigs[0].selector.matchLabels[2].value: is no value of a label: " + labelHelp,
				"environmentConfigs[0].selector.matchLabels[3].valueFromFieldPath: must be set for type FromCompositeFieldPath: name a field, or set type to Value",
				"environmentConfigs[0].selector.matchLabels[4].valueFromFieldPath: must be set for type FromEnvironmentFieldPath: name a field, or set type to Value",
				"environmentConfigs[0].selector.matchLabels[5].value: must be set for type Value",
			},
		},
		"Paths": {
			reason: "each path must be one",
			in: `{environmentConfigs: [
				{type: Selector, selector: {mode: Multiple, sortByFieldPath: "data[*].x", matchLabels: [{key: a, valueFromFieldPath: a..b}]}, toFieldPath: "[1]"},
				{ref: {name: a}, toFieldPath: "a[1024].b[3]"},
				{ref: {name: a}, toFieldPath: "a[3].b[1025]"},
				{ref: {name: a}, toFieldPath: "a[2000].b[3]"},
			]}`,
			want: []string{
				"environmentConfigs[0].selector.sortByFieldPath: must not have a wildcard: name the field",
				"environmentConfigs[0].selector.matchLabels[0].valueFromFieldPath: cannot be parsed as a field path: unexpected '.' at position 2",
				"environmentConfigs[0].toFieldPath: must begin with the name of a field",
				"environmentConfigs[2].toFieldPath: has the index 1025, over the limit of 1024",
				"environmentConfigs[3].toFieldPath: has the index 2000, over the limit of 1024",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, faults := Compile(section, fromYAML[*v1beta1.Environment](t, tc.in))
			var want []string
			for _, w := range tc.want {
				want = append(want, "environment."+w)
			}
			if diff := cmp.Diff(want, texts(faults)); diff != "" || (l == nil) != (len(want) > 0) {
				t.Errorf("%s: lookup %v, -want, +got:\n%s", tc.reason, l, diff)
			}
			for _, f := range faults {
				missing := strings.HasPrefix(f.Detail, "must be set")
				if f.BadValue != (field.OmitValueType{}) || missing != (f.Type == field.ErrorTypeRequired) || !missing && f.Type != field.ErrorTypeInvalid {
					t.Errorf("%s: type %q, value %v", f.Field, f.Type, f.BadValue)
				}
			}
		})
	}
}

func TestCompileNothing(t *testing.T) {
	for name, in := range map[string]*v1beta1.Environment{
		"Nil": nil, "Null": {DefaultData: &runtime.RawExtension{Raw: []byte(" null\n")}}, "NoBytes": {DefaultData: &runtime.RawExtension{}},
	} {
		l := compiled(t, in)
		got, faults := l.Merge(budget.New(context.Background()), nil, nil, nil)
		if len(faults) > 0 || len(got.GetFields()) != 2 {
			t.Errorf("%s: %v, %v", name, got, faults)
		}
	}
}

func TestCompileLongLists(t *testing.T) {
	matchers := func(n int) []v1beta1.EnvironmentLabelMatcher {
		return make([]v1beta1.EnvironmentLabelMatcher, n)
	}
	for name, tc := range map[string]struct {
		reason string
		in     v1beta1.Environment
		want   string
	}{
		"Sources": {
			reason: "none of the items is looked at",
			in:     v1beta1.Environment{EnvironmentConfigs: make([]v1beta1.EnvironmentSource, limits.ListItems+1)},
			want:   "environment.environmentConfigs",
		},
		"Labels": {
			reason: "none of the items is looked at",
			in: v1beta1.Environment{EnvironmentConfigs: []v1beta1.EnvironmentSource{{
				Type: v1beta1.EnvironmentSourceSelector, Selector: &v1beta1.EnvironmentSelector{MatchLabels: matchers(limits.ListItems + 1)},
			}}},
			want: "environment.environmentConfigs[0].selector.matchLabels",
		},
	} {
		_, faults := Compile(section, &tc.in)
		want := []string{tc.want + ": has 65 items, over the limit of 64: split the input into several pipeline steps"}
		if diff := cmp.Diff(want, texts(faults)); diff != "" || faults[0].Type != field.ErrorTypeTooMany {
			t.Errorf("%s: %s: %v -want, +got:\n%s", name, tc.reason, faults, diff)
		}
	}
	full := v1beta1.Environment{}
	for i := range limits.ListItems {
		full.EnvironmentConfigs = append(full.EnvironmentConfigs, v1beta1.EnvironmentSource{Ref: &v1beta1.EnvironmentRef{Name: fmt.Sprint(i)}})
	}
	if l := compiled(t, &full); len(l.sources) != limits.ListItems {
		t.Errorf("a list of %d items gave %d", limits.ListItems, len(l.sources))
	}
}

// What a lookup was compiled from may change later.
func TestLookupIsImmutable(t *testing.T) {
	in := fromYAML[*v1beta1.Environment](t, `{
		defaultData: {a: 1},
		environmentConfigs: [{type: Selector, selector: {mode: Multiple, minMatch: 0, maxMatch: 1, matchLabels: [{type: Value, key: a, value: b}]}}],
	}`)
	l := compiled(t, in)
	s := in.EnvironmentConfigs[0].Selector
	*s.MinMatch, *s.MaxMatch, *s.MatchLabels[0].Value, in.DefaultData.Raw[2] = 5, 0, "c", 'x'
	asked, _ := l.Selectors(wire.Struct{}, wire.Struct{})
	got, faults := l.Merge(budget.New(context.Background()), nil, asked, readAll(t, wiretest.Decoded, found(t, `[[{metadata: {name: one}, data: {b: 2}}]]`)))
	want := fields(t, `{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, a: 1, b: 2}`)
	if diff := cmp.Diff(want.AsMap(), got.AsMap()); diff != "" || len(faults) > 0 || asked[0].Labels["a"] != "b" {
		t.Errorf("asked for %v, %v, -want, +got:\n%s", asked[0], faults, diff)
	}
}
