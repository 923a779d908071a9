package reconcile

import (
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// lookUpRecorded looks up generations by the names that exports recorded: Crossplane does not return an
// object that has the composition resource name of another one.
func (h *historyReader) lookUpRecorded() {
	for _, name := range plan.SortedKeys(h.byGenerator) {
		rec := h.byGenerator[name].record
		if rec == nil || h.elsewhere(name) {
			continue
		}
		namespace := h.namespace
		if m := h.byGenerator[name].generator; m != nil {
			namespace = h.requirement(m, "").Namespace
		}
		refs := maps.Clone(rec.former)
		maps.Copy(refs, rec.used)
		for _, uid := range plan.SortedKeys(refs) {
			ref := refs[uid]
			foreign := ref.APIVersion == "v1" && ref.Namespace != h.namespace && ref.Namespace != namespace
			at := resourceRef{ref.Kind, ref.Name}
			if ref.Name == "" || foreign || h.observed[at] {
				continue
			}
			h.lookUp(requirementOf(ref), func(o wire.Struct) {
				h.addFound(name, ref.Generation, o, h.refs[at])
			})
		}
	}
}

// lookUp looks up a generation, unless it was required before.
func (h *historyReader) lookUp(req Requirement, take func(o wire.Struct)) {
	key := req.Key()
	if h.asked[key] {
		return
	}
	h.asked[key] = true
	h.require(req)
	a := h.req.answer(req)
	if !a.read {
		h.missingLookUps = append(h.missingLookUps, req.String())
	}
	for _, o := range a.objects {
		take(o)
	}
}

// requirementOf returns the requirement for a generation that an export recorded.
func requirementOf(ref generator.Reference) Requirement {
	return Requirement{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// addFound adds an object that was looked up.
func (h *historyReader) addFound(name string, number int, o wire.Struct, listed bool) {
	k := readGeneration(h.plan.Generator(name), name, number, observation.Resource{Object: o}, listed)
	composed := object.CompositionResourceName(o)
	shown, ok := h.req.Observation.Resources[composed]
	// Crossplane keeps the name of the object that it shows.
	taken := ok && plan.UIDOf(shown.Object) != k.id()
	if composed != "" && !taken && !h.composes(composed) {
		k.composed = composed
	}
	h.add(k)
}

// lookUpAccepted looks up recorded generations that the composite no longer lists. They count once the
// owner of the composite accepts them.
func (h *historyReader) lookUpAccepted() {
	for _, name := range plan.SortedKeys(h.byGenerator) {
		one := h.byGenerator[name]
		if !one.unlisted.Exists() || one.generator == nil || len(h.accepted) == 0 {
			continue
		}
		ref := readGenerated(one.unlisted)[name].Reference
		at := requirementOf(ref)
		if !plan.IsNumber(ref.Generation) || !h.requirement(one.generator, ref.Name).sameAs(at) {
			continue
		}
		h.lookUp(at, func(o wire.Struct) {
			if h.accepted[plan.UIDOf(o)] {
				h.addFound(name, ref.Generation, o, h.refs[resourceRef{ref.Kind, ref.Name}])
			}
		})
	}
}

// lookUpListed looks up generations by the names that the composite lists, because Crossplane may have read
// an older list.
func (h *historyReader) lookUpListed() {
	for i := range h.plan.Generators {
		m := &h.plan.Generators[i]
		names := h.listedNumbers(m, h.refs)
		for _, number := range slices.Sorted(maps.Keys(names)) {
			at := h.requirement(m, names[number])
			if h.observed[resourceRef{at.Kind, at.Name}] || len(h.asked) >= limits.HiddenGenerations {
				continue
			}
			h.lookUp(at, func(o wire.Struct) {
				if h.controls(o) && !plan.IsAuthors(object.CompositionResourceName(o)) {
					h.addFound(m.Name, number, o, true)
				}
			})
		}
	}
}

// lookUpCandidates looks up objects that have the possible names of the next generations.
func (h *historyReader) lookUpCandidates() {
	for _, name := range plan.SortedKeys(h.wanted) {
		for _, c := range h.wanted[name].candidates {
			h.lookUp(c.at, func(o wire.Struct) {
				// The input can give a new generation the name of another one, which was read before.
				if !h.shown[plan.UIDOf(o)] && h.mayBelong(name, o) {
					h.addFound(name, c.number, o, false)
				}
			})
		}
	}
}

// mayBelong reports whether an object that was looked up may be a generation of a generator.
func (h *historyReader) mayBelong(name string, o wire.Struct) bool {
	composed := object.CompositionResourceName(o)
	other, _, ok := plan.ParseGeneration(composed)
	stated := statedGenerator(o)
	return (h.controls(o) || h.accepted[plan.UIDOf(o)]) &&
		!plan.IsAuthors(composed) && (!ok || other == name) && (stated == "" || stated == name)
}
