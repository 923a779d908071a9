package typecheck

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Types are CEL types of OpenAPI v3 schemas. An object with named fields becomes an object type, whose fields are
// created on demand. The type is dyn where a schema allows any value: it is never narrower than the values that the API
// server accepts. Types is not safe for concurrent use.
type Types struct {
	// Composite is the name of the type of the composite, whose schema the reader can change.
	Composite string

	objects map[string]typed // by the name of the type, which is its root and the path from there
}

// A typed object is the schema of an object type. A container has members instead, and may have others without lacks.
type typed struct {
	schema.Node

	members map[string]*types.Type
	lacks   func(field string) string
}

// separator joins the steps of a path. No identifier contains it, or the character @ at the beginning of the name of a
// type, so that expressions cannot name the type.
const separator = "\x00"

// NewTypes returns an empty set of types.
func NewTypes() *Types { return &Types{objects: map[string]typed{}} }

// Of returns the type of a value with a schema, or dyn without a schema. Messages use the name of the type,
// which has only one schema.
func (t *Types) Of(name string, s *structpb.Struct) *types.Type {
	return t.of("@"+name, schema.Node{Struct: wire.Of(s)})
}

// Container returns the type of a variable that holds others by their names, for example resources. The
// function lacks returns the message for an unknown name. It is nil if any other name may exist.
func (t *Types) Container(name string, members map[string]*types.Type, lacks func(field string) string) *types.Type {
	t.objects["@@"+name] = typed{members: members, lacks: lacks}
	return types.NewObjectType("@@" + name)
}

// Number is the type of a number: a whole one is an int, and any other one a double. No other type in an expression is
// nullable.
var Number = types.NewNullableType(types.IntType)

// deepest is the deepest level of a schema that has types. No kind is so deep, and checking a deeper schema
// could take minutes.
const deepest = 48

func (t *Types) of(name string, n schema.Node) *types.Type {
	if strings.Count(name, separator) > deepest {
		return types.DynType
	}
	if n.Is("x-kubernetes-int-or-string") || n.Is("nullable") && n.Type() != schema.Object && n.Type() != "array" {
		return types.DynType
	}
	switch n.Type() {
	case "string":
		return types.StringType
	case "integer":
		return types.IntType
	case "number":
		return Number
	case "boolean":
		return types.BoolType
	case "array":
		return types.NewListType(t.of(name+separator+"[]", n.Items()))
	case schema.Object, "":
		return t.ofObject(name, n)
	}
	return types.DynType
}

func (t *Types) ofObject(name string, n schema.Node) *types.Type {
	if n.Is("x-kubernetes-embedded-resource") {
		n = schema.Node{Struct: wire.Of(catalog.OfKind(n.Proto()))}
	}
	if n.Properties().Len() > 0 {
		t.objects[name] = typed{Node: n}
		return types.NewObjectType(name)
	}
	if value, ok := n.Further(); ok && value.Exists() {
		return types.NewMapType(types.StringType, t.of(name+separator+"[]", value))
	}
	return types.DynType
}

// Has reports whether a type is the type of an object in this set.
func (t *Types) Has(name string) bool {
	_, ok := t.objects[name]
	return ok
}

// Field returns the type of a field of an object type. A field that the schema does not name is dyn if the
// schema allows other fields.
func (t *Types) Field(name, field string) (*types.Type, bool) {
	o := t.objects[name]
	if o.members != nil {
		m, ok := o.members[field]
		if !ok && o.lacks == nil {
			return types.DynType, true
		}
		return m, ok
	}
	if p, ok := o.Property(field); ok {
		return t.of(name+separator+field, p), true
	}
	if v, ok := o.Further(); ok {
		return t.of(name+separator+"[]", v), true
	}
	return nil, false
}

// Names returns the names of the fields of an object type, sorted.
func (t *Types) Names(name string) []string {
	o := t.objects[name]
	if o.members != nil {
		return plan.SortedKeys(o.members)
	}
	names := slices.Clone(o.Properties().Keys())
	slices.Sort(names)
	return names
}

// Schema returns the schema of a field of an object type, if the type has one.
func (t *Types) Schema(name, field string) schema.Node {
	p, _ := t.objects[name].Property(field)
	return p
}

// Path returns where an object type is: the name of the kind or variable, and the path below it, in which [] is an item
// of a list or a value of a map.
func (t *Types) Path(name string) (root string, steps []string) {
	path := strings.Split(name, separator)
	return strings.TrimLeft(path[0], "@"), path[1:]
}

// Lacks returns the message that an object type has no such field, with the field that may be meant.
func (t *Types) Lacks(name, field string) string {
	o := t.objects[name]
	if o.lacks != nil {
		return o.lacks(field)
	}
	root, steps := t.Path(name)
	whole := schema.Root{Node: t.objects["@"+root].Node, Name: root, IsComposite: root == t.Composite}
	return whole.LacksBelow(o.Node, steps, field)
}
