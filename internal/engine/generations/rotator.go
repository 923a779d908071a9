package generations

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// outputs are what expressions see of the generators.
type outputs struct {
	generated  map[string]observation.Generated
	previous   map[string]observation.Generated
	candidates map[string]observation.Generated // of pending generations, or of those in use if none is pending
	missing    map[string]string                // inputs, and what each of them is
	lists      map[string]string                // why not all items of a list are known; empty if they are
}

// A rotator performs the next step of each generator.
type rotator struct {
	in      *Request
	exports []*Export
	found   Credentials
	shown   map[lifecycle.Place]bool // the objects of generations
	unread  []string                 // lookups that each step needs
	spent   spending
	created map[string]outcome.Outcome // of the generations that are created, by generator
	stale   error                      // why nothing may change, or nil
	outputs outputs
	out     Result
}

// rotate performs the next step of a generator, which may have left the input.
func (g *rotator) rotate(c *credentialState) {
	m := c.generator
	if len(g.unread) > 0 || m != nil && m.Unknown {
		g.hold(c)
		if m != nil {
			g.wait(m)
		}
		return
	}
	for _, k := range c.have {
		if k.Ready = true; m != nil {
			g.verify(c, k)
		}
	}
	step := rotation.Next(c.wanted.rotation, c.generations(), c.records(), g.in.Now)
	c.step = &step
	g.schedule(step.Due)
	if g.keep(c); m != nil {
		g.publish(c, g.create(c))
	}
}

// wait says why the outputs of a generator are not known.
func (g *rotator) wait(m *plan.Generator) {
	list, _, _ := plan.SplitItem(m.Name)
	waits := observation.Generated{Waits: g.outputs.lists[list]}
	if len(g.unread) > 0 {
		waits.Waits = "the lookup of " + plan.Shorten(g.unread, ", ")
	}
	g.outputs.generated[m.Name], g.outputs.previous[m.Name], g.outputs.candidates[m.Name] = waits, waits, waits
}

// verify compares a generation with the input, and finds out whether it can be used.
func (g *rotator) verify(c *credentialState, k *generation) {
	w, ca := c.wanted, g.found[c.wanted.SignedBy].current()
	k.Fit = w.fit(k)
	k.Renew, k.Ends = w.validity(k, ca, g.in.Now)
	why := g.ready(c, k)
	if k.Ready = why.Empty(); !k.Ready {
		why.See = cmp.Or(why.See, evaluate.See(k.object))
		c.unready[k.UID] = why
	}
}

// stale returns an error if the composite may list more of its objects once Crossplane reads it again: a list that is
// written now would lose them.
func (r *credentialReader) stale() error {
	if len(r.unread) > 0 {
		return nil
	}
	for _, name := range plan.SortedKeys(r.found) {
		c := r.found[name]
		isListed := func(k *generation) bool { return k.Listed }
		isRecorded := func(r rotation.Record) bool { return len(r.Known) > 0 }
		if c.unlisted.Exists() && !slices.ContainsFunc(c.records(), isRecorded) && // only that export has values
			(recentlyCreated(c.unlisted, r.in.Now) || !slices.ContainsFunc(c.have, isListed)) {
			return staleBefore(c.unlisted)
		}
		for _, k := range c.have {
			if !k.Listed && recentlyCreated(k.object, r.in.Now) {
				return staleBefore(k.object)
			}
		}
	}
	return nil
}

// schedule another call.
func (g *rotator) schedule(t time.Time) {
	if !t.IsZero() && (g.out.Due.IsZero() || t.Before(g.out.Due)) {
		g.out.Due = t
	}
}

// hold keeps all generations as they are observed. It writes no state in place of a lost one: a step finds out which
// generation is in use, and says that the state was lost.
func (g *rotator) hold(c *credentialState) {
	for _, k := range c.have {
		if !k.Listed {
			continue
		}
		desired := object.Held(k.object)
		if desired == nil {
			desired = g.manifestAsCreated(k)
			if k.Intact {
				desired = k.marked(desired)
			}
		}
		g.compose(k, desired, false)
	}
}

