package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// Outputs that are made from a secret need one that does not change by itself, and that is known when they are made.
func TestSourcesOfGenerators(t *testing.T) {
	const generators = `
generators:
- {name: admin, password: {}}
- {name: hash, bcrypt: {secretExpression: secrets.hash.password + generated.admin.password}}
`
	const (
		at       = "generators[2]."
		noHash   = ": it has a secretExpression itself: use what that reads"
		nameOne  = ": write the name of one generator"
		noSource = `there is no variable nope: write text in its own quotes, as in "'some text'"`
	)
	bcrypt := func(secret string) string {
		return generators + "- {name: x, bcrypt: {secretExpression: " + secret + "}}"
	}
	checkCompiled(t, map[string]compiled{
		"HashOfPassword": {"a password is stored", bcrypt("generated.admin.password"), nil},
		"AnyGenerator":   {"it could be a hash", bcrypt(`"generated[composite.spec.x].seed"`), []string{at + "bcrypt.secretExpression:1:28: may not use all of generated" + nameOne}},
		"HashOfHash":     {"both are made at the same time", bcrypt("generated.hash.hash"), []string{at + "bcrypt.secretExpression:1:15: may not use generated.hash.hash" + noHash}},
	})
}

// An export with a hash needs the generation of the password as long as it has the hash.
func TestGeneratorsOfHashes(t *testing.T) {
	const generators = `
generators:
- {name: admin, password: {}}
- {name: hash, bcrypt: {secretExpression: generated.admin.password}}
- {name: users, forEachExpression: composite.spec.users, keyExpression: item.name, password: {}}
- {name: hashes, forEachExpression: composite.spec.users, keyExpression: item.name, bcrypt: {secretExpression: "generated.users[key].password + generated.users.bob.password"}}
`
	for name, c := range map[string]struct {
		reason string
		value  string
		want   []string
	}{
		"Password":   {"no hash is in it", "generated.admin.password", []string{"admin"}},
		"Hash":       {"the hash and its password", "generated.hash.hash", []string{"admin", "hash"}},
		"OfItem":     {"the password of the same item, and one that is the same for all", "generated.hashes.alice.hash", []string{"hashes/alice", "users/alice", "users/bob"}},
		"OfOwnItem":  {"the item of the export", "generated.hashes[key].hash", []string{"hashes/carol", "users/bob", "users/carol"}},
		"SameName":   {"a composed resource can have the name of a generator", "secrets.hash.bcrypt", nil},
		"Everything": {"all of them", "string(size(generated))", []string{"admin", "hash", "hashes/*", "users/*"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, wrong := plantest.Compile(t, plantest.Exports(generators+
				`secrets: [{name: a, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: k, value: "`+c.value+`"}]}]`))
			if wrong != nil {
				t.Fatal(wrong)
			}
			got := p.Exports[0].For(&observation.Item{Key: "carol"}).Generators
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Generators: %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A resource generator writes fields of objects that are not Secrets. Their names are requested before anything is read.
func TestCompileManifest(t *testing.T) {
	resource := func(set string, more ...string) string {
		return "generators: [{name: admin, uuid: {}}, {name: a, resource: {manifest: {apiVersion: example.org/v1, kind: User}, " + set + "}" +
			strings.Join(more, "") + "}]"
	}
	items := func(name string) string {
		return "generators: [{name: a, forEachExpression: composite.spec.users, keyExpression: item.name, " +
			"resource: {manifest: {apiVersion: example.org/v1, kind: User}, set: [{fieldPath: metadata.name, value: " + name + "}]}}]"
	}
	const at = "generators[1].resource."
	checkCompiled(t, map[string]compiled{
		"Right": {
			reason: "names and fields depend on the generation, and outputs are connection details of the resource",
			input: resource("set: [{fieldPath: metadata.name, value: \"'user-' + string(generation.number)\"}, {fieldPath: spec.id, value: generation.id}, {fieldPath: spec.any, value: 'generation[composite.spec.x]'}], "+
				"outputs: {token: secret.token, name: resource.metadata.name}", ", readyExpression: resource.status.ready"),
		},
		"Secret": {
			reason: "a field of an object is not secret, and can list nothing",
			input:  resource("set: [{fieldPath: spec.a, value: secrets.db.host}, {fieldPath: spec.b, value: generated.admin.uuid}]"),
			want: []string{
				at + "set[0].value:1:11: uses secrets.db.host" + leaveOut,
				at + "set[1].value:1:16: uses generated.admin.uuid" + leaveOut,
			},
		},
		"SecretName": {
			reason: "one diagnostic for each use",
			input:  resource(`set: [{fieldPath: metadata.name, value: secrets.db.host + generation.id}, {fieldPath: spec.a, value: "1"}]`),
			want:   []string{at + "set[0].value:1:11: may not use secrets.db.host" + readFirst},
		},
		"WrongOfItems": {
			reason: "one diagnostic is enough",
			input:  items("nope"),
			want:   []string{`generators[0].resource.set[0].value:1:1: there is no variable nope: write text in its own quotes, as in "'some text'"`},
		},
	})
}

// The objects of a list are named <generator>-<key>.
func TestNamesBesideAList(t *testing.T) {
	const list = "forEachExpression: composite.spec.users, keyExpression: item.name, uuid: {}"
	checkCompiled(t, map[string]compiled{
		"NoList":     {"without a list, a prefix is no other name", "generators: [{name: a, uuid: {}}, {name: a-b, uuid: {}}]", nil},
		"Similar":    {"the dash is missing", "generators: [{name: a, " + list + "}, {name: ab, uuid: {}}]", nil},
		"Same":       {"an item can have the key b", "generators: [{name: a, " + list + "}, {name: a-b, uuid: {}}]", []string{"generators[1].name: begins with a-, as the names of the objects for the items of generators[0]: rename one of them"}},
		"WithoutOne": {"a list without a name has no objects", "generators: [{" + list + "}, {name: -b, uuid: {}}]", []string{"generators[0].name: must be set", "generators[1].name: must consist of lower-case letters, digits and '-', and begin and end with a letter or a digit: it is part of the names of its generations"}},
	})
}
