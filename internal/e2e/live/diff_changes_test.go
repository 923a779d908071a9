package live_test

import (
	"fmt"
	"strings"

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

// The steps of other functions.
var (
	databaseByPatch    = strings.ReplaceAll(composeByPatch, "METADATA", "namespace: diff-a")
	databaseByTemplate = strings.ReplaceAll(composeByTemplate, "METADATA", "") + `
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

// Entries of the exports of the fleets.
const (
	keyUsername    = "{key: username, value: secret.username}"
	keyPassword    = "{key: password, value: secret.password}"
	keyUsernameAt  = "{key: username, value: secret.username + '@db'}"
	keyHost        = "{key: host, value: resource.status.host}"
	keyRegion      = "{key: region, value: composite.spec.region}"
	keyRegionMaybe = "{key: region, value: composite.spec.region, optional: true}"
	keyTierMaybe   = "{key: tier, value: composite.spec.tier, optional: true}"
	keysOfSecret   = "{valueMap: secret}"
	pinName        = `metadata: {nameExpression: "composite.metadata.name + '-conn'"}, `
	idGenerator    = "{name: id, uuid: {}}"
)

// diffExport returns the entry of a Secret, or of a ConfigMap, in a stage.
func diffExport(name, fields string, data ...string) string {
	return fmt.Sprintf("{name: %s, %sdata: [%s]}", name, fields, strings.Join(data, ", "))
}

func diffSecrets(exports ...string) string {
	return "\nsecrets: [" + strings.Join(exports, ",\n  ") + "]"
}
func diffConfigMaps(exports ...string) string {
	return "\nconfigMaps: [" + strings.Join(exports, ",\n  ") + "]"
}
func adminGenerator(fields string, generators ...string) string {
	one := "{name: admin, " + fields + ", symbols: 0}}"
	return "\ngenerators: [" + strings.Join(append([]string{one}, generators...), ",\n  ") + "]"
}

// The exports that several stages have.
var (
	copyExport  = diffExport("copy", "from: db, ", "{key: user, value: secret.username}")
	pinnedDB    = diffSecrets(diffExport("all", pinName+"from: db, ", keysOfSecret))
	settingsMap = diffConfigMaps(diffExport("settings", "", keyRegion))
	inA         = diffConfigMaps(diffExport("settings", "metadata: {namespace: diff-a}, ", keyRegion))
	inB         = diffSecrets(diffExport("conn", "metadata: {namespace: diff-b}, from: db, ", keysOfSecret))
	ofAdmin     = diffSecrets(diffExport("admin", "", "{key: password, value: generated.admin.password}"))
	withID      = diffSecrets(diffExport("admin", "", "{key: password, value: generated.admin.password}",
		"{key: id, value: generated.id.uuid}"))
	handledBy = "\nstatus: [{fieldPath: handled, value: composite.spec.region}]"
)

// fleets are five Compositions. All of them change at once, so that each round has five changes.
var fleets = []fleet{
	{name: "orders", kind: "App", others: databaseByPatch, stages: []fleetStage{
		{"", []string{diffSecrets(diffExport("conn", "from: db, ", keyUsername, keyPassword))}},
		{"a key is added, and another one changes",
			[]string{diffSecrets(diffExport("conn", "from: db, ", keyUsernameAt, keyPassword, keyHost))}},
		{"the export is renamed",
			[]string{diffSecrets(diffExport("login", "from: db, ", keyUsernameAt, keyPassword, keyHost))}},
		{"a key is removed, and a label is added", []string{
			diffSecrets(diffExport("login", "from: db, metadata: {labels: {team: payments}}, ", keyUsernameAt,
				keyPassword)),
		}},
		{"the Secret becomes a ConfigMap", []string{diffConfigMaps(diffExport("login", "from: db, ", keyHost))}},
	}},
	{name: "carts", kind: "App", others: databaseByTemplate, stages: []fleetStage{
		{"", []string{diffSecrets(diffExport("conn", "from: db, ", keyUsername, keyPassword))}},
		{"from is a resource that few composites have", []string{
			diffSecrets(diffExport("conn", "from: cache, ", keyUsername, keyPassword)),
		}},
		{"from is changed back, and new inputs are required and optional", []string{
			diffSecrets(diffExport("conn", "from: db, ", keyUsername, keyPassword, keyRegion, keyTierMaybe)),
		}},
		{"the object gets another name", []string{diffSecrets(diffExport(
			"conn", `metadata: {nameExpression: "composite.metadata.name + '-other'"}, from: db, `, keyUsername,
			keyPassword, keyRegionMaybe,
		))}},
		{"an expression fails", []string{
			diffSecrets(diffExport("conn", "from: db, ", "{key: username, value: secret.username.substring(1000)}",
				keyPassword)),
		}},
	}},
	{name: "shops", kind: "App", others: databaseByPatch, stages: []fleetStage{
		{"", []string{diffSecrets(diffExport("conn", "from: db, ", keysOfSecret), copyExport), settingsMap}},
		{"an export moves to another step", []string{
			diffSecrets(copyExport), diffSecrets(diffExport("conn", "from: db, ", keysOfSecret)) + settingsMap,
		}},
		{"an export is renamed, and keeps the name of its object",
			[]string{diffSecrets(copyExport), pinnedDB + settingsMap}},
		{"an export is removed, and the composite authors may request exports", []string{
			"\nfromComposite: {fieldPath: spec.exports, allow: {resources: [db]}}", pinnedDB + settingsMap,
		}},
		{"the composite authors may not request exports", []string{pinnedDB, settingsMap}},
	}},
	{name: "vaults", kind: "App", others: databaseByPatch, stages: []fleetStage{
		{"", []string{adminGenerator("refreshPolicy: OnChange, gracePeriod: 24h, password: {length: 24", idGenerator) +
			withID}},
		{"a password is longer", []string{
			adminGenerator("refreshPolicy: OnChange, gracePeriod: 24h, password: {length: 32", idGenerator) + withID,
		}},
		{"the grace period ends at once, and the password rotates from now on", []string{
			adminGenerator("refreshPolicy: Periodic, refreshInterval: 720h, gracePeriod: 0s, password: {length: 32",
				idGenerator) + withID,
		}},
		{"a generator is removed with its key", []string{
			adminGenerator("refreshPolicy: Periodic, refreshInterval: 720h, password: {length: 32") + ofAdmin,
		}},
		{"a longer password must work before it is used", []string{
			adminGenerator(`refreshPolicy: OnChange, readyExpression: "candidate.admin.password == 'other'", `+
				`password: {length: 40`) +
				ofAdmin,
		}},
	}},
	{name: "sites", kind: "Site", others: databaseByPatch, stages: []fleetStage{
		{"", []string{diffSecrets(diffExport("conn", "metadata: {namespace: diff-a}, from: db, ", keysOfSecret)) +
			inA}},
		{"there is a new status field, and a new field of the environment", []string{
			"\nenvironment: {set: [{fieldPath: region, value: composite.spec.region, optional: true}]}" +
				diffSecrets(diffExport("conn", "metadata: {namespace: diff-a}, from: db, ", keysOfSecret)) + inA +
				handledBy,
		}},
		{"a source is required that does not exist", []string{
			"\nsources: [{name: cfg, apiVersion: v1, kind: ConfigMap, namespace: diff-a, name: platform}]" +
				diffSecrets(diffExport("conn", "metadata: {namespace: diff-a}, from: db, ", keysOfSecret)) +
				diffConfigMaps(diffExport("settings", "metadata: {namespace: diff-a}, ",
					"{key: region, value: composite.spec.region + sources.cfg.data.suffix}")) + handledBy,
		}},
		{"an export has another namespace, and the source is not read any more", []string{inB + inA + handledBy}},
		{"an EnvironmentConfig is required that does not exist", []string{
			"\nenvironment: {environmentConfigs: [{ref: {name: diff-missing}}]}" + inB + inA + handledBy,
		}},
	}},
}

// composition returns the Composition of a stage.
func (d *diffRun) composition(f fleet, stage int) *unstructured.Unstructured {
	pipeline := d.pipeline(f.others)

	for i, input := range f.stages[stage].inputs {
		in, err := live.Parse("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports" + input)
		d.must(err)

		pipeline = append(pipeline, map[string]any{
			"step": fmt.Sprintf("export-%d", i), "functionRef": map[string]any{"name": diffFunction},
			"input": in[0].Object,
		})
	}

	return compositionOf(f.name, f.kind, pipeline)
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
		spec += ", tier: gold, exports: {secretExpressions: [" +
			"{name: " + r.Name + "-own, key: host, value: resources.db.status.host}]}"
	}

	if i%3 == 0 {
		spec += ", cache: true"
	}

	if i == pinned {
		crossplane += ", compositionUpdatePolicy: Manual"
	}

	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %q}, spec: {crossplane: {%s}%s}}",
		r.APIVersion, r.Kind, r.Name, r.Namespace, crossplane, spec)
}