// keep desires the generations that a step keeps, with their next states. A composite with a generation in use is ready
// even if the next one is not. One that is not listed is not desired: an export that another client created may have
// recorded it, and once it is desired, the composite lists it.
func (g *rotator) keep(c *credentialState) {
	for _, next := range c.step.Keep {
		k := c.byUID[next.UID]
		switch {
		case !k.Listed:
			g.write(k.object, k)
			g.out.Report(outcome.Outcome{
				State: outcome.Conflict, Warn: true, See: evaluate.See(k.object),
				Message: fmt.Sprintf("generator %q: %s", k.generator, unlistedText(k.object)),
			})
			continue
		case !next.Counts, next.Lost && next.Stage == rotation.Abandoned:
			g.out.Report(foreignOutcome(k))
		case !k.Intact:
			g.out.Report(lostState(k, next))
		}
		if k.Generation = next; !k.Intact && k.Counts { // otherwise nothing proves it once no export does
			k.codes = c.codes(k)
		}
		g.compose(k, g.desire(k), k.Ready || c.step.Current != "")
	}
	for _, k := range c.step.Drop { // its number is not free before it is deleted
		g.write(c.byUID[k.UID].object, c.byUID[k.UID])
	}
}

// desire returns a generation with its state. Its manifest stays as it was. A computed one that can be changed is of
// another client: its state would not fit its data later.
func (g *rotator) desire(k *generation) *structpb.Struct {
	held := object.Held(k.object)
	if !k.Coded && (k.State.Origin.Kind == plan.KindResource || held == nil) {
		return k.marked(g.manifestAsCreated(k))
	}
	out := k.marked(held)
	if k.Coded {
		out.Fields["immutable"] = structpb.NewBoolValue(true)
	}
	return out
}

// compose desires a generation under the name under which Crossplane shows it: Crossplane deletes an object whose name
// is not desired.
func (g *rotator) compose(k *generation, desired *structpb.Struct, ready bool) {
	name, own := k.composed, plan.GenerationName(k.generator, k.Number)
	at := g.in.Owner.PlaceOf(k.object)
	if o, earlier := g.in.Desired[name]; name == "" || earlier && name != own && g.in.Owner.PlaceOf(o) != at {
		name = lifecycle.FreeName(own, func(name string) bool {
			res, shown := g.in.Observed[name]
			return shown && idOf(res.Object) != k.UID ||
				slices.ContainsFunc(g.out.Generations, func(c Composed) bool { return c.Name == name })
		})
	}
	g.write(k.object, k)
	k.composed = name
	g.out.Generations = append(g.out.Generations, Composed{Name: name, Desired: desired, Ready: ready})
}

func (g *rotator) write(o wire.Struct, writer fmt.Stringer) {
	at := lifecycle.PlaceOf(object.Identity(o))
	g.out.Writers[at] = append(slices.Clip(g.out.Writers[at]), writer)
}

// seenBy returns a session that sees the outputs.
func (g outputs) seenBy(s *evaluate.Session) *evaluate.Session {
	return s.Next(g.missing, func(o *observation.Observation) {
		o.Generated, o.Previous = withItems(g.generated, g.lists), withItems(g.previous, g.lists)
		o.Candidate = withItems(g.candidates, g.lists)
	})
}

// RecordOf returns the record that an export stores together with data of the generations in use.
func (all Credentials) RecordOf(e *Export, now time.Time) (out map[string]rotation.Record) {
	for _, name := range slices.Concat(e.Generators, e.Candidates) {
		c := all[name]
		if c == nil {
			continue
		}
		next := c.exports[e.Composed]
		next.Uses, next.Sets = slices.Contains(e.Generators, name), slices.Contains(e.Candidates, name)
		if c.step != nil {
			next = next.Next(*c.step, now)
		}
		if next.Holds+next.Candidate != "" || len(next.Known) > 0 {
			out = plan.With(out, name, next)
		}
	}
	return out
}

