package live_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A fleet is the composites of one Composition, which changes from stage to stage.
type fleet struct {
	name, kind string
	others     string // the steps of other functions, before those of this one
	stages     []fleetStage
}

// A fleetStage is the inputs of this function's steps, and what is new in them.
type fleetStage struct {
	change string
	inputs []string
}

// fleetSize is how many composites a fleet has. Each has the same Composition, and another state.
const fleetSize = 12

// The composites of a fleet that differ from the others.
const (
	pinned    = 8  // its update policy is Manual
	unread    = 9  // its Database has no connection details
	noRegion  = 10 // its spec has no region
	firstTier = 4  // those before it have a tier
)

const (
	databaseByPatch = `
- step: compose
  functionRef: {name: function-patch-and-transform}
  input:
    apiVersion: pt.fn.crossplane.io/v1beta1
    kind: Resources
    resources:
    - name: db
      base: {apiVersion: live.example.org/v1, kind: Database, metadata: {namespace: diff-a}}
      patches:
      - fromFieldPath: metadata.name
        toFieldPath: metadata.name
        transforms: [{type: string, string: {type: Format, fmt: "%s-db"}}]
      - fromFieldPath: metadata.name
        toFieldPath: spec.writeConnectionSecretToRef.name
        transforms: [{type: string, string: {type: Format, fmt: "%s-db-details"}}]
`
	databaseByTemplate = `
- step: compose
  functionRef: {name: function-go-templating}
  input:
    apiVersion: gotemplating.fn.crossplane.io/v1beta1
    kind: GoTemplate
    source: Inline
    inline:
      template: |
        {{ $name := .observed.composite.resource.metadata.name }}
        apiVersion: live.example.org/v1
        kind: Database
        metadata:
          name: {{ $name }}-db
          annotations:
            gotemplating.fn.crossplane.io/composition-resource-name: db
            gotemplating.fn.crossplane.io/ready: "True"
        spec: {writeConnectionSecretToRef: {name: {{ $name }}-db-details}}
        {{ with .observed.composite.resource.spec.cache }}
        ---
        apiVersion: live.example.org/v1
        kind: Database
        metadata:
          name: {{ $name }}-cache
          annotations:
            gotemplating.fn.crossplane.io/composition-resource-name: cache
            gotemplating.fn.crossplane.io/ready: "True"
        spec: {writeConnectionSecretToRef: {name: {{ $name }}-cache-details}}
        {{ end }}
`
)

