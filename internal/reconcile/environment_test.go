package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

func TestCompileEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		reason, input string
		want          []string
	}{
		"Nothing":   {"an environment may be empty", "environment: {}", nil},
		"Everthing": {"all fields", everything, nil},
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
		"Faults": {
			reason: "those of the package environment, at their paths; fields of set; each once",
			input: `
environment:
  defaultData: [1]
  environmentConfigs:
  - {}
  - {type: Selector, selector: {minMatch: 1.5, maxMatch: -1, matchLabels: [{key: a}]}}
  set:
  - {fieldPath: "a[*]", value: "1"}
  - {value: "1"}
  - {fieldPath: a.b, vaule: "1"}
  - {fieldPath: a.b, value: "1"}
  - {fieldPath: a, value: "1"}
  - {fieldPath: c, value: timestamp('2020-01-01T00:00:00Z')}`,
			want: []string{
				"environment.defaultData: must be an object, but is a list: leave out the dash before its fields",
				"environment.environmentConfigs[0].ref: must be set for type Reference: name an EnvironmentConfig, or set type to Selector",
				"environment.environmentConfigs[1].selector.maxMatch: must be a whole number, 0 or more",
				"environment.environmentConfigs[1].selector.minMatch: must be a whole number, 0 or more",
				"environment.environmentConfigs[1].selector.matchLabels[0].valueFromFieldPath: must be set for types FromCompositeFieldPath and FromEnvironmentFieldPath: name a field, or set type to Value",
				`environment.set[0].fieldPath: must not have a wildcard: name the field`,
				"environment.set[1].fieldPath: must be set",
				"environment.set[2].vaule: is an unknown field: did you mean value?",
				"environment.set[3].fieldPath: replaces the value that environment.set[2] writes: remove one of them, or move this one before it",
				"environment.set[4].fieldPath: replaces the value that environment.set[2] writes: remove one of them, or move this one before it",
				"environment.set[5].value:1:1: must return a value that JSON can represent, but returns a timestamp: wrap it in string(...)",
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
		"TooMany": {
			reason: "lists over their limit are not looked into",
			input:  "environment: {set: [" + strings.Repeat(`{fieldPath: a, value: "1"},`, 65) + "]}",
			want:   []string{"environment.set: has 65 items, over the limit of 64: split the input into several pipeline steps"},
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

const ownEnvironment = "may not use the environment, which this input looks up or sets: the name must be known before that; look up and set the environment in an earlier step of the pipeline"

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
- {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: base}, data: {region: base, app: {name: base}, list: [1]}}
- {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: eu, labels: {region: eu}}, data: {region: eu-1, list: [2]}}
- {apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: us, labels: {region: us}}, data: {region: us-1}}
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
				`Available ConfigMap team/xr-all {data: {e: {` + gvk + `,"app":{"name":"base","size":1},"endpoint":"db.example.org","kind":"Environment","list":[2],"region":"eu-1","widgets":{"count":3,"twice":6},"zone":"default"}}}`,
				"Available region=eu-1",
			},
			env: `{apiVersion: internal.crossplane.io/v1alpha1, app: {name: base, size: 1}, endpoint: db.example.org, kind: Environment, list: [2], region: eu-1, widgets: {count: 3, twice: 6}, zone: default}`,
		},
		"OnTopOfEarlierSteps": {
			reason:  "the context is over the defaults, and under what is found",
			input:   "environment: {defaultData: {a: d, b: d}, environmentConfigs: [{ref: {name: base}}]}",
			objects: configs + "environment: {apiVersion: example.org/v1, kind: Env, a: c, region: c}",
			env:     `{a: c, apiVersion: example.org/v1, app: {name: base}, b: d, kind: Env, list: [1], region: base}`,
		},
		"DefaultsOnly": {
			reason: "nothing to find",
			input:  "environment: {defaultData: {a: d}}",
			env:    `{a: d, apiVersion: internal.crossplane.io/v1alpha1, kind: Environment}`,
		},
		"Waits": {
			reason: "a field that waits is not there, not even with its default; what does not read it goes on",
			input: `
environment:
  defaultData: {endpoint: default, region: eu}
  set:
  - {fieldPath: endpoint, value: resources.later.status.endpoint}
  - {fieldPath: zone, value: "environment.endpoint + 'a'"}
configMaps:
- {name: a, data: [{key: k, value: environment.endpoint}]}
- {name: b, data: [{key: k, value: environment.region}]}`,
			want: []string{
				`Waiting nothing | ConfigMap "a" (team/xr-a) is not created: key "k" waits for environment.endpoint (environment.set[0].value)`,
				"Available ConfigMap team/xr-b {data: {k: eu}}",
				"Waiting | environment.endpoint is not set: it waits for resources.later (no earlier step composes it: use db, or compose it in an earlier step)",
				"Waiting | environment.zone is not set: it waits for environment.endpoint (environment.set[0].value)",
			},
			env: `{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, region: eu}`,
		},
		"Optional": {
			reason: "an optional one that waits, and none, leave the field as it is",
			input: `
environment:
  defaultData: {a: default, b: default}
  set:
  - {fieldPath: a, value: resources.later.status.endpoint, optional: true}
  - {fieldPath: b, value: "composite.spec.?nope"}`,
			env: `{a: default, apiVersion: internal.crossplane.io/v1alpha1, b: default, kind: Environment}`,
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
				"Held! | environment.a is not set: environment.set[0].value:1:21: / failed on int and int: the divisor is zero, or an operand is not a number",
				"Held! | environment.text.deep is not set: environment.set[1].fieldPath: " + notAnObject,
			},
			env: `{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, text: t}`,
		},
		"NoLabel": {
			reason: "a selector none of whose labels has a value finds nothing",
			input: `
environment:
  defaultData: {a: d}
  environmentConfigs:
  - type: Selector
    selector: {matchLabels: [{key: region, valueFromFieldPath: spec.nope, fromFieldPathPolicy: Optional}]}
  - {ref: {name: base}}`,
			objects: configs,
			env: `{a: d, apiVersion: internal.crossplane.io/v1alpha1, app: {name: base}, kind: Environment, list: [1], ` +
				`region: base}`,
		},
		"OfComposite": {
			reason: "a field has no resource that it is from: it reads the composite",
			input:  "environment: {set: [{fieldPath: size, value: resource.spec.size}]}",
			env:    `{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, size: 3}`,
		},
		"Variables": {
			reason: "a variable sees the environment as it is when it is used",
			input: `
variables: [{name: v, value: "environment.?a.orValue('none')"}]
environment:
  set:
  - {fieldPath: before, value: variables.v}
  - {fieldPath: a, value: "'set'"}
  - {fieldPath: after, value: variables.v}
configMaps: [{name: c, data: [{key: k, value: variables.v}]}]`,
			want: []string{"Available ConfigMap team/xr-c {data: {k: set}}"},
			env:  `{a: set, after: set, apiVersion: internal.crossplane.io/v1alpha1, before: none, kind: Environment}`,
		},
		"Sources": {
			reason:  "set reads what is asked for",
			input:   "sources: [{name: s, apiVersion: v1, kind: ConfigMap}]\nenvironment: {set: [{fieldPath: a, value: sources.s.data.k}]}",
			objects: "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: team}, data: {k: v}}]",
			env:     `{a: v, apiVersion: internal.crossplane.io/v1alpha1, kind: Environment}`,
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

// Until Crossplane has looked, nothing is known of the environment, not even what
// an expression would do without, and later steps get none.
func TestRunEnvironmentUnread(t *testing.T) {
	s := newScene(t, plantest.Exports(`
environment: {defaultData: {a: d}, environmentConfigs: [{ref: {name: base}}], set: [{fieldPath: b, value: "'x'"}]}
configMaps:
- {name: a, data: [{key: k, value: "environment.?a.orValue('none')"}]}
- {name: b, data: [{key: k, value: "'v'"}]}`), configs)
	r, err := s.call(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`Waiting nothing | ConfigMap "a" (team/xr-a) is not created: it waits for the lookup of ConfigMap team/xr-a`,
		`Waiting nothing | ConfigMap "b" (team/xr-b) is not created: it waits for the lookup of ConfigMap team/xr-b`,
		"Waiting | environment waits for the lookup of EnvironmentConfig base",
	}
	if diff := cmp.Diff(want, show(r)); diff != "" || r.Environment != nil {
		t.Errorf("-want, +got:\n%s\nenvironment: %v", diff, r.Environment)
	}
	// The values of an existing object are also compared.
	s = newScene(t, plantest.Exports(`
environment: {environmentConfigs: [{ref: {name: base}}, {ref: {name: eu}}]}
configMaps: [{name: a, data: [{key: k, value: "environment.?a.orValue('none')"}]}]`),
		"resources: {a: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-a, namespace: team}, data: {k: old}}}}")
	if r, err = s.call(t); err != nil {
		t.Fatal(err)
	}
	want = []string{
		`Held! ConfigMap team/xr-a {data: {k: old}} | ConfigMap "a" (team/xr-a) is kept unchanged: key "k" waits for ` +
			`EnvironmentConfig base, EnvironmentConfig eu`,
		"Waiting | environment waits for the lookup of EnvironmentConfig base, EnvironmentConfig eu",
	}
	if diff := cmp.Diff(want, show(r)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A missing EnvironmentConfig that is required is an error: nothing is applied without it.
func TestRunEnvironmentRefused(t *testing.T) {
	for name, c := range map[string]struct{ reason, input, want string }{
		"Missing": {
			"a reference", "environment: {environmentConfigs: [{ref: {name: nope}}]}",
			`environment.environmentConfigs[0].ref.name: EnvironmentConfig "nope" of apiextensions.crossplane.io/v1beta1 does not exist`,
		},
		"TooMany": {
			"Single is one", "environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{type: Value, key: a, value: b}]}}]}",
			"environment.environmentConfigs[0].selector: ",
		},
		"NoField": {
			"the composite lacks a field", "environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: a, valueFromFieldPath: spec.nope}]}}]}",
			"environment.environmentConfigs[0].selector.matchLabels[0].valueFromFieldPath: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input+"\nconfigMaps: [{name: a, data: [{key: k, value: \"'v'\"}]}]"), configs)
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

// A variable that does not read the environment is evaluated once, however many
// fields use it; and what set takes does not change what is asked for.
func TestRunEnvironmentWork(t *testing.T) {
	var b strings.Builder
	b.WriteString(`
variables: [{name: big, value: "lists.range(9000).map(x, x * x)"}]
sources: [{name: s, apiVersion: v1, kind: ConfigMap}]
configMaps: [{name: a, metadata: {nameExpression: "composite.metadata.name + '-named'"}, data: [{key: k, value: "string(variables.big.size())"}]}]
environment:
  set:
`)
	for i := range 60 {
		fmt.Fprintf(&b, "  - {fieldPath: n%d, value: \"sources.s.data.k == 'v' ? variables.big[%d] : 0\"}\n", i, i)
	}
	r := newScene(t, plantest.Exports(b.String()), "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: team}, data: {k: v}}]").run(t)
	if diff := cmp.Diff([]string{"Available ConfigMap team/xr-named {data: {k: 9000}}"}, show(r)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if got := r.Environment.GetFields()["n59"].GetNumberValue(); got != 59*59 {
		t.Errorf("n59: want %d, got %v", 59*59, got)
	}
	heavy := strings.ReplaceAll(`
sources: [{name: s, apiVersion: v1, kind: ConfigMap}]
configMaps: [{name: a, metadata: {nameExpression: "composite.metadata.name + '-named'"}, data: [{key: k, value: "'v'"}]}]
environment: {set: [HEAVY]}`, "HEAVY", strings.Repeat(`{fieldPath: aF, value: "sources.s.data.k == 'v' ? lists.range(9000).map(x, x * x).size() : 0"},`, 60))
	for i := range 60 {
		heavy = strings.Replace(heavy, "aF", fmt.Sprint("a", i), 1)
	}
	newScene(t, plantest.Exports(heavy), "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: team}, data: {k: v}}]").run(t) // compares requirements
}
