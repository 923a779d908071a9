package composition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

// The names of objects are known if they are literal, or the name of the composite with text around it.
func TestObjectNames(t *testing.T) {
	const base = "base: {apiVersion: v1, kind: Secret, metadata: {name: literal}}"
	const pt = "{apiVersion: pt.fn.crossplane.io/v1beta1, resources: [{name: a, " + base + ", patches: [@]}]}"
	template := func(name string) string {
		return `{apiVersion: gotemplating.fn.crossplane.io/v1beta1, source: Inline, inline: {template: "{{ $xr := ` +
			`.observed.composite.resource }}{{ $item := . }}\napiVersion: v1\nkind: Secret\nmetadata:\n` +
			`  annotations:\n    gotemplating.fn.crossplane.io/composition-resource-name: a\n  name: ` + name + `\n"}}`
	}
	patched := func(patch string) string { return strings.Replace(pt, "@", patch, 1) }
	for name, tc := range map[string]struct{ input, want string }{
		"Literal":   {patched(""), "literal"},
		"Composite": {patched("{fromFieldPath: metadata.name}"), "{composite}"},
		"Format": {
			patched(`{type: FromCompositeFieldPath, fromFieldPath: metadata.name, toFieldPath: metadata.name, ` +
				`transforms: [{type: string, string: {fmt: "%s-x"}}]}`),
			"{composite}-x",
		},
		"OtherField":       {patched("{fromFieldPath: spec.name, toFieldPath: metadata.name}"), ""},
		"Template":         {template("literal"), "literal"},
		"TemplateOf":       {template("{{ $xr.metadata.name }}-x"), "{composite}-x"},
		"TemplateObserved": {template("{{ .observed.composite.resource.metadata.name }}"), "{composite}"},
		"TemplateOther":    {template("{{ $item.metadata.name }}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Read(decoded(t, pipeline(tc.input)))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Steps[0].Resources[0].Object; got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// The types of literal values are known, unless two manifests of a kind differ.
func TestSchemaOfManifests(t *testing.T) {
	resource := func(name, spec string) string {
		return "{name: " + name + ", base: {apiVersion: a/v1, kind: A, spec: " + spec + "}}"
	}
	c, err := Read(decoded(t, pipeline("{apiVersion: pt.fn.crossplane.io/v1beta1, resources: ["+
		resource("a", "{port: 5432, public: true, size: small, ratio: 0.5, either: 1}")+", "+resource("b",
		"{either: {x: 1}, list: [1]}")+"]}")))
	if err != nil {
		t.Fatal(err)
	}
	want := decoded(t, "{port: integer, public: boolean, size: '', ratio: '', either: '', list: ''}")
	got := map[string]any{}
	fields := c.Schema(
		"a/v1", "A").GetFields()["properties"].GetStructValue().GetFields()["spec"].GetStructValue().GetFields()
	for name, v := range fields["properties"].GetStructValue().GetFields() {
		got[name] = v.GetStructValue().GetFields()["type"].GetStringValue()
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || c.Schema("a/v1", "B") != nil {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
