package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// everything finds two EnvironmentConfigs and writes into what they hold.
const everything = `
environment:
  defaultData: {region: default, zone: default, app: {name: default, size: 1}}
  environmentConfigs:
  - {ref: {name: base}}
  - type: Selector
    selector: {matchLabels: [{key: region, valueFromFieldPath: spec.region}]}
  set:
  - {fieldPath: widgets.count, value: composite.spec.size}
  - {fieldPath: widgets.twice, value: environment.widgets.count * 2}
  - {fieldPath: endpoint, value: resources.db.status.endpoint}
configMaps:
- name: all
  data: [{key: e, value: json.encode(environment)}]
status:
- {fieldPath: region, value: environment.region}
`

// configs are EnvironmentConfigs in the cluster.
const configs = `
cluster:
- {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: base},
    data: {region: base, app: {name: base}, list: [1]}}
- {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: eu, labels: {region: eu}},
    data: {region: eu-1, list: [2]}}
- {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: us, labels: {region: us}},
    data: {region: us-1}}
`

func TestRunEnvironment(t *testing.T) {
	const gvk = `"apiVersion":"internal.crossplane.io/v1alpha1"`
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
		env     string // as JSON
	}{
		"Everything": {
			reason:  "found, merged and set, for expressions, status and later steps",
			input:   everything,
			objects: configs,
			want: []string{
				`Available ConfigMap team/xr-all {data: {e: {` + gvk +
					`,"app":{"name":"base","size":1},"endpoint":"db.example.org","kind":"Environment","list":[2],"region":"eu-1",` +
					`"widgets":{"count":3,"twice":6},"zone":"default"}}}`,
				"Available region=eu-1",
			},
			env: `{apiVersion: internal.crossplane.io/v1alpha1, app: {name: base, size: 1}, endpoint: ` +
				`db.example.org, kind: Environment, list: [2], region: eu-1, widgets: {count: 3, twice: 6}, zone: ` +
				`default}`,
		},
		"Fails": {
			reason: "a failure is told, also of an optional field",
			input: `
environment:
  defaultData: {a: default, text: t}
  set:
  - {fieldPath: a, value: "composite.spec.size / 0", optional: true}
  - {fieldPath: text.deep, value: "1"}`,
			want: []string{
				"Held! | environment.a is not set: environment.set[0].value:1:21: / failed on int and int: the " +
					"divisor is zero, or an operand is not a number",
				"Held! | environment.text.deep is not set: environment.set[1].fieldPath: " + notAnObject,
			},
			env: `{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, text: t}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newScene(t, plantest.Exports(c.input), c.objects).run(t)
			if diff := cmp.Diff(c.want, show(r)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.env, flow1(r.Environment.AsMap())); diff != "" {
				t.Errorf("%s: environment: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

const notAnObject = `cannot set "text.deep": "text" is not an object`

// A missing EnvironmentConfig that is required is an error: nothing is applied without it.
func TestRunEnvironmentRefused(t *testing.T) {
	for name, c := range map[string]struct{ reason, input, want string }{
		"Missing": {
			"a reference", "environment: {environmentConfigs: [{ref: {name: nope}}]}",
			`environment.environmentConfigs[0].ref.name: EnvironmentConfig "nope" of ` +
				`apiextensions.crossplane.io/v1beta1 does not exist`,
		},
		"TooMany": {
			"Single is one", "environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{type: " +
				"Value, key: a, value: b}]}}]}",
			"environment.environmentConfigs[0].selector: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input+"\nconfigMaps: [{name: a, data: [{key: k, value: \"'v'\"}]}]"),
				configs)
			r, err := s.call(t)
			for i := 0; i < 2 && err == nil; i++ {
				for _, q := range r.Requirements {
					s.req.Found[q.Key()] = s.answer(q)
				}
				r, err = s.call(t)
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: want an error %s..., got %v", c.reason, c.want, err)
			}
			t.Log(err)
		})
	}
}
