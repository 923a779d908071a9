package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

func TestCompileGenerators(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"Certificates": {
			reason: "the issuer must be a CA, and another generator",
			input: `
generators:
- {name: root, certificate: {isCA: true, subject: {commonName: the root}}}
- {name: near, certificate: {ca: rot, dnsNames: [a.b]}}
- {name: far, certificate: {ca: elsewhere, dnsNames: [a.b]}}
- {name: word, password: {}}
- {name: ofword, certificate: {ca: word, dnsNames: [a.b]}}
- {name: leaf, certificate: {ca: root, dnsNames: [a.b]}}
- {name: ofleaf, certificate: {ca: leaf, dnsNames: [a.b]}}
- {name: same, certificate: {ca: root, subject: {commonName: the root}}}
- {name: self, namespace: A.b, certificate: {ca: self, dnsNames: [a.b]}}`,
			want: []string{
				`generators[1].certificate.ca: there is no generator "rot": did you mean root?`,
				`generators[2].certificate.ca: there is no generator "elsewhere": there are leaf, near, ofleaf, ofword, root, same, self, word`,
				`generators[4].certificate.ca: generator "word" does not generate a certificate`,
				"generators[6].certificate.ca: names a certificate that is not a CA: set its isCA to true",
				"generators[7].certificate.subject: is also the subject of the CA, so that the certificate would seem to sign itself: set another commonName",
				`generators[8].namespace: cannot use namespace "A.b": use lower-case letters, digits and '-', and start and end with a letter or a digit`,
				"generators[8].certificate.ca: must not be the generator itself: leave ca out for a self-signed certificate",
			},
		},
	})
}

