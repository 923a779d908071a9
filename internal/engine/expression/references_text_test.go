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
			got = append(got, r.Text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", c.text, diff)
		}
	}
}

// A failure names the input and its type, also if the function itself has added a call around it.
func TestFailuresBesideReferences(t *testing.T) {
	o, variables := secretObservation(t, "canary")
	for text, want := range map[string]string{
		"dyn(secret.username).map(x, x)":   "here:1:4: the iteration failed on string",
		"dyn(secrets.db[?'db']).map(x, x)": "here:1:4: the iteration failed on dyn",
		"{?'x': composite.spec.gone.?y}":   "waiting for composite.spec.gone",
		"[?composite.spec.gone.?y]":        "waiting for composite.spec.gone",
		"{?'x': variables.text}":           "here:1:17: an optional entry failed on string",
		"string(int(composite.spec.?nothing.hasValue() ? 'x' : 'y'))": "here:1:11: int failed on string: the text is " +
			"not a whole number",
		"string(int(has(composite.spec.nothing) ? 'x' : 'y'))": "here:1:11: int failed on string: the text is " +
			"not a whole number",
	} {
		if got := result(compile(t, text, expression.WantAny, "db"), o, variables); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A diagnostic of a reference is at the last step of its path, or at the call whose value it is.
func TestPlaceOfReferences(t *testing.T) {
	for text, want := range map[string][]string{
		"secret.a":                  {"here:1:7"},
		"'x' +\n  secrets.db.a":     {"here:2:13"},
		"secret.a + secret.b":       {"here:1:7", "here:1:18"},
		"secret.map(k, k)":          {"here:1:1", "here:1:15"},
		"secret.?a.hasValue()":      {"here:1:19"},
		"cel.bind(s, secret, s.?a)": {"here:1:9"},
	} {
		x := compile(t, text, expression.WantAny, "db")
		var got []string
		for _, r := range x.References() {
			p := x.Place(r)
			got = append(got, p.String())
			if d := p.Wrong("is wrong"); d.Error() != p.String()+": is wrong" {
				t.Errorf("%s: Wrong(...): got %q, want it at %s", text, d.Error(), p)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", text, diff)
		}
	}
	whole := expression.Place{Path: "here"}
	if got := whole.String(); got != "here" {
		t.Errorf("String() of the whole expression: got %q, want here", got)
	}
}
