package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// A path in a message can be copied into an expression. A key is selected with a dot only if CEL reads it as a name.
func TestPathText(t *testing.T) {
	for key, want := range map[string]string{
		"a": "x.a", "z": "x.z", "A": "x.A", "Z": "x.Z", "_": "x._", "a0": "x.a0", "a9": "x.a9", "_aZ1": "x._aZ1",
		"": "x['']", "0": "x['0']", "1a": "x['1a']", "9": "x['9']", "a.b": "x['a.b']", "a-b": "x['a-b']",
		"é": "x['é']",
		"@": "x['@']", "[": "x['[']", "^": "x['^']", "`": "x['`']", "{": "x['{']", "a/": "x['a/']",
		"a:":   "x['a:']",
		`it's`: `x['it\'s']`, `a\b`: `x['a\\b']`, `\'`: `x['\\\'']`,
	} {
		if got := expression.PathText("x", key); got != want {
			t.Errorf("PathText(x, %q): got %s, want %s", key, got, want)
		}
	}
}

// A reference is shown with the input that it reads. A variable that means another input in each export is replaced by
// that input.
func TestTextOfReferences(t *testing.T) {
	for _, c := range []struct {
		text, from string
		want       []string
	}{
		{"[resource.a, self.b, secret.c]", "db", []string{"resources.db.a", "resources.db.b", "secrets.db.c"}},
		{"[resource.a, self.b, secret.c]", "", []string{"composite.a", "composite.b", "secret.c"}},
		{"composite.list[12]", "", []string{"composite.list[12]"}},
		{"generated.users[key].password", "", []string{"key", "generated.users[key].password"}},
		{"generated.users[.key].password", "", []string{"key", "generated.users[key].password"}},
		{"['a'].map(key, generated.users[.key])", "", []string{"key", "generated.users[key]"}},
		{"generated.users[?key]", "", []string{"key", "generated.users[key]", "generated.users"}},
		{"generated.users['a' + key]", "", []string{"key", "generated.users[*]"}},
		{"generated.users[item]", "", []string{"item", "generated.users[*]"}},
		{"dyn(key)['a']", "", []string{"key.a"}},
		{"['a'].map(key, generated.users[key])", "", []string{"generated.users[*]"}},
	} {
		x, wrong := env.Lists().Compile(
			expression.Source{Text: c.text, Path: "here", From: c.from, Items: expression.AllItems},
		)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		var got []string
		for _, r := range x.Reads() {
			got = append(got, x.TextOf(r))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", c.text, diff)
		}
	}
}
