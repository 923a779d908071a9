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
