package expression_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

func TestHints(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Dash":         {"a dash in a name is a minus", "secrets.my-db.password", "did you mean secrets['my-db'].password?"},
		"DashResource": {"of a resource, too", "'x' + resources.my-db.status.host", "did you mean resources['my-db'].status.host?"},
		"DashKey":      {"and in a key", "secret.api-token", "did you mean secret['api-token']?"},
		"Dot":          {"a dot in a key is a field", "secrets.db.ca.crt", "did you mean secrets.db['ca.crt']?"},
		"DotSecret":    {"", "secret.tls.key", "did you mean secret['tls.key']?"},
		"DashName":     {"names of generators have dashes, too", "generated.db-admin.password", "did you mean generated['db-admin'].password?"},
		"DashPrevious": {"", "'x' + previous.db-admin.password", "did you mean previous['db-admin'].password?"},
		"DashOutput":   {"", "generated.db.api-token", "did you mean generated.db['api-token']?"},
		"DotOutput":    {"the outputs of a certificate all have a dot", "generated.root.tls.crt", "did you mean generated.root['tls.crt']?"},
		"DotPrevious":  {"", "previous.root.ca.crt", "did you mean previous.root['ca.crt']?"},
		"NoDot":        {"a field too few is no name with a dot", "generated.db + 1", ""},
		"Other":        {"any other fault has no hint", "nope.a + nope.b-c", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := env.Compile(expression.Source{Text: tc.text, Path: "here", Want: expression.WantText})
			if len(faults) == 0 {
				t.Fatalf("%s compiles", tc.text)
			}
			if got := faults[0].Message; !strings.HasSuffix(got, tc.want) || (tc.want == "") == strings.Contains(got, "did you mean") {
				t.Errorf("%s: %s: want %q at its end, got %q", tc.reason, tc.text, tc.want, got)
			}
		})
	}
	if _, faults := env.Compile(expression.Source{Text: "string(resource.a-resource.b)", Path: "here", Want: expression.WantText}); len(faults) > 0 {
		t.Errorf("a minus is not a mistake: %v", faults)
	}
}

// A name or a label must be a string, but a hash is bytes.
func TestHashForText(t *testing.T) {
	for text, c := range map[string]struct {
		want    expression.Want
		message string
	}{
		"hash.sha256('a')":                {expression.WantString, "must return a string, but returns a bytes: wrap the hash in hex.encode(...)"},
		"{'a': hmac.sha256('a', 'b')}":    {expression.WantLabels, `the value of key "a" must be a string, but is a bytes: wrap the hash in hex.encode(...)`},
		"base64.decode('aGk=')":           {expression.WantString, "must return a string, but returns a bytes: wrap it in string(...)"},
		"{'a': bytes('b')}":               {expression.WantLabels, `the value of key "a" must be a string, but is a bytes: wrap it in string(...)`},
		"hmac.sha512('key', secret.text)": {expression.WantText, "there is no function hmac.sha512: write hmac.sha256(key, text), which is the only keyed hash"},
	} {
		_, wrong := env.Compile(expression.Source{Text: text, Path: "here", Want: c.want})
		if len(wrong) != 1 || wrong[0].Message != c.message {
			t.Errorf("%s: want %q, got %v", text, c.message, wrong)
		}
	}
}

// A merge needs maps with values of one type. An optional map needs a default.
func TestMergeHints(t *testing.T) {
	for text, message := range map[string]string{
		"json.encode(secret.merge({'port': 5432}))":         "merge does not accept map(string, string) and map(string, int): convert the values of one map, or write dyn(...) around it",
		"json.encode(resource.?labels.merge({'a': 'b'}))":   "merge does not accept optional and map(string, string): write resource.?labels.orValue({})",
		"json.encode(merge(secret, {'a': 'b'}))":            "merge is a method: write value.merge(...)",
		"json.encode(secret.union({'a': 'b'}))":             "there is no function union: write a.merge(b), which uses the value in b if both maps have a key",
		"json.encode(secret.merge({'a': 'b'}, {'c': 'd'}))": "merge takes 1 argument in its parentheses, but has 2",
		"{**secret, 'host': 'a'}":                           "a map cannot be spread into another one: write a.merge(b), which uses the value in b if both maps have a key",
	} {
		_, wrong := env.Compile(expression.Source{Text: text, Path: "here", Want: expression.WantText})
		if len(wrong) != 1 || wrong[0].Message != message {
			t.Errorf("%s: want %q, got %v", text, message, wrong)
		}
	}
}