func TestCompileManifests(t *testing.T) {
	const (
		meta   = ": below metadata, set may write only name, labels and annotations"
		noData = "must not be set, because the manifest is stored in an annotation: export the data, or let another controller write it"
		at     = "generators[0].resource."
	)
	manifest := func(text string) string { return "generators: [{name: a, resource: {manifest: " + text + "}}]" }
	set := func(items string) string {
		return "generators: [{name: a, resource: {manifest: {apiVersion: example.org/v1, kind: User}, set: [" + items + "]}}]"
	}
	checkCompiled(t, map[string]compiled{
		"Metadata": {
			reason: "a name is of one generation, a namespace is one, and the rest is not an author's",
			input:  manifest("{apiVersion: v1, kind: User, metadata: {namespace: A.b, uid: y, generateName: x-, ownerReferences: [], finalizers: [a], managedFields: []}}"),
			want: []string{
				"generators[0].resource.manifest.metadata.finalizers: must not be set in a manifest",
				"generators[0].resource.manifest.metadata.generateName: must not be set in a manifest",
				"generators[0].resource.manifest.metadata.managedFields: must not be set in a manifest",
				`generators[0].resource.manifest.metadata.namespace: cannot use namespace "A.b": use lower-case letters, digits and '-', and start and end with a letter or a digit`,
				"generators[0].resource.manifest.metadata.ownerReferences: must not be set in a manifest",
				"generators[0].resource.manifest.metadata.uid: must not be set in a manifest",
			},
		},
		"SecretData": {
			reason: "it would stand in an annotation",
			input:  `generators: [{name: a, resource: {manifest: {apiVersion: v1, kind: Secret, data: {a: b}, stringData: {c: d}}}, readyExpression: "has(secret.token)"}]`,
			want:   []string{at + "manifest.data: " + noData, at + "manifest.stringData: " + noData},
		},
		"TooLarge": {
			reason: "an annotation has a limit",
			input:  manifest(`{apiVersion: v1, kind: User, x: ` + strings.Repeat("x", limits.ManifestBytes) + "}"),
			want: []string{
				"generators[0].resource.manifest: has 65576 bytes, over the limit of 65536: the manifest is stored in an annotation",
			},
		},
		"SetFixed": {
			reason: "which object it is, who has it, and what is not in a manifest either",
			input: set(`{fieldPath: apiVersion, value: "'x'"}, {fieldPath: kind, value: "'x'"}, {fieldPath: metadata, value: "{}"}, {fieldPath: metadata.namespace, value: "'x'"},
  {fieldPath: metadata.uid, value: "'x'"}, {fieldPath: "metadata.ownerReferences[0].uid", value: "'x'"}, {fieldPath: metadata.generateName, value: "'x'"},
  {fieldPath: "metadata.finalizers[0]", value: "'x'"}, {fieldPath: metadata.managedFields, value: "[]"}, {fieldPath: status, value: "{}"}`),
			want: []string{
				at + "set[0].fieldPath: must not be apiVersion: write it into the manifest", at + "set[1].fieldPath: must not be kind: write it into the manifest",
				at + "set[2].fieldPath: must not be metadata" + meta, at + "set[3].fieldPath: must not be metadata.namespace" + meta,
				at + "set[4].fieldPath: must not be metadata.uid" + meta, at + "set[5].fieldPath: must not be metadata.ownerReferences[0].uid" + meta,
				at + "set[6].fieldPath: must not be metadata.generateName" + meta, at + "set[7].fieldPath: must not be metadata.finalizers[0]" + meta,
				at + "set[8].fieldPath: must not be metadata.managedFields" + meta, at + "set[9].fieldPath: must not be status, because the resource's own controller writes it",
			},
		},
		"SetData": {
			reason: "of those whose data is not in a manifest either",
			input: `generators: [{name: a, resource: {manifest: {apiVersion: v1, kind: ConfigMap}, set: [
  {fieldPath: data.x, value: "'x'"}, {fieldPath: "[binaryData]", value: "{}"}, {fieldPath: stringData.x, value: "'x'"}]}, readyExpression: "true"}]`,
			want: []string{
				"generators[0].resource.set[0].fieldPath: must not be data.x, because the manifest is stored in an annotation: export the data instead",
				"generators[0].resource.set[1].fieldPath: must not be binaryData, because the manifest is stored in an annotation: export the data instead",
				"generators[0].resource.set[2].fieldPath: must not be stringData.x, because the manifest is stored in an annotation: export the data instead",
				"generators[0].readyExpression: does not depend on the pending generation: compare something that was observed with resource, secret, candidate.a or generation.number",
			},
		},
		"SetCovers": {
			reason: "what replaces another one comes first, and nothing is written twice",
			input:  set(`{fieldPath: spec.a.b, value: "1"}, {fieldPath: spec.c, value: "1"}, {fieldPath: spec.a, value: "{}"}, {fieldPath: spec.c, value: "1"}`),
			want: []string{
				at + "set[2].fieldPath: replaces the value that " + at + "set[0] writes: remove one of them, or move this one before it",
				at + "set[3].fieldPath: replaces the value that " + at + "set[1] writes: remove one of them, or move this one before it",
			},
		},
		"SetName": {
			reason: "a name is of one generation, and known before anything is read",
			input: set(`{fieldPath: metadata.name, value: "'x'"}`) + `
sources: [{name: s, apiVersion: v1, kind: ConfigMap}]`,
			want: []string{at + "set[0].value: returns the same name for each generation: use generation.number or generation.id in it"},
		},
	})
}

func TestCompileGeneratorExpressions(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"GenerationElsewhere": {
			reason: "only of a manifest it is known which generation it is",
			input: `
generators:
- {name: a, uuid: {}, refreshPolicy: OnChange, keepersExpression: generation.number}
- {name: b, bcrypt: {secretExpression: generation.id}}
- {name: c, resource: {manifest: {apiVersion: example.org/v1, kind: User}, outputs: {a: generation.id}}}
variables: [{name: v, value: generation}]
secrets: [{name: s, metadata: {nameExpression: generation.id}, data: [{key: k, value: generation.id}]}]
configMaps: [{name: c, data: [{key: k, value: generation.id}]}]
status: [{fieldPath: a, value: generation.number}]`,
			want: []string{
				"variables[0].value:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"generators[0].keepersExpression:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"generators[1].bcrypt.secretExpression:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"generators[2].resource.outputs[a]:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"secrets[0].metadata.nameExpression:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"secrets[0].data[0].value:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"configMaps[0].data[0].value:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
				"status[0].value:1:1: there is no variable generation here: the variables are candidate, composite, context, environment, generated, previous, resource, resources, revisions, secret, secrets, self, sources, variables",
			},
		},
	})
}