// fleets are five Compositions. All of them change at once, so that each round has five changes.
var fleets = []fleet{
	{name: "orders", kind: "App", others: databaseByPatch, stages: []fleetStage{
		{"", []string{`
secrets: [{name: conn, from: db, data: [{key: username, value: secret.username}, {key: password, value: secret.password}]}]`}},
		{"a key is added, and another one changes", []string{`
secrets: [{name: conn, from: db, data: [{key: username, value: "secret.username + '@db'"}, {key: password, value: secret.password}, {key: host, value: resource.status.host}]}]`}},
		{"the export is renamed", []string{`
secrets: [{name: login, from: db, data: [{key: username, value: "secret.username + '@db'"}, {key: password, value: secret.password}, {key: host, value: resource.status.host}]}]`}},
		{"a key is removed, and a label is added", []string{`
secrets: [{name: login, from: db, metadata: {labels: {team: payments}}, data: [{key: username, value: "secret.username + '@db'"}, {key: password, value: secret.password}]}]`}},
		{"the Secret becomes a ConfigMap", []string{`
configMaps: [{name: login, from: db, data: [{key: host, value: resource.status.host}]}]`}},
		{"the ConfigMap becomes a Secret again, of another type", []string{`
secrets: [{name: login, from: db, type: kubernetes.io/basic-auth, data: [{key: username, value: secret.username}, {key: password, value: secret.password}]}]`}},
	}},
	{name: "carts", kind: "App", others: databaseByTemplate, stages: []fleetStage{
		{"", []string{`
secrets: [{name: conn, from: db, data: [{key: username, value: secret.username}, {key: password, value: secret.password}]}]`}},
		{"from is a resource that few composites have", []string{`
secrets: [{name: conn, from: cache, data: [{key: username, value: secret.username}, {key: password, value: secret.password}]}]`}},
		{"from is changed back, and a new input is required", []string{`
secrets: [{name: conn, from: db, data: [{key: username, value: secret.username}, {key: password, value: secret.password}, {key: region, value: composite.spec.region}]}]`}},
		{"a new input is optional", []string{`
secrets: [{name: conn, from: db, data: [{key: username, value: secret.username}, {key: password, value: secret.password}, {key: region, value: composite.spec.region}, {key: tier, value: composite.spec.tier, optional: true}]}]`}},
		{"the object gets another name", []string{`
secrets: [{name: conn, from: db, metadata: {nameExpression: "composite.metadata.name + '-other'"}, data: [{key: username, value: secret.username}, {key: password, value: secret.password}, {key: region, value: composite.spec.region, optional: true}]}]`}},
		{"an expression fails", []string{`
secrets: [{name: conn, from: db, data: [{key: username, value: "secret.username.substring(1000)"}, {key: password, value: secret.password}]}]`}},
	}},
	{name: "shops", kind: "App", others: databaseByPatch, stages: []fleetStage{
		{"", []string{`
secrets: [{name: conn, from: db, data: [{valueMap: secret}]}, {name: copy, from: db, data: [{key: user, value: secret.username}]}]`, `
configMaps: [{name: settings, data: [{key: region, value: composite.spec.region}]}]`}},
		{"an export moves to another step", []string{`
secrets: [{name: copy, from: db, data: [{key: user, value: secret.username}]}]`, `
secrets: [{name: conn, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, data: [{key: region, value: composite.spec.region}]}]`}},
		{"an export is renamed, and keeps the name of its object", []string{`
secrets: [{name: copy, from: db, data: [{key: user, value: secret.username}]}]`, `
secrets: [{name: all, from: db, metadata: {nameExpression: "composite.metadata.name + '-conn'"}, data: [{valueMap: secret}]}]
configMaps: [{name: settings, data: [{key: region, value: composite.spec.region}]}]`}},
		{"an export is removed", []string{`
configMaps: []`, `
secrets: [{name: all, from: db, metadata: {nameExpression: "composite.metadata.name + '-conn'"}, data: [{valueMap: secret}]}]
configMaps: [{name: settings, data: [{key: region, value: composite.spec.region}]}]`}},
		{"the composite authors may request exports", []string{`
fromComposite: {fieldPath: spec.exports, allow: {resources: [db]}}`, `
secrets: [{name: all, from: db, metadata: {nameExpression: "composite.metadata.name + '-conn'"}, data: [{valueMap: secret}]}]
configMaps: [{name: settings, data: [{key: region, value: composite.spec.region}]}]`}},
		{"the composite authors may not request exports", []string{`
secrets: [{name: all, from: db, metadata: {nameExpression: "composite.metadata.name + '-conn'"}, data: [{valueMap: secret}]}]`, `
configMaps: [{name: settings, data: [{key: region, value: composite.spec.region}]}]`}},
	}},
	{name: "vaults", kind: "App", others: databaseByPatch, stages: []fleetStage{
		{"", []string{`
generators: [{name: admin, refreshPolicy: OnChange, gracePeriod: 24h, password: {length: 24, symbols: 0}}, {name: id, uuid: {}}]
secrets: [{name: admin, data: [{key: password, value: generated.admin.password}, {key: id, value: generated.id.uuid}]}]`}},
		{"a password is longer", []string{`
generators: [{name: admin, refreshPolicy: OnChange, gracePeriod: 24h, password: {length: 32, symbols: 0}}, {name: id, uuid: {}}]
secrets: [{name: admin, data: [{key: password, value: generated.admin.password}, {key: id, value: generated.id.uuid}]}]`}},
		{"the grace period ends at once", []string{`
generators: [{name: admin, refreshPolicy: OnChange, gracePeriod: 0s, password: {length: 32, symbols: 0}}, {name: id, uuid: {}}]
secrets: [{name: admin, data: [{key: password, value: generated.admin.password}, {key: id, value: generated.id.uuid}]}]`}},
		{"a password rotates from now on", []string{`
generators: [{name: admin, refreshPolicy: Periodic, refreshInterval: 720h, password: {length: 32, symbols: 0}}, {name: id, uuid: {}}]
secrets: [{name: admin, data: [{key: password, value: generated.admin.password}, {key: id, value: generated.id.uuid}]}]`}},
		{"a generator is removed with its key", []string{`
generators: [{name: admin, refreshPolicy: Periodic, refreshInterval: 720h, password: {length: 32, symbols: 0}}]
secrets: [{name: admin, data: [{key: password, value: generated.admin.password}]}]`}},
		{"a longer password must work before it is used", []string{`
generators: [{name: admin, refreshPolicy: OnChange, readyExpression: "candidate.admin.password == 'other'", password: {length: 40, symbols: 0}}]
secrets: [{name: admin, data: [{key: password, value: generated.admin.password}]}]`}},
	}},
	{name: "sites", kind: "Site", others: databaseByPatch, stages: []fleetStage{
		{"", []string{`
secrets: [{name: conn, metadata: {namespace: diff-a}, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, metadata: {namespace: diff-a}, data: [{key: region, value: composite.spec.region}]}]`}},
		{"there is a new status field, and a new field of the environment", []string{`
environment: {set: [{fieldPath: region, value: composite.spec.region, optional: true}]}
secrets: [{name: conn, metadata: {namespace: diff-a}, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, metadata: {namespace: diff-a}, data: [{key: region, value: composite.spec.region}]}]
status: [{fieldPath: handled, value: composite.spec.region}]`}},
		{"a source is required that does not exist", []string{`
sources: [{name: cfg, apiVersion: v1, kind: ConfigMap, namespace: diff-a, name: platform}]
secrets: [{name: conn, metadata: {namespace: diff-a}, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, metadata: {namespace: diff-a}, data: [{key: region, value: "composite.spec.region + sources.cfg.data.suffix"}]}]
status: [{fieldPath: handled, value: composite.spec.region}]`}},
		{"an export has another namespace, and the source is not read any more", []string{`
secrets: [{name: conn, metadata: {namespace: diff-b}, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, metadata: {namespace: diff-a}, data: [{key: region, value: composite.spec.region}]}]
status: [{fieldPath: handled, value: composite.spec.region}]`}},
		{"an EnvironmentConfig is required that does not exist", []string{`
environment: {environmentConfigs: [{ref: {name: diff-missing}}]}
secrets: [{name: conn, metadata: {namespace: diff-b}, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, metadata: {namespace: diff-a}, data: [{key: region, value: composite.spec.region}]}]
status: [{fieldPath: handled, value: composite.spec.region}]`}},
		{"the EnvironmentConfig is not required any more, and a status field is removed", []string{`
secrets: [{name: conn, metadata: {namespace: diff-b}, from: db, data: [{valueMap: secret}]}]
configMaps: [{name: settings, metadata: {namespace: diff-a}, data: [{key: region, value: composite.spec.region}]}]`}},
	}},
}

