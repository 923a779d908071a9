package rewrite

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// with returns a budget of n units.
func with(n int64) *budget.Budget {
	b := fresh()
	b.Take(limits.RequestFuel - n)
	return b
}

// A rule spends its cost before it works. With less it stops, says so with its path, and returns nothing.
func TestCosts(t *testing.T) {
	name := strings.Repeat("a", 100)
	one, two := []Key{key("db", name, "v")}, []Key{key("db", "a", `{"p":1}`), key("db", "b", `{"p":2,"q":3}`)}
	cases := map[string]struct {
		reason string
		in     []Key
		rule   Rule
		o      Options
		used   int64
		needs  int64    // if more must be left than is used
		stops  []string // paths of steps, if not all of them cost something
	}{
		"None":    {reason: "a key costs a unit at the beginning and after each step", in: one, used: 3},
		"Nothing": {reason: "no key costs nothing", stops: []string{}},
		"Default": {reason: "400/64 for looking at its characters", in: one, o: Options{Conversion: "Default"}, used: 3 + 6},
		"Unicode": {reason: "2000/64 for numbers that may replace them", in: one, o: Options{Conversion: "Unicode"}, used: 3 + 31},
		"Base64": {
			reason: "a unit for the value, and 68/64 for its bytes", o: Options{Decoding: "Base64"},
			in: []Key{key("db", "k", strings.Repeat("YWFh", 17))}, used: 3 + 1 + 1,
		},
		"Auto": {
			reason: "both encodings may read it", o: Options{Decoding: "Auto"},
			in: []Key{key("db", "k", strings.Repeat("YWFh", 17))}, used: 3 + 1 + 2,
		},
		"NoMatch": {
			reason: "1+64*22/64 for one search; the budget must allow eight", in: []Key{key("db", name[:63], "v")},
			rule: regexpRule("bbbbbbbbbbbbbbbbbbbb", "x"), used: 4 + 23, needs: 1 + 8*23,
		},
		"Matches": {
			reason: "two searches of 1+101*12/64, and 100/64 for the new name", in: []Key{key("db", name[:90]+"bbbbbbbbbb", "v")},
			rule: regexpRule("bbbbbbbbbb", strings.Repeat("x", 10)), used: 4 + 2*19 + 1, needs: 1 + 8*19,
		},
		"SevenMatches": {
			reason: "eight searches of 1+101*3/64, and 163/64 for the new name", in: []Key{key("db", name[:93]+"bbbbbbb", "v")},
			rule: regexpRule("b", strings.Repeat("x", 10)), used: 4 + 8*5 + 2,
		},
		"ManyMatches": {
			reason: "after eight matches, up to 64 are searched for", in: []Key{key("db", name[:90]+"bbbbbbbbbb", "v")},
			rule: regexpRule("b", ""), used: 4 + 9*5 + 11*5 + 1, needs: 1 + 9*5 + 64*5,
		},
		"Extract": {
			reason: "a unit and 250/64 for the bytes, and 6 units for each value, 400/64 for the text, (3+2)/64 for the object",
			in:     []Key{key("db", "k", `{"t":"`+name+`","o":{"l":[1,null]}}`)}, rule: mergeRule(Merge{}),
			used: 1 + 1 + 3 + 5*6 + 6 + 1 + 2*3,
		},
		"Object": {
			reason: "two members, and 191/64 for their names and values", rule: mergeRule(Merge{}),
			in:   []Key{key("db", "k", `{"o":{"`+name[:93]+`":1,"bb":"`+name[:93]+`"}}`)},
			used: 1 + 1 + 6 + 3*6 + 5 + 2 + 2 + 3,
		},
		"Null": {
			reason: "a merge may leave no key, and then no key costs more", rule: mergeRule(Merge{}),
			in: []Key{key("db", "k", "null")}, used: 1 + 1, stops: []string{"", "rewrite[0].merge"},
		},
		"Conflict": {
			reason: "four units and one for each origin", rule: mergeRule(Merge{ConflictPolicy: "Ignore"}),
			in: two, used: 2 + 2*1 + 3*6 + 4 + 2 + 3*2,
		},
		"Merged": {
			reason: "one for each origin and each member of the merged object", rule: mergeRule(Merge{Strategy: "JSON", Into: "c", ConflictPolicy: "Ignore"}),
			in: two, used: 2 + 2*1 + 3*6 + 4 + 2 + 2 + 2 + 3*3,
		},
		"MergedOnce": {
			reason: "also if this is more than all that follows", rule: mergeRule(Merge{Strategy: "JSON", Into: "c"}),
			in:   []Key{{"k", sensitive.FromString(`{"a":1,"b":1,"c":1,"d":1,"e":1}`), slices.Repeat([]Origin{{"db", "k"}}, 10)}},
			used: 1 + 1 + 5*6 + 10 + 5 + 3*2,
		},
		"Replaced": {
			reason: "a template pays for its regular expressions as a rule does", in: one,
			rule: templateRule(`{{ regexReplaceAll "b" .value "c" }}`), used: 4 + 5 + 1 + 5, needs: 1 + 5 + 1 + 8*5,
		},
		"Template": {
			reason: "a unit for each node, here 3, and 100/64 for the key", in: one, rule: templateRule(`x{{ .value }}`),
			used: 4 + 3 + 1,
		},
	}
	for call, cost := range map[string]int64{
		`isAbs .value`: 1 + 6, `trunc 1 .value`: 1 + 6, `substr 0 1 .value`: 1 + 6, `trimPrefix "b" .value`: 1 + 6,
		`hasPrefix "b" .value`: 1 + 6, `upper .value`: 1 + 6, `replace "a" "b" .value`: 1 + 6, `b64dec .value`: 1 + 6,
		`snakecase .value`: 12 + 1 + 6, `regexMatch "a" .value`: 1 + 101*3/64, `ternary "a" "b" true`: 0, `repeat 1 .value`: 0,
	} {
		nodes := int64(1 + len(strings.Fields(call)))
		c := cases["Template"]
		c.rule, c.reason, c.used = templateRule("{{ "+call+" }}"), call, 4+nodes+1+cost
		cases[call] = c
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.rule != (Rule{}) {
				tc.o.Rules = []Rule{tc.rule}
			}
			if tc.o.Conversion == "" {
				tc.o.Conversion = "None"
			}
			if tc.stops == nil {
				tc.stops = steps(tc.rule)
			}
			if tc.needs > 0 { // and the rest costs less
				tc.stops = tc.stops[:2]
			}
			assertCost(t, tc.reason, tc.used, max(tc.needs, tc.used), tc.stops, func(b *budget.Budget) error {
				r, wrong := Compile(tc.o)
				if wrong != nil {
					t.Fatal(wrong)
				}
				_, err := r.Apply(b, slices.Clone(tc.in))
				return err
			})
		})
	}
}

