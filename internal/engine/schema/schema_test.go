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
	const open = "{type: object, properties: {a: {}}, x-kubernetes-preserve-unknown-fields: true}"
	for name, c := range map[string]struct{ schema, path, want string }{
		"of an empty schema, nothing is known":           {"{}", "a b", ""},
		"the value of a scalar fails, and does not wait": {in(1, "{type: string}"), "a b", ""},
		"an object that names no field may have any":     {"{type: object}", "a b", ""},
		"a value without a type may be an object":        {in(1, "{enum: [d]}"), "a b", ""},
		"other fields are kept":                          {open, "b c", ""},
		"a key that is not known may be any":             {in(1, in(1, "{}")), "a [] b", ""},
		"all other fields have a type": {
			"{type: object, additionalProperties: " + in(1, "{}") + "}", "x b", "x has no field x.b: there is only a",
		},
		"a field of an item": {in(1, "{type: array, items: "+in(1, "{}")+"}"), "a [] b",
			"x has no field a[].b: there is only a"},
		"a similar name": {
			"{type: object, properties: {host: {}, port: {}}}", "hots", "x has no field hots: did you mean host?",
		},
		"a field with this name in another place": {
			in(5, "{type: object, properties: {q1z: {}}}"), "q1z", "x has no field q1z: did you mean a.a.a.a.a.q1z?",
		},
		"the reader can change the schema of the composite": {
			"{type: object, properties: {spec: {}, status: {}}}", "zones",
			"x has no field zones: add it to the schema in the XRD, or use one of spec, status",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := Root{Name: "x", Node: parsed(t, c.schema), IsComposite: true}
			var path []any
			for step := range strings.FieldsSeq(c.path) {
				if path = append(path, any(step)); step == "[]" {
					path[len(path)-1] = nil
				}
			}
			if got, _ := root.Lacks(path...); got != c.want {
				t.Errorf("Lacks(%s): want %q, got %q", c.path, c.want, got)
			}
		})
	}
}
