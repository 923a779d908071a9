package rewrite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

const canary = "c4n4ry"

// key is a key of an input.
func key(input, name, value string) Key {
	return Key{Name: name, Value: sensitive.FromString(value), Origins: []Origin{{Input: input, Key: name}}}
}

func mergeRule(m Merge) Rule { return Rule{Merge: &m} }

func TestApplyRefuses(t *testing.T) {
	const (
		perhaps = ": write a target that contains what differs in them, for example a group such as $1"
		leave   = ": write a source and a target that leave at least one character, for example (.+) in place of (.*)"
		least   = ": a key needs a name of at least one character"
		foreign = ": it has a letter or a digit outside of ASCII; use Unicode, or a rule"
		work    = "was stopped: it exceeds the limit of work for one request: export fewer keys, or use fewer and " +
			"simpler rules"
		tooLong = "the result has more than 4096 bytes"
	)
	many := make([]Key, 0, maxKeys+1)
	for i := range maxKeys + 1 {
		many = append(many, key("db", fmt.Sprint(i), "v"))
	}
	longest := strings.Repeat("a", maxName-1)
	grows := `{{ $x := .value }}` + strings.Repeat(`{{ $x = replace "a" "aaaaaaaaaaaaaaaa" $x }}`, 20) + `{{ $x }}`
	for name, tc := range map[string]struct {
		reason string
		rules  []Rule
		in     []Key
		want   string
	}{
		"TwoInputs": {
			"two inputs may have one key", nil, []Key{key("web", "port", "1"), key("db", "port", "1")},
			`produces the same name for "port" of "db" and "port" of "web": give them different names`,
		},
		"Regexp": {
			"also with equal values", []Rule{regexpRule("^", "x"), regexpRule("[0-9]", "")},
			[]Key{key("db", "b2", "v"), key("db", "a1", "v"), key("db", "c", "v"), key("db", "a2", "v")},
			`rewrite[1].regexp: produces the same name for "a1" of "db" and "a2" of "db"` + perhaps,
		},
		"RegexpThenApart": {
			"afterwards, they cannot be distinguished", []Rule{regexpRule("^.*$", "k"), regexpRule("k", "l")},
			[]Key{key("db", "a", "1"), key("db", "b", "2")},
			`rewrite[0].regexp: produces the same name for "a" of "db" and "b" of "db"` + perhaps,
		},
		"Empty": {
			"the rule is named", []Rule{regexpRule("x", "y"), regexpRule("^db.*", "")},
			[]Key{key("db", "db-host", "v"), key("db", "db-port", "v"), key("db", "user", "v")},
			`rewrite[1].regexp: produces an empty name for "db-host" of "db" and "db-port" of "db"` + leave,
		},
		"EmptyInput": {
			"no rule made it", []Rule{regexpRule("^", "y")}, []Key{key("db", "", "v")},
			`produces an empty name for "" of "db"` + least,
		},
		"Members": {
			"members of one value have the same origin", []Rule{mergeRule(Merge{}), regexpRule("^.*$", "a")},
			[]Key{key("db", "k", `{"x": 1, "y": 2}`)},
			`rewrite[1].regexp: produces the same name for members of "k" of "db"` + perhaps,
		},
		"Conversion": {
			"they differ only in characters that are replaced", nil, []Key{key("db", "a/b", "v"), key("db", "a_b", "v")},
			`conversionStrategy: produces the same name for "a/b" of "db" and "a_b" of "db": rename one of them, ` +
				`or use Unicode`,
		},
		"Letter": {
			"the API server would refuse it", nil, []Key{key("db", "größe", "v")},
			`conversionStrategy: cannot rename "größe" of "db"` + foreign,
		},
		"Many": {"the number of keys has a limit", nil, many, `produces 10001 keys, over the limit of 10000: ` +
			`export fewer`},
		"ManyNamed": {
			"a message stays readable", []Rule{regexpRule(".*", "a")}, many[:2000],
			`rewrite[0].regexp: produces the same name for "0" of "db" and "1" of "db" and "10" of "db" and "100" ` +
				`of "db" ` +
				`and "1000" of "db" and "1001" of "db" and "1002" of "db" and "1003" of "db" and "1004" of "db" ` +
				`and "1005" of "db" and 1990 more` + perhaps,
		},
		"Large": {
			"their size has a limit, with the names", nil, []Key{key("db", "a", strings.Repeat("x", maxBytes))},
			`produces 2097153 bytes of keys and values, over the limit of 2097152: export fewer`,
		},
		"Long": {
			"a name has a limit", nil, []Key{key("db", longest+"aa", "v")},
			`produces a name over the limit of 4096 bytes for "` + longest + `aa" of "db"`,
		},
		"Doubled": {
			"rules cannot double a name forever", slices.Repeat([]Rule{regexpRule("^.*$", "$0$0")}, 64),
			[]Key{key("db", "a", "v")}, `rewrite[12].regexp: cannot rename "a" of "db": ` + tooLong,
		},
		"SlowRegexp": {
			"what a regular expression reads has a limit", []Rule{regexpRule("(a?){180}b", "")}, long(50),
			`rewrite[0].regexp: ` + work,
		},
		"TemplateLong": {
			"a line of variables could double a text a hundred times", []Rule{templateRule(grows)},
			[]Key{key("db", "a", "v")}, `rewrite[0].transform.template: cannot rename "a" of "db": ` + tooLong,
		},
		"TemplateOutput": {
			"the output has a limit", []Rule{templateRule(`{{ .value }}xx`)},
			[]Key{{Name: longest, Origins: []Origin{{Key: "a"}}}},
			`rewrite[0].transform.template: cannot rename "a": ` + tooLong,
		},
		"TemplateEmpty": {
			"a template can forget a key", []Rule{templateRule(`{{ if hasPrefix "db" .value }}{{ .value }}{{ end }}`)},
			[]Key{key("db", "user", "v")}, `rewrite[0].transform: produces an empty name for "user" of "db"` + least,
		},
		"TemplateWork": {
			"many keys and a large template", []Rule{templateRule(strings.Repeat("{{.value}}", 50))}, many[:maxKeys],
			`rewrite[0].transform.template: ` + work,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(Options{Rewrite: tc.rules}, tc.in)
			if diff := cmp.Diff(tc.want, message(err)); diff != "" || got != nil {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// long are keys with the longest names that may come in.
func long(n int) []Key {
	keys := make([]Key, 0, n)
	for i := range n {
		keys = append(keys, key("db", strings.Repeat("a", maxName-4)+fmt.Sprintf("%04d", i), "v"))
	}
	return keys
}

func TestKeyExpression(t *testing.T) {
	upper := &Transform{KeyExpression: "upper"}
	got, err := run(Options{Rewrite: []Rule{{Transform: upper}}}, []Key{key("db", "a", "v")})
	if diff := cmp.Diff(map[string]string{"A": "v"}, texts(got)); diff != "" || err != nil {
		t.Errorf("%v, -want, +got:\n%s", err, diff)
	}
	_, err = run(Options{Rewrite: []Rule{{Transform: upper}}}, []Key{key("db", "wait", "v"), key("db", "a", "v")})
	const want = `rewrite[0].transform: cannot rename "wait" of "db": waiting for resources.db`
	if message(err) != want || !errors.Is(err, errWaiting) {
		t.Errorf("want %q, which waits, got %q", want, message(err))
	}
}

// testKey are the key expressions of tests.
func testKey(_, text string) Renamer {
	return func(_ *budget.Budget, key string) (string, error) {
		switch {
		case key == "wait" || text == "k" && strings.Contains(key, "!"):
			return "", errWaiting
		case text == "k":
			return key + "-k", nil
		}
		return strings.ToUpper(key), nil
	}
}

var errWaiting = errors.New("waiting for resources.db")

func TestConvertAndDecode(t *testing.T) {
	in := []Key{key("db", "größe/²", "1234")}
	cases := map[string]struct {
		conversion, decoding string
		value                string
		want                 map[string]string
		err                  string
	}{
		"None": {conversion: "None", value: "v", want: map[string]string{"größe/²": "v"}},
		"AutoFooled": {
			conversion: "None", decoding: "Auto", value: "1234", want: map[string]string{"größe/²": "\xd7\x6d\xf8"},
		},
		"Lines": {conversion: "None", decoding: "Base64", value: "Ym\nFy\n", want: map[string]string{"größe/²": "bar"}},
		"Unpadded": {
			conversion: "None", decoding: "Base64URL", value: canary,
			err: `decodingStrategy: the value of "größe/²" of "db" is not Base64URL with padding: ` +
				`use None or Auto, or export the key separately`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in[0].Value = sensitive.FromString(tc.value)
			got, err := run(Options{ConversionStrategy: tc.conversion, DecodingStrategy: tc.decoding}, in)
			if message(err) != tc.err {
				t.Errorf("want %q, got %q", tc.err, message(err))
			}
			if diff := cmp.Diff(tc.want, texts(got)); diff != "" && tc.err == "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// Apply does not change its input, and gives the same result each time.
func TestApplyKeepsItsInput(t *testing.T) {
	all := Options{
		Rewrite:          []Rule{mergeRule(Merge{Strategy: "JSON", Into: "all"}), regexpRule("^", "x")},
		DecodingStrategy: "Auto",
	}
	r, faults := Compile(all, testKey)
	if faults != nil {
		t.Fatal(faults)
	}
	in := []Key{key("db", "b", `{"x":1}`), key("db", "a", `{"y":1}`)}
	before := slices.Clone(in)
	first, err := r.Apply(fresh(), in)
	second, _ := r.Apply(fresh(), in)
	if diff := cmp.Diff(before, in) + cmp.Diff(first, second); diff != "" || err != nil {
		t.Errorf("%v -want, +got:\n%s", err, diff)
	}
	want := []Origin{{"db", "a"}, {"db", "b"}}
	if diff := cmp.Diff(want, first[1].Origins); diff != "" || first[1].Name != "xall" {
		t.Errorf("origins of the merged key: -want, +got:\n%s", diff)
	}
}

func TestWorkStopsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in := []Key{key("db", "k", `{}`)}
	if _, err := Open(budget.New(ctx), in[0], nil); !strings.HasPrefix(message(err), "was stopped: ") {
		t.Errorf("Open(...): %v", err)
	}
	for _, rule := range []Rule{mergeRule(Merge{}), templateRule("{{ .value }}"), regexpRule("a", "b")} {
		s, _ := compile("rule", rule, nil)
		if _, f := s.run(budget.New(ctx), slices.Clone(in)); f == nil || !strings.HasPrefix(f.Reason, "was stopped: ") {
			t.Errorf("%s: %v", s.path, f)
		}
	}
}

// fresh is the budget of one request.
func fresh() *budget.Budget { return budget.New(context.Background()) }
