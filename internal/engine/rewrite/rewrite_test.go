package rewrite

import (
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

// key is one of an input, by its own name.
func key(input, name, value string) Key {
	return Key{Name: name, Value: sensitive.FromString(value), Origins: []Origin{{Input: input, Key: name}}}
}

func mergeRule(m Merge) Rule { return Rule{Merge: &m} }

func TestApplyRefuses(t *testing.T) {
	many := make([]Key, 0, maxKeys+1)
	for i := range maxKeys + 1 {
		many = append(many, key("db", fmt.Sprint(i), "v"))
	}
	longest := strings.Repeat("a", maxName-1)
	cases := map[string]struct {
		reason string
		rules  []Rule
		in     []Key
		want   string
	}{
		"TwoInputs": {
			reason: "two inputs may have one key, and then nothing is exported",
			in:     []Key{key("web", "port", "1"), key("db", "port", "1")},
			want:   `produces the same name for "port" of "db" and "port" of "web": give them different names`,
		},
		"Regexp": {
			reason: "each group is told, sorted, by original names, with equal values, too",
			rules:  []Rule{regexpRule("^", "x"), regexpRule("[0-9]", "")},
			in:     []Key{key("db", "b2", "v"), key("db", "a1", "v"), key("db", "b1", "v"), key("db", "c", "v"), key("db", "a2", "v")},
			want:   `rewrite[1].regexp: produces the same name for "a1" of "db" and "a2" of "db"; and the same name for "b1" of "db" and "b2" of "db": write a target that contains what differs in them, for example a group such as $1`,
		},
		"RegexpThenApart": {
			reason: "a conflict on the way stays one: which is which cannot be told afterwards",
			rules:  []Rule{regexpRule("^.*$", "k"), regexpRule("k", "l")},
			in:     []Key{key("db", "a", "1"), key("db", "b", "2")},
			want:   `rewrite[0].regexp: produces the same name for "a" of "db" and "b" of "db": write a target that contains what differs in them, for example a group such as $1`,
		},
		"Empty": {
			reason: "an empty key says which rule made it",
			rules:  []Rule{regexpRule("x", "y"), regexpRule("^db.*", "")},
			in:     []Key{key("db", "db-host", "v"), key("db", "db-port", "v"), key("db", "user", "v")},
			want:   `rewrite[1].regexp: produces an empty name for "db-host" of "db" and "db-port" of "db": write a source and a target that leave at least one character, for example (.+) in place of (.*)`,
		},
		"EmptyGroup": {
			reason: "a group that takes no part is nothing, which only the keys show",
			rules:  []Rule{regexpRule("a|(b)", "$1")},
			in:     []Key{key("db", "a", "v")},
			want:   `rewrite[0].regexp: produces an empty name for "a" of "db": write a source and a target that leave at least one character, for example (.+) in place of (.*)`,
		},
		"EmptyInput": {
			reason: "no rule is to blame for one that came in",
			rules:  []Rule{regexpRule("^", "y")},
			in:     []Key{key("db", "", "v")},
			want:   `produces an empty name for "" of "db": a key needs a name of at least one character`,
		},
		"Conversion": {
			reason: "two that only differ in what no key can have",
			in:     []Key{key("db", "a/b", "v"), key("db", "a_b", "v")},
			want:   `conversionStrategy: produces the same name for "a/b" of "db" and "a_b" of "db": rename one of them, or use Unicode`,
		},
		"Number": {
			reason: "so would a number that is no digit",
			in:     []Key{key("db", "m²", "v")},
			want:   `conversionStrategy: cannot convert the name of "m²" of "db": it has a letter or a digit outside of ASCII; use Unicode, or a rule`,
		},
		"Letter": {
			reason: "the API server would refuse it",
			in:     []Key{key("db", "größe", "v")},
			want:   `conversionStrategy: cannot convert the name of "größe" of "db": it has a letter or a digit outside of ASCII; use Unicode, or a rule`,
		},
		"Many": {
			reason: "the number of keys is bounded",
			in:     many,
			want:   `produces 10001 keys, over the limit of 10000: export fewer`,
		},
		"ManyNamed": {
			reason: "a message stays readable",
			rules:  []Rule{regexpRule(".*", "a")},
			in:     many[:2000],
			want: `rewrite[0].regexp: produces the same name for "0" of "db" and "1" of "db" and "10" of "db" and "100" of "db" and "1000" of "db" and "1001" of "db"` +
				` and "1002" of "db" and "1003" of "db" and "1004" of "db" and "1005" of "db" and 1990 more: write a target that contains what differs in them, for example a group such as $1`,
		},
		"Large": {
			reason: "so is their size, names counted",
			in:     []Key{key("db", "a", strings.Repeat("x", maxBytes))},
			want:   `produces 2097153 bytes of keys and values, over the limit of 2097152: export fewer`,
		},
		"Largest": {
			reason: "as many bytes as there may be, and a name that is too long",
			in:     []Key{key("db", strings.Repeat("a", maxName+1), strings.Repeat("x", maxBytes-maxName-1))},
			want:   `produces a name over the limit of 4096 bytes for "` + strings.Repeat("a", maxQuoted) + `"… of "db"`,
		},
		"LargestNames": {
			reason: "a rule may produce as many bytes as there may be; each name that is too long is described",
			rules:  []Rule{regexpRule("^.*$", strings.Repeat("$0", 256))},
			in:     []Key{key("db", longest+"0", ""), key("db", longest+"1", "")},
			want: `rewrite[0].regexp: produces a name over the limit of 4096 bytes for "` + strings.Repeat("a", maxQuoted) + `"… of "db"; "` +
				strings.Repeat("a", maxQuoted) + `"… of "db"`,
		},
		"LargeNames": {
			reason: "and not one more, before the names are looked at",
			rules:  []Rule{regexpRule("^.*$", strings.Repeat("$0", 256))},
			in:     []Key{key("db", longest+"0", ""), key("db", longest+"1", ""), key("db", "c", "")},
			want:   `rewrite[0].regexp: produces keys of more than 2097152 bytes together: export fewer`,
		},
		"Doubled": {
			reason: "rules cannot double a name for ever",
			rules:  slices.Repeat([]Rule{regexpRule("^.*$", "$0$0")}, 64),
			in:     []Key{key("db", "a", "v")},
			want:   `rewrite[12].regexp: produces a name over the limit of 4096 bytes for "a" of "db"`,
		},
		"SlowRegexp": {
			reason: "what a regular expression looks at is bounded as it is in CEL",
			rules:  []Rule{regexpRule("(a?){180}b", "")},
			in:     long(50),
			want:   `rewrite[0].regexp: was stopped: it exceeds the limit of work for one request: export fewer keys, or use fewer and simpler rules`,
		},
		"Template": {
			reason: "the reason is that of the function, and names the place",
			rules:  []Rule{templateRule("ab\n{{ .value | snakecase }}")},
			in:     []Key{{Name: longest, Origins: []Origin{{Key: "us"}}}},
			want:   `rewrite[0].transform.template:2:13: cannot rename "us": it matches a text over the limit of 1024 bytes or splits it into words`,
		},
		"TemplateFails": {
			reason: "the text of an error of text/template may contain data",
			rules:  []Rule{templateRule(`{{ if eq .value "a" }}{{ lt 1 "x" }}{{ end }}`)},
			in:     []Key{key("db", "a", "v")},
			want:   `rewrite[0].transform.template:1:26: cannot rename "a" of "db": the template fails for this key`,
		},
		"TemplateLong": {
			reason: "a line of variables could double a text a hundred times",
			rules:  []Rule{templateRule(`{{ $x := .value }}` + strings.Repeat(`{{ $x = replace "a" "aaaaaaaaaaaaaaaa" $x }}`, 20) + `{{ $x }}`)},
			in:     []Key{key("db", "a", "v")},
			want:   `rewrite[0].transform.template:1:159: cannot rename "a" of "db": it returns a text over the limit of 4096 bytes`,
		},
		"TemplateOutput": {
			reason: "nor is the output unbounded",
			rules:  []Rule{templateRule(`{{ .value }}xx`)},
			in:     []Key{{Name: longest, Origins: []Origin{{Key: "a"}}}},
			want:   `rewrite[0].transform.template: cannot rename "a": it returns a text over the limit of 4096 bytes`,
		},
		"TemplateEmpty": {
			reason: "a template can forget a key as a regular expression can",
			rules:  []Rule{templateRule(`{{ if hasPrefix "db" .value }}{{ .value }}{{ end }}`)},
			in:     []Key{key("db", "user", "v")},
			want:   `rewrite[0].transform: produces an empty name for "user" of "db": a key needs a name of at least one character`,
		},
		"TemplateWork": {
			reason: "many keys and a large template",
			rules:  []Rule{templateRule(strings.Repeat("{{.value}}", 50))},
			in:     many[:maxKeys],
			want:   `rewrite[0].transform.template: was stopped: it exceeds the limit of work for one request: export fewer keys, or use fewer and simpler rules`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := run(Options{Rules: tc.rules}, tc.in)
			if diff := cmp.Diff(tc.want, message(err)); diff != "" || got != nil {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if strings.Contains(message(err), "\n") {
				t.Errorf("%s: more than one line", tc.reason)
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
	upper := &Transform{Key: func(k string, _ *budget.Budget) (string, error) {
		if k == "wait" {
			return "", errWaiting
		}
		return strings.ToUpper(k), nil
	}}
	got, err := run(Options{Rules: []Rule{{Transform: upper}}}, []Key{key("db", "a", "v")})
	if diff := cmp.Diff(map[string]string{"A": "v"}, texts(got)); diff != "" || err != nil {
		t.Errorf("%v, -want, +got:\n%s", err, diff)
	}
	_, err = run(Options{Rules: []Rule{{Transform: upper}}}, []Key{key("db", "wait", "v"), key("db", "a", "v")})
	const want = `rewrite[0].transform: cannot rename "wait" of "db": waiting for resources.db`
	if message(err) != want || !errors.Is(err, errWaiting) {
		t.Errorf("want %q, which waits, got %q", want, message(err))
	}
	_, err = run(Options{Rules: []Rule{{Transform: upper}}}, []Key{key("db", "b", "v"), key("db", "B", "v")})
	if !strings.Contains(message(err), `produces the same name for "B" of "db" and "b" of "db"`) {
		t.Errorf("a conflict is one here, too: %v", err)
	}
}

var errWaiting = errors.New("waiting for resources.db")

// A key that may still appear is distinguished from a key that will not.
func TestMissing(t *testing.T) {
	for want, rule := range map[bool]Merge{true: {Priority: []string{"b"}}, false: {}} {
		_, err := run(Options{Rules: []Rule{mergeRule(rule)}}, []Key{key("db", "a", "1")})
		var f *Failed
		if !errors.As(err, &f) || f.Missing != want {
			t.Errorf("want missing %t, got %+v", want, f)
		}
	}
}

func TestConvertAndDecode(t *testing.T) {
	in := []Key{key("db", "größe/²", "1234")}
	cases := map[string]struct {
		conversion, decoding string
		value                string
		want                 map[string]string
		err                  string
	}{
		"Unicode":    {conversion: "Unicode", value: "v", want: map[string]string{"gr_U00f6__U00df_e_U002f__U00b2_": "v"}},
		"None":       {conversion: "None", value: "v", want: map[string]string{"größe/²": "v"}},
		"AutoFooled": {conversion: "None", decoding: "Auto", value: "1234", want: map[string]string{"größe/²": "\xd7\x6d\xf8"}},
		"AutoEmpty":  {conversion: "None", decoding: "Auto", want: map[string]string{"größe/²": ""}},
		"Lines":      {conversion: "None", decoding: "Base64", value: "Ym\nFy\n", want: map[string]string{"größe/²": "bar"}},
		"Unpadded":   {conversion: "None", decoding: "Base64URL", value: canary, err: `decodingStrategy: the value of "größe/²" of "db" is not Base64URL with padding: use None or Auto, or export the key separately`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in[0].Value = sensitive.FromString(tc.value)
			got, err := run(Options{Conversion: tc.conversion, Decoding: tc.decoding}, in)
			if message(err) != tc.err {
				t.Errorf("want %q, got %q", tc.err, message(err))
			}
			if diff := cmp.Diff(tc.want, texts(got)); diff != "" && tc.err == "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// Apply does not change its input, and several goroutines may use one Rewriter.
func TestApplyKeepsItsInput(t *testing.T) {
	r, faults := Compile(Options{Rules: []Rule{mergeRule(Merge{Strategy: "JSON", Into: "all"}), regexpRule("^", "x")}, Decoding: "Auto"})
	if faults != nil {
		t.Fatal(faults)
	}
	in := []Key{key("db", "b", `{"x":1}`), key("db", "a", `{"y":1}`)}
	before := slices.Clone(in)
	first, err := r.Apply(fresh(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := r.Apply(fresh(), in)
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the input changed: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second time gives something else:\n%s", diff)
	}
	want := []Origin{{"db", "a"}, {"db", "b"}}
	merge := Merge{ConflictPolicy: "Ignore", Priority: []string{"a"}}
	if r, faults = Compile(Options{Rules: []Rule{mergeRule(merge)}}); faults != nil {
		t.Fatal(faults)
	}
	merge.Priority[0] = "b"
	in[0].Value = sensitive.FromString(`{"y":2}`)
	if got, err := r.Apply(fresh(), in); err != nil || texts(got)["y"] != "1" {
		t.Errorf("the options changed, and with them the rewriter: %v, %v", texts(got), err)
	}
	if diff := cmp.Diff(want, first[1].Origins); diff != "" || first[1].Name != "xall" {
		t.Errorf("origins of the merged key: -want, +got:\n%s", diff)
	}
}
