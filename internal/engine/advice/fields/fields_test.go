package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// A message repeats names and paths of an input, but no other text, because that may be data.
const secret = "hunter2"

func TestDecode(t *testing.T) {
	data := func(entry string) string { return "secrets: [{name: a, from: db, data: [" + entry + "]}]" }
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Unknown": {
			reason: "after the known fields of an object, with the nearest name, the place or all names",
			input: `
configmaps: []
sources: [{name: a, apiVersion: v1, kind: Secret, zzz: 1}]
secrets:
- nmae: a
  labels: {}
  metadata: {labels: {a.b/c: x}, lables: {}, dataFrom: []}
  dataFrom: [{key: a}, {find: {regexp: a}}, {extract: {find: {path: x}, key: a}}]
  data: {key: k}
  value: "'a'"
- {name: b, spec: {from: db, data: []}, data: [{key: l, value: "'v'", nonSensitive: []}]}`,
			want: []string{
				"sources[0].zzz: is an unknown field: there are name, apiVersion, kind, scope, namespace, matchName, nameExpression, matchLabels, optional",
				"secrets[0].metadata.dataFrom: is an unknown field: the field is at a higher level: write it as secrets[0].dataFrom",
				"secrets[0].metadata.lables: is an unknown field: did you mean labels?",
				"secrets[0].data: must be a list, but is an object: begin each item with a dash, as in - key: ...",
				"secrets[0].dataFrom[0].key: is an unknown field: did you mean extract.key?",
				"secrets[0].dataFrom[1].find.regexp: is an unknown field: did you mean name.regexp?",
				"secrets[0].dataFrom[2].extract.find: is an unknown field: the field is at a higher level: write it as secrets[0].dataFrom[2].find",
				"secrets[0].labels: is an unknown field: did you mean metadata.labels?",
				"secrets[0].nmae: is an unknown field: did you mean name?",
				"secrets[0].value: is an unknown field: it is a field of the items of data: write it in an item, as in data: [{value: ...}]",
				"secrets[1].data[0].nonSensitive: is an unknown field: there are key, value, valueMap, optional",
				"secrets[1].spec: is an unknown field: leave this level out, and write its fields one level up",
				"configmaps: is an unknown field: did you mean configMaps?",
			},
		},
		"Types": {
			reason: "each kind of value where another kind is wanted",
			input: `
metadata: 1
sources: {}
variables: ["x", {name: {}, value: [1]}]
secrets:
- name: a
  type: 5
  immutable: "true"
  connectionDetails: null
  metadata: {labels: [], annotations: {k: 1, l: true}, labelsExpression: {a: secret.b}}
  data: [{key: k, value: 7}, {key: true, valueMap: {a: b}}, 5, null, {key: k, value: null}]
- name: b
  data: none
- {name: c, metadata: {labels: "{'a': 'b'}"}, dataFrom: [{extract: db, rewrite: [{regexp: [{source: a}]}]}]}
status: null
generators: [{name: a, password: {length: "32", digits: 1.5, symbols: -1, secretKeys: a}, gracePeriod: 1d}]
fromComposite: {fieldPath: {fmt: a}, allow: {secrets: {}}}
ttl: 60`,
			want: []string{
				"metadata: must be an object, but is a number: write its fields as name: value",
				"sources: must be a list, but is an object: begin each item with a dash, as in - name: ...",
				"variables[0]: must be an object, but is a string: write it as - name: x",
				"variables[1].name: must be a string, but is an object: write one text",
				`variables[1].value: must be a string, but is a list: YAML reads [ ] and dashes as a list: write one expression in quotes, as in "[a, b].join(',')"`,
				"generators[0].password.length: must be a number, but is a string: write a whole number, without quotes and without a unit",
				"generators[0].password.digits: must be a whole number, 0 or more",
				"generators[0].password.symbols: must be a whole number, 0 or more",
				"generators[0].password.secretKeys: must be a list, but is a string: write it as [a]",
				"generators[0].gracePeriod: must be a duration, for example 60s or 1h30m; a day is 24h",
				"secrets[0].metadata.labels: must be an object, but is a list: leave out the dashes, and write each item as name: value",
				`secrets[0].metadata.labelsExpression: must be a string, but is an object: it is an expression: write it in quotes, as in labelsExpression: "{'a': secret.b}"`,
				"secrets[0].metadata.annotations[k]: must be a string, but is a number: put it in quotes",
				"secrets[0].metadata.annotations[l]: must be a string, but is a boolean: put it in quotes",
				"secrets[0].immutable: must be true or false, but is a string: write true or false without quotes",
				"secrets[0].type: must be a string, but is a number: put it in quotes",
				`secrets[0].data[0].value: must be a string, but is a number: it is an expression, in which text has its own quotes: write for example "'some text'"`,
				"secrets[0].data[1].key: must be a string, but is a boolean: put it in quotes",
				`secrets[0].data[1].valueMap: must be a string, but is an object: it is an expression: write it in quotes, as in valueMap: "{'a': ...}"`,
				"secrets[0].data[2]: must be an object, but is a number: its fields are key, value, valueMap, optional",
				"secrets[0].data[3]: must be an object, but is null: write its fields after the dash, or leave the dash out",
				"secrets[0].data[4].value: must be a string, but is null: write an expression, and no # before it, because # begins a comment in YAML",
				"secrets[0].connectionDetails: must be true or false, but is null: set a value, or leave it out",
				"secrets[1].data: must be a list, but is a string: begin each item with a dash, as in - key: ...",
				"secrets[2].metadata.labels: must be an object, but is a string: write the expression in the field labelsExpression",
				"secrets[2].dataFrom[0].extract: must be an object, but is a string: its fields are key, property",
				"secrets[2].dataFrom[0].rewrite[0].regexp: must be an object, but is a list: leave out the dash before its fields",
				"status: must be a list, but is null: add an item, or leave it out",
				"fromComposite.fieldPath: must be a string, but is an object: write one text",
				"fromComposite.allow.secrets: must be a list, but is an object: write [ ] around its items",
				"ttl: must be a string, but is a number: put it in quotes",
			},
		},
		"Entries": {
			reason: "an entry of another tool has one diagnostic; a text that is no name may be data",
			input: data(`{name: pw, type: FromConnectionSecretKey, fromConnectionSecretKey: ca.crt},
  {name: "hunter2 !", fromConnectionSecretKey: "hunter2 ?"}, {name: pw, type: FromValue, value: hunter2},
  {name: host, type: FromFieldPath, fromFieldPath: 'status.hosts[0].labels[a.b/c]'}, {name: host, fromFieldPath: 'status[hunter2 !]'},
  {key: url, combine: {string: {fmt: hunter2}, variables: [{fromFieldPath: status.host}, {fromFieldPath: spec.port}]}},
  {key: a, secretName: other, keyName: b}, {key: team/app, name: pw}, {username: secret.username}, {secretKey: a, remoteRef: {key: db, property: p}}`),
			want: []string{
				`secrets[0].data[0].fromConnectionSecretKey: is a field of function-patch-and-transform: write the entry as {key: pw, value: "secret['ca.crt']"}`,
				"secrets[0].data[1].fromConnectionSecretKey: is a field of function-patch-and-transform: write the entry as {key: ..., value: secret.fromConnectionSecretKey}",
				`secrets[0].data[2].type: is a field of function-patch-and-transform: write the entry as {key: pw, value: "'text'"}: a text has quotes of its own in CEL`,
				`secrets[0].data[3].fromFieldPath: is a field of function-patch-and-transform: write the entry as {key: host, value: "resource.status.hosts[0].labels['a.b/c']"}`,
				"secrets[0].data[4].fromFieldPath: is a field of function-patch-and-transform: write the entry as {key: host, value: ...}",
				`secrets[0].data[5].combine: is a field of function-patch-and-transform: write the entry as {key: url, value: "'%s-%s'.format([resource.status.host, resource.spec.port])"}`,
				"secrets[0].data[6].secretName: is a field of Pods: write the entry as {key: a, value: secrets.other.b}, where the Secret is a composed resource or an item of sources",
				"secrets[0].data[7].name: is a field of kubernetes-external-secrets: write the entry as {key: pw, value: secrets.db.key}, with the names of the composed resource and of its key in place of db and key",
				"secrets[0].data[8].username: is an unknown field: write the entry as {key: username, value: secret.username}",
				"secrets[0].data[9].remoteRef: is a field of External Secrets: write the entry as {key: a, value: secrets.db.p}",
			},
		},
		"OtherEntries": {
			reason: "sources, fields of the status, and an export without a composed resource",
			input: `
sources:
- {id: settings, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: app}}}
- {kind: ConfigMap, into: settings, apiVersion: v1, type: Reference, ref: {name: app}}
secrets: [{name: a, fromConnectionSecretKey: password}]
status:
- {type: ToCompositeFieldPath, fromFieldPath: resources.db.status.host, toFieldPath: status.a.host}
- {fromFieldPath: status.host}
- {type: FromEnvironmentFieldPath, fromFieldPath: zone, toFieldPath: status.zone}`,
			want: []string{
				"sources[0].externalRef: is a field of kro: write the entry as {name: settings, apiVersion: v1, kind: ConfigMap, matchName: app}",
				"sources[1].ref: is a field of function-extra-resources: write the entry as {name: settings, apiVersion: v1, kind: ConfigMap, matchName: app}",
				"secrets[0].fromConnectionSecretKey: is a field of function-patch-and-transform: write the entry as an item of data: {key: a, value: secrets.db.password}, with the name of the composed resource in place of db",
				"status[0].fromFieldPath: is a field of function-patch-and-transform: write the entry as {fieldPath: a.host, value: resources.db.status.host}",
				"status[1].fromFieldPath: is a field of function-patch-and-transform: write the entry as {fieldPath: host, value: resources.db.status.host}, with the name of the composed resource in place of db",
				"status[2].fromFieldPath: is a field of function-patch-and-transform: write the entry as {fieldPath: zone, value: environment.zone}",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, list := strict.Decode(plantest.Parse(t, plantest.Exports(c.input)), fields.Adviser{})
			var got []string
			for _, d := range list {
				got = append(got, d.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Decode(...): %s: -want, +got:\n%s", c.reason, diff)
			}
			if strings.Contains(strings.Join(got, ""), secret) {
				t.Errorf("a message repeats data: %v", got)
			}
		})
	}
}

// Each entry that a message tells the reader to write is an entry of this input.
func TestEntriesCompile(t *testing.T) {
	for _, text := range []string{
		"fromConnectionSecretKey: ca.crt", "fromFieldPath: status.a", "remoteRef: {key: a, property: b}, secretKey: c",
		"valueFrom: {secretKeyRef: {name: a, key: b}}, name: c", "secretName: a", "combine: {variables: [{fromFieldPath: status.a}, {fromFieldPath: status.b}]}",
	} {
		input := func(entry string) string {
			return plantest.Exports("secrets: [{name: a, from: db, data: [" + entry + "]}]")
		}
		_, _, list := strict.Decode(plantest.Parse(t, input("{"+text+"}")), fields.Adviser{})
		if len(list) != 1 {
			t.Fatalf("%s: %v", text, list)
		}
		_, entry, _ := strings.Cut(list[0].Message, "write the entry as ")
		entry, _, _ = strings.Cut(entry, "}, ")
		entry = strings.Replace(strings.TrimSuffix(entry, "}")+"}", "key: ...", "key: a", 1)
		if _, wrong := plantest.Compile(t, input(entry)); len(wrong) > 0 {
			t.Errorf("%s: %s: %v", text, entry, wrong)
		}
	}
}
