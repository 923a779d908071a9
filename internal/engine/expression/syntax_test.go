package expression_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// Each message of CEL's parser and checker becomes one plain sentence, at the position of the mistake.
func TestFaultsInWords(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Operand":      {"an operand is missing", "'a' +", []string{"here:1:6: ends too early: a value is missing after +"}},
		"OperandFirst": {"in front, too", "* 2", []string{"here:1:1: a value is missing before *"}},
		"Open":         {"a bracket is not closed", "string([1].size(", []string{"here:1:17: ends too early: the ( at 1:16 is not closed: write )"}},
		"Crossed":      {"brackets cross", "string([1)", []string{"here:1:10: the [ at 1:8 is not closed: write ] before )"}},
		"TooMany":      {"a bracket too many", "string(1))", []string{"here:1:10: there is one ) too many: leave it out"}},
		"Lines":        {"the place is of the line", "'a' +\n  'b' + (\n  'c'", []string{"here:3:6: ends too early: the ( at 2:9 is not closed: write )"}},
		"Comment":      {"a bracket in a comment or a text is none", "'(' + // (\n '[' + ", []string{"here:2:8: ends too early: a value is missing after +"}},
		"Quote":        {"a text is not closed", "'a' + 'b", []string{"here:1:7: the text that begins here does not end: close it with '"}},
		"QuoteLine":    {"it ends with its line", "'a\n' + 'b'", []string{"here:1:1: the text that begins here does not end: close it with '"}},
		"Triple":       {"but for one in three quotes", "'''a\n''' + ", []string{"here:2:7: ends too early: a value is missing after +"}},
		"Escape":       {"a backslash means something", `'a\d'`, []string{`here:1:1: \d is not a valid escape in a text: write \\d for a backslash, or r before the text`}},
		"Raw":          {"but in a raw text", `r'a\d' + `, []string{"here:1:10: ends too early: a value is missing after +"}},
		"Template":     {"a Go template", "'a' + {{ .b }}", []string{"here:1:7: {{ }} belongs to Go templates, but this is CEL: write its content as an expression, for example resources.db.status.host"}},
		"Shell":        {"a shell's", "${secret.a}", []string{"here:1:1: ${ belongs to other template languages, but this is CEL: write secret.a"}},
		"ShellTwo":     {"a shell's, with a text", "${secret.a}:${secret.b}", []string{"here:1:1: ${ belongs to other template languages, but this is CEL: write secret.a + ':' + secret.b"}},
		"Text":         {"text without quotes", "hello world", []string{"here:1:7: unexpected world after hello: write an operator between them, such as +, and text in its own quotes, as in \"'some text'\""}},
		"Equals":       {"one = is none", "secret.a = 'b'", []string{"here:1:10: there is no operator =: write =="}},
		"Three":        {"nor are three", "secret.a === 'b'", []string{"here:1:10: there is no operator ===: write =="}},
		"Not":          {"a word for an operator", "not has(secret.a)", []string{"here:1:1: there is no operator not: write ! before the value"}},
		"Blank":        {"nothing at all", " // a", []string{"here:1:6: contains no expression: write one, or leave the field out"}},
		"Reserved":     {"a reserved word", "if secret.a", []string{"here:1:1: there is no if: write condition ? one : other"}},

		"Variable":   {"a misspelt variable", "secert.a", []string{"here:1:1: there is no variable secert: did you mean secret?"}},
		"Function":   {"another language's function, at its name", "string(len(secret.a))", []string{"here:1:8: there is no function len: write size(value)"}},
		"Namespaced": {"a function without its name space", "encode('a')", []string{"here:1:1: there is no function encode: did you mean base64.encode or base64url.encode or dotenv.encode or hex.encode or ini.encode or json.encode or libpq.encode or pgpass.encode or properties.encode or toml.encode or yaml.encode?"}},
		"Macro":      {"a macro with too little", "secret.map('a')", []string{"here:1:8: map takes a name for each element and an expression that uses the name: write for example list.map(x, x.name)"}},
		"Count":      {"too few arguments", "secret.a.replace('b')", []string{"here:1:10: replace takes 2 or 3 arguments in its parentheses, but has 1"}},
		"Convert":    {"an argument that must be converted", "base64.encode(secret.a)", []string{"here:1:8: base64.encode does not accept string: wrap the string in bytes(...)"}},
		"TextFirst":  {"a text is wanted, rather than bytes", "'a' + b'b'", []string{"here:1:5: + does not accept string and bytes: wrap the bytes in string(...)"}},
		"Hash":       {"a hash is bytes", "'a' + hash.sha256('b').substring(0, 8)", []string{"here:1:24: substring does not accept bytes and int and int: wrap the hash in hex.encode(...)"}},
		"HashAdded":  {"", "'a' + hmac.sha256('b', 'c')", []string{"here:1:5: + does not accept string and bytes: wrap the hash in hex.encode(...)"}},
		"Method":     {"a function that is called as a method", "secret.a.string()", []string{"here:1:10: string is a function, not a method: write string(...) around the value"}},
		"Front":      {"and one in front of it", "replace(secret.a, 'b', 'c')", []string{"here:1:1: replace is a method: write value.replace(...)"}},
		"Or":         {"|| for a default is one mistake", "secret.a || 'b'", []string{"here:1:7: || takes true or false, but this is a string: for a default write secret.?a.orValue('b')"}},
		"Condition":  {"a condition that is none", "secret.a ? 'a' : 'b'", []string{"here:1:10: the condition of ?: is a string: compare it with something"}},
		"Branches":   {"branches that differ", "string(resource.x ? 1 : 'a')", []string{"here:1:19: returns an int or a string: write the int in quotes, '1'"}},
		"BranchesOf": {"also of a condition that is wrong itself", "string(nope ? 1 : 'a')", []string{
			"here:1:8: there is no variable nope: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
			"here:1:13: returns an int or a string: write the int in quotes, '1'",
		}},
		"Two":    {"two mistakes are two", "nope.a + len('b')", []string{"here:1:1: there is no variable nope: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables; a composed resource is resources.nope", "here:1:10: there is no function len: write size(value)"}},
		"Few":    {"format with too few values", "'%s:%s'.format(['a'])", []string{"here:1:9: format has fewer values than there are % in its text: write one value for each, and %% for a percent sign"}},
		"Many":   {"and with too many", "'%s'.format(['a', 'b'])", []string{"here:1:6: format has 2 values for 1 % in its text: write one %s for each"}},
		"Clause": {"a clause that there is not", "'%v'.format(['a'])", []string{"here:1:6: format has no %v: write %s for any value, %d for whole numbers, and %% for a percent sign"}},
		"Length": {"a field for a function", "string(secret.a.length)", []string{"here:1:16: a string has no field length: write size(...) around it"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := env.Compile(expression.Source{Text: tc.text, Path: "here", Want: expression.WantText})
			got := make([]string, 0, len(faults))
			for _, f := range faults {
				got = append(got, f.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

// celPhrases are what CEL's parser and checker say themselves.
var celPhrases = []string{"mismatched input", "no matching overload", "(in container", "extraneous input", "token recognition"}

// FuzzFaultsInWords checks that each expression that does not compile has a diagnostic, and that
// the diagnostic does not contain CEL's own phrases.
func FuzzFaultsInWords(f *testing.F) {
	for _, s := range []string{"'a' +", "${a}", "if a", "a.map(", "'\\d'", "r'", "((", "]", "a ?? b", "\u00a0", "'''a", "a..b", "b'\\", "/", "1.", ".1.2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, faults := env.Compile(expression.Source{Text: text, Path: "here", Want: expression.WantAny})
		if (x == nil) != (len(faults) > 0) {
			t.Fatalf("%q: expression %v, faults %v: want either an expression or diagnostics", text, x, faults)
		}
		for _, fault := range faults {
			if fault.Message == "" || fault.Path == "" {
				t.Errorf("%q: a diagnostic says nothing: %+v", text, fault)
			}
			for _, phrase := range celPhrases {
				if strings.Contains(fault.Message, phrase) && !strings.Contains(text, phrase) {
					t.Errorf("%q: a diagnostic says %q: %+v", text, phrase, fault)
				}
			}
		}
	})
}
