package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// userGenerators is an input with a generator for each item of a list.
const userGenerators = `
generators:
- {name: users, forEachExpression: composite.spec.users, keyExpression: item.name, password: {}, refreshPolicy: OnChange, keepersExpression: item.version}
- {name: one, uuid: {}}
`

func TestCompileItemGenerators(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"Right": {
			reason: "an item is selected by a literal key, a computed one, or that of the export's own item",
			input: userGenerators + `
secrets:
- {name: all, data: [{valueMap: "generated.users.transformMap(k, v, v.password)"}, {key: alice, value: generated.users.alice.password}], dataFrom: [{extract: {key: generated.users.alice}}]}
- {name: each, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: password, value: "generated.users[key].password"}, {key: former, value: "previous.users[?key].?password", optional: true}]}`,
		},
		"WithoutItem": {
			reason: "outputs are one level deeper",
			input:  userGenerators + `secrets: [{name: a, data: [{key: k, value: generated.users.password}], dataFrom: [{extract: {key: generated.users}}, {find: {path: generated.users/}}]}]`,
			want: []string{
				`secrets[0].data[0].value:1:16: generator "users" has outputs for each item: write generated.users[key].password for the item of this export, or generated.users['<key>'].password`,
				`secrets[0].dataFrom[0].extract.key: generator "users" has outputs for each item: extract generated.users.<key>, or write valueMap: generated.users[key]`,
				`secrets[0].dataFrom[1].find.path: cannot find the outputs of "users", which has outputs for each item: write a valueMap`,
			},
		},
		"SecretFlow": {
			reason: "outputs of items are secret, unless their output is listed",
			input: `
generators: [{name: ids, forEachExpression: composite.spec.users, keyExpression: item.name, uuid: {}}]
configMaps:
- {name: a, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: id, value: "generated.ids[key].uuid", nonSensitive: [generated.ids.uuid]}]}
- {name: b, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: id, value: "generated.ids[key].uuid"}]}
- {name: c, data: [{key: id, value: generated.ids.alice.uuid}, {key: all, value: "json.encode(generated.ids)"}, {key: some, value: "generated.ids[composite.spec.user].uuid"}]}`,
			want: []string{
				`configMaps[1].data[0].value:1:19: uses generated.ids[key].uuid, but secret data may flow only into the data of Secrets: leave it out, or list "generated.ids.uuid" under nonSensitive if it is not secret`,
				`configMaps[2].data[0].value:1:20: uses generated.ids.alice.uuid, but secret data may flow only into the data of Secrets: leave it out, or list "generated.ids.uuid" under nonSensitive if it is not secret`,
				`configMaps[2].data[1].value:1:22: uses all of generated.ids, but secret data may flow only into the data of Secrets: name the keys that it needs, and list those that are not secret under nonSensitive`,
				`configMaps[2].data[2].value:1:35: uses generated.ids[*].uuid, but secret data may flow only into the data of Secrets: leave it out, or list "generated.ids.uuid" under nonSensitive if it is not secret`,
			},
		},
		"Names": {
			reason: "two generators must not have objects of one name",
			input:  userGenerators + "- {name: users-admin, uuid: {}}",
			want:   []string{"generators[2].name: begins with users-, as the names of the objects for the items of generators[0]: rename one of them"},
		},
		"Manifest": {
			reason: "the generations of all items need names of their own",
			input: `
generators:
- {name: a, forEachExpression: composite.spec.users, keyExpression: item.name, resource: {manifest: {apiVersion: example.org/v1, kind: User}, set: [{fieldPath: metadata.name, value: "'user-' + string(generation.number)"}]}}
- {name: b, forEachExpression: composite.spec.users, keyExpression: item.name, resource: {manifest: {apiVersion: example.org/v1, kind: User}, set: [{fieldPath: metadata.name, value: "key + string(generation.number)"}]}}
- {name: c, forEachExpression: composite.spec.users, keyExpression: item.name, resource: {manifest: {apiVersion: example.org/v1, kind: User}, set: [{fieldPath: metadata.name, value: "'user-' + generation.id"}, {fieldPath: spec.role, value: item.role}]}}`,
			want: []string{"generators[0].resource.set[0].value: returns the same name for each item: use key in it"},
		},
		"Authority": {
			reason: "one CA signs the certificates of all items",
			input: `
generators:
- {name: ca, forEachExpression: composite.spec.users, keyExpression: item.name, certificate: {isCA: true, subject: {commonName: ca}}}
- {name: leaf, refreshPolicy: OnChange, certificate: {ca: ca, subject: {commonName: leaf}}}
- {name: root, certificate: {isCA: true, subject: {commonName: ca}}}
- {name: leaves, forEachExpression: composite.spec.users, keyExpression: item.name, refreshPolicy: OnChange, certificate: {ca: root, subject: {commonName: leaf}}}`,
			want: []string{`generators[1].certificate.ca: generator "ca" generates a certificate for each item of a list: use a generator without forEachExpression`},
		},
	})
}

// An export records only generations that its values can belong to: otherwise, no item could drop a former one.
func TestGeneratorsOfItems(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		value  string
		want   []string
	}{
		"Literal":       {"one item", "generated.users.bob.password", []string{"users/bob"}},
		"Own":           {"the item with the key of the export", "generated.users[key].password", []string{"users/alice"}},
		"OwnOptional":   {"however it is selected", "generated.users[?key].?password.orValue('')", []string{"users/alice"}},
		"Other":         {"a computed key can be that of each item", "generated.users[item.friend].password", []string{"users/alice", "users/carol"}},
		"Shadowed":      {"a local variable is not the key", "['a'].map(key, generated.users[key].password)[0]", []string{"users/alice", "users/carol"}},
		"All":           {"an iteration reads all", "generated.users.map(k, generated.users[k].password)[0]", []string{"users/alice", "users/carol"}},
		"AllGenerators": {"of all generators", "string(size(generated))", []string{"one", "users/alice", "users/carol"}},
		"None":          {"only one without a list", "generated.one.uuid", []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, wrong := plantest.Compile(t, plantest.Exports(userGenerators+
				`secrets: [{name: user, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: k, value: "`+c.value+`"}]}]`))
			if wrong != nil {
				t.Fatal(wrong)
			}
			var all []plan.Generator
			for _, key := range []string{"carol", "alice"} {
				all = append(all, p.Generators[0].For(&observation.Item{Key: key}))
			}
			exports := plan.WithItems(p.Exports, append(all, p.Generators[1]))
			if diff := cmp.Diff(c.want, exports[0].For(&observation.Item{Key: "alice"}).Generators); diff != "" {
				t.Errorf("Generators: %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestParseGeneration(t *testing.T) {
	for composed, want := range map[string]string{
		"generated/a/1": "a", "generated/a/b/1": "a/b", "generated/a/1/1": "a/1",
		"generated/a/b/c/1": "", "generated//b/1": "", "generated/a//1": "", "generated/a/b/01": "", "generated/a/b/": "", "generated/1": "", "a/b/1": "",
	} {
		got, number, ok := plan.ParseGeneration(composed)
		if ok != (want != "") || ok && (got != want || number != 1) {
			t.Errorf("ParseGeneration(%q): got %q, %d, %t, want %q", composed, got, number, ok, want)
		}
	}
}