// Again writes new copies of the states of generations into the record of an export that keeps its data. A record that
// is lost stays as it is: it is not known whose values the export has.
func (all Credentials) Again(at *Export, kept *structpb.Struct, now time.Time) *structpb.Struct {
	if len(all) == 0 || at.Unlisted || !object.IsSecret(at.Observed) {
		return kept
	}
	rec, lost := seal.ReadRecord(at.Observed)
	if lost || len(rec.Generators) == 0 {
		return kept
	}
	for name := range rec.Generators {
		if c := all[name]; c != nil && c.step != nil {
			rec.Generators[name] = c.exports[at.Composed].Again(*c.step, now)
		}
	}
	annotations := plan.Texts(wire.OfValue(object.Metadata(kept)["annotations"]))
	annotations[rotation.AnnotationRecord] = rec.Text(seal.OwnData(at.Observed))
	return object.WithMetadata(kept, map[string]*structpb.Value{"annotations": object.Texts(annotations)})
}

// saveStates saves the state of all generators for later steps: latest is the generation in use, and pending the next
// one. If latest were absent, a step that refers to it would leave out its resource, and Crossplane would delete that
// resource. So latest stays while its generation is missing, until another generation is in use.
func (g *rotator) saveStates() {
	for name, c := range g.found {
		fields, gc, step := map[string]any{}, map[string]any{}, cmp.Or(c.step, &rotation.Step{})
		if c.generator != nil {
			fields["input"] = g.in.ID
		} else if c.step == nil {
			continue
		}
		for _, next := range step.Keep {
			k := c.byUID[next.UID]
			entry := stateReference(k.composed, k.Reference)
			put(entry, "generatedAt", timeText(k.Created))
			put(entry, "specHash", k.State.Origin.Spec)
			put(entry, "keepersHash", k.State.Origin.Keepers)
			switch k.UID {
			case step.Current:
				fields["latest"] = entry
			case step.Pending:
				fields["pending"] = entry
			default:
				key := seal.Hash(string(k.resource), k.State.Origin.Kind, strconv.Itoa(k.Number), timeText(k.Created))
				gc[key] = entry // by a hash of its state and of what it was made from, as in External Secrets
			}
			if next.Stage != rotation.Pending {
				put(entry, "flaggedForGCTime", timeText(next.Since))
			}
		}
		if len(gc) > 0 {
			fields["gc"] = gc
		}
		if ref := c.lastInUse(); fields["latest"] == nil && c.generator != nil && ref.Name != "" {
			fields["latest"] = stateReference(plan.GenerationName(name, ref.Number), ref)
		}
		state, _ := structpb.NewStruct(fields) // it only has texts and numbers
		g.out.GeneratorState = plan.With(g.out.GeneratorState, name, structpb.NewStructValue(state))
	}
}

// lastInUse returns the generation that was last in use: as exports recorded it, or as it says itself. One whose state
// is lost may have been in use only if no other one was.
func (c *credentialState) lastInUse() (out rotation.Reference) {
	for _, one := range c.records() {
		for _, k := range slices.Concat(one.Known, one.Unlisted) {
			if k.UID == one.Holds && k.Number > out.Number {
				out = k.Reference
			}
		}
	}
	lost := rotation.Reference{}
	for _, k := range c.have {
		switch {
		case k.Number > out.Number && (k.Stage == rotation.Current || k.Stage == rotation.Retired):
			out = k.Reference
		case k.Number > lost.Number && k.Lost:
			lost = k.Reference
		}
	}
	if out.Number == 0 {
		return lost
	}
	return out
}

func stateReference(composed string, ref rotation.Reference) map[string]any {
	out := map[string]any{"generation": float64(ref.Number)}
	put(out, "apiVersion", ref.APIVersion)
	put(out, "kind", ref.Kind)
	put(out, "namespace", ref.Namespace)
	put(out, "name", ref.Name)
	put(out, "resourceName", composed)
	return out
}

// put sets a text that is not empty.
func put(to map[string]any, name, text string) {
	if text != "" {
		to[name] = text
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
