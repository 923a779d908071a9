package reconcile

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file fills the slot of each export with what one request shows. The package lifecycle decides what follows.

// A placement is an export's slot and its object.
type placement struct {
	target // where the object is, or must be

	slot     lifecycle.Slot
	resource string       // the composition resource name under which the object is desired
	observed wire.Struct  // the object, if it exists
	unlisted bool         // the composite does not list it
	before   takenOver    // what it was before the export took it over
	lookUp   *Requirement // of the place, while Crossplane shows no object
	unknown  reasons      // why there is neither an object nor a place
	conflict string       // why the object is another one
	stays    string       // why the object is not at the place in the input
	see      string       // a command that shows the object of another owner
}

// placements are the slots of all exports, and the writers of all objects.
type placements struct {
	reply

	exports  []plan.Export
	at       []placement // of each export
	writers  writers
	drop     []string // resources of the composite author in an earlier step that an export replaces
	possible []Object // that exports may take over later
}

// names are the composition resource names that these objects need.
func (p *placements) names() map[string]bool {
	out := map[string]bool{}
	for _, at := range p.at {
		out[at.resource] = true
	}
	for _, o := range p.possible {
		out[o.Name] = true
	}
	return out
}

// A placer places exports. Crossplane shows the resources, which exports may have. An identified one looks like a
// generation. If only annotations and labels say so, an export may have it: any client can write these, and Crossplane
// would delete the object.
type placer struct {
	session    *session
	plan       *plan.Plan
	req        *request
	resources  map[string]observation.Resource
	identified map[string]identified
}

// placeExports places all exports.
func placeExports(
	s *session, p *plan.Plan, req *request, exports concreteExports, identified map[string]identified,
) placements {
	out := placements{exports: exports.list}
	b := placer{s, p, req, s.observed.Resources, identified}
	shown := b.shown(exports.list)
	out.at = b.place(exports.list, exports.unsure, shown)
	for i := range out.at {
		if l := out.at[i].lookUp; l != nil {
			out.require(*l)
		}
	}
	b.keepPossible(&out, exports, shown)
	out.writers, out.drop = findWriters(s, req, out)
	return out
}

// object returns the object with a composition resource name.
func (b *placer) object(name string) wire.Struct {
	if id := b.identified[name]; id.claimed {
		return id.Object
	}
	return b.resources[name].Object
}

// shown returns the objects that exports may have, in the order of their names. Only what the composite controls can be
// taken over.
func (b *placer) shown(exports []plan.Export) []lifecycle.Object {
	names := plan.SortedKeys(b.resources)
	for _, name := range plan.SortedKeys(b.identified) {
		if b.identified[name].claimed {
			names = append(names, name)
		}
	}
	out := make([]lifecycle.Object, 0, len(names))
	isNamed := func(name string) bool {
		return slices.ContainsFunc(exports, func(e plan.Export) bool { return e.Name == name })
	}
	for _, name := range names {
		_, earlier := b.req.Desired[name]
		if o := b.object(name); !earlier && (b.session.controls(o) || isNamed(name)) {
			out = append(out, lifecycle.Object{
				Name: name, Place: b.session.placeOf(o).place(), Owner: b.session.ownerOf(o), TookOver: tookOver(o),
			})
		}
	}
	return out
}

// compositeLabel is the label in which Crossplane writes the name of the composite that composed an object.
const compositeLabel = "crossplane.io/composite"

// ownerOf returns whose an object is that the composite lists. One that has no controller and that this composite did
// not compose is foreign: the composite's author can write the list, and Crossplane would adopt the object. After a
// restore, the objects of a composite still have their label.
func (c composite) ownerOf(o wire.Struct) lifecycle.Owner {
	meta := plan.MetadataOf(o)
	inFile := meta.Get("resourceVersion").Text() == ""
	if inFile || c.controls(o) || meta.At("labels", compositeLabel).Is(c.name) {
		return lifecycle.Own
	}
	return lifecycle.Foreign
}

// place finds the object of each export. Those that unsure names may not be wanted.
func (b *placer) place(exports []plan.Export, unsure map[string]bool, shown []lifecycle.Object) []placement {
	out, slots := make([]placement, len(exports)), make([]lifecycle.Slot, len(exports))
	for i, e := range exports {
		at := &out[i]
		if at.kind = e.Kind; !unsure[e.Name] {
			at.target, at.unknown = b.session.forItem(e.Item).intended(e)
		}
		at.slot = lifecycle.Slot{Name: e.Name, Want: lifecycle.Yes, Place: at.place()}
		if unsure[e.Name] {
			at.slot.Want = lifecycle.Unsure
		}
		slots[i] = at.slot
	}
	for i, o := range lifecycle.Match(slots, shown) {
		if o != nil && !b.isHidden(&out[i], exports[i], o) {
			b.have(&out[i], exports[i], o)
		} else {
			b.find(&out[i], exports[i])
		}
		out[i].resource = out[i].slot.As(b.isTaken)
	}
	return out
}

// isTaken reports whether Crossplane maps a composition resource name to another object.
func (b *placer) isTaken(name string) bool {
	_, shown := b.req.Observation.Resources[name]
	_, earlier := b.req.Desired[name]
	return shown || earlier
}

