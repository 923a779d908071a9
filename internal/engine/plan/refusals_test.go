package plan_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A refusal is an input, and the beginnings of the diagnostics that it must have. The files of the command check have
// whole messages.
type refusal struct {
	reason string
	input  string
	want   []string
}

func checkRefusals(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(c.input))
			ok := len(got) == len(c.want)
			for i := range min(len(got), len(c.want)) {
				ok = ok && strings.HasPrefix(got[i], c.want[i])
			}
			if !ok {
				t.Errorf("%s: want diagnostics that begin with\n%s\ngot\n%s", c.reason, strings.Join(c.want, "\n"),
					strings.Join(got, "\n"))
			}
		})
	}
}

const (
	// generators of one value, of a value for each item, and of a resource.
	generators = `
generators:
- {name: id, uuid: {}}
- {name: users, forEachExpression: composite.spec.users, keyExpression: item.name, password: {}}
- {name: user, resource: {manifest: {apiVersion: example.org/v1, kind: User}}}
`
	// ofItem makes an export for each item of a list.
	ofItem = "forEachExpression: composite.spec.users, keyExpression: item.name"
)

// Each place outside of the data of a Secret refuses secret data, unless it lists the key.
func TestPlacesRefuseSecrets(t *testing.T) {
	configMap := func(data string) string { return "configMaps: [{name: a, data: [" + data + "]}]" }
	secret := func(metadata string) string {
		return "secrets: [{name: a, metadata: {" + metadata + "}, data: [{key: k, value: secrets.db.host}]}]"
	}
	const host = "uses secrets.db.host"
	checkRefusals(t, map[string]refusal{
		"ConfigMap": {
			"each use has one diagnostic, at its first position",
			configMap("{key: k, value: secrets.db.host + secrets.db.port + secrets.db.host}, {valueMap: secrets.db}"),
			[]string{
				"configMaps[0].data[0].value:1:11: " + host, "configMaps[0].data[0].value:1:29: uses secrets.db.port",
				"configMaps[0].data[1].valueMap:1:8: uses all of secrets.db",
			},
		},
		"Labels": {
			"labels are no data, not even those of a Secret", secret(`labelsExpression: "{'a': secrets.db.host}"`),
			[]string{"secrets[0].metadata.labelsExpression:1:17: " + host},
		},
		"Annotations": {
			"neither are annotations", secret(`annotationsExpression: "{'a': secrets.db.host}"`),
			[]string{"secrets[0].metadata.annotationsExpression:1:17: " + host},
		},
		"Listed": {
			"the key is not secret", secret(`labelsExpression: "{'a': secrets.db.host}", nonSensitive: [db.host]`), nil,
		},
		"Status": {
			"each reader of the composite can read its status",
			"status: [{fieldPath: a, value: secrets.db.host}, {fieldPath: b, value: secrets.db.host, " +
				"nonSensitive: [db.host]}]",
			[]string{"status[0].value:1:11: " + host},
		},
		"Environment": {
			"later steps of the pipeline see the environment, which is complete before generators run",
			generators + `
environment:
  set:
  - {fieldPath: a, value: secrets.db.host}
  - {fieldPath: b, value: secrets.db.host, nonSensitive: [db.host]}
  - {fieldPath: c, value: generated.id.uuid, nonSensitive: [generated.id.uuid]}`,
			[]string{"environment.set[0].value:1:11: " + host, "environment.set[2].value:1:13: may not use generated.id.uuid"},
		},
		"Keepers": {
			"they are stored in an annotation",
			"generators: [{name: a, uuid: {}, refreshPolicy: OnChange, keepersExpression: secrets.db.host}]",
			[]string{"generators[0].keepersExpression:1:11: " + host},
		},
		"Parameters": {
			"they are in an annotation, or in a certificate, which is public",
			`
generators:
- {name: a, password: {prefixExpression: secrets.db.host}}
- {name: b, refreshPolicy: OnChange, certificate: {subject: {commonNameExpression: generated.a.password}}}
- {name: c, uuid: {}, labelsExpression: "{'a': secrets.db.host}"}`,
			[]string{
				"generators[0].password.prefixExpression:1:11: " + host,
				"generators[1].certificate.subject.commonNameExpression:1:12: uses generated.a.password",
				"generators[2].labelsExpression:1:17: " + host,
			},
		},
		"Manifest": {
			"a field of an object is not secret",
			`
generators:
- {name: id, uuid: {}}
- name: a
  resource:
    manifest: {apiVersion: example.org/v1, kind: User}
    set: [{fieldPath: spec.a, value: secrets.db.host}, {fieldPath: spec.b, value: generated.id.uuid}]`,
			[]string{
				"generators[1].resource.set[0].value:1:11: " + host, "generators[1].resource.set[1].value:1:13: " +
					"uses generated.id.uuid",
			},
		},
		"ManifestData": {
			"the manifest is stored in an annotation",
			`
generators:
- name: a
  readyExpression: has(secret.token)
  resource:
    manifest: {apiVersion: v1, kind: Secret, data: {a: b}, stringData: {c: d}}
    set: [{fieldPath: binaryData, value: "{}"}, {fieldPath: data.a, value: "'x'"}]`,
			[]string{
				"generators[0].resource.manifest.data: must not be set",
				"generators[0].resource.manifest.stringData: must not be set",
				"generators[0].resource.set[0].fieldPath: must not be binaryData",
				"generators[0].resource.set[1].fieldPath: must not be data.a",
			},
		},
		"Names": {
			"names and requests are not secret",
			`
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: secrets.db.host}]
secrets:
- {name: a, metadata: {nameExpression: secrets.db.host, nonSensitive: [db.host]}, data: [{key: k, value: "'v'"}]}
- name: b
  forEachExpression: "secret.users.split(',')"
  keyExpression: "secrets.db[item]"
  data: [{key: k, value: item}]`,
			[]string{
				"sources[0].nameExpression:1:11: may not use secrets.db.host",
				"secrets[0].metadata.nameExpression:1:11: may not use secrets.db.host",
				"secrets[1].forEachExpression:1:7: may not use secret.users",
				"secrets[1].keyExpression:1:11: may not use all of secrets.db",
			},
		},
		"Generated": {
			"each generation of a credential is as secret as the one in use",
			generators + configMap(`
  {key: g, value: generated.id.uuid}, {key: c, value: candidate.id.uuid}, {key: p, value: previous.id.uuid},
  {key: a, value: string(size(previous))}, {key: l, value: generated.id.uuid, nonSensitive: [generated.id.uuid]},
  {key: m, value: previous.id.uuid, nonSensitive: [generated.id.uuid]}, {key: i, value: generated.users.bob.password}`),
			[]string{
				"configMaps[0].data[0].value:1:13: uses generated.id.uuid", "configMaps[0].data[1].value:1:13: " +
					"uses candidate.id.uuid",
				"configMaps[0].data[2].value:1:12: uses previous.id.uuid", "configMaps[0].data[3].value:1:13: " +
					"uses all of previous",
				"configMaps[0].data[5].value:1:12: uses previous.id.uuid",
				"configMaps[0].data[6].value:1:20: uses generated.users.bob.password",
			},
		},
		"NamedComposite": {
			"only secret is the connection details of the composite, and not a generator of that name",
			"generators: [{name: composite, uuid: {}}]\n" + configMap("{key: k, value: generated.composite.uuid}"),
			[]string{"configMaps[0].data[0].value:1:20: uses generated.composite.uuid"},
		},
		"DataFrom": {
			"a ConfigMap can have all keys of a ConfigMap, and none of a Secret",
			`
sources: [{name: cm, apiVersion: v1, kind: ConfigMap}, {name: ca, apiVersion: v1, kind: Secret}]
configMaps:
- name: a
  dataFrom: [{extract: {key: cm}}, {extract: {key: ca}}, {extract: {key: db, property: a}}, {extract: {key: composite}},
    {extract: {key: environment, property: a}}, {valueMap: "{'a': secrets.db.host}"}, {find: {path: db}}]`,
			[]string{
				`configMaps[0].dataFrom[1].extract.key: "ca" is secret data`,
				`configMaps[0].dataFrom[2].extract.key: "db" is secret data`,
				`configMaps[0].dataFrom[3].extract.key: "composite" is secret data`,
				"configMaps[0].dataFrom[5].valueMap:1:17: " + host, "configMaps[0].dataFrom[6].find: finds secret data",
			},
		},
		"Dots": {
			"in nonSensitive, the first dot ends the input, so that an input with a dot is in brackets",
			configMap(`
  {key: k, value: "secrets['db.main'].host", nonSensitive: ["['db.main'].host"]},
  {key: l, value: "secrets['db.main'].host", nonSensitive: [db.main.host]},
  {key: m, value: "secrets.db['main.host']", nonSensitive: [db.main.host]}`),
			[]string{"configMaps[0].data[1].value:1:19: uses secrets['db.main'].host"},
		},
		"Computed": {
			"nonSensitive cannot list all keys, or all inputs",
			configMap(`
  {key: k, value: "secrets.db[composite.spec.x]", nonSensitive: [db.*, db]},
  {key: l, value: "secrets[composite.spec.x].host", nonSensitive: ["*.host", "*.*", "*"]}`),
			[]string{"configMaps[0].data[0].value:1:11: uses all of secrets.db",
				"configMaps[0].data[1].value:1:26: uses all of secrets"},
		},
	})
}