func TestCompileGeneratedFlow(t *testing.T) {
	const gens = "generators: [{name: word, password: {}}, {name: key, sshKey: {}}]\nvariables: [{name: v, value: generated.word.password}]\n"
	list := func(place, use string) string {
		return fmt.Sprintf("%s: uses %s, %s: leave it out, or list %q under nonSensitive if it is not secret", place, use, plantest.Flow, use)
	}
	early := func(place, use string) string {
		return place + ": may not use " + use + ": the name must be known before a credential is generated"
	}
	checkCompiled(t, map[string]compiled{
		"ConfigMap": {
			reason: "by itself, through a variable, the former one, by a computed name, as a map, by its size or its being there; what is listed is one output of one generation",
			input: gens + `
configMaps:
- name: c
  data:
  - {key: a, value: generated.word.password}
  - {key: b, value: previous.word.password}
  - {key: c, value: variables.v}
  - {key: d, value: "generated[composite.spec.x].y"}
  - {key: e, value: "generated.key[composite.spec.x]"}
  - {key: f, value: "generated.word.size() > 0 ? 'a' : 'b'"}
  - {key: g, value: "'word' in previous ? 'a' : 'b'"}
  - {key: h, value: "has(generated.word.password) ? 'a' : 'b'"}
  - {key: i, value: previous.key.publicKey, nonSensitive: [generated.key.publicKey]}
  - {key: j, value: generated.key.publicKey, nonSensitive: [key.publicKey, generated.key.privateKey, "secrets.generated.key.publicKey"]}`,
			want: []string{
				list("configMaps[0].data[0].value:1:15", "generated.word.password"),
				list("configMaps[0].data[1].value:1:14", "previous.word.password"),
				list("configMaps[0].data[2].value:1:10", "generated.word.password"),
				"configMaps[0].data[3].value:1:28: uses all of generated, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive",
				"configMaps[0].data[4].value:1:14: uses all keys of generated.key, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive",
				"configMaps[0].data[5].value:1:10: uses all keys of generated.word, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive",
				"configMaps[0].data[6].value:1:11: uses all of previous, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive",
				list("configMaps[0].data[7].value:1:4", "generated.word.password"),
				list("configMaps[0].data[8].value:1:13", "previous.key.publicKey"),
				list("configMaps[0].data[9].value:1:14", "generated.key.publicKey"),
			},
		},
		"Name": {
			reason: "said once: to list it would not help",
			input: gens + `
secrets: [{name: a, metadata: {nameExpression: variables.v, namespaceExpression: generated.key.publicKey}, data: [{key: k, value: "'v'"}]}]
configMaps: [{name: b, metadata: {nameExpression: previous.key.publicKey}, data: [{key: k, value: "'v'"}]}]`,
			want: []string{
				early("secrets[0].metadata.nameExpression:1:10", "generated.word.password"),
				early("secrets[0].metadata.namespaceExpression:1:14", "generated.key.publicKey"),
				early("configMaps[0].metadata.nameExpression:1:13", "previous.key.publicKey"),
			},
		},
	})
}

func TestCompileGeneratorsThatAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
	}{
		"Design": {reason: "the input that the design shows", input: design},
		"Resource": {
			reason: "a manifest with what varies in it, and what comes of it; generation is a name like others elsewhere",
			input: plantest.Exports(`
generators:
- name: user
  resource:
    manifest: {apiVersion: example.org/v1, kind: User, metadata: {namespace: x, labels: {a: b}, annotations: {c: d}}, spec: {data: {a: b}}}
    set:
    - {fieldPath: metadata.name, value: "'user-%d-%s'.format([generation.number, generation.id])"}
    - {fieldPath: "metadata.labels[example.org/number]", value: string(generation.number)}
    - {fieldPath: spec, value: "{'a': composite.spec.x}"}
    - {fieldPath: spec.list, value: "[1, 2]"}
    - {fieldPath: "spec.list[0]", value: "3"}
    - {fieldPath: spec.none, value: "composite.spec.?none"}
    outputs: {username: resource.spec.name, password: "secret.password + 'x'", self: self.metadata.name, other: secrets.db.x}
  readyExpression: resource.status.?ready.orValue(false) && has(secret.password)
- name: secret
  resource: {manifest: {apiVersion: v1, kind: Secret, type: Opaque}}
  readyExpression: has(secret.token)
- name: other
  resource: {manifest: {apiVersion: example.org/v1, kind: Secret, data: {a: b}}}
secrets: [{name: s, data: [{key: a, value: generated.user.anything}, {key: b, value: "string([1].map(generation, generation)[0])"}]}]`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, faults := plantest.Compile(t, c.input); faults != nil {
				t.Errorf("Compile(...): %s:\n%s", c.reason, strings.Join(faults, "\n"))
			}
		})
	}
}

