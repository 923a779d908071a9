package typecheck

import (
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"
)

// parsed is a schema in YAML; nil for none.
func parsed(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	s, err := structpb.NewStruct(object)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// typeText is a type without the name of an object type.
func typeText(t *types.Type) string {
	switch t.Kind() { //nolint:exhaustive // the others are called what they are
	case types.StructKind:
		return "object"
	case types.ListKind:
		return "list of " + typeText(t.Parameters()[0])
	case types.MapKind:
		return "map of " + typeText(t.Parameters()[1])
	}
	return t.TypeName()
}

// walk from a type along fields, and [] for an element. It says what it comes to, or
// what the last object lacks.
func (t *Types) walk(at *types.Type, path string) string {
	for _, step := range strings.Fields(path) {
		switch {
		case step == "[]":
			at = at.Parameters()[len(at.Parameters())-1]
		case at.Kind() != types.StructKind:
			return "no object before " + step
		default:
			next, ok := t.Field(at.TypeName(), step)
			if !ok {
				return t.Lacks(at.TypeName(), step)
			}
			at = next
		}
	}
	return typeText(at)
}

func TestTypes(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		schema string
		path   string
		want   string
	}{
		"Nil":     {"Of no schema nothing is known.", "", "", "dyn"},
		"String":  {"A string.", "{type: string}", "", "string"},
		"Integer": {"An integer.", "{type: integer}", "", "int"},
		"IntOrString": {"A port by its number or by its name.", "{type: string, x-kubernetes-int-or-string: true}",
			"", "dyn"},
		"Nullable": {"What may be null is no string.", "{type: string, nullable: true}", "", "dyn"},
		"Array": {"A list of what its items are.", "{type: array, items: {type: array, items: {type: " +
			"integer}}}", "", "list of list of int"},
		"Untyped": {"What has properties is an object, whether it says so or not.",
			"{properties: {a: {type: string}}}", "a", "string"},
		"NoFields": {"An object that names no field may have any.", "{type: object}", "", "dyn"},
		"Map": {"One with further properties alone is a map.", "{type: object, additionalProperties: {type: " +
			"integer}}", "", "map of int"},
		"Further": {"One whose further properties may be anything is no narrower than that.",
			"{type: object, additionalProperties: true}", "", "dyn"},
		"Open": {"A field beside those that are named, where others are kept.",
			"{type: object, properties: {a: {type: string}}, x-kubernetes-preserve-unknown-fields: true}", "b", "dyn"},
		"FurtherBeside": {"Or have a type.", "{type: object, properties: {a: {type: string}}, additionalProperties: " +
			"{type: integer}}", "b", "int"},
		"Embedded": {"An object in an object has metadata of its own.",
			"{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}",
			"metadata generation", "int"},
	} {
		t.Run(name, func(t *testing.T) {
			all := NewTypes()
			if got := all.walk(all.Of("x", parsed(t, c.schema)), c.path); got != c.want {
				t.Errorf("%s: %s: want %q, got %q", c.reason, c.path, c.want, got)
			}
		})
	}
}
