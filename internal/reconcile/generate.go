package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// generations are the resources and the outputs of the generators.
type generations struct {
	reply

	composed []Composed // in the order of their names
	state    map[string]*structpb.Value
	inUse    map[string]generatedFrom // by generator: what exports record of it
	writers  writers
	due      time.Time
	fresh    bool
	lists    map[string]string // why not all items of a generator with a list are known; empty if they are
	outputs  map[string]observation.Generated
	previous map[string]observation.Generated

	// candidates are the outputs of pending generations, or of those in use if none is pending.
	candidates map[string]observation.Generated

	missing map[string]string
}

// generate performs the next step of each generator. Expressions see the outputs of the generations in
// use. They do not see the generations that are created here, because those are not stored yet.
func generate(
	s *session, all itemGenerators, req *request, seen composedResources, placed placements, asked []Requirement,
) (generations, *session, error) {
	if placed.stale != nil {
		return generations{}, nil, placed.stale
	}
	p := all.plan
	unlisted := slices.ContainsFunc(placed.at, func(l placement) bool { return l.unlisted })
	if len(p.Generators)+len(p.Lists)+len(seen.generations)+len(seen.records) == 0 && !unlisted {
		return generations{writers: placed.writers}, s, nil
	}
	known := readHistories(s, p, req, seen, placed, asked)
	a := verifier{s, known, req}
	judged, told, err := a.trust()
	if err != nil {
		return generations{}, nil, err
	}
	g := newStepper(a, p, judged, placed)
	g.lists = all.unknown
	g.requirements, g.others = known.requirements, slices.Concat(known.others, told.others)
	independent, derived := inOrder(p.Generators)
	for _, m := range independent {
		g.step(known.wanted[m.Name])
	}
	sees := s.withGenerations(g.generations)
	// The first hash of one generator comes before the next hash of another one, whose source may change at any time.
	made := func(m *plan.Generator) int { return len(g.trusted[m.Name].proven) }
	slices.SortStableFunc(derived, func(a, b *plan.Generator) int { return made(a) - made(b) })
	for _, m := range derived {
		w := known.wanted[m.Name]
		if !g.waitsForTurn(w) || len(g.trusted[m.Name].generations) > 0 { // otherwise its source is not needed
			w = w.withSource(sees.forItem(m.Item))
		}
		g.step(w)
	}
	g.retire()
	g.nameComposed()
	g.saveStates()
	g.recordCurrent()
	return g.generations, s.withGenerations(g.generations), nil
}

// trusted are the verified generations of a generator.
type trusted struct {
	*history

	generations []*generation // that may be kept
	proven      []*generation
	impostor    *generation // another object with the number of the generation in use; if it exists, nothing changes
}

type stepper struct {
	verifier
	generations

	plan      *plan.Plan
	exports   []plan.Export
	trusted   map[string]*trusted
	current   map[string]*generation // in use, by generator
	changing  map[string]bool        // generators whose next generation must be adopted
	steps     map[string]generator.Step
	slow      int                // slow generations that were created
	work      int64              // of the generations that were created
	bytes     int                // of the request, and for the generations that were created, or 0 if it is not known
	full      reasons            // why no further generation is created, because of its size
	creations map[string]Outcome // of the generations that are created, by generator
	renamed   map[string]string  // the names of exports whose objects have the composition resource name of a generation
}

func newStepper(a verifier, p *plan.Plan, judged map[string]*trusted, placed placements) *stepper {
	return &stepper{
		verifier: a, plan: p, exports: placed.exports, trusted: judged, current: map[string]*generation{}, changing: map[string]bool{},
		steps: map[string]generator.Step{}, creations: map[string]Outcome{}, renamed: placed.renamed(),
		generations: generations{
			writers: maps.Clone(placed.writers), state: map[string]*structpb.Value{}, inUse: map[string]generatedFrom{},
			outputs: map[string]observation.Generated{}, previous: map[string]observation.Generated{},
			candidates: map[string]observation.Generated{}, missing: map[string]string{},
		},
	}
}

