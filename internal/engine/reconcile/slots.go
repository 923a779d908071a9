package reconcile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file fills the slot of each export with what one request shows. The package lifecycle decides what follows.

// A placement is an export with its object and its slot.
type placement struct {
	generations.Export

	slot     lifecycle.Slot
	before   takenOver           // what the object was before the export took it over
	lookUp   *lookup.Requirement // of the place, while Crossplane shows no object
	unknown  evaluate.Reasons    // why there is neither an object nor a place
	conflict string              // why the object is another one
	stays    string              // why the object is not at the place in the input
	see      string              // a command that shows the object of another owner
}

// placements are the slots of all exports, and the writers of all objects.
type placements struct {
	outcome.Reply

	exports  []*placement
	writers  lifecycle.Writers
	drop     []string // resources of the composite author in an earlier step that an export replaces
	possible []Object // that exports may take over later
}

// objects returns the exports with their objects.
func (p *placements) objects() []*generations.Export {
	out := make([]*generations.Export, 0, len(p.exports))
	for _, at := range p.exports {
		out = append(out, &at.Export)
	}
	return out
}

// names are the composition resource names that these objects need.
func (p *placements) names() map[string]bool {
	out := map[string]bool{}
	for _, at := range p.exports {
		out[at.Composed] = true
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
	composite    composite.Composite
	desired      map[string]wire.Struct
	isGeneration func(o wire.Struct) bool
	session      *evaluate.Session
	answers      *lookup.Answers
	observed     map[string]observation.Resource // all composed resources
	resources    map[string]observation.Resource
	identified   map[string]generations.Identified
}

// run places all exports of the input.
func (b *placer) run(exports concreteExports) placements {
	var out placements
	shown := b.shown(exports.list)
	out.exports = b.place(exports.list, exports.unsure, shown)
	for _, at := range out.exports {
		if at.lookUp != nil {
			out.Require(*at.lookUp)
		}
	}
	b.keepPossible(&out, exports, shown)
	out.writers, out.drop = b.findWriters(out)
	return out
}

// object returns the object with a composition resource name.
func (b *placer) object(name string) wire.Struct {
	if id := b.identified[name]; id.Claimed {
		return id.Object
	}
	return b.resources[name].Object
}

// shown returns the objects that exports may have, in the order of their names. Only what the composite controls can be
// taken over.
func (b *placer) shown(exports []plan.Export) []lifecycle.Object {
	names := plan.SortedKeys(b.resources)
	for _, name := range plan.SortedKeys(b.identified) {
		if b.identified[name].Claimed {
			names = append(names, name)
		}
	}
	out := make([]lifecycle.Object, 0, len(names))
	isNamed := func(name string) bool {
		return slices.ContainsFunc(exports, func(e plan.Export) bool { return e.Name == name })
	}
	for _, name := range names {
		_, earlier := b.desired[name]
		if o := b.object(name); !earlier && (b.composite.Controls(o) || isNamed(name)) {
			out = append(out, lifecycle.Object{
				Name: name, Place: b.composite.PlaceOf(o), Owner: b.composite.OwnerOf(o), TookOver: tookOver(o),
			})
		}
	}
	return out
}

// place finds the object of each export. Those that unsure names may not be wanted.
func (b *placer) place(exports []plan.Export, unsure map[string]bool, shown []lifecycle.Object) []*placement {
	out, slots := make([]*placement, len(exports)), make([]*lifecycle.Slot, len(exports))
	for i, e := range exports {
		at := &placement{Export: generations.Export{Export: e, Place: lifecycle.Place{Kind: string(e.Kind)}}}
		out[i], slots[i] = at, &at.slot
		if at.slot.Name, at.slot.Want = e.Name, lifecycle.Unsure; !unsure[e.Name] {
			at.slot.Want = lifecycle.Yes
			at.Place, at.unknown = b.intended(b.session.ForItem(e.Item), e)
		}
		at.slot.Place = at.Place
	}
	for i, o := range lifecycle.Match(slots, shown) {
		at := out[i]
		if o != nil && !b.isHidden(at, o) {
			b.have(at, o)
		} else {
			b.find(at)
		}
		at.Composed = at.slot.As(b.isTaken)
	}
	return out
}

// isTaken reports whether Crossplane maps a composition resource name to another object.
func (b *placer) isTaken(name string) bool {
	_, shown := b.observed[name]
	_, earlier := b.desired[name]
	return shown || earlier
}

// have sets the object that Crossplane shows. A composed resource keeps its name and namespace, because Crossplane
// fixes both on creation.
func (b *placer) have(at *placement, o *lifecycle.Object) {
	wants, unknown := at.Place, at.unknown
	at.slot.Shown, at.Observed, at.unknown = o, b.object(o.Name), evaluate.Reasons{}
	at.Place = lifecycle.Place{Kind: string(at.Kind), Namespace: o.Namespace, Name: o.Place.Name}
	at.before = at.takenOverAs(o.Name)
	switch {
	case o.Owner != lifecycle.Own:
		at.conflict = fmt.Sprintf("the composite lists %s %s, which it does not control and has not composed: delete "+
			"it, or remove it from the list", at.Kind, at.Place)
		at.see, at.Observed = evaluate.See(at.Observed), wire.Struct{}
	case o.Kind != string(at.Kind):
		_, kind, _, _ := object.Identity(at.Observed)
		at.conflict = fmt.Sprintf("the composed resource with that name has the kind %s: give the %s another name in "+
			"%s", kind, at.Kind, at.At("name"))
	case !unknown.Empty():
		at.stays = "its name is unknown: " + unknown.Sentence()
	case at.slot.Moved():
		at.stays = fmt.Sprintf("a composed resource cannot be renamed: delete it to have it created as %s", wants)
	}
}

// isHidden reports whether Crossplane shows an object with the name of an export at another place, and the composite
// lists one with the same name at the export's place: it may be of another step, because any client can edit its name.
func (b *placer) isHidden(at *placement, o *lifecycle.Object) bool {
	if o.Name != at.Name || at.slot.Want != lifecycle.Yes || !at.unknown.Empty() || o.Place == at.slot.Place ||
		!b.composite.Lists(at.Place) {
		return false
	}
	a := b.lookUp(at)
	return !a.Read || slices.ContainsFunc(a.Objects, func(own wire.Struct) bool {
		return object.CompositionResourceName(own) == at.Name && b.composite.Controls(own)
	})
}

// lookUp requires the object at the place of an export.
func (b *placer) lookUp(at *placement) *lookup.Answer {
	p := at.Place
	at.lookUp = &lookup.Requirement{APIVersion: "v1", Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
	a := b.answers.To(*at.lookUp)
	if !a.Read {
		at.Unread = at.lookUp.String()
	}
	return a
}

// find looks the place of an export up, because Crossplane shows no object of it.
func (b *placer) find(at *placement) {
	if !at.unknown.Empty() || at.slot.Want != lifecycle.Yes {
		return
	}
	a := b.lookUp(at)
	if at.slot.Found.Read = a.Read; !a.Read {
		at.unknown = evaluate.WaitingFor("the lookup of %s", at.lookUp)
	}
	if len(a.Objects) > 0 {
		b.found(at, a.Objects[0])
	}
}

// found checks an object at the place of an export that Crossplane does not show there. It may be the export's own: the
// composite is read from a cache, which may lack a new object, and of several objects with the same annotation
// Crossplane shows one.
func (b *placer) found(at *placement, o wire.Struct) {
	composed := object.CompositionResourceName(o)
	found := &lifecycle.Object{Place: at.Place, Name: composed}
	at.slot.Found.At, at.see = found, evaluate.See(o)
	_, earlier := b.desired[composed]
	shown, isShown := b.observed[composed]
	isHere := isShown && b.composite.PlaceOf(shown.Object) == at.Place
	isHidden := isShown && !isHere // Crossplane shows another object with its name
	switch {
	case b.composite.NotComposed(o) != "":
		at.conflict = fmt.Sprintf("%s %s %s%s", at.Kind, at.Place, b.composite.NotComposed(o),
			toRename(&at.Export.Export))
	case earlier && !at.Author && !isHidden: // another name would move the application's object
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q, and an earlier step still composes it: "+
			"remove it there", at.Kind, at.Place, composed)
	case plan.IsAuthors(composed) && !at.Author && !isHidden:
		at.unknown = evaluate.WaitingFor("%s %s, which a composite author requests, to be deleted", at.Kind, at.Place)
		at.slot.Place.Name = ""
	case isHere, b.isGeneration(o), at.Author && !plan.IsAuthors(composed) && !isHidden:
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite: %s",
			at.Kind, at.Place, composed, toRename(&at.Export.Export))
	default:
		at.Observed, at.Unlisted = o, !b.composite.Lists(at.Place)
		at.before = at.takenOverAs(composed)
	}
	if at.conflict != "" {
		found.Owner = lifecycle.Foreign
	}
	if at.Unlisted {
		found.Listing = lifecycle.Unlisted
	}
}

