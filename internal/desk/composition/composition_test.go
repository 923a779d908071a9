package composition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"
)

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const head = "{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, "

// pipeline is a Composition of steps with these inputs.
func pipeline(inputs ...string) string {
	var b strings.Builder
	b.WriteString(head + "spec: {pipeline: [")
	for _, in := range inputs {
		b.WriteString("{step: a, functionRef: {name: b}, input: " + in + "},\n")
	}
	return b.String() + "]}}"
}

func TestRead(t *testing.T) {
	got, err := Read(decoded(t, `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: postgres}
spec:
  compositeTypeRef: {apiVersion: example.org/v1alpha1, kind: Postgres}
  mode: Pipeline
  pipeline:
  - step: environment
    functionRef: {name: envs}
    input:
      apiVersion: environmentconfigs.fn.crossplane.io/v1beta1
      kind: Input
      spec:
        environmentConfigs:
        - {ref: {name: first}}
  - step: no environment
    functionRef: {name: envs}
    input: {apiVersion: environmentconfigs.fn.crossplane.io/v1beta1, kind: Input}
  - step: compose
    functionRef: {name: mine}
    requirements:
      requiredResources:
      - {requirementName: ca, apiVersion: v1, kind: ConfigMap, name: ca}
      - {requirementName: more, apiVersion: v1, kind: ConfigMap, namespace: other, matchLabels: {a: b}}
  - step: ready
    functionRef: {name: my-function-auto-ready-v2}
`))
	ca, namespace := "ca", "other"
	want := &Composition{
		Name: "postgres", CompositeAPIVersion: "example.org/v1alpha1", CompositeKind: "Postgres",
		Steps: []Step{
			{
				Name: "environment", Function: "envs",
				Environment: map[string]any{"environmentConfigs": []any{map[string]any{"ref": map[string]any{"name": "first"}}}},
			},
			{Name: "no environment", Function: "envs"},
			{Name: "compose", Function: "mine", Opaque: true, Required: []Requirement{
				{Name: "ca", APIVersion: "v1", Kind: "ConfigMap", MatchName: &ca},
				{Name: "more", APIVersion: "v1", Kind: "ConfigMap", Namespace: &namespace, MatchLabels: map[string]string{"a": "b"}},
			}},
			{Name: "ready", Function: "my-function-auto-ready-v2"},
		},
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, fields := range []int{3, 2} {
		if s := got.Steps[i]; len(s.Input) != fields {
			t.Errorf("input %v", s.Input)
		}
		got.Steps[i].Input = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if got.Closed() {
		t.Error("a Composition with an unknown function is closed")
	}
	got.Steps = got.Steps[3:]
	if !got.Closed() {
		t.Error("a Composition that composes nothing is not closed")
	}
}

func TestResources(t *testing.T) {
	const base = "base: {apiVersion: a/v1, kind: A}"
	pt := func(resources string) string {
		return "{apiVersion: pt.fn.crossplane.io/v1beta1, kind: Resources, resources: [" + resources + "]}"
	}
	a := Resource{Name: "db", APIVersion: "a/v1", Kind: "A"}
	unknown := Resource{Name: "db"}
	cases := map[string]struct {
		reason string
		inputs []string
		want   []Resource // of the last step
		opaque bool
	}{
		"PatchAndTransform": {
			reason: "each has its name, and its kind",
			inputs: []string{pt(`{name: db, ` + base + `}, {name: other, base: {apiVersion: v1, kind: Secret}}`)},
			want: []Resource{
				{Name: "db", APIVersion: "a/v1", Kind: "A"},
				{Name: "other", APIVersion: "v1", Kind: "Secret"},
			},
		},
		"HalfAKind": {
			reason: "a kind without its API is none",
			inputs: []string{pt(`{name: db, base: {kind: A}}`)},
			want:   []Resource{unknown},
		},
		"NoBase": {
			reason: "a resource without a base is one of an earlier step",
			inputs: []string{pt(`{name: db, ` + base + `}, {name: db2, base: {apiVersion: b/v1, kind: B}}`), pt(`{name: db}, {name: who}`)},
			want: []Resource{
				{Name: "db", APIVersion: "a/v1", Kind: "A"},
				{Name: "who"},
			},
		},
		"NoBaseLast": {
			reason: "the last of the earlier steps holds",
			inputs: []string{pt(`{name: db, base: {apiVersion: b/v1, kind: B}}`), pt(`{name: db, ` + base + `}`), pt(`{name: db}`)},
			want:   []Resource{{Name: "db", APIVersion: "a/v1", Kind: "A"}},
		},
		"NoName": {
			reason: "what has no name is not known",
			inputs: []string{pt(`{` + base + `}, {name: db, ` + base + `}`)},
			want:   []Resource{{Name: "db", APIVersion: "a/v1", Kind: "A"}},
			opaque: true,
		},
		"PatchedKind":        {reason: "a patch can write the kind", inputs: []string{pt(`{name: db, ` + base + `, patches: [{fromFieldPath: spec.x, toFieldPath: kind}]}`)}, want: []Resource{unknown}},
		"PatchedSame":        {reason: "without a target it is the source", inputs: []string{pt(`{name: db, ` + base + `, patches: [{type: FromCompositeFieldPath, fromFieldPath: apiVersion}]}`)}, want: []Resource{unknown}},
		"PatchedCombine":     {reason: "several can be combined", inputs: []string{pt(`{name: db, ` + base + `, patches: [{type: CombineFromComposite, toFieldPath: "[kind]"}]}`)}, want: []Resource{unknown}},
		"PatchedAll":         {reason: "each field may be patched", inputs: []string{pt(`{name: db, ` + base + `, patches: [{fromFieldPath: a, toFieldPath: "[*]"}]}`)}, want: []Resource{unknown}},
		"PatchedEnvironment": {reason: "the environment can say it", inputs: []string{pt(`{name: db, ` + base + `, patches: [{type: FromEnvironmentFieldPath, fromFieldPath: kind}]}`)}, want: []Resource{unknown}},
		"PatchedOther":       {reason: "other fields are no kind", inputs: []string{pt(`{name: db, ` + base + `, patches: [{fromFieldPath: kind, toFieldPath: spec.kind}, {toFieldPath: "a["}, {}]}`)}, want: []Resource{a}},
		"PatchedComposite":   {reason: "what is written to the composite is no kind of the resource", inputs: []string{pt(`{name: db, ` + base + `, patches: [{type: ToCompositeFieldPath, fromFieldPath: kind, toFieldPath: kind}]}`)}, want: []Resource{a}},
		"PatchSet": {
			reason: "a set of patches can, too",
			inputs: []string{strings.Replace(pt(`{name: db, `+base+`, patches: [{type: PatchSet, patchSetName: k}]}, {name: e, `+base+`, patches: [{type: PatchSet, patchSetName: l}]}`),
				"resources:", "patchSets: [{name: k, patches: [{fromFieldPath: a}, {fromFieldPath: kind}]}, {name: l, patches: [{fromFieldPath: a}]}], resources:", 1)},
			want: []Resource{unknown, {Name: "e", APIVersion: "a/v1", Kind: "A"}},
		},
		"Exports": {
			reason: "our own composes Secrets and ConfigMaps; its generations have no names to read",
			inputs: []string{`{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, generators: [{name: g}], secrets: [{name: s}], configMaps: [{name: c}, {}]}`},
			want: []Resource{
				{Name: "s", APIVersion: "v1", Kind: "Secret"},
				{Name: "c", APIVersion: "v1", Kind: "ConfigMap"},
			},
		},
		"ResourceGraph": {
			reason: "an id is a name; an expression is no kind; what exists already is not composed",
			inputs: []string{`{apiVersion: kro.fn.crossplane.io/v1alpha1, resources: [{id: db, template: {apiVersion: a/v1, kind: A}},
				{id: open, template: {apiVersion: a/v1, kind: "${schema.spec.kind}"}}, {id: there, externalRef: {apiVersion: v1, kind: ConfigMap}}]}`},
			want: []Resource{
				{Name: "db", APIVersion: "a/v1", Kind: "A"},
				{Name: "open"},
			},
		},
		"ResourceGraphLoop": {
			reason: "a collection is resources of other names",
			inputs: []string{`{apiVersion: kro.fn.crossplane.io/v1alpha1, resources: [{id: db, forEach: [{x: y}], template: {apiVersion: a/v1, kind: A}}]}`},
			opaque: true,
		},
		"Dummy": {
			reason: "its answer is its input",
			inputs: []string{`{apiVersion: dummy.fn.crossplane.io/v1beta1, response: {desired: {resources: {b: {}, a: {resource: {apiVersion: a/v1, kind: A}}}}}}`},
			want: []Resource{
				{Name: "a", APIVersion: "a/v1", Kind: "A"},
				{Name: "b"},
			},
		},
		"Nothing":    {reason: "some functions compose nothing", inputs: []string{`{apiVersion: sequencer.fn.crossplane.io/v1beta1, resources: [{name: a}]}`}},
		"Unknown":    {reason: "others may compose anything", inputs: []string{`{apiVersion: template.fn.crossplane.io/v1beta1, resources: [{name: a}]}`}, opaque: true},
		"NoInput":    {reason: "without an input nothing is known", inputs: []string{`null`}, opaque: true},
		"NoVersion":  {reason: "an input needs no version to be known", inputs: []string{`{apiVersion: cel.fn.crossplane.io}`}},
		"FileSystem": {reason: "templates elsewhere are not read", inputs: []string{`{apiVersion: gotemplating.fn.crossplane.io/v1beta1, source: FileSystem, inline: {template: "metadata: {}"}}`}, opaque: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Read(decoded(t, pipeline(tc.inputs...)))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Steps[len(tc.inputs)-1]
			if diff := cmp.Diff(tc.want, got.Resources, cmpopts.IgnoreFields(Resource{}, "Base")); diff != "" || got.Opaque != tc.opaque {
				t.Errorf("%s: opaque %t, -want, +got:\n%s", tc.reason, got.Opaque, diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	pt := func(fields string) string {
		return pipeline("{apiVersion: pt.fn.crossplane.io/v1beta1, " + fields + "}")
	}
	const other = "cannot read the object: it is not a Composition of apiextensions.crossplane.io/v1"
	cases := map[string]struct{ reason, in, want string }{
		"Empty":      {"nothing is no Composition", "{}", other},
		"OtherKind":  {"another object is none", "{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition}", other},
		"KindNumber": {"a kind is a word", "{apiVersion: apiextensions.crossplane.io/v1, kind: 4711}", other},
		"Bare":       {"a Composition may say nothing", head + "}", ""},
		"Nulls":      {"null is as if it were not there", head + "spec: {compositeTypeRef: null, pipeline: [null, {input: null, requirements: {requiredResources: [null]}}]}}", ""},
		"Spec":       {"the value is not shown", head + "spec: hush}", "cannot read spec: must be an object"},
		"Pipeline":   {"steps are a list", head + "spec: {pipeline: {hush: 1}}}", "cannot read spec.pipeline: must be a list"},
		"Step":       {"a step is an object", head + "spec: {pipeline: [{}, hush]}}", "cannot read spec.pipeline[1]: must be an object"},
		"StepName":   {"a name is a word", head + "spec: {pipeline: [{step: 4711}]}}", "cannot read spec.pipeline[0].step: must be a string"},
		"First":      {"the first fault is told", head + "spec: {compositeTypeRef: [], pipeline: [{step: 4711}]}}", "cannot read spec.compositeTypeRef: must be an object"},
		"Input":      {"an input is an object", pipeline("[]"), "cannot read spec.pipeline[0].input: must be an object"},
		"APIVersion": {"an input has a version", pipeline("{apiVersion: 1}"), "cannot read spec.pipeline[0].input.apiVersion: must be a string"},
		"Resources":  {"resources are a list", pt("resources: {}"), "cannot read spec.pipeline[0].input.resources: must be a list"},
		"Name":       {"a name is a word", pt("resources: [{}, {}, {name: [hush]}]"), "cannot read spec.pipeline[0].input.resources[2].name: must be a string"},
		"Patch":      {"a path is a word", pt("resources: [{patches: [{toFieldPath: 1}]}]"), "cannot read spec.pipeline[0].input.resources[0].patches[0].toFieldPath: must be a string"},
		"Dotted": {
			"a name with dots is told from a path", pipeline("{apiVersion: dummy.fn.crossplane.io/v1beta1, response: {desired: {resources: {a.b: 1}}}}"),
			`cannot read spec.pipeline[0].input.response.desired.resources["a.b"]: must be an object`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Read(decoded(t, tc.in))
			if err == nil {
				err = c.InputError()
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || (c == nil) != (tc.want == other) {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
