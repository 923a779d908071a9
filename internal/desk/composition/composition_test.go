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
				Environment: map[string]any{
					"environmentConfigs": []any{map[string]any{"ref": map[string]any{"name": "first"}}},
				},
			},
			{Name: "no environment", Function: "envs"},
			{Name: "compose", Function: "mine", Opaque: true, Required: []Requirement{
				{Name: "ca", APIVersion: "v1", Kind: "ConfigMap", MatchName: &ca},
				{Name: "more", APIVersion: "v1", Kind: "ConfigMap", Namespace: &namespace,
					MatchLabels: map[string]string{"a": "b"}},
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
		"NoName": {
			reason: "what has no name is not known",
			inputs: []string{pt(`{` + base + `}, {name: db, ` + base + `}`)},
			want:   []Resource{{Name: "db", APIVersion: "a/v1", Kind: "A"}},
			opaque: true,
		},
		"PatchedKind": {reason: "a patch can write the kind", inputs: []string{pt(`{name: db, ` + base +
			`, patches: [{fromFieldPath: spec.x, toFieldPath: kind}]}`)}, want: []Resource{unknown}},
		"PatchedOther": {reason: "other fields are no kind", inputs: []string{pt(`{name: db, ` + base +
			`, patches: [{fromFieldPath: kind, toFieldPath: spec.kind}, {toFieldPath: "a["}, {}]}`)},
			want: []Resource{a}},
		"PatchedComposite": {reason: "what is written to the composite is no kind of the resource",
			inputs: []string{pt(
				`{name: db, ` + base + `, patches: [{type: ToCompositeFieldPath, fromFieldPath: kind, toFieldPath: ` +
					`kind}]}`)}, want: []Resource{a}},
		"Exports": {
			reason: "our own composes Secrets and ConfigMaps; its generations have no names to read",
			inputs: []string{`{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, generators: [{name: g}], ` +
				`secrets: [{name: s}], configMaps: [{name: c}, {}]}`},
			want: []Resource{
				{Name: "s", APIVersion: "v1", Kind: "Secret"},
				{Name: "c", APIVersion: "v1", Kind: "ConfigMap"},
			},
		},
		"Nothing": {reason: "some functions compose nothing",
			inputs: []string{`{apiVersion: sequencer.fn.crossplane.io/v1beta1, resources: [{name: a}]}`}},
		"Unknown": {reason: "others may compose anything",
			inputs: []string{`{apiVersion: template.fn.crossplane.io/v1beta1, resources: [{name: a}]}`}, opaque: true},
		"NoInput": {reason: "without an input nothing is known", inputs: []string{`null`}, opaque: true},
		"NoVersion": {reason: "an input needs no version to be known",
			inputs: []string{`{apiVersion: cel.fn.crossplane.io}`}},
		"FileSystem": {reason: "templates elsewhere are not read",
			inputs: []string{`{apiVersion: gotemplating.fn.crossplane.io/v1beta1, source: FileSystem, inline: ` +
				`{template: "metadata: {}"}}`}, opaque: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Read(decoded(t, pipeline(tc.inputs...)))
			if err != nil {
				t.Fatal(err)
			}
			got := c.Steps[len(tc.inputs)-1]
			if diff := cmp.Diff(tc.want, got.Resources, cmpopts.IgnoreFields(Resource{}, "Base")); diff != "" ||
				got.Opaque != tc.opaque {
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
		"KindNumber": {"a kind is a word", "{apiVersion: apiextensions.crossplane.io/v1, kind: 4711}", other},
		"Bare":       {"a Composition may say nothing", head + "}", ""},
		"Spec":       {"the value is not shown", head + "spec: hush}", "cannot read spec: must be an object"},
		"Pipeline": {"steps are a list", head + "spec: {pipeline: {hush: 1}}}", "cannot read spec.pipeline: must be " +
			"a list"},
		"StepName": {"a name is a word", head + "spec: {pipeline: [{step: 4711}]}}",
			"cannot read spec.pipeline[0].step: must be a string"},
		"First": {"the first fault is told", head + "spec: {compositeTypeRef: [], pipeline: [{step: 4711}]}}",
			"cannot read spec.compositeTypeRef: must be an object"},
		"Input": {"an input is an object", pipeline("[]"), "cannot read spec.pipeline[0].input: must be an object"},
		"Name": {"a name is a word", pt("resources: [{}, {}, {name: [hush]}]"),
			"cannot read spec.pipeline[0].input.resources[2].name: must be a string"},
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
