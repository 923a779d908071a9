package expression_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
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

// A value that is only a hash is suspicious, because a Secret rarely has raw bytes. bytes() says that they are meant.
func TestRawHashIsSuspicious(t *testing.T) {
	const message = "the value is the raw bytes of the hash: write hex.encode(hash.sha256(...)), or bytes(hash.sha256(...)) if the bytes are meant"
	for text, c := range map[string]struct {
		reason string
		want   expression.Want
		warned int
	}{
		"hash.sha256('a')":                                             {"raw bytes", expression.WantText, 1},
		"bytes(hash.sha256('a'))":                                      {"they are meant", expression.WantText, 0},
		"dyn(hash.sha256('a'))":                                        {"as for other suspicions", expression.WantText, 0},
		"sha256('a')":                                                  {"the result is text", expression.WantText, 0},
		"hex.encode(hash.sha256(hash.sha256('a')))":                    {"only the result matters", expression.WantText, 0},
		"base64.encode(hash.sha256('a'))":                              {"", expression.WantText, 0},
		"base64.decode('aGk=')":                                        {"bytes of something else", expression.WantText, 0},
		"cel.bind(h, hash.sha256('a'), h)":                             {"a name says what it is", expression.WantText, 0},
		"cel.bind(a, 'a', hash.sha256(a))":                             {"", expression.WantText, 1},
		"secret.a == 'b' ? hash.sha256('a') : hash.sha256('b')":        {"each branch", expression.WantText, 2},
		"{'a': hash.sha256('a'), 'b': bytes(hash.sha256('b'))}":        {"each entry", expression.WantTextMap, 1},
		"hash.sha256('variable')":                                      {"another expression encodes it", expression.WantAny, 0},
		"{'a': hash.sha256('a')}":                                      {"", expression.WantAny, 0},
		"json.encode({'a': hash.sha256('JSON has Base64')})":           {"", expression.WantText, 0},
		"{'a': secret.a == 'b' ? bytes(hash.sha256('a')) : bytes('')}": {"", expression.WantTextMap, 0},
	} {
		x, wrong := env.Compile(expression.Source{Text: text, Path: "here", Want: c.want})
		if len(wrong) > 0 {
			t.Fatalf("%s: %v", text, wrong)
		}
		got := x.Suspicions()
		if len(got) != c.warned {
			t.Errorf("%s: %s: want %d warnings, got %v", text, c.reason, c.warned, got)
		}
		for _, d := range got {
			if d.Message != message || !d.Warning {
				t.Errorf("%s: want the warning %q, got %v", text, message, d)
			}
		}
	}
}