// composition returns the Composition of a stage.
func (f fleet) composition(stage int) (*unstructured.Unstructured, error) {
	steps, err := live.Parse("steps:" + f.others)
	if err != nil {
		return nil, err
	}

	pipeline, _ := steps[0].Object["steps"].([]any)

	for i, input := range f.stages[stage].inputs {
		in, err := live.Parse("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports" + input)
		if err != nil {
			return nil, err
		}

		pipeline = append(pipeline, map[string]any{
			"step": fmt.Sprintf("export-%d", i), "functionRef": map[string]any{"name": diffFunction}, "input": in[0].Object,
		})
	}

	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": f.name},
		"spec": map[string]any{"mode": "Pipeline", "compositeTypeRef": map[string]any{"apiVersion": group, "kind": f.kind}, "pipeline": pipeline},
	}}, nil
}

// app returns a composite of the fleet.
func (f fleet) app(i int) live.Ref {
	r := live.Ref{APIVersion: group, Kind: f.kind, Name: fmt.Sprintf("%s-%d", f.name, i)}
	if f.kind == "App" {
		r.Namespace = "diff-" + string("ab"[i%2])
	}

	return r
}

// manifest returns the manifest of a composite.
func (f fleet) manifest(i int) string {
	r, spec, crossplane := f.app(i), "", "compositionRef: {name: "+f.name+"}"

	if i != noRegion {
		spec += ", region: eu-west-1"
	}

	if i < firstTier {
		spec += ", tier: gold, exports: {secretExpressions: [{name: " + r.Name + "-own, key: host, value: resources.db.status.host}]}"
	}

	if i%3 == 0 {
		spec += ", cache: true"
	}

	if i == pinned {
		crossplane += ", compositionUpdatePolicy: Manual"
	}

	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %q}, spec: {crossplane: {%s}%s}}", r.APIVersion, r.Kind, r.Name, r.Namespace, crossplane, spec)
}
