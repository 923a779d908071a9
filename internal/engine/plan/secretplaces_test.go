package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A compiled is an input, and the diagnostics that it must have.
type compiled struct {
	reason string
	input  string
	want   []string
}

func checkCompiled(t *testing.T, cases map[string]compiled) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(c.input))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

const (
	listHost  = ", " + plantest.Flow + `: leave it out, or list "db.host" under nonSensitive if it is not secret`
	listID    = ", " + plantest.Flow + `: leave it out, or list "generated.id.uuid" under nonSensitive if it is not secret`
	nameThem  = ", " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive"
	leaveOut  = ", " + plantest.Flow + ": leave it out"
	readFirst = ": the name must be known before any Secret is read: leave it out"
)

// Each place outside of the data of a Secret refuses secret data, unless it lists the key.
func TestPlacesRefuseSecrets(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"ConfigMap": {
			reason: "anyone may read a ConfigMap: each secret of an expression has one diagnostic, at its first position",
			input:  `configMaps: [{name: a, data: [{key: k, value: secrets.db.host + secrets.db.port + secrets.db.host}, {key: l, value: secrets.db.host, nonSensitive: [db.host]}, {valueMap: secrets.db}]}]`,
			want: []string{
				"configMaps[0].data[0].value:1:11: uses secrets.db.host" + listHost,
				"configMaps[0].data[0].value:1:29: uses secrets.db.port, " + plantest.Flow + `: leave it out, or list "db.port" under nonSensitive if it is not secret`,
				"configMaps[0].data[2].valueMap:1:8: uses all keys of secrets.db" + nameThem,
			},
		},
		"Metadata": {
			reason: "labels and annotations are no data, not even those of a Secret",
			input: `
secrets:
- {name: a, metadata: {labelsExpression: "{'a': secrets.db.host}", annotationsExpression: "{'a': secrets.db.host}"}, data: [{key: k, value: secrets.db.host}]}
- {name: b, metadata: {labelsExpression: "{'a': secrets.db.host}", annotationsExpression: "{'a': secrets.db.host}", nonSensitive: [db.host]}, data: [{key: k, value: secrets.db.host}]}`,
			want: []string{
				"secrets[0].metadata.labelsExpression:1:17: uses secrets.db.host" + listHost,
				"secrets[0].metadata.annotationsExpression:1:17: uses secrets.db.host" + listHost,
			},
		},
		"Status": {
			reason: "whoever can read the composite can read its status",
			input:  `status: [{fieldPath: a, value: secrets.db.host}, {fieldPath: b, value: secrets.db.host, nonSensitive: [db.host]}]`,
			want:   []string{"status[0].value:1:11: uses secrets.db.host" + listHost},
		},
		"Environment": {
			reason: "later steps of the pipeline see the environment, which is complete before generators run",
			input: `
generators: [{name: id, uuid: {}}]
environment: {set: [{fieldPath: a, value: secrets.db.host}, {fieldPath: b, value: secrets.db.host, nonSensitive: [db.host]}, {fieldPath: c, value: generated.id.uuid, nonSensitive: [generated.id.uuid]}]}`,
			want: []string{
				"environment.set[0].value:1:11: uses secrets.db.host" + listHost,
				"environment.set[2].value:1:13: may not use generated.id.uuid: the environment is complete before generators run, because generators may use it",
			},
		},
		"Keepers": {
			reason: "they are stored in an annotation, and can list nothing",
			input:  `generators: [{name: id, uuid: {}, refreshPolicy: OnChange, keepersExpression: "secrets.db.host + composite.spec.version"}]`,
			want:   []string{"generators[0].keepersExpression:1:11: uses secrets.db.host" + leaveOut},
		},
		"SourceName": {
			reason: "a request for a source is not secret",
			input: `
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: secrets.db.host}]
secrets: [{name: a, data: [{key: k, value: sources.s.data.x}]}]`,
			want: []string{"sources[0].nameExpression:1:11: may not use secrets.db.host" + readFirst},
		},
		"Generated": {
			reason: "each generation of a credential is as secret as the one in use",
			input: `
generators: [{name: id, uuid: {}, readyExpression: candidate.id.uuid == resources.db.id}]
configMaps: [{name: a, data: [{key: g, value: generated.id.uuid}, {key: c, value: candidate.id.uuid}, {key: p, value: previous.id.uuid}, {key: a, value: string(size(previous))}, {key: l, value: generated.id.uuid, nonSensitive: [generated.id.uuid]}]}]`,
			want: []string{
				"configMaps[0].data[0].value:1:13: uses generated.id.uuid" + listID,
				`configMaps[0].data[1].value:1:13: uses candidate.id.uuid, ` + plantest.Flow + `: leave it out, or list "candidate.id.uuid" under nonSensitive if it is not secret`,
				`configMaps[0].data[2].value:1:12: uses previous.id.uuid, ` + plantest.Flow + `: leave it out, or list "previous.id.uuid" under nonSensitive if it is not secret`,
				"configMaps[0].data[3].value:1:13: uses all of previous" + nameThem,
			},
		},
		"NamedComposite": {
			reason: "only secret is the connection details of the composite, and not a generator of that name",
			input: `
generators: [{name: composite, uuid: {}}]
configMaps: [{name: a, data: [{key: k, value: generated.composite.uuid}]}]`,
			want: []string{`configMaps[0].data[0].value:1:20: uses generated.composite.uuid, ` + plantest.Flow +
				`: leave it out, or list "generated.composite.uuid" under nonSensitive if it is not secret`},
		},
		"DataFrom": {
			reason: "a ConfigMap can have all keys of a ConfigMap, and none of a Secret",
			input: `
sources: [{name: cm, apiVersion: v1, kind: ConfigMap}, {name: ca, apiVersion: v1, kind: Secret}]
configMaps:
- name: a
  dataFrom: [{extract: {key: cm}}, {extract: {key: ca}}, {extract: {key: db}}, {extract: {key: environment, property: a}}, {valueMap: "{'a': secrets.db.host}"}, {valueMap: sources.cm.data}, {find: {path: db/}}]`,
			want: []string{
				`configMaps[0].dataFrom[1].extract.key: "ca" is secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment, or export single keys`,
				`configMaps[0].dataFrom[2].extract.key: "db" is secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment, or export single keys`,
				"configMaps[0].dataFrom[4].valueMap:1:17: uses secrets.db.host" + leaveOut,
				"configMaps[0].dataFrom[6].find: finds secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment",
			},
		},
	})
}

