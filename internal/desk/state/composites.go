package state

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
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
		if claim := c.claim(); claim != nil && !s.Complete && s.Find(RefIn(claim)) == nil {
			s.Add(claim) // files may have only composites
		}
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

// claim returns the claim of a composite, as far as its reference shows it, or nil.
func (c *Composite) claim() map[string]any {
	ref, _ := Field(c.fields, "spec", "claimRef").(map[string]any)
	if ref == nil || c.Namespace != "" {
		return nil
	}
	return map[string]any{
		"apiVersion": ref["apiVersion"], "kind": ref["kind"],
		"metadata": map[string]any{"namespace": ref["namespace"], "name": ref["name"]},
		"spec":     map[string]any{"resourceRef": map[string]any{"apiVersion": c.APIVersion, "kind": c.Kind, "name": c.Name}},
	}
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

// Unknown invents the data of Secrets whose data is unknown. The keys are known if the Secret is masked. A result may
// be nil.
type Unknown interface {
	Connection(r Ref, keys []string) map[string][]byte           // of a composed resource
	Source(c *Composite, r Ref, keys []string) map[string][]byte // that a function requires
}

// World returns a simulation that begins with a composite and its composed resources, as Crossplane observes them at a
// time. It has no pipeline. Other objects come into it when a function requires them.
//
// Secrets whose data is unknown are not in it.
func (s *State) World(c *Composite, now time.Time, unknown Unknown) *world.World {
	xr := c.Struct()
	w := world.New(withoutRefs(xr))
	w.Now, w.Meta = now, &fnv1.RequestMeta{Capabilities: capabilities()}
	w.UIDs = int(now.Unix()) // no object of the state has such a UID
	known := map[Ref]bool{}
	for _, ref := range c.Refs() {
		o := s.Find(ref)
		if o == nil || s.IsUnknown(o.Ref) {
			continue
		}
		known[o.Ref] = true
		m := o.Struct()
		observed(m, xr)
		key := world.KeyOf(m)
		w.Stored[key], w.Listed = m, append(w.Listed, key)
		if details := s.details(m, unknown); details != nil {
			w.Details[key] = details
		}
	}
	w.Details[world.KeyOf(w.XR)] = s.details(xr, unknown)
	w.Outside = func(sel *fnv1.ResourceSelector) []*structpb.Struct {
		var out []*structpb.Struct
		for _, o := range s.Select(sel) {
			if !known[o.Ref] && !s.IsUnknown(o.Ref) {
				known[o.Ref] = true
				out = append(out, o.Struct())
			}
		}
		named := Selected(sel)
		if named.Name != "" && !known[named] && s.IsUnknown(named) {
			known[named] = true
			if data := unknown.Source(c, named, s.HiddenKeys(named)); data != nil {
				out = append(out, world.NewSecret(named.Namespace, named.Name, data))
			}
		}
		return out
	}
	return w
}

// capabilities are those of Crossplane without schemas: they only add warnings about misspelled fields.
func capabilities() []fnv1.Capability {
	return slices.DeleteFunc(world.Capabilities(), func(c fnv1.Capability) bool {
		return c == fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS
	})
}

// withoutRefs returns a composite without what it lists, because the simulation lists it.
func withoutRefs(xr *structpb.Struct) *structpb.Struct {
	spec := xr.GetFields()["spec"].GetStructValue()
	delete(spec.GetFields(), "resourceRefs")
	delete(spec.GetFields()["crossplane"].GetStructValue().GetFields(), "resourceRefs")
	return xr
}

// details returns the connection details of an object, or nil. A namespaced object has its Secret in its own namespace.
func (s *State) details(o *structpb.Struct, unknown Unknown) map[string][]byte {
	to := wire.Of(o).At("spec", "writeConnectionSecretToRef").Struct()
	r := Ref{"v1", "Secret", cmp.Or(world.Meta(o, "namespace"), to.Get("namespace").Text()), to.Get("name").Text()}
	if r.Name == "" {
		return nil
	}
	s.want(r.selector())
	if s.IsUnknown(r) {
		return unknown.Connection(r, s.HiddenKeys(r))
	}
	found := s.Find(r)
	if found == nil {
		return nil
	}
	out := map[string][]byte{}
	for key, v := range Texts(Field(found.Map(), "data")) {
		out[key], _ = base64.StdEncoding.DecodeString(v)
	}
	return out
}

// composer begins the field managers of Crossplane, one for each kind and name of a composite.
const composer = "apiextensions.crossplane.io/composed"

// observed gives an object the form that the simulation applies, so that it changes only if its content does. Without
// field managers, as kubectl prints objects, Crossplane manages each field.
func observed(o, xr *structpb.Struct) {
	meta := o.GetFields()["metadata"].GetStructValue().GetFields()
	managed := meta["managedFields"]
	for _, name := range []string{"generation", "finalizers", "selfLink", "managedFields"} {
		delete(meta, name)
	}
	for _, v := range meta["ownerReferences"].GetListValue().GetValues() {
		if f := v.GetStructValue().GetFields(); f["controller"].GetBoolValue() && f["uid"].GetStringValue() == world.Meta(
			xr, "uid") {
			meta["ownerReferences"] = world.OwnedBy(xr)
		}
	}
	own := false
	for _, v := range managed.GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		if strings.HasPrefix(f["manager"].GetStringValue(), composer) {
			f["manager"], own = structpb.NewStringValue(world.Composer), true
		}
	}
	if !own {
		world.Manage(o)
		return
	}
	meta["managedFields"] = managed
}