// steps returns the paths at which a budget can end: before all rules, in a rule, and after each step.
func steps(rule Rule) []string {
	paths := []string{""}
	switch {
	case rule.Regexp != nil:
		paths = append(paths, "rewrite[0].regexp")
	case rule.Merge != nil:
		paths = append(paths, "rewrite[0].merge")
	case rule.Transform != nil:
		paths = append(paths, "rewrite[0].transform.template", "rewrite[0].transform")
	}
	return append(paths, "conversionStrategy", "decodingStrategy")
}

func assertCost(t *testing.T, reason string, used, needs int64, stops []string, do func(*budget.Budget) error) {
	t.Helper()
	b := fresh()
	if err := do(b); err != nil {
		t.Fatal(err)
	}
	if got := limits.RequestFuel - b.Left(); got != used {
		t.Errorf("%s: want %d units used, got %d", reason, used, got)
	}
	n, paths := int64(0), []string{}
	for ; n <= needs; n++ {
		err := do(with(n))
		if err == nil {
			break
		}
		var f *Failed
		if !errors.As(err, &f) || !strings.HasPrefix(f.Reason, "was stopped: it exceeds the limit of work") {
			t.Fatalf("%s: %d units: want it stopped, got %v", reason, n, err)
		}
		paths = append(paths, f.Path)
	}
	if n != needs {
		t.Errorf("%s: want %d units needed, got %d", reason, needs, n)
	}
	if diff := cmp.Diff(stops, slices.Compact(paths)); diff != "" {
		t.Errorf("%s: where it stops: -want, +got:\n%s", reason, diff)
	}
}

func TestCostOfOpen(t *testing.T) {
	k := key("db", "k", `{"a":{"b":1}}`)
	assertCost(t, "a unit for each object that is read, 6 for each value, 1 for a member",
		1+2*6+1+1+6, 1+2*6+1+1+6, []string{""}, func(b *budget.Budget) error {
			_, err := Open(b, k, []string{"a"})
			return err
		})
}

func TestWorkStopsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	const stopped = "was stopped: it exceeds the limit of work for one request: export fewer keys, or use fewer and simpler rules"
	if _, err := Open(budget.New(ctx), key("db", "k", `{}`), nil); message(err) != stopped {
		t.Errorf("Open(...): want %q, got %q", stopped, message(err))
	}
	merge, _ := (&Merge{}).compile("merge")
	transform, _ := (&Transform{Template: "{{ .value }}"}).compile("transform")
	for path, step := range map[string]apply{"merge": merge, "transform.template": transform} {
		_, f := step(budget.New(ctx), []Key{key("db", "k", `{}`)})
		if f == nil || cmp.Diff(path+": "+stopped, f.Error()) != "" {
			t.Errorf("want %s: %s, got %v", path, stopped, f)
		}
	}
}
