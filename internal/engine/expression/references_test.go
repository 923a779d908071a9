package expression_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// uses are the references to secrets, in CEL's words and sorted.
func uses(x *expression.Expression) []string {
	var out []string
	for _, r := range x.References() {
		if r.Variable != expression.Secret && r.Variable != expression.Secrets {
			continue
		}
		s := r.Variable
		for _, step := range r.Path {
			if step.Any() {
				s += ".*"
				continue
			}
			s += fmt.Sprint(".", step.Key)
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	sort.Strings(out)
	return out
}

func TestReferences(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"secret.a", []string{"secret.a"}},
		{"secret['a']", []string{"secret.a"}},
		{"secret.?a", []string{"secret.a"}},
		{"secret[?'a']", []string{"secret.a"}},
		{"secret[resource.k]", []string{"secret.*"}},
		{"resource[secret.a]", []string{"secret.a"}},
		{"has(secret.a)", []string{"secret.a"}},
		{"'a' in secret", []string{"secret"}},
		{"size(secret)", []string{"secret"}},
		{"secret", []string{"secret"}},
		{"secrets.db.a", []string{"secrets.db.a"}},
		{"(resource.x ? secret : secrets.db).a", []string{"secret.a", "secrets.db.a"}},
		{"resource.?x.orValue(secret.a)", []string{"secret.a"}},
		{"resource.?x.or(secret.?a)", []string{"secret.a"}},
		{"secret.?a.optMap(x, x + 'y')", []string{"secret.a"}},
		{"secret.?a.optMap(x, 'y')", []string{"secret.a"}},
		{"optional.of(secret).optFlatMap(s, s.?a)", []string{"secret", "secret.a"}},
		{"secret.?a.hasValue()", []string{"secret.a"}},
		{"cel.bind(s, secret, s.a)", []string{"secret.a"}},
		{"cel.bind(s, secret, cel.bind(s, resource, s.a))", nil},
		{"cel.bind(s, secret.a, 'x')", nil},
		{"cel.bind(secret, resource, secret.a)", nil},
		{"[1].map(secret, secret)", nil},
		{"secret.map(secret, secret)", []string{"secret", "secret.*"}},
		{"cel.bind(secret, {'a': 'x'}, .secret.a)", []string{"secret.a"}},
		{"secret.map(k, k)", []string{"secret", "secret.*"}},
		{"[1].map(x, secret.a)", []string{"secret.a"}},
		{"secret.transformList(k, v, v)", []string{"secret", "secret.*"}},
		{"secrets.transformList(k, v, k)", []string{"secrets"}},
		{"secrets.transformList(k, v, v.a)", []string{"secrets", "secrets.*.a"}},
		{"cel.bind(s, secret, [1].map(x, s.a))", []string{"secret.a"}},
		{"resource.transformList(secret, v, secret)", nil},
		{"google.protobuf.Value{string_value: secret.a}", []string{"secret.a"}},
		{"secret.transformMapEntry(k, v, {v: k})", []string{"secret", "secret.*"}},
		{"['a'].exists(k, secret[k] == '')", []string{"secret.*"}},
		{"['a'].sortBy(x, secret[x])", []string{"secret.*"}},
		{"secret.`a`", []string{"secret.a"}},
		{"{'x': secret}.x.a", []string{"secret"}},
		{"{secret.a: 'x'}", []string{"secret.a"}},
		{"{?'x': secret.?a}", []string{"secret.a"}},
		{"[?secret.?a]", []string{"secret.a"}},
		{"dyn(secret).a", []string{"secret.a"}},
		{"type(secret.a)", []string{"secret.a"}},
		{"[].map(x, secret.a)", nil},
		{"resource.secret.a", nil},
		{"optional.ofNonZeroValue(secret).?a", []string{"secret.a"}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, uses(compile(t, tc.text, expression.WantAny, "db"))); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// The name of a type is no input.
func TestReferencesOfTypes(t *testing.T) {
	for text, want := range map[string][]string{
		"type(secret.a) == int":                            {"secret"},
		"type(1) in [string, bool, list, .int]":            nil,
		"type(timestamp(0)) == google.protobuf.Timestamp":  nil,
		"[1].exists(i, type(i) == int) ? composite.a : ''": {"composite"},
		"cel.bind(int, secret, int.a)":                     {"secret"},
		"[secret].map(string, string.a)":                   {"secret"},
	} {
		var got []string
		for _, r := range compile(t, text, expression.WantAny, "db").References() {
			got = append(got, r.Variable)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", text, diff)
		}
	}
}

// A writer writes random expressions.
type writer struct {
	*rand.Rand
	locals []string
}

func (w *writer) of(choices ...string) string { return choices[w.IntN(len(choices))] }

func (w *writer) with(locals []string, body func() string) string {
	w.locals = append(w.locals, locals...)
	defer func() { w.locals = w.locals[:len(w.locals)-len(locals)] }()
	return body()
}

func (w *writer) name() string { return w.of("secret", "secrets", "resource", "x", "y", "variables") }

func (w *writer) root() string {
	if len(w.locals) > 0 && w.IntN(2) == 0 {
		return w.of(w.locals...)
	}
	return w.of(
		"secret", "secrets", "secrets.db", ".secret", ".secrets", "resource", "resource.spec", "resources.db",
		"variables.map", "variables.text", "composite",
	)
}

func (w *writer) key() string { return w.of("password", "username", "db", "spec", "name", "none") }

// value writes an expression of any type. Its types are dyn where it can.
func (w *writer) value(depth int) string {
	e := func() string { return w.value(depth - 1) }
	loop := func(n int, format string) string {
		names := []string{w.name(), w.name()}[:n]
		target := e()
		return w.with(names, func() string {
			out := strings.NewReplacer("$T", "dyn("+target+")", "$1", names[0], "$2", names[len(names)-1]).Replace(
				format,
			)
			for strings.Contains(out, "$E") {
				out = strings.Replace(out, "$E", e(), 1)
			}
			return out
		})
	}
	if depth <= 0 {
		return w.of(w.root(), w.root()+"."+w.key(), "dyn('"+w.key()+"')", "dyn(1)", "dyn(true)")
	}
	switch w.IntN(36) {
	case 0, 1, 2, 3:
		return "dyn(" + e() + ")." + w.key()
	case 4, 5:
		return w.root() + w.of(".", ".?") + w.key()
	case 6:
		return w.root() + w.of("['", "[?'") + w.key() + "']"
	case 7:
		return "dyn(" + e() + ")" + w.of("[", "[?") + e() + "]"
	case 8:
		return "has(dyn(" + e() + ")." + w.key() + ")"
	case 9:
		return "(dyn(" + e() + ") in dyn(" + e() + "))"
	case 10:
		return "(dyn(" + e() + w.of(") == dyn(", ") != dyn(") + e() + "))"
	case 11:
		return "(dyn(" + w.of(e(), w.root()+"."+w.key()) + ") == dyn('" + w.of("app", "password", "one") +
			"') ? dyn(" + e() + ") : dyn(" + e() + "))"
	case 12:
		return "dyn(optional.of(dyn(" + e() + ")).?" + w.key() + ".orValue(dyn(" + e() + ")))"
	case 13:
		return loop(1, "optional.of($T).?"+w.key()+".optMap($1, dyn($E))")
	case 14:
		return loop(1, "optional.of($T).optFlatMap($1, dyn($E).?"+w.key()+")")
	case 15:
		return "optional.of(dyn(" + e() + "))." + w.of(
			"value()", "hasValue()", "?"+w.key()+".hasValue()", "?"+w.key()+".value()",
		)
	case 16, 17, 18:
		return loop(1, "cel.bind($1, $T, $E)")
	case 19:
		return loop(1, "$T.map($1, $E)")
	case 20:
		return loop(1, "[$T].map($1, $E)[0]")
	case 21:
		return loop(1, "$T."+w.of("filter", "all", "exists", "exists_one")+"($1, dyn($E) == dyn($E))")
	case 22:
		return loop(2, "$T."+w.of("transformMap", "transformList")+"($1, $2, $E)")
	case 23:
		return loop(2, "$T.transformMap($1, $2, dyn($E) == dyn($E), dyn($E))")
	case 24:
		return loop(2, "$T.transformMapEntry($1, $2, {string(dyn($E)): dyn($E)})")
	case 25:
		return loop(1, "dyn([dyn(1), $T]).sortBy($1, size([$E]))[0]")
	case 26:
		return "[dyn(" + e() + "), dyn(" + e() + ")]" + w.of(
			"", "[0]", "[1]", ".first().value()", ".last()", ".slice(0, 1)", ".reverse()[0]", ".distinct()",
			".flatten()",
		)
	case 27:
		return "{'name': dyn(" + e() + "), dyn(" + e() + "): dyn(" + e() + ")}"
	case 28:
		return "{'name': dyn(" + e() + ")}." + w.key()
	case 29:
		return w.of("string", "type", "size", "sha256", "url", "isURL", "ip", "quantity", "semver", "isSemver",
			"format.named",
			"hash.sha256", "hex.encode", "base64url.decode", "pem.split", "pem.leaf", "json.encode", "dyn",
			"dotenv.encode",
			"toml.encode", "redis.url") + "(dyn(" + e() + "))"
	case 30:
		return "(dyn(" + e() + ") + dyn(" + e() + "))"
	case 31:
		return "'%s'.format([dyn(" + e() + ")])"
	case 32:
		return "(dyn(" + e() + ") == dyn(1) " + w.of("||", "&&") + " dyn(" + e() + ") == dyn('app'))"
	case 33:
		return "{?'name': optional.of(dyn(" + e() + ")).?" + w.key() + "}"
	case 34:
		return "dyn(" + e() + ")" + w.of(".startsWith('a')", ".size()", ".matches('a.*')", ".split('')",
			".upperAscii()",
			".substring(1)", ".merge({'name': dyn('a')})", ".merge(secret)",
			".getHost()", ".compareTo(quantity('1'))", ".containsIP('::1')", ".validate('a')")
	}
	return w.of("sets.contains", "sets.equivalent") + "([dyn(" + e() + ")], [dyn(" + e() + ")])"
}

// show prints a value, whatever it is.
func show(v ref.Val) string {
	switch t := v.(type) {
	case *types.Optional:
		if !t.HasValue() {
			return "none"
		}
		return "optional(" + show(t.GetValue()) + ")"
	case traits.Mapper:
		var out []string
		for it := t.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			e, _ := t.Find(k)
			out = append(out, show(k)+":"+show(e))
		}
		sort.Strings(out)
		return fmt.Sprint("map", out)
	case traits.Lister:
		var out []string
		for it := t.Iterator(); it.HasNext() == types.True; {
			out = append(out, show(it.Next()))
		}
		return fmt.Sprint("list", out)
	case *types.Err:
		return "error"
	case *types.Type:
		return t.TypeName()
	}
	return fmt.Sprintf("%T(%v)", v, v.Value())
}

// result of an expression: its value, or its error.
func result(x *expression.Expression, o *observation.Observation, variables ref.Val) string {
	v, err := x.Evaluate(context.Background(), o.Scope("db", variables), budget.New(context.Background()))
	if err != nil {
		return err.Error()
	}
	return show(v)
}

// covers reports whether a reference can read the value at a path.
func covers(r expression.Reference, variable string, path ...string) bool {
	if r.Variable != variable {
		return false
	}
	for i, s := range r.Path {
		if i < len(path) && !s.Any() && s.Key != path[i] {
			return false
		}
	}
	return true
}

// otherPasswords are what the one secret of secretObservation may be. An empty one is
// not there.
var otherPasswords = []string{"app", "two words", "password", "1", ""}

func secretObservation(t testing.TB, password string) (*observation.Observation, ref.Val) {
	o := sampleObservation(t)
	d := observation.Details{"username": []byte("app"), "name": []byte("one"), "password": []byte(password)}
	if password == "" {
		delete(d, "password")
	}
	o.Resources["db"] = observation.Resource{
		Object: object(t, `{spec: {name: one, password: app}, name: two, db: {password: x}}`), Details: d,
	}
	values := values{
		"text": types.String("app"),
		"map":  types.DefaultTypeAdapter.NativeToValue(map[string]string{"name": "one", "username": "app"}),
	}
	return o, observation.Map(values)
}

// values are the variables map and text.
type values map[string]ref.Val

func (v values) Find(name string) (ref.Val, bool) { found, ok := v[name]; return found, ok }
func (v values) Names() []string                  { return []string{"map", "text"} }

// Everything else relies on this law: If the result of an expression depends on the value or on the
// existence of a secret, a reference to the secret is found.
func FuzzSecretDependenceIsFound(f *testing.F) {
	for i := range uint64(500) {
		f.Add(i, uint8(i%5))
	}
	first, variables := secretObservation(f, "canary")
	f.Fuzz(func(t *testing.T, seed uint64, depth uint8) {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, 0))}
		text := w.value(int(depth % 6))
		x, faults := env.Compile(expression.Source{Text: text, Path: "here", From: "db"})
		if len(faults) > 0 {
			t.Skip()
		}
		want := result(x, first, variables)
		if strings.Contains(want, "stopped") {
			t.Skip()
		}
		for _, p := range otherPasswords {
			second, _ := secretObservation(t, p)
			got := result(x, second, variables)
			if got == want || strings.Contains(got, "stopped") {
				continue
			}
			if !slices.ContainsFunc(x.References(), func(r expression.Reference) bool {
				return covers(r, expression.Secret, "password") || covers(r, expression.Secrets, "db", "password")
			}) {
				t.Fatalf("%s\ngives %s and %s, but its references are %v", text, want, got, uses(x))
			}
		}
	})
}
