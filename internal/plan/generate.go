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

	plan     *Plan
	out      *Result
	have     map[string][]*kept // by generator
	used     map[string]int     // the highest number that is known of
	exported exported
	unread   []string          // look-ups without which no step is taken
	tokens   map[string]string // by generator: what asks for another generation
	slow     int               // slow generations that were made
	coming   map[string]bool   // generators of which a generation is to be adopted
	early    *kept             // what was made, if it is given before it is stored
}

// generate takes the next step of each generator, and gives expressions what the
// generations give that are in use. Nothing that is made here is given: it is not stored
// as yet.
func (r *run) generate(ctx context.Context, p *Plan, at []placement, out *Result) {
	r.current = map[string]*kept{}
	if len(p.makers)+len(r.generations) == 0 {
		return
	}
	g := &generating{run: r, plan: p, out: out, have: map[string][]*kept{}, coming: map[string]bool{}}
	r.Observation.Generated, r.Observation.Previous = map[string]observation.Generated{}, map[string]observation.Generated{}
	g.exported = readExported(p.exports, at)
	g.used = g.exported.used
	for _, l := range at {
		if l.lookUp != nil {
			if _, read := r.answer(*l.lookUp); !read {
				g.unread = append(g.unread, l.lookUp.String())
			}
		}
	}
	for _, composed := range sortedKeys(r.generations) {
		if name, number, _ := parseGeneration(composed); !g.elsewhere(name) {
			g.have[name] = g.add(g.have[name], r.readGeneration(name, number, r.generations[composed], true))
		}
	}
	g.readTokens()
	steps := g.lookUpAll(ctx)
	for _, m := range authoritiesFirst(p.makers) {
		if m.totp == nil {
			g.step(ctx, steps[m.name])
		}
	}
	g.retire()
	for i := range p.makers {
		if m := &p.makers[i]; m.totp != nil {
			g.totp(ctx, m)
		}
	}
	slices.SortFunc(out.Generations, func(a, b Composed) int { return strings.Compare(a.Name, b.Name) })
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

// wanted is what a generator wants by now.
func (g *generating) wanted(ctx context.Context, s *stepping) {
	m := s.maker
	s.want = generator.Want{
		Policy: m.policy, Interval: m.interval, GracePeriod: m.grace, Kind: m.kind,
		Rotation: g.tokens[m.name], Used: g.used[m.name],
	}
	hash := func(what string) string { return generator.Hash(g.salt(), m.name, what) }
	spec := m.spec
	if m.manifest != nil {
		common, why := g.manifestOf(ctx, m, 0)
		s.why = why
		spec = appendStruct(nil, wire.Of(common))
	}
	s.want.SpecHash = hash(m.kind + string(spec))
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
		k.Exported = g.exported.has(k)
		if k.Kind == "" && slices.ContainsFunc(s.keys, func(key string) bool { return k.details[key] == nil }) {
			k.Kind = "lost" // and not what the generator makes
		}
		g.renewal(s, k)
		out = append(out, k.Generation)
	}
	return out
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
	if len(g.unread) > 0 {
		g.wait(s)
		return
	}
	unready := map[int]string{}
	for _, k := range g.have[s.name] {
		var why reasons
		if k.Ready, why = g.ready(ctx, s.maker, k); !k.Ready {
			unready[k.Number] = why.text()
		}
	}
	step := generator.Next(&s.want, g.generations(s), g.Now)
	g.due(step.Due)
	g.coming[s.name] = step.Pending > 0
	g.keep(s.name, step)
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
	g.note(s.name, g.plan.id, step)
}

// wait for the look-ups: all stays as it is.
func (g *generating) wait(s *stepping) {
	why := "the look-up of " + shorten(g.unread, ", ")
	for _, k := range g.have[s.name] {
		if k.listed {
			g.desire(k, false)
		}
	}
	g.Observation.Generated[s.name] = observation.Generated{Waits: why}
	g.out.Others = append(g.out.Others, Outcome{State: Waiting, Message: s.String() + " waits for " + why})
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
// not the next one is. What the composite does not list as yet stays desired until it
// does: Crossplane would not delete it, and forget it.
func (g *generating) keep(name string, step generator.Step) {
	at := keptAt(step)
	for _, k := range g.have[name] {
		i, keeps := at[k.Number]
		switch {
		case keeps:
			now := *k
			now.Generation = step.Keep[i]
			g.desire(&now, k.Ready || step.Current > 0)
		case !k.listed:
			g.desire(k, k.Ready || step.Current > 0)
		}
	}
}

func (g *generating) desire(k *kept, ready bool) {
	t := targetOf(object.Identity(k.object))
	composed := generationName(k.Generator, k.Number)
	g.writers[t] = append(g.writers[t], writer{generation: composed})
	g.out.Generations = append(g.out.Generations, Composed{Name: composed, Desired: g.desireGeneration(k), Ready: ready})
}

// retired reports whether an earlier step has judged the generations of a generator that
// left the input, and nothing that this step exports is of one.
func (g *generating) retired(name string) bool {
	judged := false
	for _, k := range g.have[name] {
		_, earlier := g.Desired[generationName(name, k.Number)]
		judged = judged || earlier
		if g.exported.has(k) {
			return false
		}
	}
	return judged
}

// retire the generations of generators that are not in the input any more, nor in that
// of an earlier step.
func (g *generating) retire() {
	for _, name := range sortedKeys(g.have) {
		if g.plan.maker(name) != nil || g.retired(name) {
			continue
		}
		var have []generator.Generation
		changed := false
		flagged := make(map[int]time.Time, len(g.have[name]))
		for _, k := range g.have[name] {
			flagged[k.Number] = k.Flagged
			k.Ready, k.Exported = true, g.exported.has(k)
			have = append(have, k.Generation)
		}
		step := generator.Next(nil, have, g.Now)
		for _, k := range step.Keep {
			changed = changed || !flagged[k.Number].Equal(k.Flagged)
		}
		if !changed { // a later step may have the generator, and take the flag off again
			g.due(step.Due)
		}
		g.keep(name, step)
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
