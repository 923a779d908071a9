package inspect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
)

// noticedTexts is a line for each input, and one for the next call.
func noticedTexts(ex *inspect.Explanation) []string {
	join := func(parts ...string) string { return strings.TrimSpace(strings.Join(parts, " ")) }
	var out []string
	for _, n := range ex.Freshness {
		out = append(out, join(n.Input+":", string(n.How), string(n.Within), string(n.Older)))
	}
	next := ex.NextCall
	text := join("again:", string(next.Within))
	if next.Older != "" {
		text += ", older " + string(next.Older)
	}
	if next.Environment != "" {
		text += ", environment " + string(next.Environment)
	}
	if next.Generators {
		text += ", generators"
	}
	return append(out, text)
}

func TestExplainFreshness(t *testing.T) {
	const (
		own       = "<namespace of the composite or its claim>"
		composite = "composite: watched 0s"
		db        = "resources.db: watched 0s"
		details   = "Secret <namespace of resources.db>/<spec.writeConnectionSecretToRef.name of resources.db>: required 0s 60s"
		authors   = "Secret " + own + ": required 0s 60s"
		earlier   = "environment: earlierStep 60s"
	)
	for name, tc := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Composite": {
			reason: "Each version of Crossplane watches the composite, and nothing else is read.",
			input:  `status: [{fieldPath: a, value: composite.spec.a}]`,
			want:   []string{composite, "again: 10m"},
		},
		"From": {
			reason: "The resource that from names is composed, and its connection Secret is required.",
			input:  `secrets: [{name: s, from: db, metadata: {name: s, namespace: team}, data: [{key: a, value: secret.password}]}]`,
			want:   []string{composite, db, details, "Secret team/s: required 0s 60s", "again: 10m, older 60s"},
		},
		"SecretSource": {
			reason: "A Secret source is required, and secrets.ca is not a composed resource. A source that is not used is not read.",
			input: `
sources: [{name: ca, apiVersion: v1, kind: Secret, namespace: platform}, {name: unused, apiVersion: v1, kind: ConfigMap}]
status: [{fieldPath: a, value: secrets.ca.name, nonSensitive: [ca.name]}]`,
			want: []string{composite, "Secret platform/ca: required 0s 60s", "again: 10m, older 60s"},
		},
		"DeclaredObjects": {
			reason: "Crossplane reads them for the Composition. They do not show the function whether Crossplane watches them.",
			input:  `status: [{fieldPath: a, value: "sources.zones[0].metadata.name"}]`,
			want:   []string{composite, "sources.zones: declared 0s 60s", "again: 60s"},
		},
		"Find": {
			reason: "A find can read each composed resource, or only the one in its path.",
			input: `
secrets:
- {name: a, metadata: {name: a, namespace: team}, dataFrom: [{find: {path: db/}}]}
- {name: b, metadata: {name: b, namespace: team}, dataFrom: [{find: {name: {regexp: port}}}]}`,
			want: []string{
				composite, db, "resources[*]: watched 0s",
				"Secret <namespace of each composed resource that the find matches>/" +
					"<spec.writeConnectionSecretToRef.name of each composed resource that the find matches>: required 0s 60s",
				"Secret team/a: required 0s 60s", "Secret team/b: required 0s 60s", "again: 10m, older 60s",
			},
		},
		"EnvironmentHere": {
			reason: "EnvironmentConfigs are required. They are merged with the environment of an earlier step.",
			input: `
environment:
  environmentConfigs:
  - {type: Reference, ref: {name: base}}
  - {type: Selector, selector: {matchLabels: [{key: stage, type: FromCompositeFieldPath, valueFromFieldPath: spec.stage}, {key: team, type: Value, value: blue}]}}
status: [{fieldPath: a, value: environment.a}]`,
			want: []string{
				composite, "EnvironmentConfig base: required 0s 60s",
				"EnvironmentConfig with the label stage=<composite.spec.stage> and team=blue: required 0s 60s", earlier,
				"again: 10m, older 60s, environment 60s",
			},
		},
		"EnvironmentBefore": {
			reason: "The function does not know which objects an earlier step has read for the environment.",
			input:  `status: [{fieldPath: a, value: environment.a}]`,
			want:   []string{composite, earlier, "again: 10m, environment 60s"},
		},
		"Context": {
			reason: "An earlier step sets it, and only that step knows from which objects.",
			input:  `status: [{fieldPath: a, value: "context['example.org/a']"}]`,
			want:   []string{composite, "context: earlierStep 60s", "again: 60s"},
		},
		"NoTTL": {
			reason: "Without another call, a change of an input that is not watched is never noticed.",
			input: `
ttl: 0s
configMaps: [{name: m, metadata: {name: m, namespace: team}, data: [{key: a, value: "string(context.a)"}]}]`,
			want: []string{
				composite, "ConfigMap team/m: required 0s never", "context: earlierStep never", "again: never",
			},
		},
		"Generators": {
			reason: "The function itself changes their outputs. Inputs of a generator are noticed like others.",
			input: `
generators:
- {name: admin, password: {}, namespace: team, refreshPolicy: OnChange, keepersExpression: resources.db.status.version}
- {name: hash, bcrypt: {secretExpression: generated.admin.password}, namespace: team}
secrets: [{name: s, metadata: {name: s, namespace: team}, data: [{key: a, value: generated.hash.hash}]}]`,
			want: []string{
				composite, db, "Secret team/s: required 0s 60s",
				"Secret team/<composite.metadata.name + '-admin-' + string(generation.number)>: required 0s 60s",
				"Secret team/<composite.metadata.name + '-hash-' + string(generation.number)>: required 0s 60s",
				"generated.admin: scheduled 0s", "generated.hash: scheduled 0s", "again: 10m, generators",
			},
		},
		"FromComposite": {
			reason: "Composite authors may read what the input allows.",
			input:  `fromComposite: {fieldPath: spec.exports, allow: {secrets: [db], resources: [cache], environment: true}}`,
			want: []string{
				composite, "resources.cache: watched 0s", db, details, authors, strings.Replace(authors, "Secret", "ConfigMap", 1), earlier,
				"again: 10m, older 60s, environment 60s",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, noticedTexts(explain(t, tc.input))); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
