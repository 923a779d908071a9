package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A placement is where an export's object is, or shall be.
type placement struct {
	target

	// resource is the composition resource name of the object: the export's, or the
	// one it had before the export was renamed.
	resource string

	// observed is the object as it is, or none if there is none of ours. It is unlisted if
	// it was looked up, because the composite does not list it.
	observed wire.Struct
	unlisted bool

	// lookUp is asked for while there is none of ours.
	lookUp *Requirement

	// unknown says why the place is not known, or not looked up yet.
	unknown reasons

	// conflict says whose the object at that place is.
	conflict string

	// stays says why the observed object is not where the input wants it. It is empty if it is.
	stays string
}

// A target is an object's place in the cluster. Its name is empty if there is
// none yet.
type target struct {
	kind            object.Kind
	namespace, name string
}

// String is the namespace and the name.
func (t target) String() string { return t.namespace + "/" + t.name }

// place an export. A composed resource stays where it is, whatever the input
// says: Crossplane fixes name and namespace on creation. Before there is
// one, the object that may be at its place is looked up.
func (r *run) place(ctx context.Context, e export) placement {
	at := r.wanted(ctx, e)
	observed := r.Observation.Resources[e.name].Object
	if e.tenant {
		observed = r.theirs[e.name].Object
	}
	if observed.Exists() {
		return placeObserved(e, at, observed)
	}
	if !at.unknown.empty() || !rulesLookUp {
		return at
	}
	at.lookUp = &Requirement{APIVersion: "v1", Kind: string(e.kind), Namespace: at.namespace, Name: at.name}
	found, read := r.answer(*at.lookUp)
	switch {
	case !read:
		at.unknown.waiting = []string{"the look-up of " + at.lookUp.String()}
	case len(found) > 0:
		r.judge(e, &at, found[0])
	}
	return at
}

func placeObserved(e export, want placement, observed wire.Struct) placement {
	apiVersion, kind, ns, name := object.Identity(observed)
	if ns == "" {
		ns = want.namespace // a file, which may leave it out
	}
	at := placement{target: target{e.kind, ns, name}, resource: e.name, observed: observed}
	switch {
	case apiVersion != "v1" || kind != string(e.kind):
		at.conflict = fmt.Sprintf("the composed resource of that name is a %s: give the %s another name in %s", kind, e.kind, e.at("name"))
	case !want.unknown.empty():
		at.stays = "its name is not known: " + want.unknown.sentence()
	case want.target != at.target:
		at.stays = fmt.Sprintf("a composed resource cannot be renamed: delete it to have it created as %s", want)
	}
	return at
}

// wanted is where the input wants the object, or why that is not known.
func (r *run) wanted(ctx context.Context, e export) placement {
	at := placement{target: target{kind: e.kind}, resource: e.name}
	ns, err := r.wantedNamespace(ctx, e)
	if err != nil {
		at.unknown.add(e.path.Child("metadata", "namespaceExpression").String(), err)
		return at
	}
	at.namespace = ns
	switch {
	case e.metadata.nameExpr != nil:
		path := e.metadata.nameExpr.Source().Path
		name, err := r.name(ctx, e.metadata.nameExpr, e.from)
		if err == nil && name == "" {
			err = expression.NewWaiting("a name that is not empty")
		}
		if err == nil && object.ValidateName(name) != nil {
			err = &expression.Failed{Path: path, Reason: "gives an illegal name: " + object.ValidateName(name).Error()}
		}
		at.unknown.add(path, err)
		if err == nil {
			at.name = name
		}
	case e.metadata.name != "":
		at.name = e.metadata.name
	default:
		_, _, _, xr := object.Identity(r.Observation.Composite.Object)
		at.name = xr + "-" + e.name
		if err := object.ValidateName(at.name); err != nil {
			at.unknown.failed = []string{fmt.Sprintf("%s: must be set, for the default is an illegal name: %s", e.namePath(), err.Error())}
		}
	}
	return at
}

func (r *run) wantedNamespace(ctx context.Context, e export) (string, error) {
	x := e.metadata.namespaceExpr
	switch {
	case x == nil && e.metadata.namespace == "":
		return r.namespace, nil
	case x == nil:
		return e.metadata.namespace, nil
	}
	ns, err := r.name(ctx, x, e.from)
	switch {
	case err != nil:
		return "", err
	case ns == "":
		return "", expression.NewWaiting("a namespace that is not empty")
	case object.ValidateNamespace(ns) != nil:
		return "", &expression.Failed{Path: x.Source().Path, Reason: "gives an illegal namespace: " + object.ValidateNamespace(ns).Error()}
	case !r.cluster && ns != r.namespace:
		return "", &expression.Failed{Path: x.Source().Path, Reason: fmt.Sprintf("gives namespace %q, but a composite in namespace %q composes into its own only", ns, r.namespace)}
	}
	return ns, nil
}

