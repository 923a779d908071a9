package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// saveStates saves the state of all generators for later steps, after all composed resources have their names.
func (g *stepper) saveStates() {
	names := map[string]string{} // by own name
	for _, c := range g.composed {
		names[c.own] = c.Name
	}
	for name := range g.wanted {
		g.saveState(name, g.plan.ID(), names)
	}
	for name := range g.steps {
		if g.wanted[name] == nil { // its generator left the input
			g.saveState(name, "", names)
		}
	}
}

// saveState saves the state of a generator: latest is the generation in use, and pending
// the next one. If latest were absent, a step that refers to it would leave out its resource, and
// Crossplane would delete that resource. So latest stays while its generation is missing, until another
// generation is in use.
func (g *stepper) saveState(name, input string, names map[string]string) {
	fields := map[string]*structpb.Value{}
	if input != "" {
		fields["input"] = structpb.NewStringValue(input)
	}
	gc := map[string]*structpb.Value{}
	step := g.steps[name]
	kept, t := keptAt(step), g.trusted[name]
	for _, k := range t.generations {
		i, ok := kept[k.Number]
		if !ok {
			continue
		}
		entry := stateEntry(names[g.ownName(name, k.Number)], k, step.Keep[i])
		switch k.Number {
		case step.Current:
			fields["latest"] = entry
		case step.Pending:
			fields["pending"] = entry
		default:
			gc[k.Key()] = entry
		}
	}
	if len(gc) > 0 {
		fields["gc"] = structpb.NewStructValue(&structpb.Struct{Fields: gc})
	}
	if fields["latest"] == nil && input != "" {
		if ref := g.lastKnown(t); ref.Name != "" {
			own := g.ownName(name, ref.Generation)
			if k := g.replacedBy(name); k != nil && k.id() == ref.UID {
				own = g.ownName(k.Generator, k.Number)
			}
			fields["latest"] = stateReference(cmp.Or(names[own], own), ref, nil)
		}
	}
	g.state[name] = structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// stateEntry returns the names, hashes and times of a generation.
func stateEntry(composed string, k *generation, now generator.Generation) *structpb.Value {
	return stateReference(composed, k.reference(), map[string]string{
		"generatedAt": timeText(now.Made), "specHash": now.SpecHash, "keepersHash": now.KeepersHash,
		"flaggedForGCTime": timeText(now.Flagged),
	})
}

func stateReference(composed string, ref generator.Reference, texts map[string]string) *structpb.Value {
	all := map[string]string{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "namespace": ref.Namespace, "name": ref.Name,
		"resourceName": composed,
	}
	maps.Copy(all, texts)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	out := textsValue(all)
	out.GetStructValue().Fields["generation"] = structpb.NewNumberValue(float64(ref.Generation))
	return out
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// retire retires the generations of each generator that is in neither the input nor an earlier step.
func (g *stepper) retire() {
	replaced := g.replaced()
	for _, name := range plan.SortedKeys(g.trusted) {
		t := g.trusted[name]
		if t.generator != nil || len(t.history.generations) == 0 || g.isRetired(t) {
			continue
		}
		if t.impostor != nil || len(g.missingLookUps) > 0 {
			g.hold(t)
			continue
		}
		now := *t
		now.generations = nil
		flagged := make(map[int]time.Time, len(t.generations))
		for _, was := range t.generations {
			k := *was
			flagged[k.Number] = k.Flagged
			k.Ready, k.Exported = true, g.exported(&k) || was == replaced
			now.generations = append(now.generations, &k)
		}
		step := generator.Next(nil, statesOf(now.generations), g.req.Now)
		changed := slices.ContainsFunc(step.Keep,
			func(k generator.Generation) bool { return !flagged[k.Number].Equal(k.Flagged) })
		if !changed { // a later step may have the generator, and remove the flag again
			g.schedule(step.Due)
		}
		g.keep(&now, step)
		g.steps[name] = step
	}
}

// replaced returns the generation of a generator that left the input, which a new generator names as its latest.
func (g *stepper) replaced() *generation {
	for name := range g.wanted {
		if k := g.replacedBy(name); k != nil && g.lastKnown(g.trusted[name]).UID == k.id() {
			return k
		}
	}
	return nil
}

// isRetired reports whether an earlier step desires generations of a generator that left the input,
// and this step exports no value of them.
func (g *stepper) isRetired(t *trusted) bool {
	desired := func(k *generation) bool {
		_, earlier := g.req.Desired[k.composed]
		return earlier
	}
	return slices.ContainsFunc(t.generations, desired) && !slices.ContainsFunc(t.generations, g.exported)
}
