package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// No object is requested that no expression uses, above all no Secret.
func TestSourcesThatAreRead(t *testing.T) {
	value := func(x string) string { return `secrets: [{name: a, data: [{key: k, value: "` + x + `"}]}]` }
	find := func(path string) string { return "secrets: [{name: a, dataFrom: [{find: {path: " + path + "}}]}]" }
	const variable = "variables: [{name: v, value: secrets.ca.x}]\n"
	for name, c := range map[string]struct {
		reason, uses string
		want         []string
	}{
		"None":   {"nothing uses them", value("composite.spec.x"), nil},
		"Secret": {"its data", value("secrets.ca.x"), []string{"ca"}},
		"AnySecret": {"a computed name can be that of any Secret", value("secrets[composite.spec.x].y"),
			[]string{"ca", "tls"}},
		"ConfigMap": {"one object", value("sources.cm.data.x"), []string{"cm"}},
		"AnySource": {"a computed name can be that of no Secret", value("sources[composite.spec.x].y"),
			[]string{"cm", "crd"}},
		"Generated":      {"a generator can have the name of a Secret", value("generated.ca.uuid"), nil},
		"Variable":       {"through a variable", variable + value("variables.v"), []string{"ca"}},
		"UnusedVariable": {"a variable without a user is not evaluated", variable + value("composite.spec.x"), nil},
		"Find":           {"a find that can reach it", find("ca/"), []string{"ca"}},
		"FindOfAnother":  {"a find that cannot", find("db/"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, wrong := plantest.Compile(t, plantest.Exports(`
sources:
- {name: ca, apiVersion: v1, kind: Secret}
- {name: tls, apiVersion: v1, kind: Secret}
- {name: cm, apiVersion: v1, kind: ConfigMap}
- {name: crd, apiVersion: example.org/v1, kind: Secret}
generators: [{name: ca, uuid: {}}]
`+c.uses))
			if wrong != nil {
				t.Fatal(wrong)
			}
			var got []string
			for _, s := range p.Sources {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Sources: %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A plan says what the outputs read, directly and through variables. The connection details of a generation are not
// among it, because they become outputs.
func TestWhatOutputsRead(t *testing.T) {
	p, wrong := plantest.Compile(t, plantest.Exports(`
variables: [{name: v, value: environment.a + secrets.db.host}, {name: w, value: variables.v}]
generators:
- name: user
  resource: {manifest: {apiVersion: example.org/v1, kind: User}, outputs: {token: secret.token}}
  readyExpression: has(secret.token)
secrets:
- {name: a, data: [{key: k, value: secrets.db.password}, {key: l, value: variables.w}, {key: m, value: context.a}]}
- {name: b, data: [{key: k, value: generated.user.token}, {key: l, value: secrets.cache.password}]}`))
	if wrong != nil {
		t.Fatal(wrong)
	}
	for name, want := range map[string]bool{"db": true, "cache": true, "user": false, "composite": false} {
		if got := p.Details.ByName(name); got != want {
			t.Errorf("connection details of %s are used: got %v", name, got)
		}
	}
	if f := p.Freshness; !f.Context || !f.Environment || !p.Variables[1].Environment {
		t.Errorf("Freshness: got %+v, want that the context and the environment are read", f)
	}
}

// The key of an entry can be secret. A message shows only keys that are written in the input.
func TestSpelledKeys(t *testing.T) {
	for value, want := range map[string][]string{
		"{'a': composite.spec.x}":                      nil, // all keys
		"{'a': secrets.db.host, secrets.db.host: 'b'}": {"a"},
		"secrets.db": {},
	} {
		p, wrong := plantest.Compile(t, plantest.Exports(`secrets: [{name: a, dataFrom: [{valueMap: "`+value+`"}]}]`))
		if wrong != nil {
			t.Fatal(wrong)
		}
		if diff := cmp.Diff(want, p.Exports[0].DataFrom[0].Spelled); diff != "" {
			t.Errorf("%s: Spelled: -want, +got:\n%s", value, diff)
		}
	}
}

// An export records only generations that its values can belong to: otherwise, no item could drop a former one. An
// export with a hash needs the generation of the password as long as it has the hash.
func TestGeneratorsOfItems(t *testing.T) {
	const hashed = "{secretExpression: \"generated.users[key].password + generated.users.bob.password\"}"
	for value, want := range map[string][]string{
		"generated.users.bob.password":                           {"users/bob"},
		"generated.users[key].password":                          {"users/alice"},
		"generated.users[?key].?password.orValue('')":            {"users/alice"},
		"generated.users[item.friend].password":                  {"users/alice", "users/carol"},
		"['a'].map(key, generated.users[key].password)[0]":       {"users/alice", "users/carol"},
		"generated.users.map(k, generated.users[k].password)[0]": {"users/alice", "users/carol"},
		"string(size(generated))": {"hash", "hashes/alice", "hashes/carol", "one",
			"users/alice", "users/carol"},
		"generated.one.uuid":          {"one"},
		"generated.hash.hash":         {"hash", "one"},
		"generated.hashes.carol.hash": {"hashes/carol", "users/bob", "users/carol"},
		"generated.hashes[key].hash":  {"hashes/alice", "users/alice", "users/bob"},
		"secrets.hash.bcrypt":         nil,
	} {
		p, wrong := plantest.Compile(t, plantest.Exports(`
generators:
- {name: users, `+ofItem+`, password: {}}
- {name: hashes, `+ofItem+", bcrypt: "+hashed+`}
- {name: one, uuid: {}}
- {name: hash, bcrypt: {secretExpression: generated.one.uuid}}
secrets: [{name: user, `+ofItem+`, data: [{key: k, value: "`+value+`"}]}]`))
		if wrong != nil {
			t.Fatal(wrong)
		}
		all := []plan.Generator{p.Generators[2], p.Generators[3]}
		for _, key := range []string{"carol", "alice"} {
			item := &observation.Item{Key: key}
			all = append(all, p.Generators[0].For(item), p.Generators[1].For(item))
		}
		got := plan.WithItems(p.Exports, all)[0].For(&observation.Item{Key: "alice"}).Generators
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Generators: -want, +got:\n%s", value, diff)
		}
	}
}

func TestParseGeneration(t *testing.T) {
	for composed, want := range map[string]string{
		"generated/a/1": "a", "generated/a/b/1": "a/b", "generated/a/1/1": "a/1", "generated/a/b/c/1": "",
		"generated//b/1": "",
		"generated/a//1": "", "generated/a/b/01": "", "generated/a/b/": "", "generated/1": "", "a/b/1": "",
	} {
		got, number, ok := plan.ParseGeneration(composed)
		if ok != (want != "") || ok && (got != want || number != 1) {
			t.Errorf("ParseGeneration(%q): got %q, %d, %t, want %q", composed, got, number, ok, want)
		}
	}
}
