package reconcile

import (
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// itemGenerators are the generators of one request: for a list, one generator for each item.
type itemGenerators struct {
	reply

	plan    *plan.Plan        // with these generators
	unknown map[string]string // why not all items of a list are known, by its generator; empty if they are known
}

// expandGenerators makes a generator for each item of each list, in the order of the input and of the keys. If a list,
// or a key in it, is not known, nothing changes for the items that have generations and are not known.
func expandGenerators(s *session, p *plan.Plan, composed composedResources) itemGenerators {
	if len(p.Lists) == 0 {
		return itemGenerators{plan: p}
	}
	out := itemGenerators{unknown: map[string]string{}}
	var all []plan.Generator
	left := limits.AllItems
	for i := range p.Generators {
		m := &p.Generators[i]
		if m.ForEach == nil {
			all = append(all, *m)
			continue
		}
		items, why := s.items(m.ForEach, "", left)
		left -= len(items)
		known := map[string]bool{}
		for _, item := range items {
			known[item.Key] = true
			all = append(all, m.For(item))
		}
		if out.unknown[m.Name] = ""; why.empty() {
			continue
		}
		out.unknown[m.Name] = "not all of its items are known"
		kept := slices.DeleteFunc(s.observedKeys(m, composed), func(key string) bool { return known[key] })
		for _, key := range kept {
			one := m.For(&observation.Item{Key: key})
			one.Unknown = true
			all = append(all, one)
		}
		out.report(keptItems(m, &why, kept))
	}
	out.plan = p.WithItems(all)
	return out
}

// keptItems says why not all items of a generator are known.
func keptItems(m *plan.Generator, why *reasons, kept []string) Outcome {
	out := why.outcome(m.String(), "creates nothing for some items", false)
	if len(kept) > 0 { // one message for all
		out.State, out.Warn = Held, true
		out.Message += "; the generations for these keys are kept unchanged until all keys are known: " + plan.Shorten(kept, ", ")
	}
	return out
}

// observedKeys returns the keys of the items of a list that may have generations: those that are observed, that exports
// recorded, or that the composite lists.
func (s *session) observedKeys(m *plan.Generator, composed composedResources) []string {
	keys := map[string]bool{}
	add := func(name string) {
		if list, key, ok := plan.SplitItem(name); ok && list == m.Name {
			keys[key] = true
		}
	}
	for _, id := range composed.generations {
		add(id.generator)
	}
	for name := range composed.recorded {
		add(name)
	}
	for ref := range resourceRefs(s.object) {
		if ref.kind == m.Makes.Object().Kind {
			name, _, _ := s.generationNamed(m, ref.name)
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
