package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A placement is where an export's object is, or must be.
type placement struct {
	target

	resource string       // the composition resource name: the export's, or the one of the object that it takes over
	wants    target       // the place in the input, if the observed object is not there and the place is known
	observed wire.Struct  // the function's object, if it exists
	unlisted bool         // it was looked up, because the composite does not list it
	stale    bool         // the composite may list it once Crossplane reads it again
	lookUp   *Requirement // while the function's object does not exist
	unknown  reasons      // why the place is not known, or not looked up yet
	conflict string       // the other writer or owner of the object at that place
	unnamed  bool         // the place in the input is unknown, but the export has an observed object
	stays    string       // why the observed object is not at the place in the input; empty if it is
	kept     bool         // the observed object is kept unchanged, and another outcome says why
	see      string       // a command that shows the other owner's object
}

// writers list who composes each object, to find objects that are composed twice.
type writers map[target][]writer

// placements are the places of all exports, and the writers of all objects.
type placements struct {
	reply

	exports  []plan.Export
	at       []placement // of each export
	writers  writers
	drop     []string // resources of the composite author in an earlier step that an export replaces
	possible []Object // that exports whose names are unknown may take over
	stale    error    // a *Stale, or nil
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

// renamed returns the names of exports whose objects have the composition resource name of a generation, because their
// annotation was changed, by that name.
func (p *placements) renamed() map[string]string {
	out := map[string]string{}
	for i, at := range p.at {
		if strings.HasPrefix(at.resource, plan.GenerationPrefix) {
			out[at.resource] = p.exports[i].Name
		}
	}
	return out
}

// placeExports finds the places of all exports. identified are the resources that look like a generation.
func placeExports(
	s *session, p *plan.Plan, req *request, exports concreteExports, identified map[string]identified,
) placements {
	out := placements{exports: exports.list, at: make([]placement, len(exports.list))}
	former := &successor{session: s, req: req, exports: exports, identified: identified}
	for i, e := range exports.list {
		observed := s.observed.Resources[e.Name].Object
		if exports.kept[e.Name] {
			out.at[i] = placeObserved(e, placement{}, e.Name, observed)
			out.at[i].kept, out.at[i].stays = true, ""
			continue
		}
		out.at[i] = placeExport(s.forItem(e.Item), p, req, e, observed, former)
		if l := out.at[i].lookUp; l != nil {
			out.require(*l)
		}
		if out.at[i].stale {
			out.stale = staleBefore(out.at[i].observed)
		}
	}
	refuseSwapped(out)
	former.keepWanted(&out)
	former.keepPossible(&out)
	out.writers, out.drop = findWriters(s, req, out)
	return out
}

// placeExport finds the object of an export. A composed resource keeps its name and namespace, because
// Crossplane fixes both on creation. Before it exists, the export may take over an object at its place.
// Otherwise its place is looked up. Exports of composite authors take over nothing: former is nil.
func placeExport(
	s *session, p *plan.Plan, req *request, e plan.Export, observed wire.Struct, former *successor,
) placement {
	at := s.intended(e)
	if observed.Exists() {
		return s.refuseUncontrolled(e, placeObserved(e, at, e.Name, observed))
	}
	if composed, o := former.takeOver(e, at); o.Exists() {
		return placeObserved(e, at, composed, o)
	}
	if !at.unknown.empty() || !rulesLookUp {
		return at
	}
	at.lookUp = &Requirement{APIVersion: "v1", Kind: string(e.Kind), Namespace: at.namespace, Name: at.name}
	switch a := req.answer(*at.lookUp); {
	case !a.read:
		at.unknown = waitingFor("the lookup of %s", at.lookUp)
	case len(a.objects) > 0:
		s.checkFound(p, req, e, &at, a.objects[0])
	}
	return at
}

// intended returns the place of the object in the input, or why the place is unknown.
func (s *session) intended(e plan.Export) placement {
	at := placement{target: target{kind: e.Kind}, resource: e.Name}
	ns, err := s.namespaceOf(e)
	if err != nil {
		at.unknown.add(e.Path.Child("metadata", "namespaceExpression").String(), err)
		return at
	}
	at.namespace = ns
	switch x := e.Metadata.NameExpr; {
	case x != nil:
		name, err := s.checkedName(x, e.From, "name", object.ValidateName)
		at.unknown.add(x.Source().Path, err)
		at.name = name
	case e.Metadata.Name != "":
		at.name = e.Metadata.Name
	default:
		at.name = s.composite.name + "-" + e.DefaultName()
		if err := object.ValidateName(at.name); err != nil {
			at.unknown = failing("%s: must be set, because the default is an invalid name: %s", e.NamePath(), err.Error())
		}
	}
	return at
}

func (s *session) namespaceOf(e plan.Export) (string, error) {
	x := e.Metadata.NamespaceExpr
	switch {
	case x == nil && e.Metadata.Namespace == "":
		return s.namespace, nil
	case x == nil:
		return e.Metadata.Namespace, nil
	}
	ns, err := s.checkedName(x, e.From, "namespace", object.ValidateNamespace)
	if err == nil && !s.cluster && ns != s.namespace {
		return "", failed(x.Source().Path, "returns namespace %q, but a composite in namespace %q "+
			"can compose only into its own namespace: leave it out", ns, s.namespace)
	}
	return ns, err
}

// checkedName returns the name that an expression produces. It is empty on an error.
func (s *session) checkedName(x *expression.Expression, from, what string, check func(string) error) (string, error) {
	name, err := s.name(x, from)
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", expression.NewWaiting("a " + what + " that is not empty")
	case check(name) != nil:
		return "", failed(x.Source().Path, "returns an invalid %s: %s", what, check(name).Error())
	}
	return name, nil
}