// Other diagnostics of the plan.
func TestRefusals(t *testing.T) {
	const data = `data: [{key: k, value: "'1'"}]`
	checkRefusals(t, map[string]refusal{
		"ExportAndSecretSource": {
			"secrets.a would be the source now, and the export once it is observed",
			"sources: [{name: a, apiVersion: v1, kind: Secret}]\nsecrets: [{name: a, " + data + "}]",
			[]string{`secrets[0].name: composition resource name "a" is also used by sources[0].name`},
		},
		"InDocumentOrder": {
			"item 10 is after item 2",
			`
status: [{fieldPath: x, value: nope}]
configMaps: [{name: a, data: [{key: k, value: nope}]}]
secrets:
- name: a
  data: [` + strings.Repeat("{valueMap: composite.a}, ", 2) + "{key: c, value: nope}, " +
				strings.Repeat("{valueMap: composite.a}, ", 7) + `{key: b, value: nope}]
variables: [{name: v, value: nope}]
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: nope}]`,
			[]string{
				"sources[0].nameExpression:1:1: there is no variable nope", "variables[0].value:1:1: there is no variable nope",
				"secrets[0].data[2].value:1:1: there is no variable nope", "secrets[0].data[10].value:1:1: there " +
					"is no variable nope",
				`configMaps[0].name: composition resource name "a" is also used by secrets[0].name`,
				"configMaps[0].data[0].value:1:1: there is no variable nope", "status[0].value:1:1: there is no variable nope",
			},
		},
		"NamesAreKnownFirst": {
			"requests must not depend on what is requested, also through a variable",
			generators + `
environment: {environmentConfigs: [{ref: {name: a}}]}
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: environment.name}]
variables: [{name: v, value: sources.s.data.x}]
configMaps:
- name: a
  metadata: {nameExpression: variables.v, namespaceExpression: generated.id.uuid}
  data: [{key: k, value: "'v'"}]`,
			[]string{
				"sources[0].nameExpression: may not use the environment", "configMaps[0].metadata.nameExpression: " +
					"may not use sources",
				"configMaps[0].metadata.namespaceExpression:1:13: may not use generated.id.uuid",
			},
		},
		"NamesFromEarlierSteps": {
			"the environment of an earlier step and defaults are known",
			"environment: {defaultData: {a: x}}\nconfigMaps: [{name: a, metadata: {nameExpression: environment.a}, " +
				data + "}]", nil,
		},
		"Items": {
			"no other object may have the name of an item",
			"secrets: [{name: users, " + ofItem + ", " + data + "}, {name: users/a, metadata: {name: a}, " + data +
				"}]\ngenerators: [{name: u, " + ofItem + ", uuid: {}}, {name: u-a, uuid: {}}, {name: ub, uuid: {}}]",
			[]string{"generators[1].name: begins with u-", "secrets[1].name: begins with users/"},
		},
		"Writers": {
			"each one names the first one",
			`secrets: [{name: a, data: [{key: k, value: "'1'"}, {key: k, value: "'2'"}, {valueMap: "{'k': '3'}"}]}]`,
			[]string{
				`secrets[0].data[1].key: key "k" is written by secrets[0].data[0] and secrets[0].data[1]`,
				`secrets[0].data[2].valueMap: key "k" is written by secrets[0].data[0] and secrets[0].data[2]`,
			},
		},
		"LastWins": {
			"the input says which one is meant",
			`secrets: [{name: a, conflictPolicy: LastWins, data: [{key: k, value: "'1'"}, {key: k, value: "'2'"}]}]`,
			nil,
		},
		"Replaced": {
			"a field is written once",
			"environment: {set: [{fieldPath: \"a[*]\", value: '1'}, {fieldPath: a.b, value: '1'}, {fieldPath: a, " +
				"value: '1'}]}",
			[]string{"environment.set[0].fieldPath: must not have", "environment.set[2].fieldPath: replaces the " +
				"value that environment.set[1]"},
		},
		"Authority": {
			"another generator that makes one CA",
			`
generators:
- {name: root, certificate: {isCA: true, subject: {commonName: the root}}}
- {name: near, certificate: {ca: rot, dnsNames: [a.b]}}
- {name: word, password: {}}
- {name: ofword, certificate: {ca: word, dnsNames: [a.b]}}
- {name: leaf, certificate: {ca: root, dnsNames: [a.b]}}
- {name: ofleaf, certificate: {ca: leaf, dnsNames: [a.b]}}
- {name: same, certificate: {ca: root, subject: {commonName: the root}}}
- {name: self, certificate: {ca: self, dnsNames: [a.b]}}
- {name: many, ` + ofItem + `, certificate: {isCA: true, subject: {commonName: ca}}}
- {name: ofmany, certificate: {ca: many, dnsNames: [a.b]}}`,
			[]string{
				`generators[1].certificate.ca: there is no generator "rot": did you mean root?`,
				`generators[3].certificate.ca: generator "word" does not generate`,
				"generators[5].certificate.ca: names a certificate that",
				"generators[6].certificate.subject: is also the subject of the CA",
				"generators[7].certificate.ca: must not be the generator",
				`generators[9].certificate.ca: generator "many" generates a certificate for each item`,
			},
		},
		"Outputs": {
			"a generator has its outputs below its name, and for each item below a key",
			generators + `
secrets:
- name: a
  data:
  - {key: k, value: generated.users.password}
  - {key: l, value: generated.id.password}
  - {key: m, value: generated.no.uuid}
  dataFrom: [{extract: {key: generated.users}}, {find: {path: generated.id/}}]`,
			[]string{
				`secrets[0].data[0].value:1:16: generator "users" has outputs for each item: write generated`,
				`secrets[0].data[1].value:1:13: generator "id" has no output "password"`,
				`secrets[0].data[2].value:1:13: there is no generator "no"`,
				`secrets[0].dataFrom[0].extract.key: generator "users" has outputs for each item`,
				"secrets[0].dataFrom[1].find.path: does not find outputs of generators",
			},
		},
		"Derived": {
			"the source of a hash is known when the hash is made",
			`
generators:
- {name: admin, password: {}}
- {name: hash, bcrypt: {secretExpression: secrets.hash.password + generated.admin.password}}
- {name: any, bcrypt: {secretExpression: "generated[composite.spec.x].seed"}}
- {name: other, bcrypt: {secretExpression: generated.hash.hash}}`,
			[]string{
				"generators[2].bcrypt.secretExpression:1:28: may not use all of generated",
				"generators[3].bcrypt.secretExpression:1:15: may not use generated.hash.hash",
			},
		},
		"LengthTwice": {
			"one of them would be ignored",
			"generators: [{name: a, password: {length: 20, lengthExpression: composite.spec.length}}]",
			[]string{"generators[0].password.lengthExpression: must not be set together with length: keep one of them"},
		},
		"DependentParameters": {
			"the number of digits may fit a length that is not known",
			"generators: [{name: a, password: {digits: 8, symbols: 20, lengthExpression: composite.spec.length}}]", nil,
		},
		"Authors": {
			"sources are not for composite authors",
			"sources: [{name: ca, apiVersion: v1, kind: Secret}]\nfromComposite: {fieldPath: spec, allow: " +
				"{secrets: [db, ca]}}",
			[]string{`fromComposite.allow.secrets[1]: "ca" is a source`},
		},
	})
}

