package generations

import (
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// Items are the generators of one request: for a list, one generator for each item.
type Items struct {
	outcome.Reply

	Generators plan.Generators
	Exports    []plan.Export     // of the input, which read these generators
	Unknown    map[string]string // why not all items of a list are known, by its generator; empty if they are known
}

// Lists are the generators with a list. Observed objects say which items may have generations.
type Lists struct {
	Session    *evaluate.Session
	Generators plan.Generators
	Exports    []plan.Export
	Owner      Owner
	Recorded   map[string]bool       // the generators whose generations exports recorded
	Observed   map[string]Identified // the generations
}

// Run makes a generator for each item of each list, in the order of the input and of the keys. If a list,
// or a key in it, is not known, nothing changes for the items that have generations and are not known.
func (x Lists) Run() Items {
	s, generators := x.Session, x.Generators
	if !slices.ContainsFunc(generators, func(m plan.Generator) bool { return m.ForEach != nil }) {
		return Items{Generators: generators, Exports: x.Exports}
	}
	out := Items{Unknown: map[string]string{}}
	var all plan.Generators
	left := limits.AllItems
	for i := range generators {
		m := &generators[i]
		if m.ForEach == nil {
			all = append(all, *m)
			continue
		}
		items, why := s.Items(m.ForEach, "", left)
		left -= len(items)
		known := map[string]bool{}
		for _, item := range items {
			known[item.Key] = true
			all = append(all, m.For(item))
		}
		if out.Unknown[m.Name] = ""; why.Empty() {
			continue
		}
		out.Unknown[m.Name] = "not all of its items are known"
		kept := slices.DeleteFunc(x.observedKeys(m), func(key string) bool { return known[key] })
		for _, key := range kept {
			one := m.For(&observation.Item{Key: key})
			one.Unknown = true
			all = append(all, one)
		}
		out.Report(keptItems(m, why, kept))
	}
	out.Generators, out.Exports = all, plan.WithItems(x.Exports, all)
	return out
}

// keptItems says why not all items of a generator are known.
func keptItems(m *plan.Generator, why evaluate.Reasons, kept []string) outcome.Outcome {
	out := outcome.Of(why, m.String(), "creates nothing for some items", false)
	if len(kept) > 0 { // one message for all
		out.State, out.Warn = outcome.Held, true
		out.Message += "; the generations for these keys are kept unchanged until all keys are known: " +
			plan.Shorten(kept, ", ")
	}
	return out
}

// observedKeys returns the keys of the items of a list that may have generations: those that are observed, that exports
// recorded, or that the composite lists.
func (x Lists) observedKeys(m *plan.Generator) []string {
	keys := map[string]bool{}
	add := func(name string) {
		if list, key, ok := plan.SplitItem(name); ok && list == m.Name {
			keys[key] = true
		}
	}
	for _, id := range x.Observed {
		add(id.Generator)
	}
	for name := range x.Recorded {
		add(name)
	}
	for ref := range x.Owner.Refs() {
		if ref.Kind == m.Makes.Object().Kind {
			name, _, _ := x.Owner.generationNamed(m, ref.Name)
			add(name)
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// withItems returns the outputs of generators with one level more for those of lists. The values of unknown say why not
// all items of a list are known.
func withItems(all map[string]observation.Generated, unknown map[string]string) map[string]observation.Generated {
	out := make(map[string]observation.Generated, len(all))
	for list, why := range unknown {
		out[list] = observation.Generated{Items: map[string]observation.Generated{}, Waits: why}
	}
	for name, one := range all {
		if list, key, ok := plan.SplitItem(name); ok {
			out[list].Items[key] = one
		} else {
			out[name] = one
		}
	}
	return out
}
