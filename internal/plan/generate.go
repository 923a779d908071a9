package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// generating is the next step of all generators.
type generating struct {
	*run

	plan       *Plan
	out        *Result
	have       map[string][]*kept     // by generator
	impostors  map[string]*kept       // what has the number of the generation in use
	stale      wire.Struct            // a generation that the composite may list as soon as it is read anew
	used       map[string]int         // the highest number that is known of
	unread     []string               // look-ups without which no step is taken
	tokens     map[string]string      // by generator: what asks for another generation
	slow       int                    // slow generations that were made
	coming     map[string]bool        // generators of which a generation is to be adopted
	replaced   *kept                  // the generation of a generator that left, which a new one names as its latest
	specHashes map[string]string      // of what each generator is made from now
	unlisted   map[string]wire.Struct // by generator: an export with its values that the composite does not list
	unsaid     map[string]bool        // generators of which an export may have a value of any generation
	named      map[string]bool        // UIDs of the generations that exports name
	composed   map[string]int         // where each is among the composed generations, by name
	seen       map[string]bool        // generations that were added
	observed   map[string]bool        // kind and name of the generations that Crossplane shows
	byID       map[string]*kept       // what looks like a generation, by generator and UID
	early      *kept                  // what was made, if it is given before it is stored
}

// generate takes the next step of each generator, and gives expressions what the
// generations give that are in use. Nothing that is made here is given, because it is not
// stored yet.
func (r *run) generate(ctx context.Context, p *Plan, at []placement, out *Result) error {
	r.current, r.proven = map[string]*kept{}, map[string][]*kept{}
	unlisted := slices.ContainsFunc(at, func(l placement) bool { return l.unlisted })
	if len(p.makers)+len(r.generations)+len(r.records) == 0 && !unlisted {
		return nil
	}
	g := &generating{run: r, plan: p, out: out, have: map[string][]*kept{}, impostors: map[string]*kept{}, used: map[string]int{}, coming: map[string]bool{}}
	r.Observation.Generated, r.Observation.Previous = map[string]observation.Generated{}, map[string]observation.Generated{}
	for i, l := range at {
		if l.observed.Exists() && !l.unlisted {
			g.findUnsaid(p.exports[i], l)
		}
		if l.lookUp != nil {
			if _, read := r.answer(*l.lookUp); !read {
				g.unread = append(g.unread, l.lookUp.String())
			}
		}
		for name, from := range r.readGenerated(l.observed) {
			switch {
			case l.unlisted:
				put(&g.unlisted, name, l.observed)
			case l.lookUp != nil: // the composite lists it, and something else has its composition resource name
				r.records[name] = r.records[name].add(from, ownData(l.observed))
			}
		}
	}
	g.findListed(p)
	g.readTokens()
	steps := g.lookUpAll(ctx)
	for _, name := range sortedKeys(g.have) {
		g.trust(name, p.maker(name))
	}
	if err := g.isStale(); err != nil {
		return err
	}
	for _, m := range authoritiesFirst(p.makers) {
		if m.totp == nil {
			g.step(ctx, steps[m.name])
		}
	}
	for _, name := range sortedKeys(steps) {
		if step := steps[name].step; step != nil {
			g.note(name, p.id, *step)
		}
	}
	g.retire(ctx)
	for i := range p.makers {
		if m := &p.makers[i]; m.totp != nil {
			g.totp(ctx, m)
		}
	}
	slices.SortFunc(out.Generations, func(a, b Composed) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// findUnsaid notes the generators of which an export may have a value, and does not say so.
func (g *generating) findUnsaid(e export, at placement) {
	said := g.readGenerated(at.observed)
	if e.kind == object.ConfigMap { // its record is good for keeping what it names, and for nothing else
		said = parseGenerated(at.observed)
	}
	for _, name := range e.generators {
		from, ok := said[name]
		if !ok {
			put(&g.unsaid, name, true)
		}
		put(&g.named, from.UID, true)
	}
}

// findListed finds the generations that the composite lists.
func (g *generating) findListed(p *Plan) {
	for name, rec := range g.records {
		g.used[name] = rec.highest().Generation
	}
	for i := range p.makers {
		m := &p.makers[i]
		for number := range g.listedNumbers(m) {
			g.used[m.name] = max(g.used[m.name], number-1) // it may have been refused
		}
	}
	for _, composed := range sortedKeys(g.run.generations) {
		id := g.run.generations[composed]
		if g.elsewhere(id.generator) {
			continue
		}
		k := g.readGeneration(id.generator, id.number, id.Resource, true)
		_, kind, _, object := object.Identity(k.object)
		put(&g.observed, kind+"/"+object, true)
		if !g.composes(p, composed) {
			k.composed = composed
		}
		g.have[id.generator] = g.add(g.have[id.generator], k)
	}
}

// composes reports whether a composition resource name is one that something else needs.
// A generation that has it, because somebody changed its annotation, gets its own again.
func (g *generating) composes(p *Plan, composed string) bool {
	_, desired := g.Desired[composed]
	return desired || slices.ContainsFunc(p.exports, func(e export) bool { return e.name == composed })
}

// authoritiesFirst are all generators, those that sign before those that are signed.
func authoritiesFirst(makers []maker) []*maker {
	var signed, others []*maker
	for i := range makers {
		if m := &makers[i]; m.certificate != nil && m.certificate.CA() != "" {
			signed = append(signed, m)
		} else {
			others = append(others, m)
		}
	}
	return append(others, signed...)
}

// wanted is what a generator wants now.
func (g *generating) wanted(ctx context.Context, s *stepping) {
	m := s.maker
	s.want = generator.Want{
		Policy: m.policy, Interval: m.interval, GracePeriod: m.grace, Kind: m.kind,
		Rotation: g.tokens[m.name], Used: g.used[m.name],
	}
	hash := func(what string) string { return generator.Hash(g.salt(), m.name, what) }
	spec := m.spec
	if m.manifest != nil {
		common, why := g.manifestOf(ctx, m, 0, g.defaultName(m.name, 0))
		s.why = why
		spec = appendStruct(nil, wire.Of(common))
	}
	s.want.SpecHash = hash(m.kind + string(spec))
	put(&g.specHashes, m.name, s.want.SpecHash)
	if m.keepers != nil {
		v, err := g.evaluate(ctx, m.keepers, "")
		var value *structpb.Value
		if err == nil {
			value, _, err = m.keepers.JSON(v, g.budget)
		}
		s.why.add(m.keepers.Source().Path, err)
		s.want.KeepersHash = hash(string(appendValue(nil, wire.OfValue(value))))
	}
	if !s.why.empty() {
		s.want.Unknown, s.want.SpecHash, s.want.KeepersHash = true, "", ""
	}
}

// generations as the machine wants them.
func (g *generating) generations(s *stepping) []generator.Generation {
	out := make([]generator.Generation, 0, len(g.have[s.name]))
	for _, k := range g.have[s.name] {
		k.Exported = g.exported(k)
		if k.Kind == "" && slices.ContainsFunc(s.keys, func(key string) bool { return k.details[key] == nil }) {
			k.Kind = "lost" // and not what the generator makes
		}
		g.renewal(s, k)
		out = append(out, k.Generation)
	}
	return out
}

// exported reports whether an export has a value of the generation, or may have one.
func (g *generating) exported(k *kept) bool {
	if k.Adopted && (g.unsaid[k.Generator] || g.named[k.id()]) {
		return true
	}
	rec := g.records[k.Generator]
	if rec == nil {
		return false
	}
	_, ok := rec.used[k.id()]
	return ok || k.Number == rec.highest().Generation && g.accepted()[k.id()]
}

// renewal of a certificate: before it ends, or once its CA is another one.
func (g *generating) renewal(s *stepping, k *kept) {
	if s.certificate == nil || k.Kind != kindCertificate {
		return
	}
	k.RenewAt, _ = s.certificate.RenewAt(k.outputs()) // of what is no certificate there is none
	ca := g.current[s.certificate.CA()]
	if ca == nil {
		return
	}
	if issuer, err := generator.ParseIssuer(ca.outputs()); err == nil && !s.certificate.IssuedBy(k.outputs(), issuer) {
		k.RenewAt = g.Now
	}
}

// step of one generator.
func (g *generating) step(ctx context.Context, s *stepping) {
	switch {
	case len(g.unread) > 0:
		g.wait(ctx, s, Outcome{State: Waiting}, "the look-up of "+shorten(g.unread, ", "))
		return
	case g.records[s.name] == nil && g.unlisted[s.name].Exists() && !slices.ContainsFunc(g.proven[s.name], func(k *kept) bool { return k.listed || g.accepted()[k.id()] }):
		g.wait(ctx, s, g.lostList(s), "the composite to list its generations")
		return
	case g.impostors[s.name] != nil:
		g.wait(ctx, s, g.conflict(s.String(), s.name), "its generation in use, which is another object now")
		return
	}
	unready := map[int]string{}
	for _, k := range g.have[s.name] {
		var why reasons
		if k.Ready, why = g.ready(ctx, s.maker, k); !k.Ready {
			unready[k.Number] = why.text()
			if rec := g.records[s.name]; rec != nil && k.Number > rec.highest().Generation && !isSecretObject(k) {
				k.Adopted = false // the mark of a resource carries no seal: anybody may have written it
			}
		}
	}
	step := generator.Next(&s.want, g.generations(s), g.Now)
	g.due(step.Due)
	g.coming[s.name] = step.Pending > 0
	g.keep(ctx, s.name, step)
	note := g.make(s, step)
	k := g.find(s.name, step.Current)
	if g.early != nil && g.early.Generator == s.name {
		k = g.early
	}
	if k != nil {
		g.current[s.name] = k
		g.Observation.Generated[s.name] = g.given(ctx, s.maker, k)
	} else {
		g.Observation.Generated[s.name] = observation.Generated{Waits: waits(step, unready, note)}
	}
	g.missing[expression.PathText(expression.Previous, s.name)] = "no generation is in its grace period: read it as previous.?" + s.name + ", with optional: true"
	if k := g.find(s.name, step.Previous); k != nil {
		g.Observation.Previous[s.name] = g.given(ctx, s.maker, k)
	}
	g.tell(s, step, unready, note)
	s.step = &step
}

// wait: all stays as it is.
func (g *generating) wait(ctx context.Context, s *stepping, o Outcome, why string) {
	g.hold(ctx, s.name)
	g.Observation.Generated[s.name] = observation.Generated{Waits: why}
	if o.Message == "" {
		o.Message = s.String() + " waits for " + why
	}
	g.out.Others = append(g.out.Others, o)
	s.step = &generator.Step{}
}

// hold desires all generations as they are.
func (g *generating) hold(ctx context.Context, name string) {
	for _, k := range g.have[name] {
		if k.listed {
			g.writers[targetOf(object.Identity(k.object))] = append(g.writers[targetOf(object.Identity(k.object))], writer{generation: k.composed})
			g.compose(Composed{own: generationName(k.Generator, k.Number), Name: k.composed, Desired: g.asObserved(ctx, k)})
		}
	}
}

func (g *generating) find(name string, number int) *kept {
	for _, k := range g.have[name] {
		if k.Number == number && number > 0 {
			return k
		}
	}
	return nil
}

// due is when there has to be another call.
func (g *generating) due(t time.Time) {
	if !t.IsZero() && (g.out.Due.IsZero() || t.Before(g.out.Due)) {
		g.out.Due = t
	}
}

// keep what a step keeps. A composite that has a generation in use is ready, whether or
// not the next one is.
func (g *generating) keep(ctx context.Context, name string, step generator.Step) {
	at := keptAt(step)
	for _, k := range g.have[name] {
		i, keeps := at[k.Number]
		k.dropped = !keeps
		if keeps {
			now := *k
			now.Generation = step.Keep[i]
			g.desire(ctx, &now, k.Ready || step.Current > 0)
		}
	}
}

func (g *generating) desire(ctx context.Context, k *kept, ready bool) {
	t := targetOf(object.Identity(k.object))
	g.writers[t] = append(g.writers[t], writer{generation: k.composed})
	g.compose(Composed{own: generationName(k.Generator, k.Number), Name: k.composed, Desired: g.desireGeneration(ctx, k), Ready: ready})
}

// compose a generation. If two have one composition resource name, because somebody
// changed that of one of them, that one gets its own again.
func (g *generating) compose(c Composed) {
	if i, ok := g.composed[c.Name]; ok {
		if c.Name == c.own {
			other := &g.out.Generations[i]
			other.Name = other.own
			g.composed[other.Name] = i
		} else {
			c.Name = c.own
		}
	}
	put(&g.composed, c.Name, len(g.out.Generations))
	g.out.Generations = append(g.out.Generations, c)
}

// retired reports whether an earlier step has judged the generations of a generator that
// left the input, and nothing that this step exports is of one.
func (g *generating) retired(name string) bool {
	judged := false
	for _, k := range g.have[name] {
		_, earlier := g.Desired[k.composed]
		judged = judged || earlier
		if g.exported(k) {
			return false
		}
	}
	return judged
}

// retire the generations of generators that are not in the input any more, nor in that
// of an earlier step.
func (g *generating) retire(ctx context.Context) {
	for _, name := range sortedKeys(g.have) {
		if g.plan.maker(name) != nil || g.retired(name) {
			continue
		}
		if g.impostors[name] != nil || len(g.unread) > 0 {
			g.hold(ctx, name)
			continue
		}
		var have []generator.Generation
		changed := false
		flagged := make(map[int]time.Time, len(g.have[name]))
		for _, k := range g.have[name] {
			flagged[k.Number] = k.Flagged
			k.Ready, k.Exported = true, g.exported(k) || k == g.replaced
			have = append(have, k.Generation)
		}
		step := generator.Next(nil, have, g.Now)
		for _, k := range step.Keep {
			changed = changed || !flagged[k.Number].Equal(k.Flagged)
		}
		if !changed { // a later step may have the generator, and take the flag off again
			g.due(step.Due)
		}
		g.keep(ctx, name, step)
		g.note(name, "", step)
	}
}

func failed(path, format string, args ...any) *expression.Failed {
	return &expression.Failed{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// keptAt is where a step keeps each generation, by number: there may be thousands.
func keptAt(step generator.Step) map[int]int {
	at := make(map[int]int, len(step.Keep))
	for i, k := range step.Keep {
		at[k.Number] = i
	}
	return at
}
