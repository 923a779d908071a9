package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// annotationStep marks the objects of exports that are in a later step than the first one with exports. Each step
// observes the objects of all steps, so the first one could otherwise not distinguish them from its own former objects.
// Any client can write it: it only decides about warnings.
const annotationStep, stepLater = object.StatePrefix + "step", "later"

// renames are what tells a renamed export, or a renamed generator, from a new one.
type renames struct {
	composite composite.Composite
	declared  plan.Generators
	desired   map[string]wire.Struct
	isExport  func(composed string) bool // an export of the input can compose it, or an item that left its list
	later     bool                       // an earlier step also has exports
}

// run warns about names in the input whose change gives applications another value, or deletes their object.
// Only this call can: afterwards nothing shows that the object existed, or had another value.
func (x renames) run(all map[string]observation.Resource, placed placements) outcome.Reply {
	var out outcome.Reply
	for i, at := range placed.at {
		if at.observed.Exists() && at.slot.Want == lifecycle.Yes && at.conflict == "" {
			x.warnOfGenerators(&out, placed.exports[i], at, at.observed)
		}
	}
	names := placed.names()
	for _, composed := range plan.SortedKeys(all) {
		o := all[composed].Object
		_, earlier := x.desired[composed]
		if earlier || names[composed] || x.isExport(composed) || !x.isFormer(o) {
			continue
		}
		_, kind, ns, name := object.Identity(o)
		successors := placed.successors(composed, kind)
		paths := make([]string, 0, len(successors))
		for _, i := range successors {
			x.warnOfGenerators(&out, placed.exports[i], placed.at[i], o)
			paths = append(paths, placed.exports[i].NamePath().String())
		}
		if len(paths) > 0 && len(out.Others) < limits.MessageItems {
			out.Report(Outcome{Warn: true, Message: fmt.Sprintf("%s %s (composed resource %q) is deleted unless a later step "+
				"composes it, because no export and no earlier step does. If an export was renamed, rename it back, or set %s "+
				"to keep its name", kind, lifecycle.Place{Namespace: cmp.Or(ns, x.composite.Namespace), Name: name}, composed,
				plan.Shorten(slices.Compact(paths), " or "))})
		}
	}
	return out
}

// successors returns the exports that may have had another name before: their object does not exist, and has a default
// name.
func (p *placements) successors(composed string, kind string) (indices []int) {
	_, _, isItem := plan.SplitItem(composed)
	for i, e := range p.exports {
		at := p.at[i]
		named := e.Metadata.Name != "" || e.Metadata.NameExpr != nil
		isNew := !at.observed.Exists() && at.conflict == "" && !named
		if isNew && at.Kind == kind && isItem == (e.Item != nil) {
			indices = append(indices, i)
		}
	}
	return indices
}

// isFormer reports whether an object was made by an export of this step. Crossplane deletes only what the composite
// controls.
func (x renames) isFormer(o wire.Struct) bool {
	apiVersion, kind, _, _ := object.Identity(o)
	annotations := plan.MetadataOf(o).Get("annotations").Struct()
	isExport := plan.HasData(apiVersion, kind) && annotations.Get(object.AnnotationRevision).Exists()
	if !isExport || !x.composite.Controls(o) || composite.IsDeleted(o) {
		return false
	}
	rec, _ := seal.ReadRecord(o)
	return !x.later && !annotations.Get(annotationStep).Exists() ||
		slices.ContainsFunc(plan.SortedKeys(rec.Generators), x.declared.Declares)
}

// warnOfGenerators warns that an export reads a generator instead of one that left the input, and whose value an object
// has.
func (x renames) warnOfGenerators(out *outcome.Reply, e plan.Export, at placement, has wire.Struct) {
	if len(e.Generators) == 0 { // reading a record takes time
		return
	}
	rec, _ := seal.ReadRecord(has)
	isUsed := func(name string) bool { return rec.Generators[name].Holds != "" }
	var before []string
	grace := time.Duration(0)
	for _, name := range plan.SortedKeys(rec.Generators) {
		if isUsed(name) && !x.declared.Declares(name) {
			before = append(before, name)
			one := rec.Generators[name]
			grace = seal.Holding(one.Holds, one.Known).State.Grace
		}
	}
	after := slices.DeleteFunc(slices.Clone(e.Generators), isUsed)
	if len(before) == 0 || len(after) == 0 || len(out.Others) == limits.MessageItems {
		return
	}
	back := fmt.Sprintf("within its grace period (%s) to restore the value", grace)
	if grace == 0 {
		back = "at once: it has no grace period, and its value is deleted"
	}
	out.Report(Outcome{Warn: true, Message: fmt.Sprintf("%s (%s): applications get another value, because the export reads "+
		"generator %s instead of %s, which the input no longer has. If the generator was renamed, rename it back %s", e, at,
		plan.Shorten(quotedAll(after), ", "), plan.Shorten(quotedAll(before), ", "), back)})
}
