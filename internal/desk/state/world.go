package state

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