// No revision can change itself: each change of data is a new revision.
func TestRevisions(t *testing.T) {
	input := func(first, second, more string) string {
		reads := func(x string) string { return `data: [{key: a, value: "` + x + `"}]` }
		return "secrets: [{name: first, " + reads(first) + "}, {name: second, " + reads(second) + "}]\n" + more
	}
	const (
		plain = "composite.spec.a"
		first = "string(revisions.first)"
	)
	checkRefusals(t, map[string]refusal{
		"Status": {"a status field may have any revision", input(plain, plain, "status: [{fieldPath: a, value: "+
			"revisions.second}]"), nil},
		"LaterData": {"data of a later export cannot change an earlier one", input(plain, first, ""), nil},
		"OwnData": {"each change would be a change", input(first, plain, ""),
			[]string{"secrets[0].data[0].value:1:17: may use only"}},
		"Earlier": {
			"two exports would change each other", input("string(revisions.second)", plain, ""),
			[]string{"secrets[0].data[0].value:1:17: may use only"},
		},
		"Computed": {
			"a computed name may be its own", input(plain, "string(revisions[composite.spec.a])", ""),
			[]string{"secrets[1].data[0].value:1:17: must name the export"},
		},
		"Variable": {
			"a variable may be used in data", input(plain, plain, "variables: [{name: v, value: revisions.first}]"),
			[]string{"variables[0].value:1:10: may not use revisions"},
		},
	})
}

