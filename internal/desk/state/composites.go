package state

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
)

// The API group of Compositions, and the kinds in it.
const (
	group        = composition.Group
	kindRevision = "CompositionRevision"
	kindXRD      = "CompositeResourceDefinition"
)

// A Composite uses a Composition.
type Composite struct {
	*Object

	Composition string         // its name
	InUse       map[string]any // the Composition or its revision that composes it now, or nil if it is not known
	Pinned      string         // why another revision of the Composition does not change it, or nothing
	fields      map[string]any
}

// Composites returns the composites that use a Composition, which may be changed. They are in the order of their
// namespaces and names.
func (s *State) Composites(changed map[string]any) []*Composite {
	name, of := RefIn(changed).Name, compositeType(changed)
	all := s.OfKind(of.group(), of.Kind)
	out := make([]*Composite, 0, len(all))
	xrd, inUse := s.Definition(of), map[Ref]map[string]any{}
	for _, o := range all {
		c := &Composite{Object: o, Composition: name, fields: o.Map()}
		if c.compositionOf(xrd) != name {
			continue
		}
		if used := s.inUse(c, name); used != nil {
			if inUse[used.Ref] == nil {
				inUse[used.Ref] = used.Map()
			}
			c.InUse = inUse[used.Ref]
		}
		c.Pinned = c.pinned(changed)
		out = append(out, c)
	}
	return out
}

// compositeType returns the kind of the composites of a Composition.
func compositeType(c map[string]any) Ref {
	of, _ := Field(c, "spec", "compositeTypeRef").(map[string]any)
	return RefIn(of)
}

// AllComposites returns the composites of all Compositions, with the one in use.
func (s *State) AllComposites() []*Composite {
	compositions := s.OfKind(group, composition.Kind)
	out := make([][]*Composite, 0, len(compositions))
	for _, o := range compositions {
		out = append(out, s.Composites(o.Map()))
	}
	return slices.Concat(out...)
}

// crossplane returns a field that Crossplane reads. Composites of the v1 style have it directly in their spec.
func (c *Composite) crossplane(path ...string) any {
	if v := Field(c.fields, append([]string{"spec", "crossplane"}, path...)...); v != nil || c.Namespace != "" {
		return v
	}
	return Field(c.fields, append([]string{"spec"}, path...)...)
}

func (c *Composite) crossplaneText(path ...string) string {
	text, _ := c.crossplane(path...).(string)
	return text
}

// compositionOf returns the name of the Composition that a composite uses. One that Crossplane has not seen yet names
// none: its definition decides.
func (c *Composite) compositionOf(xrd map[string]any) string {
	return cmp.Or(Text(xrd, "spec", "enforcedCompositionRef", "name"), c.crossplaneText("compositionRef", "name"),
		Text(xrd, "spec", "defaultCompositionRef", "name"))
}

// Definition returns the definition of a kind of composites, or nil.
func (s *State) Definition(of Ref) map[string]any {
	for _, o := range s.OfKind(group, kindXRD) {
		xrd := o.Map()
		if Text(xrd, "spec", "group") == of.group() && Text(xrd, "spec", "names", "kind") == of.Kind {
			return xrd
		}
	}
	return nil
}

// inUse returns the revision that composes a composite now, or the Composition if it names none, or nil.
func (s *State) inUse(c *Composite, name string) *Object {
	revision := Ref{group + "/v1", kindRevision, "", c.crossplaneText("compositionRevisionRef", "name")}
	return cmp.Or(s.Find(revision), s.Find(Ref{group + "/v1", composition.Kind, "", name}))
}

// pinned returns why a change of its Composition does not reach a composite.
func (c *Composite) pinned(changed map[string]any) string {
	selector := Texts(c.crossplane("compositionRevisionSelector", "matchLabels"))
	switch selects := labels.SelectorFromSet(selector); {
	case Text(c.fields, "metadata", "deletionTimestamp") != "":
		return "it is being deleted"
	case Texts(Field(c.fields, "metadata", "annotations"))["crossplane.io/paused"] == "true":
		return "it is paused (annotation crossplane.io/paused)"
	case c.crossplaneText("compositionUpdatePolicy") == "Manual":
		revision := cmp.Or(c.crossplaneText("compositionRevisionRef", "name"), "its revision")
		return fmt.Sprintf("its compositionUpdatePolicy is Manual, so it stays at %s", revision)
	case !selects.Matches(labels.Set(Texts(Field(changed, "metadata", "labels")))):
		return "its compositionRevisionSelector does not select the labels of the changed Composition"
	}
	return ""
}

// Refs returns the objects that Crossplane composes for a composite, in their order, each once.
func (c *Composite) Refs() []Ref {
	list, _ := c.crossplane("resourceRefs").([]any)
	var out []Ref
	for _, v := range list {
		ref, _ := v.(map[string]any)
		r := Ref{Text(ref, "apiVersion"), Text(ref, "kind"), cmp.Or(c.Namespace, Text(ref, "namespace")), Text(ref, "name")}
		if r.Name != "" && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}