// judge an object at the place of one that is not observed. It may be ours: the
// composite is read from a cache, which may not know yet what was just composed.
// Or the export was renamed: then the object is kept under the name in the
// pipeline that it has, for Crossplane deletes what has a name that nobody desires.
func (r *run) judge(e export, at *placement, found wire.Struct) {
	uid, _, _, ok := object.ControllerOf(found)
	own := r.uid()
	mend := "set " + e.namePath().String() + " to another name"
	if x := e.metadata.nameExpr; x != nil {
		mend = "have " + x.Source().Path + " give another name"
	}
	composed := object.CompositionResourceName(found)
	_, earlier := r.Desired[composed]
	switch {
	case !ok:
		at.conflict = fmt.Sprintf("%s %s exists and has no controller: delete it, or %s", e.kind, at, mend)
	case uid != own || own == "":
		at.conflict = fmt.Sprintf("%s %s exists and is controlled by %s%s", e.kind, at, r.controller(found), mend)
	case isTenants(composed) && !e.tenant: // it gives way
		at.unknown.waiting = []string{fmt.Sprintf("%s %s, which the composite's author asked for, to be deleted", e.kind, at)}
	case composed == "" || earlier || strings.HasPrefix(composed, generationPrefix) || composed != e.name && (e.tenant || r.exports[composed]):
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite: %s", e.kind, at, composed, mend)
	case composed != e.name:
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite, and is kept: if the export was renamed, set %s to %q again; otherwise %s", e.kind, at, composed, e.path.Child("name"), composed, mend)
		at.observed, at.resource, at.unlisted = found, composed, !r.isListed(string(e.kind), at.name)
	default:
		at.observed, at.unlisted = found, !r.isListed(string(e.kind), at.name)
	}
}

// controller says who controls an object that this composite does not control. A former
// composite of the same name is told apart by its UID.
func (r *run) controller(found wire.Struct) string {
	uid, kind, name, _ := object.ControllerOf(found)
	apiVersion := object.Controller(found).Get("apiVersion").Text()
	ownVersion, ownKind, _, ownName := object.Identity(r.Observation.Composite.Object)
	switch {
	case kind != ownKind || name != ownName || r.uid() == "":
		return fmt.Sprintf("%s %q: ", kind, name)
	case groupOf(apiVersion) != groupOf(ownVersion):
		return fmt.Sprintf("%s %q of %q: ", kind, name, apiVersion)
	}
	return fmt.Sprintf("a former %s %q with the UID %q, not by this one, whose UID is %q: wait until Kubernetes has deleted it, or delete it, or ", kind, name, uid, r.uid())
}

func groupOf(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}

// findWriters notes who composes which object, over this step and the earlier
// ones, so that two who want the same one are found. It returns what a composite's
// author asked for in an earlier step, and gives way.
func (r *run) findWriters(exports []export, at []placement) (drop []string) {
	r.writers = make(map[target][]writer, len(exports))
	theirs := map[target]string{}
	for name, o := range r.Desired {
		v, kind, ns, n := object.Identity(o)
		if v != "v1" || n == "" || kind != string(object.Secret) && kind != string(object.ConfigMap) {
			continue
		}
		if ns == "" {
			ns = r.namespace
		}
		t := target{object.Kind(kind), ns, n}
		if isTenants(name) {
			theirs[t] = name
			continue
		}
		r.writers[t] = append(r.writers[t], writer{earlier: name})
	}
	for i, e := range exports {
		if t := at[i].target; t.name != "" {
			r.writers[t] = append(r.writers[t], writer{export: e.path})
			if name, ok := theirs[t]; ok {
				drop = append(drop, name)
			}
		}
	}
	return drop
}

// A writer composes an object: an export, a generator, or a composed resource of an
// earlier step.
type writer struct {
	export              *field.Path
	generation, earlier string
}

// writersText names writers, those of earlier steps sorted and first.
func writersText(writers []writer) string {
	var earlier, own []string
	for _, w := range writers {
		switch {
		case w.export != nil:
			own = append(own, w.export.String())
			continue
		case w.generation != "":
			own = append(own, fmt.Sprintf("generation %q", strings.TrimPrefix(w.generation, generationPrefix)))
			continue
		}
		earlier = append(earlier, fmt.Sprintf("composed resource %q of an earlier step", w.earlier))
	}
	slices.Sort(earlier)
	return strings.Join(append(earlier, own...), " and ")
}