// inOrder returns the generators in the order of their steps. A generator that signs comes before the generators that
// it signs. Derived generators come last: their sources read the outputs of the others.
func inOrder(generators []plan.Generator) (independent, derived []*plan.Generator) {
	var signed []*plan.Generator
	for i := range generators {
		switch m := &generators[i]; {
		case m.Source() != nil:
			derived = append(derived, m)
		case m.Makes.SignedBy() != "":
			signed = append(signed, m)
		default:
			independent = append(independent, m)
		}
	}
	return append(independent, signed...), derived
}

func (g *stepper) step(w *wantedGeneration) {
	t := g.trusted[w.Name]
	known := slices.ContainsFunc(t.proven, func(k *generation) bool { return k.listed || g.accepted[k.id()] })
	switch {
	case w.Unknown:
		g.holdUnknown(w, t)
		return
	case len(g.missingLookUps) > 0:
		g.wait(w, t, Outcome{State: Waiting}, "the lookup of "+plan.Shorten(g.missingLookUps, ", "))
		return
	case t.record == nil && t.unlisted.Exists() && !known:
		g.wait(w, t, t.lostList(w.String()), "the composite to list its generations")
		return
	case t.impostor != nil:
		g.wait(w, t, t.conflict(w.String()), "its generation in use, which is another object now")
		return
	}
	t, unready := g.withReadiness(w, t)
	step := generator.Next(&w.want, statesOf(t.generations), g.req.Now)
	g.schedule(step.Due)
	g.changing[w.Name], g.steps[w.Name] = step.Pending > 0, step
	g.keep(t, step)
	why := g.make(w, t, step)
	if k := findGeneration(t.generations, step.Current); k != nil {
		g.current[w.Name] = k
	}
	g.publish(w, t, step, unready, why)
}

// withReadiness returns the trusted generations with their present state, and why some are not ready.
func (g *stepper) withReadiness(w *wantedGeneration, was *trusted) (*trusted, map[int]reasons) {
	t, ca := *was, g.current[w.Makes.SignedBy()]
	t.generations = make([]*generation, len(was.generations))
	for i, k := range was.generations {
		now := *k
		now.Generation = g.stateOf(w, k, ca)
		t.generations[i] = &now
	}
	unready := map[int]reasons{}
	for _, k := range t.generations {
		why := g.ready(w.Generator, &t, k)
		if k.Ready = why.empty(); k.Ready {
			continue
		}
		why.see = cmp.Or(why.see, see(k.object))
		unready[k.Number] = why
		if t.record != nil && k.Number > t.record.highest().Generation {
			k.Adopted = false // the mark of a resource has no seal: any client can have written it
			k.Exported = g.exported(k)
		}
	}
	return &t, unready
}

func statesOf(list []*generation) []generator.Generation {
	out := make([]generator.Generation, 0, len(list))
	for _, k := range list {
		out = append(out, k.Generation)
	}
	return out
}

// wait keeps all generations as they are.
func (g *stepper) wait(w *wantedGeneration, t *trusted, o Outcome, why string) {
	g.hold(t)
	g.outputs[w.Name] = observation.Generated{Waits: why}
	g.candidates[w.Name] = g.outputs[w.Name]
	if o.Message == "" {
		o.Message = w.String() + " waits for " + why
	}
	g.report(o)
}

// acceptAnnotation of a composite lists the UIDs of objects that its owner accepts as generations. After a
// restore these UIDs differ from those that exports recorded.
const acceptAnnotation = object.StatePrefix + "accept-generation"

