package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// choosing merges what was found by a selector of mode Multiple that sorts by a path.
func choosing(t *testing.T, sortBy string) *Lookup {
	t.Helper()
	in := fromYAML[*v1beta1.Environment](t, `{environmentConfigs: [{type: Selector, selector: {mode: Multiple, `+
		`matchLabels: [{type: Value, key: a, value: b}]}}]}`)
	in.EnvironmentConfigs[0].Selector.SortByFieldPath = sortBy
	return compiled(t, in)
}

func TestSort(t *testing.T) {
	const at = "environment.environmentConfigs[0].selector.sortByFieldPath: "
	const hint = ": use a string in all EnvironmentConfigs, or a number in all"
	cases := map[string]struct {
		reason string
		by     string
		found  string // a list of EnvironmentConfigs
		want   string // their names, in order
		fault  string
	}{
		"SortByString": {
			reason: "names are the default",
			found:  `[{metadata: {name: c}}, {metadata: {name: a}}, {metadata: {name: b}}]`,
			want:   "a b c",
		},
		"SortByInt": {
			reason: "numbers are compared as numbers",
			by:     "data.rank",
			found: `[{metadata: {name: c}, data: {rank: 10}}, {metadata: {name: a}, data: {rank: 9}}, {metadata: ` +
				`{name: b}, data: {rank: -1}}]`,
			want: "b a c",
		},
		"InconsistentType": {
			reason: "a number and a text have no order",
			by:     "data.rank",
			found: `[{metadata: {name: c}, data: {rank: 3}}, {metadata: {name: a}, data: {rank: 1}}, {metadata: ` +
				`{name: b}, data: {rank: "2"}}]`,
			fault: at + `cannot sort by "data.rank"` + hint,
		},
		"OtherTypes": {
			reason: "nothing else has an order",
			by:     "data.rank",
			found: `[{metadata: {name: d}, data: {rank: true}}, {metadata: {name: c}, data: {rank: {}}},
			  {metadata: {name: b}, data: {rank: []}},
				{metadata: {name: a}, data: text}, {metadata: {name: e}, data: {rank: 5}}]`,
			fault: at + `cannot sort by "data.rank"` + hint,
		},
		"OneOfOtherType": {
			reason: "one alone needs no order",
			by:     "data.rank",
			found:  `[{metadata: {name: d}, data: {rank: true}}]`,
			want:   "d",
		},
		"InvalidPathSome": {
			reason: "one that lacks the text counts as empty",
			by:     "data.rank",
			found: `[{metadata: {name: d}, data: {rank: b}}, {metadata: {name: c}, data: {rank: a}},
			  {metadata: {name: b}, data: {rank: null}},
				{metadata: {name: a}, data: {}}]`,
			want: "a b c d",
		},
		"AbsentNumber": {
			reason: "one that lacks the number counts as 0",
			by:     "data.rank",
			found: `[{metadata: {name: d}, data: {rank: -1}}, {metadata: {name: c}, data: {rank: 1}}, {metadata: ` +
				`{name: b}}, {metadata: {name: a}, data: {rank: 0}}]`,
			want: "d a b c",
		},
		"Labels": {
			reason: "a path goes through names with dots, and lists",
			by:     "metadata.labels[a.b/c]",
			found:  `[{metadata: {name: a, labels: {a.b/c: beta}}}, {metadata: {name: b, labels: {a.b/c: alpha}}}]`,
			want:   "b a",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := choosing(t, tc.by)
			configs := readList(t, fromYAML[[]*structpb.Struct](t, tc.found))
			for range len(configs) { // in whatever order they come
				configs = append(configs[1:], configs[0])
				before := namesOf(configs)
				got, fault := m.choose(0, &Selector{}, configs)
				if fault != nil {
					if diff := cmp.Diff(tc.fault, fault.Error()); diff != "" {
						t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
					}
					continue
				}
				if diff := cmp.Diff(tc.want, strings.Join(namesOf(got), " ")); diff != "" || tc.fault != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(before, namesOf(configs)); diff != "" {
					t.Errorf("%s: what was found was sorted in place: -before, +after:\n%s", tc.reason, diff)
				}
			}
		})
	}
}
