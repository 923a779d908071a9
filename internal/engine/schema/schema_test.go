package schema

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func parsed(t *testing.T, text string) Node {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(object)
	if err != nil {
		t.Fatal(err)
	}
	return Node{wire.Of(s)}
}

// in returns a schema in which another one is a field a, several times.
func in(depth int, schema string) string {
	for range depth {
		schema = "{type: object, properties: {a: " + schema + "}}"
	}
	return schema
}

func TestLacks(t *testing.T) {
	const status = "{type: object, properties: {spec: {type: object}, status: {type: object, properties: {ip: {}, conditions: {}}}}}"
	for name, c := range map[string]struct {
		reason, schema, path, want string
		root                       Root
	}{
		"Empty":         {reason: "nothing is known of an empty schema", schema: "{}", path: "a b"},
		"Field":         {reason: "the schema has the field", schema: "{type: object, properties: {a: {type: string}}}", path: "a"},
		"BelowScalar":   {reason: "the value of a scalar fails, and does not wait", schema: in(1, "{type: string}"), path: "a b"},
		"BelowList":     {reason: "a list has no fields", schema: in(1, "{type: array, items: {}}"), path: "a b"},
		"NoFields":      {reason: "an object that names no field may have any", schema: "{type: object}", path: "a b"},
		"Untyped":       {reason: "a value without a type may be an object", schema: in(1, "{enum: [d]}"), path: "a b"},
		"Open":          {reason: "other fields are kept", schema: "{type: object, properties: {a: {}}, x-kubernetes-preserve-unknown-fields: true}", path: "b c"},
		"Further":       {reason: "all other fields have a type", schema: "{type: object, additionalProperties: " + in(1, "{}") + "}", path: "x b", want: "x has no field x.b: there is only a"},
		"Closed":        {reason: "false is the default", schema: "{type: object, properties: {a: {}}, additionalProperties: false}", path: "b", want: "x has no field b: there is only a"},
		"Computed":      {reason: "a key that is not known may be any", schema: in(1, in(1, "{}")), path: "a [] b"},
		"InList":        {reason: "a field of an item", schema: in(1, "{type: array, items: "+in(1, "{}")+"}"), path: "a [] b", want: "x has no field a[].b: there is only a"},
		"Near":          {reason: "a field with a similar name", schema: "{type: object, properties: {host: {}, port: {}}}", path: "hots", want: "x has no field hots: did you mean host?"},
		"Elsewhere":     {reason: "a field with this name in another place", schema: in(5, "{type: object, properties: {q1z: {}}}"), path: "q1z", want: "x has no field q1z: did you mean a.a.a.a.a.q1z?"},
		"Deep":          {reason: "deeper fields are not suggested", schema: in(6, "{type: object, properties: {q1z: {}}}"), path: "q1z", want: "x has no field q1z: there is only a"},
		"NotOfMetadata": {reason: "fields of metadata are well known", schema: "{type: object, properties: {metadata: {type: object, properties: {uid: {}}}}}", path: "uid", want: "x has no field uid: there is only metadata"},
		"NotInList":     {reason: "no path leads to an item", schema: in(1, "{type: array, items: {type: object, properties: {q1z: {}}}}"), path: "q1z", want: "x has no field q1z: there is only a"},
		"Claim":         {reason: "composites of v2 have no claim", schema: in(1, "{}"), path: "claimRef", want: "x has no field claimRef: only a legacy composite has a claim: use the composite's own metadata.name and metadata.namespace"},
		"Composite":     {reason: "the reader can change the schema of the composite", schema: status, path: "zones", root: Root{IsComposite: true}, want: "x has no field zones: add it to the schema in the XRD, or use one of spec, status"},
		"Status":        {reason: "the path is below status", schema: status, path: "status status", root: Root{IsComposite: true}, want: "x has no field status.status: leave out the first status, because the path is below it"},
		"Conditions":    {reason: "Crossplane writes the conditions", schema: status, path: "status condition", root: Root{IsComposite: true}, want: "x has no field status.condition: there is only ip"},
		"Data":          {reason: "the environment is the data", schema: in(1, "{}"), path: "data", root: Root{IsEnvironment: true}, want: "x has no field data: leave data out, because the environment is the data of the EnvironmentConfigs"},
	} {
		t.Run(name, func(t *testing.T) {
			c.root.Name, c.root.Node = "x", parsed(t, c.schema)
			var path []any
			for step := range strings.FieldsSeq(c.path) {
				if path = append(path, any(step)); step == "[]" {
					path[len(path)-1] = nil
				}
			}
			if got, _ := c.root.Lacks(path...); got != c.want {
				t.Errorf("Lacks(%s): %s: want %q, got %q", c.path, c.reason, c.want, got)
			}
		})
	}
}