// design is the unchanged example of the design's section "The input".
const design = `apiVersion: export.fn.crossplane.io/v1beta1
kind: Exports

environment:                      # optional: look up and merge EnvironmentConfigs here, and patch the result
  environmentConfigs:             # same fields as function-environment-configs, so that an input moves over unchanged
  - type: Reference
    ref: {name: example-environment}
  - type: Selector
    selector:
      mode: Single                # or Multiple, with sortByFieldPath, minMatch, maxMatch
      matchLabels:
      - {key: stage, type: FromCompositeFieldPath, valueFromFieldPath: spec.parameters.stage}
      - {key: my-label, type: Value, value: blue}
  defaultData: {region: eu-west-1}
  policy: {resolution: Required}
  set:                            # composite -> environment (From/To/Combine patches of the one-pager, in CEL)
  - {fieldPath: widgets.count, value: composite.spec.widgets}

sources:                          # other objects to read; a Secret is asked for only if an expression uses it
- name: ca
  apiVersion: v1
  kind: Secret
  nameExpression: "composite.metadata.name + '-ca'"   # or name, or matchLabels
  optional: true

variables:                        # evaluated at most once, on first use; may use earlier ones
- name: host
  value: resources['db'].status.atProvider.endpoint

generators:
- name: admin
  password: {length: 32, symbols: 4, symbolCharacters: "-_"}     # or uuid, sshKey, certificate, resource
  refreshPolicy: Periodic         # CreatedOnce (default) | Periodic | OnChange
  refreshInterval: 720h
  gracePeriod: 24h
  keepersExpression: composite.spec.passwordVersion              # a change rotates (Terraform's keepers)

secrets:
- name: connection                # name in the pipeline (composition resource name)
  metadata:
    nameExpression: composite.spec.writeConnectionSecretToRef.name   # default: <composite name>-<export name>
    labels: {team: payments}
    annotationsExpression: "{'example.org/host': variables.host}"
  type: Opaque
  from: db                        # the entry's resource and secret; default: the composite
  data:
  - key: url
    value: "'postgres://%s:%s@%s:%d/app'.format([secret.username, url.queryEscape(secret.password), variables.host, resource.spec.port])"
  - key: ca.crt
    value: secrets.ca['ca.crt']
    optional: true
  - valueMap: "{'username': secret.username, 'password': generated.admin.password}"
  dataFrom:
  - extract: {key: db}            # all of db's connection details
    rewrite:
    - regexp: {source: '^(.*)$', target: 'DB_$1'}
  - find: {path: cache/, name: {regexp: 'port|host'}, tags: {env: dev}}
    rewrite:
    - regexp: {source: 'cache/(.*)', target: 'REDIS_$1'}
    conversionStrategy: Default
    decodingStrategy: None
  connectionDetails: true         # also publish as connection details of a legacy (v1-style) XR

configMaps:
- name: settings
  data:
  - {key: region, value: environment.region}

status:                           # composite status fields (environment or anything non-secret -> XR)
- {fieldPath: endpoint, value: variables.host}

fromComposite:                    # exports that the XR's own author asks for; off unless this is here
  from: db                        # what secret is in those expressions
  fieldPath: spec.operatorSpec    # holds secretExpressions / configMapExpressions (or dynamicSecrets / dynamicConfigMaps)
  allow: {secrets: [db], resources: [db], environment: false}

ttl: 60s
`
