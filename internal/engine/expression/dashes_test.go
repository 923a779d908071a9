package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// messages returns the diagnostics of a source that must return text, each with its column.
func messages(text string, want expression.Want) (out []string) {
	_, all := env.Compile(expression.Source{Text: text, Path: "here", Want: want})
	for _, d := range all {
		out = append(out, fmt.Sprintf("%d: %s", d.Column, d.Message))
	}
	return out
}

func TestDashes(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string // each begins with its column
	}{
		"Digit":        {"The rest parses as the field of a number.", "secrets.db-0.password", []string{"11: secrets['db-0'].password"}},
		"DigitLetters": {"The rest does not parse.", "secrets.db-0a.password", []string{"11: secrets['db-0a'].password"}},
		"DigitExp":     {"The rest is a double.", "secrets.db-1e5.password", []string{"11: secrets['db-1e5'].password"}},
		"DigitHex":     {"The rest is a hexadecimal number.", "secrets.db-0x1f.password", []string{"11: secrets['db-0x1f'].password"}},
		"Many":         {"All dashes belong to one name.", "secrets.app-db-01-x.password", []string{"12: secrets['app-db-01-x'].password"}},
		"ManyWords":    {"One diagnostic, not one for each word.", "resources.my-app-db.status.y", []string{"13: resources['my-app-db'].status.y"}},
		"First":        {"A name can begin with a digit.", "resources.2-db.status.y", []string{"12: resources['2-db'].status.y"}},
		"Variable":     {"A word after a dash is the name of a variable.", "resources.my-resource.status.y", []string{"13: resources['my-resource'].status.y"}},
		"Secret":       {"The same, below a typed variable.", "secrets.my-secret.password", []string{"11: secrets['my-secret'].password"}},
		"Key":          {"A key below a name.", "secrets.db.api-token-2", []string{"15: secrets.db['api-token-2']"}},
		"Both":         {"Two names of one path are one mistake.", "secrets.my-db.api-token", []string{"11: secrets['my-db']['api-token']"}},
		"Index":        {"An index follows.", "string(composite.spec.my-list[0].x)", []string{"25: composite.spec['my-list'][0].x"}},
		"Optional":     {"An optional step stays optional.", "secrets.?my-db.?password.orValue('')", []string{"12: secrets[?'my-db'].?password"}},
		"Has":          {"The macro refuses an operator before the checker does.", "has(resources.my-db.status) ? 'a' : 'b'", []string{"17: resources['my-db'].status"}},
		"List":         {"Each path has its own diagnostic.", "'%s:%s'.format([secrets.my-db.a, secrets.db-0.b])", []string{"27: secrets['my-db'].a", "44: secrets['db-0'].b"}},
		"Sum":          {"The operator before a path binds more tightly than the dash.", "'a' + secrets.db-0.a", []string{"17: secrets['db-0'].a"}},
		"Ternary":      {"A branch.", "resource.a ? secrets.my-db.a : 'b'", []string{"24: secrets['my-db'].a"}},
		"Whole":        {"Nothing follows.", "json.encode(secrets.db-0)", []string{"23: secrets['db-0']"}},
		"Label":        {"A label key.", "composite.metadata.labels.app-name", []string{"30: composite.metadata.labels['app-name']"}},
		"LabelSlash":   {"A label key with a prefix.", "composite.metadata.labels.app.kubernetes.io/part-of", []string{"44: / composite.metadata.labels['app.kubernetes.io/part-of']"}},
		"Context":      {"The keys of the context have a prefix.", "context.example.org/x", []string{"20: / context['example.org/x']"}},
		"Environment":  {"", "environment.subnet-a", []string{"19: environment['subnet-a']"}},
		"Source":       {"", "sources.ca-bundle.data.x", []string{"11: sources['ca-bundle'].data.x"}},
		"Generated":    {"", "generated.db-admin.password", []string{"13: generated['db-admin'].password"}},
		"Previous":     {"", "previous.db-admin-1.password", []string{"12: previous['db-admin-1'].password"}},
		"Declared":     {"The name of a variable cannot contain a dash.", "variables.my-host", []string{"13: variables.my_host"}},
		"NoVariable":   {"The variable is missing.", "my-db.status.host", []string{"3: resources['my-db'].status.host"}},
		"Element":      {"A local variable of a macro.", "composite.spec.list.map(x, x.my-name).join(',')", []string{"32: x['my-name']"}},
		"Decoded":      {"A field of a result.", "json.decode(secret.config).db-host", []string{"30: ['db-host']"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := make([]string, 0, len(tc.want))
			for _, w := range tc.want {
				column, meant, _ := strings.Cut(w, " ")
				what := "- is the minus operator here"
				if rest, slash := strings.CutPrefix(meant, "/ "); slash {
					what, meant = "/ is the division operator here", rest
				}
				want = append(want, fmt.Sprintf("%s %s: did you mean %s?", column, what, meant))
			}
			if diff := cmp.Diff(want, messages(tc.text, expression.WantText)); diff != "" {
				t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

// A dash that is a minus operator is never explained as a part of a name.
func TestDashesOfNumbers(t *testing.T) {
	for text, want := range map[string][]string{
		"string(composite.spec.size-1)":                   nil,
		"string(resource.a-resource.b)":                   nil,
		"string(composite.spec.a-size(secret))":           nil,
		"composite.spec.size-1":                           {"1: must return a string, but returns an int: wrap it in string(...), or write composite.spec['size-1'] if - is a part of the name"},
		"composite.spec.size - 1":                         {"1: must return a string, but returns an int: wrap it in string(...)"},
		"composite.spec.size-1 + 'x'":                     {"23: + does not accept int and string: wrap the operand that is not a string in string(...)"},
		"string(composite.spec.size-1) + len(secret.x)":   {"33: there is no function len: write size(value)"},
		"string(composite.spec.a/composite.spec.b) + len": {"45: there is no variable len: write text in its own quotes, as in \"'some text'\""},
		"secrets.db-0 + 'x'": {
			"11: - is the minus operator here: did you mean secrets['db-0']?",
			"14: + does not accept map(string, string) and string: select one key of the map",
		},
	} {
		if diff := cmp.Diff(want, messages(text, expression.WantText)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", text, diff)
		}
	}
}
