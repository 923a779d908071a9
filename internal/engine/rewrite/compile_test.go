package rewrite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

type (
	Options   = v1beta1.DataFrom
	Rule      = v1beta1.Rewrite
	Merge     = v1beta1.RewriteMerge
	Transform = v1beta1.RewriteTransform
)

func regexpRule(source, target string) Rule {
	return Rule{RegExp: &v1beta1.RewriteRegExp{Source: source, Target: &target}}
}

func templateRule(text string) Rule { return Rule{Transform: &Transform{Template: text}} }

func TestCompileDiagnostics(t *testing.T) {
	const (
		refers  = ", which source does not have, and is replaced by nothing: write "
		perhaps = "( ) around a part of source, or $$ for a dollar"
		source  = "rewrite[0].regexp.source: "
		target  = "rewrite[0].regexp.target: "
		inside  = "rewrite[0].transform.template: "
		other   = inside + "must not use template or block, because there are no other templates"
	)
	for name, tc := range map[string]struct {
		reason string
		in     Rule
		want   string
	}{
		"Longest": {"as much as is permitted", regexpRule("a{998}", strings.Repeat("b", 512)), ""},
		"ClassicPitfall": {
			"$1_X is the group named 1_X", regexpRule("^(.*)$", "ä$1_X"),
			target + `$1_X refers to the group "1_X"` + refers + "${1}_X for the group 1 and the text _X",
		},
		"NamedPitfall": {
			"$app_x is the group named app_x", regexpRule("(?P<app>.)", "${app}$app_x"),
			target + `$app_x refers to the group "app_x"` + refers + "${app}_x for the group app and the text _x",
		},
		"LeadingZero": {
			"only a number without leading zeros is the number of a group", regexpRule("(a)", "$$1 $ $01"),
			target + `$01 refers to the group "01"` + refers + "${0}1 for the group 0 and the text 1",
		},
		"ManyGroups": {"a number has any number of digits", regexpRule(strings.Repeat("(a)", 12), "$12"), ""},
		"NoSuchGroup": {
			"there are fewer", regexpRule("(a)", "$9"), target + `$9 refers to the group "9"` + refers + perhaps,
		},
		"LongSource": {
			"a pattern has a limit", regexpRule("(abc){400}", ""),
			source + "has 2002 instructions, over the limit of 1000: repeat less in it",
		},
		"Unclosed": {"it cannot be parsed", regexpRule("a(b", ""), source + "cannot be compiled: missing closing " +
			"): `a(b`"},
		"LookAhead": {
			"it is another syntax", regexpRule("(?=a)", ""), source + "cannot be compiled: (?= is not part of RE2: leave " +
				"it out, and write a pattern of what matches, and to exclude keys, list the others, as in ^(username|host)$",
		},

		"Template": {
			"it is not a template", templateRule("a\n{{ .value"), inside + "cannot be parsed: line 2: unclosed action",
		},
		"Field": {
			"a missing field", templateRule("a\nä{{ .key }}"),
			inside + `cannot be used: line 2:5: executing "template" at <.key>: map has no entry for key ` +
				`"key"` + useValue,
		},
		"Range":  {"it would not end", templateRule("{{ range 1000000000 }}{{ end }}"), inside + noRange},
		"InWith": {"also in with", templateRule("{{ with .value }}{{ range 9 }}{{ end }}{{ end }}"), inside + noRange},
		"InElse": {"also in else", templateRule("{{ if .value }}{{ else }}{{ range 9 }}{{ end }}{{ end " +
			"}}"), inside + noRange},
		"Define": {"it could call itself", templateRule(`{{ define "x" }}a{{ end }}b`), inside + "must not " +
			"define other templates"},
		"Itself": {"it would not end", templateRule(`{{ template "template" . }}`), other},
		"Block": {"it is both", templateRule(`{{ block "x" . }}a{{ end }}`), inside + "must not define other " +
			"templates"},
		"Instead": {"only this one is left", templateRule(`{{ define "template" }}{{ template "template" }}{{ end ` +
			`}}`), inside + "must not define other templates"},
		"Function": {"nothing is read from outside", templateRule(`{{ env "HOME" ` +
			`}}`), inside + noFunction + `"env"` + useOne},
		"Builtin": {"a builtin that is not on the list", templateRule("{{ html .value " +
			"}}"), inside + noFunction + `"html"` + useOne},
		"Arguments": {
			"wrong arguments show when it runs", templateRule(`{{ .value | replace "a" }}`), inside + "cannot be " +
				"used: line 1:12: " +
				`executing "template" at <replace>: wrong number of args for replace: want 3 got 2` + useValue,
		},
		"Printf": {
			"a width would be filled up", templateRule(`{{ printf "%9999999s" .value }}`),
			inside + errPrintf.reason,
		},
		"Pattern": {
			"a pattern has the same rules", templateRule(`{{ regexMatch "(" .value }}`),
			inside + "a regular expression cannot be compiled: missing closing ): `(`",
		},
		"PatternBy": {
			"the classic pitfall", templateRule(`{{ regexReplaceAll "(.)" .value "$1_x" }}`),
			inside + `$1_x refers to the group "1_x"` + refers + "${1}_x for the group 1 and the text _x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong := Compile(Options{Rewrite: []Rule{tc.in}}, nil)
			got := ""
			for _, d := range wrong {
				got += d.Place() + ": " + d.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

const (
	noRange    = "must not use range: a key is one text"
	noFunction = "cannot be parsed: line 1: function "
	useValue   = ": use .value for the name, and each function with its arguments"
	useOne     = " not defined: use one of and, b64dec, b64enc, base, camelcase, clean, contains, default, dir, " +
		"eq, ext, ge, gt, hasPrefix, hasSuffix, isAbs, kebabcase, le, len, lower, lt, ne, nospace, not, or, printf, " +
		"regexMatch, regexReplaceAll, repeat, replace, sha256sum, snakecase, substr, ternary, trim, trimAll, trimPrefix, " +
		"trimSuffix, trunc, upper"
)
