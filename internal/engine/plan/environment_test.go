package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// ownEnvironment is said of a name that reads what is known only later.
const ownEnvironment = "may not use the environment, which this input looks up or sets: the name must be known before that; look up and set the environment in an earlier step of the pipeline"

func TestCompileEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		reason, input string
		want          []string
	}{
		"Nothing": {"an environment may be empty", "environment: {}", nil},
		"Moved": {
			reason: "the spec of an input of function-environment-configs",
			input: `
environment:
  defaultData: {a: {b: [1, 2.5, null, "x", true]}}
  policy: {resolution: Optional}
  environmentConfigs:
  - {ref: {name: a}}
  - {type: Reference, ref: {name: b}, selector: {}}
  - type: Selector
    selector: {mode: Multiple, minMatch: 1, maxMatch: 3, sortByFieldPath: "data.order", matchLabels: [{key: a, valueFromFieldPath: spec.region}, {type: Value, key: b, value: ""}]}`,
		},
		"Set": {
			reason: "fields that can be written, each once",
			input: `
environment:
  set:
  - {fieldPath: "a[*]", value: "1"}
  - {fieldPath: a.b, value: "1"}
  - {fieldPath: a, value: "1"}
  - {fieldPath: c, value: timestamp('2020-01-01T00:00:00Z')}`,
			want: []string{
				"environment.set[0].fieldPath: must not have a wildcard: name the field",
				"environment.set[2].fieldPath: replaces the value that environment.set[1] writes: remove one of them, or move this one before it",
				"environment.set[3].value:1:1: must return a value that JSON can represent, but returns a timestamp: wrap it in string(...)",
			},
		},
		"Secrets": {
			reason: "no secret flows into the environment, unless the input declares it nonSensitive",
			input: `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
variables: [{name: v, value: secrets.ca.key}]
environment:
  set:
  - {fieldPath: a, value: secrets.db.password}
  - {fieldPath: b, value: variables.v}
  - {fieldPath: c, value: secret}
  - {fieldPath: d, value: secrets.db.endpoint, nonSensitive: [db.endpoint]}
  - {fieldPath: e, value: "{'k': has(secrets.db.password)}"}`,
			want: []string{
				`environment.set[0].value:1:11: uses secrets.db.password, ` + plantest.Flow + `: leave it out, or list "db.password" under nonSensitive if it is not secret`,
				`environment.set[1].value:1:10: uses secrets.ca.key, ` + plantest.Flow + `: leave it out, or list "ca.key" under nonSensitive if it is not secret`,
				`environment.set[2].value:1:1: uses all keys of secret, ` + plantest.Flow + `: name the keys that it needs, and list those that are not secret under nonSensitive; secret is the connection details of the composite here: write secrets.<name> for a composed resource`,
				`environment.set[4].value:1:10: uses secrets.db.password, ` + plantest.Flow + `: leave it out, or list "db.password" under nonSensitive if it is not secret`,
			},
		},
		"NamesFromTheEnvironment": {
			reason: "what is asked for must not depend on what was asked for",
			input: `
environment: {environmentConfigs: [{ref: {name: a}}]}
variables: [{name: v, value: environment.name}]
sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: environment.name}]
configMaps:
- {name: a, metadata: {nameExpression: variables.v, namespaceExpression: environment.ns}, data: [{key: k, value: string(sources.s.x)}]}`,
			want: []string{
				"sources[0].nameExpression: " + ownEnvironment,
				"configMaps[0].metadata.nameExpression: " + ownEnvironment,
				"configMaps[0].metadata.namespaceExpression: " + ownEnvironment,
			},
		},
		"NamesFromASetEnvironment": {
			reason: "nor on what set gives, which may read a source",
			input:  "environment: {set: [{fieldPath: a, value: \"'x'\"}]}\nconfigMaps: [{name: a, metadata: {nameExpression: environment.a}, data: [{key: k, value: \"'v'\"}]}]",
			want:   []string{"configMaps[0].metadata.nameExpression: " + ownEnvironment},
		},
		"NamesFromEarlierSteps": {
			reason: "the environment of an earlier step and defaults are known",
			input:  "environment: {defaultData: {a: x}}\nconfigMaps: [{name: a, metadata: {nameExpression: environment.a}, data: [{key: k, value: \"'v'\"}]}]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(c.input))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
