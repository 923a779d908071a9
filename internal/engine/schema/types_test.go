package schema

import (
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// parsed is a schema in YAML; nil for none.
func parsed(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := structpb.NewStruct(decoded(t, text))
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
	const deep = `{type: object, properties: {a: {type: object, properties: {b: {type: object, properties: {c: {type: object, properties: {
one: {type: object, properties: {x: {type: string}}}, two: {type: object, properties: {port: {type: string}}}}}}}}}}}`
	for name, c := range map[string]struct {
		reason string
		schema string
		path   string
		want   string
	}{
		"Nil":             {"Of no schema nothing is known.", "", "", "dyn"},
		"Empty":           {"Nor of one that says nothing.", "{description: a}", "", "dyn"},
		"String":          {"A string.", "{type: string}", "", "string"},
		"Integer":         {"An integer.", "{type: integer}", "", "int"},
		"Boolean":         {"A boolean.", "{type: boolean}", "", "bool"},
		"Number":          {"A number is an int or a double, as it comes.", "{type: number}", "", "number"},
		"Strange":         {"What is no type of OpenAPI.", "{type: tuple}", "", "dyn"},
		"IntOrString":     {"A port by its number or by its name.", "{type: string, x-kubernetes-int-or-string: true}", "", "dyn"},
		"Nullable":        {"What may be null is no string.", "{type: string, nullable: true}", "", "dyn"},
		"NullableUntyped": {"Nor an object whose schema does not say so.", "{properties: {a: {}}, nullable: true}", "", "dyn"},
		"NullableObject":  {"An object that may be null has its fields, or fails.", "{type: object, nullable: true, properties: {a: {}}}", "", "object"},
		"NullableArray":   {"And a list its elements.", "{type: array, nullable: true, items: {type: string}}", "", "list of string"},
		"Array":           {"A list of what its items are.", "{type: array, items: {type: array, items: {type: integer}}}", "", "list of list of int"},
		"ArrayOfAny":      {"A list of which no more is known.", "{type: array}", "", "list of dyn"},
		"Untyped":         {"What has properties is an object, whether it says so or not.", "{properties: {a: {type: string}}}", "a", "string"},
		"NoFields":        {"An object that names no field may have any.", "{type: object}", "", "dyn"},
		"Map":             {"One with further properties alone is a map.", "{type: object, additionalProperties: {type: integer}}", "", "map of int"},
		"MapOfAny":        {"A map of anything.", "{type: object, additionalProperties: {}}", "", "map of dyn"},
		"Further":         {"One whose further properties may be anything is no narrower than that.", "{type: object, additionalProperties: true}", "", "dyn"},
		"NoFurther":       {"False is as good as nothing.", "{type: object, properties: {a: {}}, additionalProperties: false}", "b", "x has no field b: there is only a"},
		"Open":            {"A field beside those that are named, where others are kept.", "{type: object, properties: {a: {type: string}}, x-kubernetes-preserve-unknown-fields: true}", "b", "dyn"},
		"FurtherBeside":   {"Or have a type.", "{type: object, properties: {a: {type: string}}, additionalProperties: {type: integer}}", "b", "int"},
		"Named":           {"A named one has its own.", "{type: object, properties: {a: {type: string}}, additionalProperties: {type: integer}}", "a", "string"},
		"Closed":          {"Else there is no other.", "{type: object, properties: {a: {type: string}}}", "b", "x has no field b: there is only a"},
		"Embedded":        {"An object in an object has metadata of its own.", "{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}", "metadata generation", "int"},
		"InList":          {"The path of a field of an element.", "{type: object, properties: {l: {type: array, items: {type: object, properties: {a: {}}}}}}", "l [] b", "x has no field l[].b: there is only a"},
		"InMap":           {"And of a value.", "{type: object, properties: {m: {type: object, additionalProperties: {type: object, properties: {a: {}}}}}}", "m [] b", "x has no field m[].b: there is only a"},
		"InFurther":       {"And of what has no name.", "{type: object, properties: {a: {}}, additionalProperties: {type: object, properties: {c: {}}}}", "z b", "x has no field [].b: there is only c"},
		"Near":            {"The field that was meant.", "{type: object, properties: {host: {}, port: {}}}", "hots", "x has no field hots: did you mean host?"},
		"Elsewhere":       {"Or the same one at another place.", "{type: object, properties: {status: {type: object, properties: {at: {type: object, properties: {endpoint: {}}}}}}}", "endpoint", "x has no field endpoint: did you mean status.at.endpoint?"},
		"Nearest":         {"That which is nearest to the top, whatever it is called.", "{type: object, properties: {a: {type: object, properties: {b: {type: object, properties: {q1z: {}}}}}, w: {type: object, properties: {q1z: {}}}}}", "q1z", "x has no field q1z: did you mean w.q1z?"},
		"AtTheTop":        {"One at the top is no mend: it would be called the same.", "{type: object, properties: {status: {type: object}, spec: {type: object, properties: {a: {}}}}}", "spec status", "x has no field spec.status: there is only a"},
		"NotOfMetadata":   {"Nobody means a field of metadata by one of the top.", "{type: object, properties: {metadata: {type: object, properties: {uid: {}}}, a: {}}}", "uid", "x has no field uid: there are a, metadata"},
		"OtherMetadata":   {"But that of a template may be meant.", "{type: object, properties: {t: {type: object, properties: {metadata: {type: object, properties: {labels: {}}}}}}}", "labels", "x has no field labels: did you mean t.metadata.labels?"},
		"NotInList":       {"What is in a list is not looked through: no path leads to it.", "{type: object, properties: {l: {type: array, items: {properties: {q1z: {}}}, properties: {q1z: {}}}}}", "q1z", "x has no field q1z: there is only l"},
		"Sibling":         {"Types of one depth are told apart.", deep, "a b c one port", "x has no field a.b.c.one.port: did you mean a.b.c.two.port?"},
	} {
		t.Run(name, func(t *testing.T) {
			all := NewTypes()
			if got := all.walk(all.Of("x", parsed(t, c.schema)), c.path); got != c.want {
				t.Errorf("%s: %s: want %q, got %q", c.reason, c.path, c.want, got)
			}
		})
	}
}

// Types of one depth are not mixed up, though both are made before either is asked.
func TestTypesOfSiblings(t *testing.T) {
	fields := "{type: object, properties: {one: {type: object, properties: {host: {}}}, two: {type: object, properties: {host: {}}}}}"
	for range 5 {
		fields = "{type: object, properties: {a: " + fields + "}}"
	}
	all := NewTypes()
	at := all.Of("x", parsed(t, fields))
	path := "x has no field "
	for range 5 {
		one, ok := all.Field(at.TypeName(), "a")
		if !ok {
			t.Fatalf("%q has no field a", at.TypeName())
		}
		at, path = one, path+"a."
	}
	one, _ := all.Field(at.TypeName(), "one")
	two, _ := all.Field(at.TypeName(), "two")
	want := []string{path + "one.hots: did you mean host?", path + "two.hots: did you mean host?"}
	if diff := cmp.Diff(want, []string{all.Lacks(one.TypeName(), "hots"), all.Lacks(two.TypeName(), "hots")}); diff != "" {
		t.Errorf("Lacks(...): -want, +got:\n%s", diff)
	}
}

// A list of names ends when its reader stops.
func TestLacksLists(t *testing.T) {
	for n, want := range map[int]string{
		12: "there are f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21",
		13: "there are f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21 and 1 more",
		14: "there are f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21 and 2 more",
	} {
		fields := map[string]*structpb.Struct{}
		for i := range n {
			fields[fmt.Sprintf("f%d", 10+i)] = anything()
		}
		all := NewTypes()
		if diff := cmp.Diff("x has no field something: "+want, all.Lacks(all.Of("x", objectOf(fields)).TypeName(), "something")); diff != "" {
			t.Errorf("Lacks(...) of %d fields: -want, +got:\n%s", n, diff)
		}
	}
}

// A field that is deeper than anyone looks is not told of.
func TestLacksDeep(t *testing.T) {
	for depth, want := range map[int]string{
		5: "x has no field q1z: did you mean a.a.a.a.a.q1z?",
		6: "x has no field q1z: there is only a",
	} {
		fields := "{type: object, properties: {q1z: {}}}"
		for range depth {
			fields = "{type: object, properties: {a: " + fields + "}}"
		}
		all := NewTypes()
		if diff := cmp.Diff(want, all.Lacks(all.Of("x", parsed(t, fields)).TypeName(), "q1z")); diff != "" {
			t.Errorf("Lacks(...) of what is %d below: -want, +got:\n%s", depth, diff)
		}
	}
}

func TestContainer(t *testing.T) {
	members := map[string]*types.Type{"db": types.StringType}
	lacks := func(field string) string { return "nobody composes " + field }
	for name, c := range map[string]struct {
		reason string
		lacks  func(string) string
		path   string
		want   string
	}{
		"Member":         {"A member is of its type.", nil, "db", "string"},
		"Open":           {"Of others nothing is known, where there may be some.", nil, "cache", "dyn"},
		"Closed":         {"Else they are missed in the container's own words.", lacks, "cache", "nobody composes cache"},
		"MemberOfClosed": {"A member of one that is closed.", lacks, "db", "string"},
	} {
		t.Run(name, func(t *testing.T) {
			all := NewTypes()
			if got := all.walk(all.Container("c", members, c.lacks), c.path); got != c.want {
				t.Errorf("%s: want %q, got %q", c.reason, c.want, got)
			}
		})
	}
}

// Expressions cannot name an object type, and two object types are never confused.
func TestTypeNames(t *testing.T) {
	all := NewTypes()
	object := all.Of("environment", parsed(t, "{type: object, properties: {a: {type: object, properties: {b: {}}}}}"))
	container := all.Container("environment", map[string]*types.Type{}, nil)
	field, _ := all.Field(object.TypeName(), "a")
	seen := map[string]bool{}
	for _, name := range []string{object.TypeName(), container.TypeName(), field.TypeName()} {
		if !strings.HasPrefix(name, "@") || !all.Has(name) || seen[name] {
			t.Errorf("%q: want a name of its own, which is none of CEL, and that there is such a type", name)
		}
		seen[name] = true
	}
	if all.Has("environment") {
		t.Error(`Has("environment"): want none, which an expression could make`)
	}
}

func TestAt(t *testing.T) {
	const text = `
type: object
properties:
  size: {type: string, enum: [small, large]}
  list: {type: array, items: {type: string, enum: [a]}}
  map: {type: object, additionalProperties: {type: string, enum: [b]}}
  both: {type: object, properties: {x: {type: string}}, additionalProperties: {type: string, enum: [c]}}
  any: {}
  kept: {type: object, properties: {x: {type: string}}, x-kubernetes-preserve-unknown-fields: true}
  untyped: {enum: [d]}
  mixed: {enum: [d, 1]}
`
	type want struct {
		Values    []string
		Known, OK bool
	}
	for name, c := range map[string]struct {
		reason string
		path   []any
		want   want
	}{
		"Top":         {"No path leads to the schema itself.", nil, want{nil, true, true}},
		"Field":       {"A field.", []any{"size"}, want{[]string{"small", "large"}, true, true}},
		"NoField":     {"A field that there is not.", []any{"sice"}, want{}},
		"OfString":    {"A string has none.", []any{"size", "x"}, want{}},
		"OfList":      {"Nor has a list.", []any{"list", "x"}, want{}},
		"Element":     {"An element.", []any{"list", int64(1)}, want{[]string{"a"}, true, true}},
		"Key":         {"A key of a map.", []any{"map", "any"}, want{[]string{"b"}, true, true}},
		"Beside":      {"A field beside those that are named.", []any{"both", "y"}, want{[]string{"c"}, true, true}},
		"Kept":        {"One that is kept, of which nothing is known.", []any{"kept", "y"}, want{nil, false, true}},
		"BelowKept":   {"Nor of what is below it.", []any{"kept", "y", "z"}, want{nil, false, true}},
		"Any":         {"What the schema leaves open.", []any{"any"}, want{nil, false, true}},
		"BelowAny":    {"And all below it.", []any{"any", "x", 0, "y"}, want{nil, false, true}},
		"Untyped":     {"What has no type may be an object.", []any{"untyped", "x"}, want{nil, false, true}},
		"Computed":    {"A key that is computed may be any.", []any{nil}, want{nil, false, true}},
		"ComputedMap": {"Also of a map, whose values are alike.", []any{"map", nil}, want{[]string{"b"}, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			at, ok := At(parsed(t, text), c.path...)
			var values []string
			for _, v := range at.GetFields()["enum"].GetListValue().GetValues() {
				values = append(values, v.GetStringValue())
			}
			if diff := cmp.Diff(c.want, want{values, at != nil, ok}); diff != "" {
				t.Errorf("%s: At(%v): -want, +got:\n%s", c.reason, c.path, diff)
			}
		})
	}
	if at, ok := At(nil, "a"); at != nil || !ok {
		t.Errorf("At(nil): want nothing known, got %v, %t", at, ok)
	}
}
