package plan_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
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

// The message says how to read the connection details of a composed resource. Those of the composite are mostly a mistake.
func TestInsteadOfComposite(t *testing.T) {
	for name, c := range map[string]struct {
		path, key string
		names     []string
		want      string
	}{
		"Extract":         {"secrets[0].dataFrom[0].extract.key", plan.Anything, nil, "extract a composed resource"},
		"ExtractOne":      {"secrets[0].dataFrom[0].extract.key", plan.Anything, []string{"db"}, "extract db"},
		"ExtractSome":     {"secrets[0].dataFrom[0].extract.key", plan.Anything, []string{"db", "cache"}, "extract one of db, cache"},
		"Secret":          {"secrets[0].data[0].value", "host", nil, "set from to a composed resource"},
		"SecretOfOne":     {"secrets[0].data[0].value", "host", []string{"db"}, "set from: db"},
		"SecretOfSome":    {"secrets[0].data[0].value", "host", []string{"db", "cache"}, "set from to one of db, cache"},
		"ConfigMap":       {"configMaps[0].data[0].value", "host", nil, "set from to a composed resource"},
		"ConfigMapOfOne":  {"configMaps[0].data[0].value", "host", []string{"db"}, "set from: db"},
		"Elsewhere":       {"status[0].value", "host", nil, "write secrets.<name>.host for a composed resource"},
		"ElsewhereKey":    {"status[0].value", "ca.crt", nil, "write secrets.<name>['ca.crt'] for a composed resource"},
		"ElsewhereAll":    {"status[0].value", plan.Anything, nil, "write secrets.<name> for a composed resource"},
		"ElsewhereOne":    {"variables[0].value", "host", []string{"db"}, "write secrets.db.host"},
		"ElsewhereOneAll": {"variables[0].value", plan.Anything, []string{"my-db"}, "write secrets['my-db']"},
		"ElsewhereSome":   {"variables[0].value", "host", []string{"db", "cache"}, "write secrets.<name>.host for one of db, cache"},
	} {
		if got := plan.InsteadOfComposite(c.path, c.key, c.names); got != c.want {
			t.Errorf("%s: InsteadOfComposite(%q, %q, %q): got %q, want %q", name, c.path, c.key, c.names, got, c.want)
		}
	}
}

// Tools show the rule of a diagnostic: a field has a value that it cannot have, or secret data flows where it may not.
func TestRuleOfDiagnostics(t *testing.T) {
	const twoCertificates = `
generators:
- {name: a, certificate: {subject: {commonName: a}}, refreshPolicy: OnChange}
- {name: b, certificate: {ca: a, subject: {commonName: b}}, refreshPolicy: OnChange}`
	for name, c := range map[string]struct {
		input, path string
		rule        diagnostic.Rule
		message     string
	}{
		"Field": {"generators: [{name: a, uuid: {}, forEachExpression: composite.spec.a}]", "generators[0].keyExpression", diagnostic.Input, "must be set with forEachExpression"},
		"Sense": {twoCertificates, "generators[1].certificate.ca", diagnostic.Input, "names a certificate that is not a CA"},
		"Flow":  {"configMaps: [{name: a, data: [{key: k, value: secrets.db.host}]}]", "configMaps[0].data[0].value", diagnostic.Expression, "uses secrets.db.host"},
	} {
		_, got := plan.Compile(context.Background(), plantest.Env, plantest.Parse(t, plantest.Exports(c.input)))
		if len(got) != 1 || got[0].Path != c.path || got[0].Rule != c.rule || !strings.HasPrefix(got[0].Message, c.message) {
			t.Errorf("%s: Compile(...): got %v, want one diagnostic of %s with the rule %s: %s", name, got, c.path, c.rule, c.message)
		}
	}
}

// A name may not use a secret. All keys cannot be listed under nonSensitive, and a listed key counts in its place only.
func TestNamesAndListedKeys(t *testing.T) {
	const ofComposite = "; secret is the connection details of the composite here: set from to a composed resource"
	key := func(path string) string {
		return path + `: uses secret.x, ` + plantest.Flow +
			`: leave it out, or list "composite.x" under nonSensitive if it is not secret` + ofComposite
	}
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"SecretData": {
			reason: "that is what it is for",
			input:  `secrets: [{name: a, data: [{key: k, value: "[1][0] == 1 ? secret.x : ''"}, {valueMap: "{'a': secret.x}"}]}]`,
		},
		"Metadata": {
			reason: "labels and annotations, also those of a Secret, and names, which decide what is looked up",
			input: `
secrets:
- name: a
  metadata: {nameExpression: "'' +secret.x", namespaceExpression: "'' +secret.x", labelsExpression: "{'a' :secret.x}", annotationsExpression: "{'a':  secret.x}"}
  data: [{key: k, value: secret.x}]`,
			want: []string{
				"secrets[0].metadata.nameExpression:1:11: may not use secret.x: the name must be known before any Secret is read: leave it out",
				"secrets[0].metadata.namespaceExpression:1:11: may not use secret.x: the name must be known before any Secret is read: leave it out",
				key("secrets[0].metadata.labelsExpression:1:13"),
				key("secrets[0].metadata.annotationsExpression:1:14"),
			},
		},
		"AllKeys": {
			reason: "all keys cannot be declared nonSensitive together",
			input:  `configMaps: [{name: a, data: [{valueMap: secret, nonSensitive: [composite, composite.*, "*"]}, {key: k, value: "secrets[composite.x].y", nonSensitive: ["*.y"]}]}]`,
			want: []string{
				"configMaps[0].data[0].valueMap:1:1: uses all keys of secret, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive" + ofComposite,
				"configMaps[0].data[1].value:1:21: uses all secrets, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive",
			},
		},
		"NonSensitive": {
			reason: "just the keys that are listed, in just that place",
			input: `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
variables: [{name: v, value: secrets.db.host + secrets.ca.x}]
configMaps:
- name: a
  from: db
  metadata: {labelsExpression: "{'a': secret.host}", nonSensitive: [db.host]}
  data:
  - {key: k, value: secret.host + secret.port, nonSensitive: [db.host, db.]}
  - {key: l, value: variables.v, nonSensitive: [db.host]}
  - {key: m, value: variables.v, nonSensitive: [db.host, ca.x]}
  - {key: p, value: "'x'", nonSensitive: [db.host]}
  - {key: o, value: secrets.other.host, nonSensitive: [db.host, secret.host]}
status: [{fieldPath: a, value: secrets.db.host, nonSensitive: [db.host]}]`,
			want: []string{
				`configMaps[0].data[0].value:1:21: uses secrets.db.port, ` + plantest.Flow + `: leave it out, or list "db.port" under nonSensitive if it is not secret`,
				`configMaps[0].data[1].value:1:10: uses secrets.ca.x, ` + plantest.Flow + `: leave it out, or list "ca.x" under nonSensitive if it is not secret`,
				`configMaps[0].data[4].value:1:14: uses secrets.other.host, ` + plantest.Flow + `: leave it out, or list "other.host" under nonSensitive if it is not secret`,
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