// compositeLabel is the label in which Crossplane writes the name of the composite that composed an object.
const compositeLabel = "crossplane.io/composite"

// refuseUncontrolled refuses an observed object that has no controller and that this composite did not compose: its
// author can write the list of composed resources, and Crossplane would adopt the object. After a restore, the objects
// of a composite still have their label.
func (s *session) refuseUncontrolled(e plan.Export, at placement) placement {
	meta := plan.MetadataOf(at.observed)
	inFile := meta.Get("resourceVersion").Text() == ""
	if at.conflict != "" || inFile || s.controls(at.observed) || meta.At("labels", compositeLabel).Is(s.composite.name) {
		return at
	}
	at.conflict = fmt.Sprintf("the composite lists %s %s, which it does not control and has not composed: delete it, or "+
		"remove it from the list", e.Kind, at)
	at.see, at.observed = see(at.observed), wire.Struct{} // it is not desired, and Crossplane deletes only what it controls
	return at
}

func placeObserved(e plan.Export, want placement, composed string, observed wire.Struct) placement {
	apiVersion, kind, ns, name := object.Identity(observed)
	if ns == "" {
		ns = want.namespace // a file may omit it
	}
	at := placement{target: target{e.Kind, ns, name}, resource: composed, observed: observed}
	switch {
	case apiVersion != "v1" || kind != string(e.Kind):
		at.wants = want.target
		at.conflict = fmt.Sprintf("the composed resource with that name has the kind %s: give the %s another name in %s",
			kind, e.Kind, e.At("name"))
	case !want.unknown.empty():
		at.unnamed = true
		at.stays = "its name is unknown: " + want.unknown.sentence()
	case want.target != at.target:
		at.wants = want.target
		at.stays = fmt.Sprintf("a composed resource cannot be renamed: delete it to have it created as %s", want)
	}
	return at
}