// have sets the object that Crossplane shows. A composed resource keeps its name and namespace, because Crossplane
// fixes both on creation.
func (b *placer) have(at *placement, e plan.Export, o *lifecycle.Object) {
	wants, unknown := at.target, at.unknown
	at.slot.Shown, at.observed, at.unknown = o, b.object(o.Name), reasons{}
	at.target = target{e.Kind, o.Namespace, o.Place.Name}
	at.before = readTakenOver(at.observed, o.Name, e)
	switch {
	case o.Owner != lifecycle.Own:
		at.conflict = fmt.Sprintf("the composite lists %s %s, which it does not control and has not composed: delete it, or "+
			"remove it from the list", e.Kind, at)
		at.see, at.observed = see(at.observed), wire.Struct{}
	case o.Kind != string(e.Kind):
		_, kind, _, _ := object.Identity(at.observed)
		at.conflict = fmt.Sprintf("the composed resource with that name has the kind %s: give the %s another name in %s",
			kind, e.Kind, e.At("name"))
	case !unknown.empty():
		at.stays = "its name is unknown: " + unknown.sentence()
	case at.slot.Moved():
		at.stays = fmt.Sprintf("a composed resource cannot be renamed: delete it to have it created as %s", wants)
	}
}

// isHidden reports whether Crossplane shows an object with the name of an export at another place, and the composite
// lists one with the same name at the export's place: it may be of another step, because any client can edit its name.
func (b *placer) isHidden(at *placement, e plan.Export, o *lifecycle.Object) bool {
	if o.Name != e.Name || at.slot.Want != lifecycle.Yes || !at.unknown.empty() || o.Place == at.slot.Place ||
		!lists(b.session.object, at.target) {
		return false
	}
	a := b.lookUp(at)
	return !a.read || slices.ContainsFunc(a.objects, func(own wire.Struct) bool {
		return object.CompositionResourceName(own) == e.Name && b.session.controls(own)
	})
}

// lookUp requires the object at the place of an export.
func (b *placer) lookUp(at *placement) *answer {
	at.lookUp = &Requirement{APIVersion: "v1", Kind: string(at.kind), Namespace: at.namespace, Name: at.name}
	return b.req.answer(*at.lookUp)
}

// find looks the place of an export up, because Crossplane shows no object of it.
func (b *placer) find(at *placement, e plan.Export) {
	if !at.unknown.empty() || at.slot.Want != lifecycle.Yes {
		return
	}
	a := b.lookUp(at)
	if at.slot.Found.Read = a.read; !a.read {
		at.unknown = waitingFor("the lookup of %s", at.lookUp)
	}
	if len(a.objects) > 0 {
		b.found(at, e, a.objects[0])
	}
}

// found checks an object at the place of an export that Crossplane does not show there. It may be the export's own: the
// composite is read from a cache, which may lack a new object, and of several objects with the same annotation
// Crossplane shows one.
func (b *placer) found(at *placement, e plan.Export, o wire.Struct) {
	composed := object.CompositionResourceName(o)
	found := &lifecycle.Object{Place: at.place(), Name: composed}
	at.slot.Found.At, at.see = found, see(o)
	_, earlier := b.req.Desired[composed]
	shown, isShown := b.req.Observation.Resources[composed]
	isHere := isShown && b.session.placeOf(shown.Object) == at.target
	isHidden := isShown && !isHere // Crossplane shows another object with its name
	switch {
	case b.session.notComposed(o) != "":
		at.conflict = fmt.Sprintf("%s %s %s%s", e.Kind, at, b.session.notComposed(o), toRename(e))
	case earlier && !e.Author && !isHidden: // another name would move the application's object
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q, and an earlier step still composes it: "+
			"remove it there", e.Kind, at, composed)
	case plan.IsAuthors(composed) && !e.Author && !isHidden:
		at.unknown = waitingFor("%s %s, which a composite author requests, to be deleted", e.Kind, at)
		at.slot.Place.Name = ""
	case isHere, b.session.isGeneration(b.plan, o), e.Author && !plan.IsAuthors(composed) && !isHidden:
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite: %s",
			e.Kind, at, composed, toRename(e))
	default:
		at.observed, at.unlisted = o, !lists(b.session.object, at.target)
		at.before = readTakenOver(o, composed, e)
	}
	if at.conflict != "" {
		found.Owner = lifecycle.Foreign
	}
	if at.unlisted {
		found.Listing = lifecycle.Unlisted
	}
}

// toRename says how to give the object of an export another name.
func toRename(e plan.Export) string {
	if x := e.Metadata.NameExpr; x != nil {
		return "make " + x.Source().Path + " return another name"
	}
	return "set " + e.NamePath().String() + " to another name"
}

// notComposed returns why an object is not a composed resource of this composite, or nothing. The text ends before
// another way to resolve that.
func (s *session) notComposed(found wire.Struct) string {
	_, _, _, controlled := object.ControllerOf(found)
	switch {
	case !controlled:
		return "exists and has no controller: delete it, or "
	case !s.controls(found):
		return "exists and is controlled by " + s.otherController(found)
	case object.CompositionResourceName(found) == "":
		return "of this composite has no composition resource name: delete it, or "
	}
	return ""
}

// otherController describes the controller of an object that this composite does not control. A former
// composite of the same name has another UID.
func (s *session) otherController(found wire.Struct) string {
	uid, kind, name, _ := object.ControllerOf(found)
	apiVersion := object.Controller(found).Get("apiVersion").Text()
	ownVersion, ownKind, _, ownName := object.Identity(s.object)
	switch {
	case kind != ownKind || name != ownName || s.uid == "":
		return fmt.Sprintf("%s %q: ", kind, name)
	case groupOf(apiVersion) != groupOf(ownVersion):
		return fmt.Sprintf("%s %q of %q: ", kind, name, apiVersion)
	}
	return fmt.Sprintf("a previous %s %q with the UID %q, not by this one, whose UID is %q: "+
		"wait until Kubernetes has deleted it, or delete it, or ", kind, name, uid, s.uid)
}