// toRename says how to give the object of an export another name.
func toRename(e *plan.Export) string {
	if x := e.Metadata.NameExpr; x != nil {
		return "make " + x.Source().Path + " return another name"
	}
	return "set " + e.NamePath().String() + " to another name"
}

// intended returns the place of an export's object in the input. On an error, its name is unknown.
func (b *placer) intended(s *evaluate.Session, e plan.Export) (lifecycle.Place, evaluate.Reasons) {
	out := lifecycle.Place{Kind: string(e.Kind)}
	ns, err := b.namespaceOf(s, e)
	if err != nil {
		return out, evaluate.Because(e.Path.Child("metadata", "namespaceExpression").String(), err)
	}
	name, why := b.nameOf(s, e)
	if out.Namespace = ns; why.Empty() {
		out.Name = name
	}
	return out, why
}

func (b *placer) nameOf(s *evaluate.Session, e plan.Export) (string, evaluate.Reasons) {
	switch x := e.Metadata.NameExpr; {
	case x != nil:
		name, err := s.CheckedName(x, e.From, "name", object.ValidateName)
		return name, evaluate.Because(x.Source().Path, err)
	case e.Metadata.Name != "":
		return e.Metadata.Name, evaluate.Reasons{}
	}
	name := b.composite.Name + "-" + e.DefaultName()
	if err := object.ValidateName(name); err != nil {
		return "", evaluate.Failing("%s: must be set, because the default is an invalid name: %s", e.NamePath(),
			err.Error())
	}
	return name, evaluate.Reasons{}
}

