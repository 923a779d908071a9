package rewrite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

func regexpRule(source, target string) Rule {
	return Rule{Regexp: &Regexp{Source: source, Target: target}}
}

func templateRule(text string) Rule { return Rule{Transform: &Transform{Template: text}} }

// placed is a diagnostic as it is read.
type placed struct{ place, message string }

// ruleOf returns the rule of a diagnostic that has a line or not.
func ruleOf(d *diagnostic.Diagnostic) diagnostic.Rule {
	if d.Line > 0 {
		return diagnostic.Expression
	}
	return diagnostic.Input
}

func TestCompileDiagnostics(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     Options
		want   []placed
	}{
		"Nothing": {reason: "no rule at all is no fault"},
		"ClassicPitfall": {
			reason: "$1_X is the group named 1_X, and would give an empty key",
			in:     Options{Rules: []Rule{regexpRule("^(.*)$", "ä$1_X")}},
			want: []placed{{
				"rewrite[0].regexp.target:1:2",
				`$1_X refers to the group "1_X", which source does not have, and is replaced by nothing: write ${1}_X for the group 1 and the text _X`,
			}},
		},
		"NamedPitfall": {
			reason: "so is $app_x with a group named app",
			in:     Options{Rules: []Rule{regexpRule("(?P<app>.)", "${app}$app_x")}},
			want: []placed{{
				"rewrite[0].regexp.target:1:7",
				`$app_x refers to the group "app_x", which source does not have, and is replaced by nothing: write ${app}_x for the group app and the text _x`,
			}},
		},
		"NoSuchGroups": {
			reason: "each one is told, those without a likely meaning, too",
			in:     Options{Rules: []Rule{regexpRule("(a)", "$9 $$1 ${x} $01 $99999999999999999999 $")}},
			want: []placed{
				{"rewrite[0].regexp.target:1:1", `$9 refers to the group "9", which source does not have, and is replaced by nothing: source has one group, $1`},
				{"rewrite[0].regexp.target:1:8", `$x refers to the group "x", which source does not have, and is replaced by nothing: source has one group, $1`},
				{"rewrite[0].regexp.target:1:13", `$01 refers to the group "01", which source does not have, and is replaced by nothing: write ${0}1 for the group 0 and the text 1`},
				{"rewrite[0].regexp.target:1:17", `$99999999999999999999 refers to the group "99999999999999999999", which source does not have, and is replaced by nothing: source has one group, $1`},
			},
		},
		"LikelyGroup": {
			reason: "a group with a similar name is suggested",
			in:     Options{Rules: []Rule{regexpRule("(?P<app>.)", "${aqp}")}},
			want: []placed{{
				"rewrite[0].regexp.target:1:1",
				`$aqp refers to the group "aqp", which source does not have, and is replaced by nothing: did you mean ${app}?`,
			}},
		},
		"NoGroup": {
			reason: "the groups that there are, if any",
			in:     Options{Rules: []Rule{regexpRule("a", "$1"), regexpRule("(a)(b)", "$3")}},
			want: []placed{
				{"rewrite[0].regexp.target:1:1", `$1 refers to the group "1", which source does not have, and is replaced by nothing: source has no group; write ( ) around a part of it, or $$ for a dollar`},
				{"rewrite[1].regexp.target:1:1", `$3 refers to the group "3", which source does not have, and is replaced by nothing: source has the groups $1 to $2`},
			},
		},
		"TwelveGroups": {
			reason: "a number has any number of digits",
			in:     Options{Rules: []Rule{regexpRule(strings.Repeat("(a)", 12), "$12 $13")}},
			want: []placed{{
				"rewrite[0].regexp.target:1:5",
				`$13 refers to the group "13", which source does not have, and is replaced by nothing: write ${1}3 for the group 1 and the text 3`,
			}},
		},
		"Longest": {
			reason: "as much as is permitted",
			in: Options{Rules: []Rule{
				regexpRule(strings.Repeat("a", 512), strings.Repeat("b", 512)), regexpRule("a{998}", ""), templateRule(strings.Repeat("x", 1024)),
			}},
		},
		"LongSource": {
			reason: "a pattern is bounded as those of expressions are",
			in:     Options{Rules: []Rule{regexpRule("(abc){400}", "")}},
			want: []placed{
				{"rewrite[0].regexp.source", "has 2002 instructions, over the limit of 1000: repeat less in it"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, wrong := Compile(tc.in)
			var got []placed
			for _, d := range wrong {
				got = append(got, placed{d.Place(), d.Message})
				if want := ruleOf(d); d.Rule != want {
					t.Errorf("%s: want the rule %s, got %s", d.Place(), want, d.Rule)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(placed{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestPatternIsItsSource(t *testing.T) {
	if p, wrong := CompilePattern("", "a+"); wrong != nil || p.String() != "a+" {
		t.Errorf("want a+, got %v, %v", p, wrong)
	}
}

// The parser of regular expressions says what is wrong, and not where.
func TestPlaceInASource(t *testing.T) {
	cases := map[string]string{
		"a(b":         ":1:2: cannot be compiled: missing closing ): `a(b`",
		"(a)(b":       ":1:4: cannot be compiled: missing closing ): `(a)(b`",
		"a)b":         ":1:2: cannot be compiled: unexpected ): `a)b`",
		"a*(*)":       ":1:4: cannot be compiled: missing argument to repetition operator: `*`",
		"ä\nb**":      ":2:2: cannot be compiled: invalid nested repetition operator: `**`",
		`a\yb`:        ":1:2: cannot be compiled: invalid escape sequence: `\\y`",
		"x[a":         ":1:2: cannot be compiled: missing closing ]: `[a`",
		"x[z-a]y[a-z": ":1:3: cannot be compiled: invalid character class range: `z-a`",
		"(?=a)":       ":1:1: cannot be compiled: (?= is not part of RE2: leave it out, and write a pattern of what matches, and to exclude keys, list the others, as in ^(username|host)$",
		"\xff":        ":1:1: cannot be compiled: invalid UTF-8: `\xff`",
	}
	for source, want := range cases {
		_, faults := Compile(Options{Rules: []Rule{regexpRule(source, "")}})
		got := ""
		for _, f := range faults {
			got += strings.TrimPrefix(f.Place(), "rewrite[0].regexp.source") + ": " + f.Message
		}
		if got != want {
			t.Errorf("%q: want %q, got %q", source, want, got)
		}
	}
}

func TestTemplateDiagnostics(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"Unclosed":    {"what is no template has a line", "a\n{{ .value", ":2: cannot be parsed: unclosed action"},
		"Field":       {"a missing field is an error before it runs", "a\nä{{ .key }}", ":2:5: has only .value, the key: there is no .key"},
		"FieldOf":     {"a key has no fields", "{{ .value.x }}", ":1:10: has only .value, the key: there is no .value.x"},
		"Root":        {"nor has the root another one", "{{ $.x }}", ":1:5: has only .value, the key: there is no .x"},
		"Chain":       {"nor what a call returns", "{{ (upper .value).x }}", ":1:18: must not use \"(upper .value).x\""},
		"Range":       {"range 1000000000 would not end", "{{ range 1000000000 }}{{ end }}", ":1:10: must not use range: a key is one text"},
		"Define":      {"what is defined could call itself", `{{ define "x" }}{{ template "x" }}{{ end }}`, ":1:17: must not define other templates"},
		"DefineSelf":  {"not even under the name that it has itself", `{{ define "template" }}{{ range 9 }}{{ end }}{{ end }}`, ":1:24: must not define other templates"},
		"Template":    {"nor can it call itself", `{{ template "template" . }}`, ":1:13: must not use template or block, because there are no other templates"},
		"Block":       {"a block is both", `{{ block "x" . }}{{ end }}`, ":1:10: must not use template or block, because there are no other templates"},
		"InWith":      {"also what with does", "{{ with .value }}{{ range 9 }}{{ end }}{{ end }}", ":1:27: must not use range: a key is one text"},
		"InElse":      {"and else", "{{ if .value }}{{ else }}{{ range 9 }}{{ end }}{{ end }}", ":1:35: must not use range: a key is one text"},
		"InCall":      {"and a call in an argument", "{{ upper ($.x) }}", ":1:12: has only .value, the key: there is no .x"},
		"Lines":       {"an argument may have several lines", "a\n{{ repeat `b\nc` 3 }}", ":2:11: expected integer; found `b c`"},
		"NoReplace":   {"a bad pattern has no groups", `{{ regexReplaceAll "(" .value "$1" }}`, ":1:20: regexReplaceAll: cannot be compiled: missing closing ): `(`"},
		"Float":       {"no function takes one", "{{ 1.5 }}", ":1:4: must use whole numbers only, not 1.5"},
		"Arguments":   {"wrong arguments show in the first run", "{{ .value | replace \"a\" }}", ":1:13: wrong number of args for replace: want 3 got 2"},
		"Type":        {"and so do wrong types", "{{ repeat .value 3 }}", ":1:11: wrong type for value; expected int; got string"},
		"Dot":         {"the dot of with is a text", "{{ with .value }}{{ .value }}{{ end }}", ":1:21: can't evaluate field value in type string"},
		"Printf":      {"no width: it would be filled up", `{{ printf "%9999999s" .value }}`, ":1:4: printf must have one argument for each verb, and knows %s for a text, %d for a whole number and %v for both, without flags"},
		"Computed":    {"a computed pattern would be compiled for each key", `{{ regexMatch .value "a" }}`, ":1:4: regexMatch must have a literal regular expression as its first argument"},
		"NoPattern":   {"one without arguments, too", `{{ "a" | regexMatch }}`, ":1:10: regexMatch must have a literal regular expression as its first argument"},
		"Pattern":     {"a bad pattern is found before it runs", `{{ regexMatch "(" .value }}`, ":1:15: regexMatch: cannot be compiled: missing closing ): `(`"},
		"PatternBy":   {"so is the classic pitfall", `{{ regexReplaceAll "(.)" .value "$1_x" }}`, ":1:33: regexReplaceAll: $1_x refers to the group \"1_x\", which source does not have, and is replaced by nothing: write ${1}_x for the group 1 and the text _x"},
		"Environment": {"nothing is read from outside", `{{ env "HOME" }}`, ":1:4: there is no function \"env\": use one of and, b64dec, b64enc, base, camelcase, clean, contains, default, dir, eq, ext, ge, gt, hasPrefix, hasSuffix, isAbs, kebabcase, le, len, lower, lt, ne, nospace, not, or, printf, regexMatch, regexReplaceAll, repeat, replace, sha256sum, snakecase, substr, ternary, trim, trimAll, trimPrefix, trimSuffix, trunc, upper"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := Compile(Options{Rules: []Rule{templateRule(tc.in)}})
			if len(faults) != 1 {
				t.Fatalf("%s: want one fault, got %v", tc.reason, faults)
			}
			if want := ruleOf(faults[0]); faults[0].Rule != want {
				t.Errorf("%s: want the rule %s, got %s", tc.reason, want, faults[0].Rule)
			}
			got := faults[0].Place() + ": " + faults[0].Message
			if diff := cmp.Diff("rewrite[0].transform.template"+tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Builtins of text/template that are not on the list stay out.
func TestRefusedBuiltins(t *testing.T) {
	for _, call := range []string{"call .value", "html .value", "js .value", "urlquery .value", "print .value", "println .value", "index .value 0", "slice .value 1"} {
		_, faults := Compile(Options{Rules: []Rule{templateRule("{{ " + call + " }}")}})
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Message, "there is no function") {
			t.Errorf("%s: not refused: %v", call, faults)
		}
	}
}
