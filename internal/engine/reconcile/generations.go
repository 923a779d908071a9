package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

// generations are the resources and the outputs of the generators.
type generations struct {
	reply
	Rotation

	session     *session // of the next phase
	credentials credentials
	writers     writers
}

// outputs are what expressions see of the generators.
type outputs struct {
	generated  map[string]observation.Generated
	previous   map[string]observation.Generated
	candidates map[string]observation.Generated // of pending generations, or of those in use if none is pending
	missing    map[string]string                // inputs, and what each of them is
	lists      map[string]string                // why not all items of a generator with a list are known; empty if they are
}

// A rotator performs the next step of each generator.
type rotator struct {
	session *session
	plan    *plan.Plan
	req     *request
	exports []plan.Export
	found   credentials
	unread  []string // lookups that each step needs
	spent   spending
	created map[string]Outcome // of the generations that are created, by generator
	outputs outputs
	out     generations
}

// generate performs the next step of each generator. Expressions see the outputs of the generations in
// use. They do not see the generations that are created here, because those are not stored yet.
func generate(
	s *session, items itemGenerators, req *request, composed composedResources, placed placements, required []Requirement,
) (generations, error) {
	p := items.plan
	unlisted := slices.ContainsFunc(placed.at, func(l placement) bool { return l.unlisted })
	if len(p.Generators)+len(p.Lists)+len(composed.generations)+len(composed.recorded) == 0 && !unlisted {
		return generations{writers: placed.writers, session: s}, nil
	}
	read := readCredentials(s, p, req, composed, placed, required)
	if err := read.stale(); err != nil {
		return generations{}, err
	}
	g := &rotator{
		session: s, plan: p, req: req, exports: placed.exports, found: read.found, unread: read.unread,
		created: map[string]Outcome{}, outputs: outputs{
			map[string]observation.Generated{}, map[string]observation.Generated{}, map[string]observation.Generated{},
			map[string]string{}, items.unknown,
		},
		out: generations{reply: read.reply, writers: maps.Clone(placed.writers), credentials: read.found},
	}
	independent, derived := inOrder(p.Generators)
	for _, m := range independent {
		if err := g.rotate(g.found[m.Name]); err != nil {
			return generations{}, err
		}
	}
	sees := s.withOutputs(g.outputs)
	// The first hash of one generator comes before the next hash of another one, whose source may change at any time.
	slices.SortStableFunc(derived, func(a, b *plan.Generator) int { return len(g.found[a.Name].have) - len(g.found[b.Name].have) })
	for _, m := range derived {
		c := g.found[m.Name]
		if len(c.have) > 0 || !g.spent.waitsForTurn(m) { // otherwise its source is not needed
			c.wanted.readSource(sees)
		}
		if err := g.rotate(c); err != nil {
			return generations{}, err
		}
	}
	g.retire()
	slices.SortFunc(g.out.Generations, func(a, b Composed) int { return strings.Compare(a.Name, b.Name) })
	g.saveStates()
	g.out.session = s.withOutputs(g.outputs)
	return g.out, nil
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

// rotate performs the next step of a generator in the input.
func (g *rotator) rotate(c *credentialState) error {
	w := c.wanted
	switch lost := c.lostList(); {
	case w.Unknown:
		g.hold(c)
		list, _, _ := plan.SplitItem(w.Name)
		waits := observation.Generated{Waits: g.outputs.lists[list]}
		g.outputs.generated[w.Name], g.outputs.previous[w.Name], g.outputs.candidates[w.Name] = waits, waits, waits
		return nil
	case len(g.unread) > 0:
		g.wait(c, Outcome{State: Waiting}, "the lookup of "+plan.Shorten(g.unread, ", "))
		return nil
	case lost != nil:
		g.wait(c, *lost, "the composite to list its generations")
		return nil
	}
	ca := g.found[w.Makes.SignedBy()].current()
	for _, k := range c.have {
		k.Fit, k.Valid = w.fit(c, k), w.validity(k, ca, g.req.Now)
		why := g.ready(c, k)
		if k.Ready = why.empty(); !k.Ready {
			why.see = cmp.Or(why.see, see(k.object))
			c.unready[k.UID] = why
		}
	}
	step := rotation.Next(w.rotation, c.generations(), c.records(), g.req.Now)
	c.step = &step
	g.schedule(step.Due)
	g.keep(c)
	why, err := g.create(c)
	if err != nil {
		return err
	}
	g.publish(c, why)
	return nil
}

// wait keeps all generations as they are.
func (g *rotator) wait(c *credentialState, o Outcome, why string) {
	g.hold(c)
	g.outputs.generated[c.name] = observation.Generated{Waits: why}
	g.outputs.candidates[c.name] = g.outputs.generated[c.name]
	o.Message = cmp.Or(o.Message, c.wanted.String()+" waits for "+why)
	g.out.report(o)
}

// isUnlisted reports whether only an export that the composite does not list has values of the generator.
func (c *credentialState) isUnlisted() bool {
	recorded := func(v exportView) bool { return len(v.Known) > 0 }
	return c.unlisted.Exists() && !slices.ContainsFunc(c.exports, recorded)
}

// lostList returns that an export has values of a generator, but the composite lists neither the export nor a generation:
// the list was removed, or both were restored, or the export was forged.
func (c *credentialState) lostList() *Outcome {
	if !c.isUnlisted() || slices.ContainsFunc(c.have, func(k *generation) bool { return k.Listed }) {
		return nil
	}
	_, kind, ns, name := object.Identity(c.unlisted)
	return &Outcome{State: Conflict, Warn: true, See: see(c.unlisted), Message: fmt.Sprintf(
		"generator %q: %s %s/%s has values of a generation, and the composite lists neither the %[2]s nor the generation. "+
			"If both were restored from a backup, "+
			"set the annotation %[5]s on the composite to the UID of the generation to use it. "+
			"Otherwise delete the %[2]s, and another generation is created", c.name, kind, ns, name, acceptAnnotation)}
}

// stale returns an error if the composite may list more of its objects once Crossplane reads it again: a list that is
// written now would lose them.
func (r *credentialReader) stale() error {
	if len(r.unread) > 0 {
		return nil
	}
	for _, name := range plan.SortedKeys(r.found) {
		c := r.found[name]
		if c.isUnlisted() && recentlyCreated(c.unlisted, r.req.Now) {
			return staleBefore(c.unlisted)
		}
		for _, k := range c.have {
			if !k.Listed && recentlyCreated(k.object, r.req.Now) {
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

// hold keeps all generations as they are observed.
func (g *rotator) hold(c *credentialState) {
	for _, k := range c.have {
		if !k.Listed {
			continue
		}
		desired := object.Held(k.object)
		if desired == nil {
			desired = withState(g.manifestAsCreated(k), k.object)
		}
		g.compose(k, desired, false)
	}
}

// keep desires the generations that a step keeps, with their next states. A composite with a generation in use is ready
// even if the next one is not. One that is not listed is not desired: an export that another client created may have
// recorded it, and once it is desired, the composite lists it.
func (g *rotator) keep(c *credentialState) {
	for _, next := range c.step.Keep {
		was := c.find(next.UID)
		switch {
		case !was.Listed:
			g.write(targetOf(object.Identity(was.object)), plan.GenerationName(c.name, was.Number))
			g.out.report(unlistedGeneration(was))
			continue
		case next.Foreign() || !was.Intact && !next.Counts():
			g.out.report(foreignOutcome(was))
		case !was.Intact:
			g.out.report(lostState(was, next))
		}
		k := *was
		k.Generation = next
		if !was.Intact && next.Counts() { // otherwise nothing proves it once no export does
			k.codes = c.codes(&k)
		}
		was.Generation = next
		g.compose(&k, g.desire(&k), k.Ready || c.step.Current != "")
	}
	for _, k := range c.step.Drop { // its number is not free before it is deleted
		g.write(targetOf(object.Identity(c.find(k.UID).object)), c.find(k.UID).composed)
	}
}

// desire returns a generation with its state. Its manifest stays as it was. A computed one that can be changed is of
// another client: its state would not fit its data later.
func (g *rotator) desire(k *generation) *structpb.Struct {
	held := object.Held(k.object)
	if !k.Coded && (k.State.Origin.Kind == plan.KindResource || held == nil) {
		return marked(g.manifestAsCreated(k), k)
	}
	out := marked(held, k)
	if k.Coded {
		out.Fields["immutable"] = structpb.NewBoolValue(true)
	}
	return out
}

// compose desires a generation under the name under which Crossplane shows it: Crossplane deletes an object whose name is
// not desired.
func (g *rotator) compose(k *generation, desired *structpb.Struct, ready bool) {
	name, own := k.composed, plan.GenerationName(k.generator, k.Number)
	at := g.session.placeOf(k.object)
	if o, earlier := g.req.Desired[name]; name == "" || earlier && name != own && g.session.placeOf(o) != at {
		name = lifecycle.FreeName(own, func(name string) bool {
			res, shown := g.req.Observation.Resources[name]
			return shown && idOf(res.Object) != k.UID ||
				slices.ContainsFunc(g.out.Generations, func(c Composed) bool { return c.Name == name })
		})
	}
	g.write(targetOf(object.Identity(k.object)), name)
	k.composed = name
	if was := g.found[k.generator].find(k.UID); was != nil {
		was.composed = name
	}
	g.out.Generations = append(g.out.Generations, Composed{Name: name, Desired: desired, Ready: ready})
}

func (g *rotator) write(t target, composed string) {
	g.out.writers[t] = append(slices.Clip(g.out.writers[t]), writer{generation: composed})
}

// targetOf returns the target of an object of any kind. Secrets and ConfigMaps have the same targets as exports.
func targetOf(apiVersion, kind, namespace, name string) target {
	if apiVersion != "v1" {
		kind = apiVersion + "/" + kind
	}
	return target{object.Kind(kind), namespace, name}
}

// retire performs the next step of each generator that is in neither the input nor an earlier step.
func (g *rotator) retire() {
	for _, name := range plan.SortedKeys(g.found) {
		c := g.found[name]
		if c.generator != nil || len(c.have) == 0 || g.isRetired(c) {
			continue
		}
		if len(g.unread) > 0 {
			g.hold(c)
			continue
		}
		for _, k := range c.have {
			k.Ready = true
		}
		step := rotation.Next(rotation.Wanted{Input: rotation.Removed}, c.generations(), c.records(), g.req.Now)
		c.step = &step
		g.schedule(step.Due)
		g.keep(c)
	}
}

// isRetired reports whether an earlier step desires generations of a generator that left the input, and this step exports
// no value of them.
func (g *rotator) isRetired(c *credentialState) bool {
	desired := func(k *generation) bool {
		_, earlier := g.req.Desired[k.composed]
		return earlier
	}
	exports := func(v exportView) bool {
		return v.own && (v.Lost || c.find(v.Holds) != nil || c.find(v.Candidate) != nil)
	}
	return slices.ContainsFunc(c.have, desired) && !slices.ContainsFunc(c.exports, exports)
}

func (s *session) withOutputs(g outputs) *session {
	return s.next(g.missing, func(o *observation.Observation) {
		o.Generated, o.Previous = withItems(g.generated, g.lists), withItems(g.previous, g.lists)
		o.Candidate = withItems(g.candidates, g.lists)
	})
}

// saveStates saves the state of all generators for later steps.
func (g *rotator) saveStates() {
	for _, name := range plan.SortedKeys(g.found) {
		switch c := g.found[name]; {
		case c.generator != nil:
			g.saveState(c, g.plan.ID())
		case c.step != nil: // its generator left the input
			g.saveState(c, "")
		}
	}
}

// saveState saves the state of a generator: latest is the generation in use, and pending
// the next one. If latest were absent, a step that refers to it would leave out its resource, and
// Crossplane would delete that resource. So latest stays while its generation is missing, until another
// generation is in use.
func (g *rotator) saveState(c *credentialState, input string) {
	fields := map[string]*structpb.Value{}
	if input != "" {
		fields["input"] = structpb.NewStringValue(input)
	}
	gc := map[string]*structpb.Value{}
	step := c.step
	if step == nil {
		step = &rotation.Step{}
	}
	for _, next := range step.Keep {
		k := c.find(next.UID)
		entry := stateReference(k.composed, k.reference(), map[string]string{
			"generatedAt": timeText(k.Created), "specHash": k.State.Origin.Spec, "keepersHash": k.State.Origin.Keepers,
			"flaggedForGCTime": flaggedText(next),
		})
		switch k.UID {
		case step.Current:
			fields["latest"] = entry
		case step.Pending:
			fields["pending"] = entry
		default:
			gc[k.gcKey()] = entry
		}
	}
	if len(gc) > 0 {
		fields["gc"] = structpb.NewStructValue(&structpb.Struct{Fields: gc})
	}
	if ref := c.lastInUse(); fields["latest"] == nil && input != "" && ref.Name != "" {
		fields["latest"] = stateReference(plan.GenerationName(c.name, ref.Number), ref, nil)
	}
	g.out.GeneratorState = with(g.out.GeneratorState, c.name, structpb.NewStructValue(&structpb.Struct{Fields: fields}))
}

// lastInUse returns the generation that was last in use: as exports recorded it, as it says itself, or as the composite
// lists it.
func (c *credentialState) lastInUse() (out reference) {
	for _, v := range c.exports {
		if k := v.holder(); k.Number > out.Number {
			out = k.reference
		}
	}
	for _, k := range c.have {
		if k.Number > out.Number && (k.Stage == rotation.Current || k.Stage == rotation.Retired || k.Lost()) {
			out = k.reference()
		}
	}
	if m := c.generator; out.Number == 0 && m != nil {
		for _, number := range c.composite.listedNumbers(m, resourceRefs(c.composite.object)) {
			if slices.ContainsFunc(c.have, func(k *generation) bool { return k.Number == number }) {
				continue
			}
			at := c.composite.requirement(m, c.composite.defaultName(c.name, number))
			out = reference{Number: number, APIVersion: at.APIVersion, Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}
		}
	}
	return out
}

func flaggedText(k rotation.Generation) string {
	if k.Stage == rotation.Pending {
		return ""
	}
	return timeText(k.Since)
}

func stateReference(composed string, ref reference, texts map[string]string) *structpb.Value {
	all := map[string]string{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "namespace": ref.Namespace, "name": ref.Name,
		"resourceName": composed,
	}
	maps.Copy(all, texts)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	out := textsValue(all)
	out.GetStructValue().Fields["generation"] = structpb.NewNumberValue(float64(ref.Number))
	return out
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