// refuseSwapped finds exports whose objects have swapped places in the input. Each of them would write its data into
// the object of another one.
func refuseSwapped(placed placements) {
	wanted := map[target]*field.Path{}
	for i, at := range placed.at {
		wanted[at.wants] = placed.exports[i].Path // a target without a name is checked below
	}
	for i := range placed.at {
		at := &placed.at[i]
		if by := wanted[at.target]; by != nil && at.wants.name != "" && at.conflict == "" {
			at.conflict = fmt.Sprintf("%s %s must have the data of %s, and a composed resource cannot be renamed: "+
				"give the exports their previous names, or delete both objects", at.kind, at, by)
			at.stays = ""
		}
	}
}

// checkFound checks an object at the place of an export that is not observed. It may be the function's own
// object, because the cache that the composite is read from may not have a resource that was just composed.
// An object with another composition resource name is taken over once the composite lists it. Until then it is
// kept, so that the composite lists it.
func (s *session) checkFound(p *plan.Plan, req *request, e plan.Export, at *placement, found wire.Struct) {
	rename := toRename(e)
	at.see = see(found)
	if why := s.notComposed(found); why != "" {
		at.conflict = fmt.Sprintf("%s %s %s%s", e.Kind, at, why, rename)
		return
	}
	composed := object.CompositionResourceName(found)
	unlisted := !lists(s.object, at.target)
	switch {
	case !unlisted && s.hasAnotherName(p, req, e, at.target, found):
		at.observed = found // the export gets its own name again
	case req.stillComposes(composed) && !e.Author:
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q, and an earlier step still composes it: "+
			"remove it there", e.Kind, at, composed) // another name would move the application's object
	case plan.IsAuthors(composed) && !e.Author: // it is deleted
		at.unknown = waitingFor("%s %s, which a composite author requests, to be deleted", e.Kind, at)
	case req.isTaken(composed) || composed != e.Name && (e.Author || p.ExportNamed(composed)):
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite: %s", e.Kind, at, composed, rename)
	case req.isAnother(e, composed, at.target):
		at.conflict = fmt.Sprintf("%s %s has the composition resource name %q of another object of this composite: "+
			"delete it, or %s", e.Kind, at, composed, rename)
	case composed != e.Name:
		at.observed, at.resource, at.unlisted = found, composed, unlisted
		at.unknown = waitingFor("the composite to list %s %s as its composed resource %q", e.Kind, at, composed)
		if at.mayBeForged(e) {
			at.stale = recentlyCreated(found, req.Now)
			at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite, which does not list it: "+
				"delete it, or %s", e.Kind, at, composed, rename)
		}
	default:
		at.observed, at.unlisted = found, unlisted
	}
}

// hasAnotherName reports whether an object of an export has the composition resource name of another object only because
// its annotation was changed. At the place of an author's entry, it may be the object of a later step.
func (s *session) hasAnotherName(p *plan.Plan, req *request, e plan.Export, at target, found wire.Struct) bool {
	if e.Author {
		return isOfAuthor(e, found) && s.isRenamed(p, req, found)
	}
	return s.isRenamed(p, req, found) || s.isCopied(p, req, e, at, found)
}

// toRename says how to give the object of an export another name.
func toRename(e plan.Export) string {
	if x := e.Metadata.NameExpr; x != nil {
		return "make " + x.Source().Path + " return another name"
	}
	return "set " + e.NamePath().String() + " to another name"
}

