package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// annotationStep marks the objects of exports that are in a later step than the first one with exports. Each step
// observes the objects of all steps, so the first one could otherwise not distinguish them from its own former objects.
// Any client can write it: it only decides about warnings.
const annotationStep, stepLater = object.StatePrefix + "step", "later"

// warnOfRenames warns about names in the input whose change gives applications another value, or deletes their object.
// Only this call can: afterwards nothing shows that the object existed, or had another value.
func warnOfRenames(s *session, p *plan.Plan, req *request, all composedResources, placed placements) reply {
	var out reply
	for i, at := range placed.at {
		if at.observed.Exists() && at.slot.Want == lifecycle.Yes && at.conflict == "" {
			out.warnOfGenerators(p, placed.exports[i], at, at.observed)
		}
	}
	names := placed.names()
	for _, composed := range plan.SortedKeys(all.resources) {
		o := all.resources[composed].Object
		_, earlier := req.Desired[composed]
		isLeft := p.ExportNamed(composed) // as an item that left its list
		if earlier || names[composed] || isLeft || !s.isFormer(p, req, o) {
			continue
		}
		_, kind, ns, name := object.Identity(o)
		successors := placed.successors(composed, object.Kind(kind))
		paths := make([]string, 0, len(successors))
		for _, i := range successors {
			out.warnOfGenerators(p, placed.exports[i], placed.at[i], o)
			paths = append(paths, placed.exports[i].NamePath().String())
		}
		if len(paths) > 0 && len(out.others) < limits.MessageItems {
			out.report(Outcome{Warn: true, Message: fmt.Sprintf("%s %s (composed resource %q) is deleted unless a later step "+
				"composes it, because no export and no earlier step does. If an export was renamed, rename it back, or set %s "+
				"to keep its name", kind, target{namespace: cmp.Or(ns, s.namespace), name: name}, composed,
				plan.Shorten(slices.Compact(paths), " or "))})
		}
	}
	return out
}

// successors returns the exports that may have had another name before: their object does not exist, and has a default
// name.
func (p *placements) successors(composed string, kind object.Kind) (indices []int) {
	for i, e := range p.exports {
		at := p.at[i]
		named := e.Metadata.Name != "" || e.Metadata.NameExpr != nil
		isNew := !at.observed.Exists() && at.conflict == "" && !named
		if isNew && at.kind == kind && isItem(composed) == (e.Item != nil) {
			indices = append(indices, i)
		}
	}
	return indices
}

// isFormer reports whether an object was made by an export of this step. Crossplane deletes only what the composite
// controls.
func (c composite) isFormer(p *plan.Plan, req *request, o wire.Struct) bool {
	apiVersion, kind, _, _ := object.Identity(o)
	annotations := plan.MetadataOf(o).Get("annotations").Struct()
	if !plan.HasData(apiVersion, kind) || !annotations.Get(annotationRevision).Exists() || !c.controls(o) || isDeleted(o) {
		return false
	}
	rec, _ := readRecord(o)
	return !req.Later && !annotations.Get(annotationStep).Exists() ||
		slices.ContainsFunc(plan.SortedKeys(rec.Generators), p.Declares)
}

// warnOfGenerators warns that an export reads a generator instead of one that left the input, and whose value an object
// has.
func (r *reply) warnOfGenerators(p *plan.Plan, e plan.Export, at placement, has wire.Struct) {
	if len(e.Generators) == 0 { // reading a record takes time
		return
	}
	rec, _ := readRecord(has)
	isUsed := func(name string) bool { return rec.Generators[name].Holds != "" }
	var before []string
	grace := time.Duration(0)
	for _, name := range plan.SortedKeys(rec.Generators) {
		if isUsed(name) && !p.Declares(name) {
			before = append(before, name)
			grace = rec.Generators[name].holding().Grace
		}
	}
	after := slices.DeleteFunc(slices.Clone(e.Generators), isUsed)
	if len(before) == 0 || len(after) == 0 || len(r.others) == limits.MessageItems {
		return
	}
	back := fmt.Sprintf("within its grace period (%s) to restore the value", grace)
	if grace == 0 {
		back = "at once: it has no grace period, and its value is deleted"
	}
	r.report(Outcome{Warn: true, Message: fmt.Sprintf("%s (%s): applications get another value, because the export reads "+
		"generator %s instead of %s, which the input no longer has. If the generator was renamed, rename it back %s", e, at,
		plan.Shorten(quotedAll(after), ", "), plan.Shorten(quotedAll(before), ", "), back)})
}
