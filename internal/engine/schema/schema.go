// Package schema reads OpenAPI v3 schemas, and says which fields objects of a kind can never have.
//
// Where a schema allows any value, nothing is certain. So every field that is refused is a mistake.
package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Kind of objects.
type Kind struct{ APIVersion, Kind string }

// String returns the kind for messages.
func (k Kind) String() string { return k.Kind + " of " + k.APIVersion }

// Path returns the kind as a path of group, version and kind. The core group has no name.
func (k Kind) Path() string { return k.APIVersion + "/" + k.Kind }

// Object is the type of objects in a schema.
const Object = "object"

// A Node is the schema of a value, or of a part of it. Nothing is known about values with an empty schema.
type Node struct{ wire.Struct }

// Type returns the type of the values.
func (n Node) Type() string { return n.Get("type").Text() }

// Is returns the value of a keyword that is true or false.
func (n Node) Is(keyword string) bool { return n.Get(keyword).Bool() }

// Properties returns the schemas of the fields that the schema names.
func (n Node) Properties() wire.Struct { return n.Get("properties").Struct() }

// Property returns the schema of a field, if the schema names it.
func (n Node) Property(name string) (Node, bool) {
	v := n.Properties().Get(name)
	return Node{v.Struct()}, v.Exists()
}

// Further returns the schema of all fields that are not named, if other fields are allowed.
func (n Node) Further() (Node, bool) {
	v := n.Get("additionalProperties")
	if s := v.Struct(); s.Exists() {
		return Node{s}, true
	}
	return Node{}, v.Bool() || n.Is("x-kubernetes-preserve-unknown-fields")
}

// Items returns the schema of the items of a list.
func (n Node) Items() Node { return Node{n.Get("items").Struct()} }

// Step returns the schema of a field, of the value of a key, or of an item of a list, whose key is no string. It is not
// ok if there is no such field.
func (n Node) Step(key any) (below Node, ok bool) {
	name, isField := key.(string)
	property, named := n.Property(name)
	further, open := n.Further()
	switch {
	case n.Len() == 0:
		return n, true
	case isField && named:
		return property, true
	case n.Type() == "array" && !isField:
		return n.Items(), true
	case isField && n.Type() != Object && n.Type() != "":
		return Node{}, false
	}
	return further, open || !isField || n.Properties().Len() == 0
}

// A Root is the schema of a whole object, for messages about fields that it lacks.
type Root struct {
	Node

	Name        string // of the kind, or of a variable
	IsComposite bool   // the reader can change the schema
}

// Lacks returns a message about the first step of a path that the schema does not have, and its index, or no message.
func (r Root) Lacks(path ...any) (message string, step int) {
	n, above := r.Node, []string{}
	for i, key := range path {
		below, ok := n.Step(key)
		name, isField := key.(string)
		switch {
		case !isField:
			name = "[]"
		case !ok && n.Properties().Len() == 0:
			return "", 0 // it has no fields, so the value fails
		case !ok:
			return r.LacksBelow(n, above, name), i
		}
		n, above = below, append(above, name)
	}
	return "", 0
}

// LacksBelow returns the message that the object at a path has no such field, with the field that may be meant.
func (r Root) LacksBelow(n Node, path []string, field string) string {
	at := strings.ReplaceAll(strings.Join(append(slices.Clone(path), field), "."), ".[]", "[]")
	text, names := fmt.Sprintf("%s has no field %s", r.Name, at), n.Properties().Keys()
	switch meant := cmp.Or(suggest.Nearest(field, names), r.elsewhere(field)); {
	case r.IsComposite && field == "status" && slices.Equal(path, []string{"status"}):
		return text + ": leave out the first status, because the path is below it"
	case meant != "":
		return text + suggest.DidYouMean(meant)
	case field == "claimRef":
		return text + ": only a legacy composite has a claim: use the composite's own metadata.name and metadata.namespace"
	case r.IsComposite && len(names) > 1:
		return text + ": add it to the schema in the XRD, or use one of " + suggest.List(names)
	}
	return text + suggest.ThereAre(field, names, "it has no fields")
}

// elsewhere returns another path of the root with a field of that name, nearest to the root, because
// status.atProvider is easily forgotten.
func (r Root) elsewhere(field string) string {
	type place struct {
		Node
		path []string
	}
	const furthest, most = 5, 5000 // the number of levels and fields that are searched
	queue, fields := []place{{r.Node, nil}}, 0
	for len(queue) > 0 && fields < most {
		p := queue[0]
		queue = queue[1:]
		if _, ok := p.Property(field); ok && len(p.path) > 0 {
			return strings.Join(append(p.path, field), ".")
		}
		for name, v := range p.Properties().All() {
			fields++
			isMetadata := len(p.path) == 0 && name == "metadata"
			if next := (Node{v.Struct()}); next.Type() == Object && len(p.path) < furthest && !isMetadata {
				queue = append(queue, place{next, append(slices.Clone(p.path), name)})
			}
		}
	}
	return ""
}