// stillComposes reports whether an earlier step composes a resource that is not a generation.
func (r *request) stillComposes(composed string) bool {
	_, earlier := r.Desired[composed]
	return earlier && !strings.HasPrefix(composed, plan.GenerationPrefix)
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

// isTaken reports whether a composition resource name is that of a generation or of an earlier step.
func (r *request) isTaken(composed string) bool {
	_, earlier := r.Desired[composed]
	return earlier || strings.HasPrefix(composed, plan.GenerationPrefix)
}

// isRenamed reports whether an object has the composition resource name of a generation only because its annotation was
// changed. A generation has the same name, and Crossplane shows only the generation.
func (s *session) isRenamed(p *plan.Plan, req *request, o wire.Struct) bool {
	composed := object.CompositionResourceName(o)
	_, earlier := req.Desired[composed]
	return strings.HasPrefix(composed, plan.GenerationPrefix) && !earlier && !isGeneration(p, s.composite, o)
}

// isCopied reports whether the object of an export has the composition resource name of another object only because its
// annotation was changed. Crossplane shows only the other one. The object is that of an export if another export has the
// name, or if it has a record of generations.
func (s *session) isCopied(p *plan.Plan, req *request, e plan.Export, at target, o wire.Struct) bool {
	composed := object.CompositionResourceName(o)
	ofExport := p.ExportNamed(composed) || len(readGenerated(o)) > 0
	return ofExport && req.isAnother(e, composed, at) && !isGeneration(p, s.composite, o)
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

// A writer composes an object: an export, a generation, or an earlier step.
type writer struct {
	export              *field.Path
	generation, earlier string
}

// findWriters finds those of this step and of earlier ones. drop are the resources of the composite
// author in earlier steps that exports replace.
func findWriters(s *session, req *request, placed placements) (out writers, drop []string) {
	out = make(writers, len(placed.at))
	authors := map[target]string{}
	for name, o := range req.Desired {
		v, kind, ns, n := object.Identity(o)
		if v != "v1" || n == "" {
			continue
		}
		if ns == "" {
			ns = s.namespace
		}
		t := target{object.Kind(kind), ns, n}
		if plan.IsAuthors(name) {
			authors[t] = name
			continue
		}
		out[t] = append(out[t], writer{earlier: name})
	}
	for i, e := range placed.exports {
		if t := placed.at[i].target; t.name != "" {
			out[t] = append(out[t], writer{export: e.ItemPath()})
			if name, ok := authors[t]; ok {
				drop = append(drop, name)
			}
		}
	}
	return out, drop
}

// A target is an object's place in the cluster. An empty name is not known yet.
type target struct {
	kind            object.Kind
	namespace, name string
}

func (t target) String() string { return t.namespace + "/" + t.name }

// writersText names writers. Those of earlier steps come first.
func writersText(writers []writer) string {
	var earlier, own []string
	for _, w := range writers {
		switch {
		case w.export != nil:
			own = append(own, w.export.String())
		case w.generation != "":
			own = append(own, fmt.Sprintf("generation %q", strings.TrimPrefix(w.generation, plan.GenerationPrefix)))
		default:
			earlier = append(earlier, fmt.Sprintf("composed resource %q of an earlier step", w.earlier))
		}
	}
	slices.Sort(earlier)
	return strings.Join(append(earlier, own...), " and ")
}

// A resourceRef is an object that the composite lists.
type resourceRef struct{ kind, name string }

// resourceRefs are the objects that a composite lists.
func resourceRefs(xr wire.Struct) map[resourceRef]bool {
	out := map[resourceRef]bool{}
	for _, v := range refsOf(xr).All() {
		ref := v.Struct()
		out[resourceRef{ref.Get("kind").Text(), ref.Get("name").Text()}] = true
	}
	return out
}

func refsOf(xr wire.Struct) wire.List {
	spec := xr.Get("spec").Struct()
	if own := spec.Get("crossplane"); own.Exists() {
		spec = own.Struct()
	}
	return spec.Get("resourceRefs").List()
}

// lists reports whether a composite lists the object at a place. Only a cluster-scoped composite lists namespaces.
func lists(xr wire.Struct, at target) bool {
	for _, v := range refsOf(xr).All() {
		ref := v.Struct()
		apiVersion, ns := ref.Get("apiVersion").Text(), ref.Get("namespace").Text()
		if ref.Get("kind").Is(string(at.kind)) && ref.Get("name").Is(at.name) &&
			(apiVersion == "" || apiVersion == "v1") && (ns == "" || ns == at.namespace) {
			return true
		}
	}
	return false
}
