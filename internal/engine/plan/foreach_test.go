package plan_test

import (
	"testing"
)

func TestCompileForEach(t *testing.T) {
	checkCompiled(t, map[string]compiled{
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
	})
}
