package schema

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Types are CEL types of schemas. An object with named fields becomes an object type, whose fields are
// created on demand. Types is not safe for concurrent use.
type Types struct {
	// Composite is the name of the type of the composite, whose schema the reader can change.
	Composite string

	objects map[string]object // by the name of the type

	// Caches for messages: the names of an object's fields, and where else a root has a field.
	names  map[string][]string
	places map[[2]string]string
}

// An object is the schema of an object type, with its place.
type object struct {
	node
	root  string   // the kind or variable that it is in
	steps []string // from the root
	top   string   // the name of the root's type

	members map[string]*types.Type // of a container, which has no schema
	open    bool                   // there are other members
	lacks   func(field string) string
}

// NewTypes returns an empty set of types.
func NewTypes() *Types {
	return &Types{objects: map[string]object{}, names: map[string][]string{}, places: map[[2]string]string{}}
}

// Of returns the type of a value with a schema, or dyn without a schema. Messages use the name of the type,
// which has only one schema.
func (t *Types) Of(name string, s *structpb.Struct) *types.Type {
	return t.of(node{s}, object{root: name, top: "@" + name})
}

// Container returns the type of a variable that holds others by their names, for example resources. The
// function lacks returns the message for an unknown name. It is nil if any other name may exist.
func (t *Types) Container(name string, members map[string]*types.Type, lacks func(field string) string) *types.Type {
	o := object{root: name, top: "@@" + name, members: members, open: lacks == nil, lacks: lacks}
	t.objects[o.top] = o
	return types.NewObjectType(o.top)
}

// Number is the type of a number: a whole one is an int, and any other one a double.
var Number = types.NewOpaqueType("number")

// deepest is the deepest level of a schema that has types. No kind is so deep, and checking a deeper schema
// could take minutes.
const deepest = 48

func (t *Types) of(n node, at object) *types.Type {
	if len(at.steps) > deepest {
		return types.DynType
	}
	if n.flag("x-kubernetes-int-or-string") || n.flag("nullable") && n.of() != objectType && n.of() != "array" {
		return types.DynType
	}
	switch n.of() {
	case "string":
		return types.StringType
	case "integer":
		return types.IntType
	case "number":
		return Number
	case "boolean":
		return types.BoolType
	case "array":
		return types.NewListType(t.of(n.items(), at.step(n.items(), "[]")))
	case objectType, "":
		return t.ofObject(n, at)
	}
	return types.DynType
}

func (t *Types) ofObject(n node, at object) *types.Type {
	if n.flag("x-kubernetes-embedded-resource") {
		n = node{OfKind(n.Struct)}
	}
	if len(n.properties()) > 0 {
		name := at.name()
		at.node = n
		t.objects[name] = at
		return types.NewObjectType(name)
	}
	if value, ok := n.further(); ok && value.Struct != nil {
		return types.NewMapType(types.StringType, t.of(value, at.step(value, "[]")))
	}
	return types.DynType
}

func (o object) step(n node, name string) object {
	return object{node: n, root: o.root, steps: append(slices.Clone(o.steps), name), top: o.top}
}

// name returns the name of the type. No identifier has its first character, so that expressions cannot name the type.
func (o object) name() string { return strings.Join(append([]string{o.top}, o.steps...), "\x00") }

func (o object) path(field string) string {
	return strings.ReplaceAll(strings.Join(append(slices.Clone(o.steps), field), "."), ".[]", "[]")
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
		if !ok && o.open {
			return types.DynType, true
		}
		return m, ok
	}
	if p, ok := o.property(field); ok {
		return t.of(p, o.step(p, field)), true
	}
	if v, ok := o.further(); ok {
		return t.of(v, o.step(v, "[]")), true
	}
	return nil, false
}

// environmentRoot is the name of the type of the environment.
const environmentRoot = "environment"

// Lacks returns the message that an object type has no such field, with the field that may be meant.
func (t *Types) Lacks(name, field string) string {
	o := t.objects[name]
	if o.lacks != nil {
		return o.lacks(field)
	}
	text := fmt.Sprintf("%s has no field %s", o.root, o.path(field))
	if _, known := t.names[name]; !known {
		t.names[name] = o.names()
	}
	names, instead := t.fieldsOf(o, t.names[name], field)
	if instead != "" {
		return text + ": " + instead
	}
	meant := suggest.Nearest(field, names)
	if meant == "" {
		meant = t.elsewhere(o.top, field)
	}
	if meant != "" {
		return text + suggest.DidYouMean(meant)
	}
	if field == "claimRef" {
		return text + ": only a legacy composite has a claim: use the composite's own metadata.name and metadata.namespace"
	}
	if o.root == t.Composite && len(names) > 1 {
		return text + ": add it to the schema in the XRD, or use one of " + suggest.List(names)
	}
	return text + suggest.ThereAre(field, names, "it has no fields")
}

// fieldsOf returns the names that may be meant in an object, or what to do instead of naming a field.
func (t *Types) fieldsOf(o object, names []string, field string) (meant []string, instead string) {
	hidden := []string{}
	switch {
	case o.root == environmentRoot && len(o.steps) == 0:
		if field == "data" {
			return nil, "leave data out, because the environment is the data of the EnvironmentConfigs"
		}
		hidden = []string{"apiVersion", "kind"}
	case o.root == t.Composite && slices.Equal(o.steps, []string{"status"}):
		if field == "status" {
			return nil, "leave out the first status, because the path is below it"
		}
		hidden = []string{"conditions", "crossplane"}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(hidden, n) }), ""
}

// elsewhere returns another path of the root with a field of that name, nearest to the root, because
// status.atProvider is easily forgotten.
func (t *Types) elsewhere(top, field string) string {
	key := [2]string{top, field}
	if _, known := t.places[key]; !known {
		t.places[key] = t.lookElsewhere(top, field)
	}
	return t.places[key]
}

func (t *Types) lookElsewhere(top, field string) string {
	type place struct {
		node
		path []string
	}
	const furthest, most = 5, 5000 // the number of levels and fields that are searched
	queue := []place{{t.objects[top].node, nil}}
	for i, fields := 0, 0; i < len(queue) && fields < most; i++ {
		p := queue[i]
		fields += 1 + len(p.properties())
		if _, ok := p.property(field); ok && i > 0 {
			return strings.Join(append(p.path, field), ".")
		}
		if fields >= most {
			return ""
		}
		for _, name := range p.names() {
			next, _ := p.property(name)
			isMetadata := len(p.path) == 0 && name == "metadata"
			if next.of() == objectType && len(p.path) < furthest && !isMetadata {
				queue = append(queue, place{next, append(slices.Clone(p.path), name)})
			}
		}
	}
	return ""
}

// At returns the schema at a path: a string is a field or a key, and any other step is an index. The
// result is nil where the schema allows any value, and ok is false where the schema has no such field.
func At(s *structpb.Struct, path ...any) (at *structpb.Struct, ok bool) {
	n := node{s}
	for _, step := range path {
		if n.Struct == nil || len(n.GetFields()) == 0 {
			return nil, true
		}
		name, isField := step.(string)
		switch next, found := n.property(name); {
		case isField && found:
			n = next
		case n.of() == "array" && !isField:
			n = n.items()
		case isField && n.of() != objectType && n.of() != "":
			return nil, false
		case len(n.properties()) == 0:
			n, _ = n.further()
		default:
			further, open := n.further()
			if !open && isField {
				return nil, false
			}
			n = further
		}
	}
	if len(n.GetFields()) == 0 {
		return nil, true
	}
	return n.Struct, true
}