// The verification of a pending generation depends on that generation, and on no other one.
func TestVerifications(t *testing.T) {
	ready := func(kind, x string) string {
		return `
generators:
- {name: other, uuid: {}}
- {name: admin, ` + kind + ", readyExpression: " + x + `}
variables: [{name: v, value: candidate.admin.password}]`
	}
	const (
		password = "password: {}"
		resource = "resource: {manifest: {apiVersion: example.org/v1, kind: User}}"
		at       = "generators[1].readyExpression"
	)
	checkRefusals(t, map[string]refusal{
		"Applied": {"the provider writes what it applied", ready(password,
			"secrets.db.password == candidate.admin.password"), nil},
		"Resource": {"a resource says that it works", ready(resource, "resource.status.ok"), nil},
		"Constant": {"it says nothing about the generation", ready(password, "'true'"), []string{at +
			": does not depend on"}},
		"OfTheComposite": {"resource is the composite", ready(password, "has(resource.status.a)"), []string{at +
			": does not depend on"}},
		"Generated": {"the generation in use is another one", ready(password, "generated.admin.password == ''"),
			[]string{at + ":1:16: may not use"}},
		"All": {"it reads all generators", ready(password, "size(candidate) == 3"), []string{at +
			":1:6: may not use all of candidate"}},
		"Variable": {"a variable has one value in a reconcile", ready(password, "variables.v == ''"),
			[]string{at + ":1:10: may not use"}},
	})
}