// lostList says that an export has values of a generator, but the composite lists no generation of it:
// the list was removed, or the export was forged.
func (t *trusted) lostList(what string) Outcome {
	_, kind, ns, name := object.Identity(t.unlisted)
	return Outcome{State: Conflict, Warn: true, See: see(t.unlisted), Message: fmt.Sprintf(
		"%s: %s %s/%s has values of a generation, and the composite lists neither the %[2]s nor the generation. "+
			"If both were restored from a backup, "+
			"set the annotation %[5]s on the composite to the UID of the generation to use it. "+
			"Otherwise delete the %[2]s, and another generation is created", what, kind, ns, name, acceptAnnotation)}
}

// conflict says which object has the number of the generation in use. The argument what names the generator.
func (t *trusted) conflict(what string) Outcome {
	ref, at := t.record.highest(), t.impostor.reference()
	if at.UID == ref.UID {
		return Outcome{State: Conflict, Warn: true, See: see(t.impostor.object), Message: fmt.Sprintf(
			"%s: exports use generation %d, which is %s %s/%s, and the composite does not list it. "+
				"Set the annotation %s: %s on the composite to use it",
			what, t.impostor.Number, at.Kind, at.Namespace, at.Name, acceptAnnotation, at.UID)}
	}
	return Outcome{State: Conflict, Warn: true, See: see(t.impostor.object), Message: fmt.Sprintf(
		"%s: %s %s/%s is not the generation %d that exports use: its UID is %s, not %s. "+
			"If it was restored from a backup, set the annotation %s: %s on the composite to use it. Otherwise delete it, "+
			"and another generation is created",
		what, at.Kind, at.Namespace, at.Name, t.impostor.Number, at.UID, ref.UID, acceptAnnotation, at.UID)}
}

// schedule another call.
func (g *stepper) schedule(t time.Time) {
	if !t.IsZero() && (g.due.IsZero() || t.Before(g.due)) {
		g.due = t
	}
}

// recordCurrent sets the generations that exports record: those in use, those before them, and the candidates.
func (g *stepper) recordCurrent() {
	for name, step := range g.steps {
		if k := findGeneration(g.trusted[name].generations, step.Candidate); k != nil {
			one := recordedGeneration{Reference: k.reference()}
			if i, keeps := keptAt(step)[k.Number]; keeps {
				one.State = usedState(step.Keep[i])
			}
			g.inUse[name] = generatedFrom{Candidate: &one}
		}
	}
	for name, k := range g.current {
		kept := keptAt(g.steps[name])
		from := generatedFrom{Candidate: g.inUse[name].Candidate}
		from.Reference = k.reference()
		if i, ok := kept[k.Number]; ok {
			from.State = usedState(g.steps[name].Keep[i])
		}
		for _, former := range g.trusted[name].proven {
			if i, keeps := kept[former.Number]; keeps && former.Number < k.Number {
				from.Former = append(from.Former, recordedGeneration{former.reference(), formerState(g.steps[name].Keep[i])})
			}
		}
		g.inUse[name] = from
	}
}

// usedState returns the part of the state of a generation in use, or of the candidate, that exports record: what it
// was created for, and what happened since. It is short, because one export can have values of many generators.
func usedState(k generator.Generation) generator.State {
	return generator.Generation{
		Kind: k.Kind, SpecHash: k.SpecHash, KeepersHash: k.KeepersHash, SourceHash: k.SourceHash, Rotation: k.Rotation,
		GracePeriod: k.GracePeriod, Highest: k.Highest, Failure: k.Failure,
	}.State()
}

// formerState returns the part of the state of a former generation that exports record: how long it is kept.
func formerState(k generator.Generation) generator.State {
	return generator.Generation{Adopted: k.Adopted, Flagged: k.Flagged, GracePeriod: k.GracePeriod}.State()
}

func (s *session) withGenerations(made generations) *session {
	return s.next(made.missing, func(o *observation.Observation) {
		o.Generated, o.Previous = withItems(made.outputs, made.lists), withItems(made.previous, made.lists)
		o.Candidate = withItems(made.candidates, made.lists)
	})
}
