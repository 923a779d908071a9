package environment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

const labelHelp = "use at most 63 letters, digits, '-', '_' and '.', and start and end with a letter or a digit"

func TestCompileDiagnostics(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   []string // after "environment."
	}{
		"Empty": {
			reason: "an environment may say nothing",
			in:     `{}`,
		},
		"DefaultDataText": {
			reason: "only an object can be merged, and its text is nobody's business",
			in:     `{defaultData: "hush"}`,
			want:   []string{"defaultData: must be a JSON object"},
		},
		"Incomplete": {
			reason: "the definition refuses what is missing, and other words",
			in: `{environmentConfigs: [{}, {selector: {}}, {type: Selector}, {type: other, ref: {}}, {ref: {}},
				{type: Selector, selector: {mode: other, matchLabels: [{}, {type: Value}, {type: other}]}}]}`,
		},
		"Names": {
			reason: "Crossplane would fail on a name that no object can have",
			in:     `{environmentConfigs: [{ref: {name: a/b%c}}, {ref: {name: ..}}, {ref: {name: A_b}}]}`,
			want: []string{
				"environmentConfigs[0].ref.name: is not a valid name of an object: it may not contain '/'",
				"environmentConfigs[0].ref.name: is not a valid name of an object: it may not contain '%'",
				"environmentConfigs[1].ref.name: is not a valid name of an object: it may not be '..'",
			},
		},
		"Labels": {
			reason: "a label has a certain form",
			in: `{environmentConfigs: [{type: Selector, selector: {matchLabels: [
				{key: two words, valueFromFieldPath: a},
				{key: A.b/c/d, type: Value, value: two words},
				{key: example.org/a_b, type: Value, value: ""},
			]}}]}`,
			want: []string{
				"environmentConfigs[0].selector.matchLabels[0].key: is not a valid label key: " + labelHelp + "; a " +
					"DNS name and a slash may precede it",
				"environmentConfigs[0].selector.matchLabels[1].key: is not a valid label key: " + labelHelp + "; a " +
					"DNS name and a slash may precede it",
				"environmentConfigs[0].selector.matchLabels[1].value: is not a valid label value: " + labelHelp,
			},
		},
		"Paths": {
			reason: "each path must be one",
			in: `{environmentConfigs: [
				{type: Selector, selector: {mode: Multiple, sortByFieldPath: "data[*].x",
				  matchLabels: [{key: a, valueFromFieldPath: a..b}]}, toFieldPath: "[1]"},
				{ref: {name: a}, toFieldPath: "a[1024].b[3]"},
				{ref: {name: a}, toFieldPath: "a[3].b[1025]"},
				{ref: {name: a}, toFieldPath: "a[2000].b[3]"},
			]}`,
			want: []string{
				"environmentConfigs[0].selector.sortByFieldPath: must not have a wildcard: name the field",
				"environmentConfigs[0].selector.matchLabels[0].valueFromFieldPath: cannot be parsed as a field " +
					"path: unexpected '.' at position 2",
				"environmentConfigs[0].toFieldPath: must begin with the name of a field",
				"environmentConfigs[2].toFieldPath: has the index 1025, over the limit of 1024",
				"environmentConfigs[3].toFieldPath: has the index 2000, over the limit of 1024",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l, list := Compile(section, fromYAML[*v1beta1.Environment](t, tc.in))
			var want []string
			for _, w := range tc.want {
				want = append(want, "environment."+w)
			}
			if diff := cmp.Diff(want, texts(list)); diff != "" || (l == nil) != (len(want) > 0) {
				t.Errorf("%s: lookup %v, -want, +got:\n%s", tc.reason, l, diff)
			}
		})
	}
}