func (b *placer) namespaceOf(s *evaluate.Session, e plan.Export) (string, error) {
	x, own := e.Metadata.NamespaceExpr, b.composite.Namespace
	if x == nil {
		return cmp.Or(e.Metadata.Namespace, own), nil
	}
	ns, err := s.CheckedName(x, e.From, "namespace", object.ValidateNamespace)
	if err == nil && !b.composite.Cluster && ns != own {
		return "", evaluate.Failed(x.Source().Path, "returns namespace %q, but a composite in namespace %q "+
			"can compose only into its own namespace: leave it out", ns, own)
	}
	return ns, err
}

// An earlierStep composes the resource with this name.
type earlierStep string

// String names the resource.
func (name earlierStep) String() string {
	return fmt.Sprintf("composed resource %q of an earlier step", string(name))
}

// findWriters finds the earlier steps and the exports of this step that compose an object. drop are the resources of
// the composite author in earlier steps that exports replace.
func (b *placer) findWriters(placed placements) (out lifecycle.Writers, drop []string) {
	out = make(lifecycle.Writers, len(placed.exports))
	authors := map[lifecycle.Place]string{}
	for _, name := range plan.SortedKeys(b.desired) {
		o := b.desired[name]
		t := b.composite.PlaceOf(o)
		switch {
		case t.Name == "" || !o.Get("apiVersion").Is("v1"):
		case plan.IsAuthors(name):
			authors[t] = name
		default:
			out.Add(t, earlierStep(name))
		}
	}
	for _, at := range placed.exports {
		if t := at.Place; t.Name != "" {
			out.Add(t, at.ItemPath())
			if name, ok := authors[t]; ok {
				drop = append(drop, name)
			}
		}
	}
	return out, drop
}
