package reconcile

import (
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A composite is the composite resource of a request.
type composite struct {
	object    wire.Struct
	name, uid string
	namespace string // a legacy composite has the namespace of its claim
	cluster   bool   // it is cluster scoped
}

// compositeOf reads the composite. Only a legacy composite has a claim. In any other composite, which
// has spec.crossplane, the composite author can write a claimRef.
func compositeOf(xr wire.Struct) composite {
	_, _, ns, name := object.Identity(xr)
	out := composite{object: xr, name: name, uid: plan.UIDOf(xr), namespace: ns, cluster: ns == ""}
	if isLegacy(xr) {
		out.namespace = xr.At("spec", "claimRef", "namespace").Text()
	}
	return out
}

// A ClaimError says why the claim that a composite names is not its own.
type ClaimError struct{ Message string }

// Error returns the message.
func (e *ClaimError) Error() string { return e.Message }

// checkClaim refuses a composite whose claim is not its own. Its author could otherwise write the claim of another
// namespace into it, and read and write there. Until the claim is looked up, nothing is applied: Crossplane calls again
// with it.
func (c composite) checkClaim(req *request) (reply, error) {
	var out reply
	if !c.cluster || c.namespace == "" || c.uid == "" { // without a UID, it is in a file
		return out, nil
	}
	ref := c.object.At("spec", "claimRef").Struct()
	apiVersion, _, _, _ := object.Identity(c.object)
	claim := Requirement{
		APIVersion: ref.Get("apiVersion").Text(), Kind: ref.Get("kind").Text(), Namespace: c.namespace,
		Name: ref.Get("name").Text(),
	}
	if !strings.HasPrefix(claim.APIVersion, groupOf(apiVersion)+"/") || claim.Kind == "" || claim.Name == "" {
		return out, &ClaimError{"the composite's spec.claimRef does not name a claim of this composite: " +
			"remove it, or correct it"}
	}
	out.require(claim)
	if a := req.answer(claim); a.read && (len(a.objects) != 1 || !isClaimOf(a.objects[0], c.object)) {
		return out, &ClaimError{claim.String() + ", which the composite's spec.claimRef names, is not its claim"}
	}
	return out, nil
}

// isClaimOf reports whether a claim names a composite. Composites of different kinds can have the same name.
func isClaimOf(claim, xr wire.Struct) bool {
	ref := claim.At("spec", "resourceRef").Struct()
	apiVersion, kind, _, name := object.Identity(xr)
	return ref.Get("kind").Is(kind) && ref.Get("name").Is(name) &&
		groupOf(ref.Get("apiVersion").Text()) == groupOf(apiVersion)
}

// isLegacy reports whether a composite has the v1 style, the only one with connection details.
func isLegacy(xr wire.Struct) bool {
	_, _, ns, _ := object.Identity(xr)
	return ns == "" && !xr.At("spec", "crossplane").Exists()
}

// split groups the composed resources. Expressions cannot read generations, and only those of the
// composite author can read the author's objects.
func split(p *plan.Plan, req *request, xr composite) composedResources {
	all := req.Observation.Resources
	out := composedResources{resources: all}
	known, isMixed := out.readAnnotations()
	if !isMixed && len(p.Generators)+len(p.Lists) == 0 {
		return out
	}
	for name, res := range all {
		if plan.IsAuthors(name) && known[idOf(res.Object)].generator == "" {
			out.authors = with(out.authors, name, res)
			continue
		}
		_, earlier := req.Desired[name]
		if id, ok := xr.identify(p, known, name, res.Object, earlier); ok {
			id.Resource = res
			out.generations = with(out.generations, name, id)
		}
	}
	rest := len(all) - len(out.authors) - len(out.generations)
	if rest == len(all) { // there may be many, and a copy takes memory
		return out
	}
	out.resources = make(map[string]observation.Resource, rest)
	for name, res := range all {
		_, generation := out.generations[name]
		if _, author := out.authors[name]; !generation && !author {
			out.resources[name] = res
		}
	}
	return out
}

// readAnnotations returns the generations that exports recorded, by UID, and whether any resource can be a generation or
// is the composite author's.
func (r *composedResources) readAnnotations() (known map[string]identified, isMixed bool) {
	known = map[string]identified{}
	for name, res := range r.resources {
		annotations := plan.MetadataOf(res.Object).Get("annotations").Struct()
		author, recorded := plan.IsAuthors(name), annotations.Get(rotation.AnnotationRecord).Exists()
		if recorded && !author {
			r.readKnown(res.Object, known)
		}
		isMixed = isMixed || author || recorded || strings.HasPrefix(name, plan.GenerationPrefix) ||
			annotations.Get(rotation.AnnotationState).Exists()
	}
	return known, isMixed
}

// with adds an entry to a map that may be nil.
func with[K comparable, V any](m map[K]V, name K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[name] = v
	return m
}

// readKnown adds the generations that an export recorded, by their UIDs, and their generators.
func (r *composedResources) readKnown(o wire.Struct, known map[string]identified) {
	if !isV1Secret(o) { // any client could seal the record of a ConfigMap
		return
	}
	rec, _ := readRecord(o)
	for name, one := range rec.Generators {
		r.recorded = with(r.recorded, name, true)
		for _, k := range one.Known {
			if k.UID != "" && plan.IsNumber(k.Number) {
				known[k.UID] = identified{generator: name, number: k.Number}
			}
		}
	}
}

// requirement returns the requirement for the generation of a generator that has a name.
func (c composite) requirement(m *plan.Generator, name string) Requirement {
	object, ns := m.Makes.Object(), m.Namespace
	if ns == "" && (m.Kind != plan.KindResource || !c.cluster) {
		ns = c.namespace
	}
	return Requirement{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: ns, Name: name}
}

// pausedAt returns when the composite was paused, if Crossplane has not changed its status since then, or zero.
func (c composite) pausedAt() time.Time {
	synced := conditionOf(c.object, "Synced")
	if !synced.Get("reason").Is("ReconcilePaused") {
		return time.Time{}
	}
	return transition(synced)
}

func (c composite) controls(o wire.Struct) bool {
	uid, _, _, _ := object.ControllerOf(o) // empty without a controller
	return uid == c.uid && uid != ""
}

func isControlled(o wire.Struct) bool {
	_, _, _, controlled := object.ControllerOf(o)
	return controlled
}

func isV1Secret(o wire.Struct) bool {
	apiVersion, kind, _, _ := object.Identity(o)
	return apiVersion == "v1" && kind == string(object.Secret)
}

func groupOf(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}
