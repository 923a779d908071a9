package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

func TestCompileForEach(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Correct": {
			reason: "all expressions of the export see the item, its index and its key, except that the key does not see itself",
			input: `
secrets:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item.name + '-' + string(index)
  metadata: {nameExpression: composite.metadata.name + key, labelsExpression: "{'user': item.name}"}
  data: [{key: user, value: item.name}, {valueMap: "{'n': string(index), 'k': key}"}]
configMaps:
- name: more
  forEachExpression: "[1, 2]"
  keyExpression: string(item)
  data: [{key: user, value: string(item)}]
generators:
- {name: user, forEachExpression: environment.users, keyExpression: item, uuid: {}, refreshPolicy: OnChange, keepersExpression: item.version}`,
		},
		"OnlyOne": {
			reason: "each of the two fields needs the other",
			input: `
secrets:
- {name: a, forEachExpression: composite.spec.users, data: [{key: k, value: item.name}]}
- {name: b, keyExpression: item.name, data: [{key: k, value: item.name}]}`,
			want: []string{
				"secrets[0].keyExpression: must be set with forEachExpression, because it identifies an item: write for example keyExpression: item.name",
				"secrets[1].forEachExpression: must be set with keyExpression: write for example forEachExpression: composite.spec.users",
			},
		},
		"Outside": {
			reason: "nothing else sees an item",
			input: `
variables: [{name: v, value: item.name}]
secrets:
- {name: a, data: [{key: k, value: key}, {key: l, value: "'%d'.format([index])"}, {key: m, value: "composite.spec.map(i, item, i)"}]}
- {name: b, forEachExpression: item.users, keyExpression: item.name + key, data: [{key: k, value: item.name}]}
status: [{fieldPath: s, value: index}]`,
			want: []string{
				"variables[0].value:1:5: there is no variable item here: only an export or a generator with forEachExpression and keyExpression has one",
				`secrets[0].data[0].value:1:1: there is no variable key here: write text in its own quotes, as in "'key'"; only an export or a generator with forEachExpression has one`,
				"secrets[0].data[1].value:1:14: there is no variable index here: only an export or a generator with forEachExpression and keyExpression has one",
				"secrets[0].data[2].value:1:23: map with three arguments filters a list: write .transformList(k, v, ...) for the entries of a map",
				"secrets[1].forEachExpression:1:5: there is no variable item here: this expression returns the list of items",
				"secrets[1].keyExpression:1:13: there is no variable key here: this expression returns the key: use item or index",
				`status[0].value:1:1: there is no variable index here: write text in its own quotes, as in "'index'"; only an export or a generator with forEachExpression has one`,
			},
		},
		"Unknown": {
			reason: "the list and the keys determine which objects are requested, so that they may use only what a name may use",
			input: `
environment: {set: [{fieldPath: a, value: "'a'"}]}
sources: [{name: s, apiVersion: v1, kind: ConfigMap}]
generators: [{name: g, uuid: {}}]
secrets:
- {name: a, forEachExpression: "secret.users.split(',')", keyExpression: "secrets.db[item]", data: [{key: k, value: item}]}
- {name: b, forEachExpression: "sources.s.data.users.split(',')", keyExpression: item + environment.a, data: [{key: k, value: item}]}
- {name: c, forEachExpression: "generated.g.uuid.split('-')", keyExpression: item, data: [{key: k, value: item}]}`,
			want: []string{
				"secrets[0].forEachExpression:1:7: may not use secret.users: the list must be known before any Secret is read: leave it out",
				"secrets[0].keyExpression:1:11: may not use all keys of secrets.db: the key must be known before any Secret is read: leave it out",
				"secrets[1].forEachExpression: may not use sources: the list must be known before any source is read",
				"secrets[1].keyExpression: may not use the environment, which this input looks up or sets: the key must be known before that; look up and set the environment in an earlier step of the pipeline",
				"secrets[2].forEachExpression:1:12: may not use generated.g.uuid: the list must be known before a credential is generated",
			},
		},
		"OneForAll": {
			reason: "each item needs its own key, name and connection details",
			input: `
secrets:
- {name: a, forEachExpression: composite.spec.users, keyExpression: "'a'", data: [{key: k, value: item.name}]}
- {name: b, forEachExpression: composite.spec.users, keyExpression: item.name, metadata: {nameExpression: composite.metadata.name}, data: [{key: k, value: item.name}]}`,
			want: []string{
				"secrets[0].keyExpression: returns the same key for each item: use item in it, for example item.name",
				"secrets[1].metadata.nameExpression: returns the same name for each item: use key in it",
			},
		},
		"Names": {
			reason: "no other resource may have the composition resource name of an item",
			input: `
secrets:
- {name: generated, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: k, value: item.name}]}
- {name: users, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: k, value: item.name}]}
- {name: users/admin, metadata: {name: a}, data: [{key: k, value: "'a'"}]}`,
			want: []string{
				"secrets[0].name: must not be generated with forEachExpression, because names that begin with generated/ are reserved: rename it",
				"secrets[2].name: begins with users/, as the composition resource names of the items of secrets[1]: rename one of them",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(c.input))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