// A key is listed as <input>.<key>. A name that would hide a secret is not accepted.
func TestNonSensitiveNames(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"Dots": {
			reason: "the first dot ends the input, so that an input with a dot is in brackets",
			input: `
configMaps:
- name: a
  data:
  - {key: k, value: "secrets['db.main'].host", nonSensitive: ["['db.main'].host"]}
  - {key: l, value: "secrets['db.main'].host", nonSensitive: [db.main.host]}
  - {key: m, value: "secrets.db['main.host']", nonSensitive: [db.main.host]}`,
			want: []string{`configMaps[0].data[1].value:1:19: uses secrets['db.main'].host, ` + plantest.Flow +
				`: leave it out, or list "['db.main'].host" under nonSensitive if it is not secret`},
		},
		"Computed": {
			reason: "nonSensitive cannot list all keys, or all inputs",
			input: `
configMaps: [{name: a, data: [
  {key: k, value: "secrets.db[composite.spec.x]", nonSensitive: [db.*, db]},
  {key: l, value: "secrets[composite.spec.x].host", nonSensitive: ["*.host", "*.*", "*"]},
  {key: m, value: "secrets[composite.spec.x].host + secrets[composite.spec.y].port"}]}]`,
			want: []string{
				"configMaps[0].data[0].value:1:11: uses all keys of secrets.db" + nameThem,
				"configMaps[0].data[1].value:1:26: uses all secrets" + nameThem,
				"configMaps[0].data[2].value:1:26: uses all secrets" + nameThem,
			},
		},
	})
}

// What a variable reads, its users read.
func TestVariablesOfSecrets(t *testing.T) {
	const variables = `
variables: [{name: host, value: secrets.db.host}, {name: url, value: variables.host + '/'}, {name: plain, value: composite.spec.x}]
configMaps: [{name: a, data: [{key: k, value: `
	checkCompiled(t, map[string]compiled{
		"Plain":    {"one variable is not another", variables + `variables.plain}]}]`, nil},
		"Through":  {"a variable of a variable", variables + `variables.url}]}]`, []string{"configMaps[0].data[0].value:1:10: uses secrets.db.host" + listHost}},
		"Listed":   {"the key is listed where it is used", variables + `variables.url, nonSensitive: [db.host]}]}]`, nil},
		"All":      {"any of them", variables + `json.encode(variables)}]}]`, []string{"configMaps[0].data[0].value:1:13: uses secrets.db.host" + listHost}},
		"Computed": {"any of them", variables + `"variables[composite.spec.x]"}]}]`, []string{"configMaps[0].data[0].value:1:10: uses secrets.db.host" + listHost}},
	})
}
