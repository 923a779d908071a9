package generator_test

import (
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/generator"
)

// The laws of the exhaustive model. Those of TestModel have the same words.

// fail keeps the first law that a transition breaks.
func (x *exhaustive) fail(format string, args ...any) {
	if x.broken == "" {
		x.broken = fmt.Sprintf(format, args...)
	}
}

// checkExport: an export only gets the value of a generation that is stored, adopted and was ready, and never goes back.
func (x *exhaustive) checkExport(c *call, p *point, was *copied, next copied) {
	m := p.withValue(next.Value)
	newest := p.find(was.Newest)
	switch {
	case m == nil && x.attacked: // it was deleted by people
	case m == nil:
		x.fail("generation %d is exported, and not stored", next.Number)
	case m.Forged && !m.WasUsed && (c.known || c.to.state() != m.state()):
		x.fail("the forged generation %d is exported", next.Number)
	case !m.WasReady:
		x.fail("generation %d is exported, and was never ready", next.Number)
	case !m.Adopted && !c.to.Adopted && !m.Lost:
		x.fail("generation %d is exported, and was not adopted", next.Number)
	case m.WasAbandoned && !m.WasAdopted:
		x.fail("generation %d is exported, and was abandoned", next.Number)
	case c.late, x.attacked && p.Attacked:
	case next.Number < was.Newest && newest != nil && newest.WasAdopted:
		x.fail("generation %d is exported again, after %d", next.Number, was.Newest)
	}
}

// checkDrop: no generation is deleted while an export has it, or before its grace period ends.
func (x *exhaustive) checkDrop(p *point, m instance) {
	limit := ticks(graceUnits)
	if p.Skew != 0 {
		limit--
	}
	for _, e := range p.secrets() {
		if e.Value == m.Value {
			x.fail("generation %d is dropped, and still exported", m.Number)
			return
		}
	}
	switch {
	case m.Forged:
	case m.LetGo != never && -m.LetGo < limit && (m.WasAdopted || m.WasAbandoned):
		x.fail("generation %d is dropped, before its grace period is over since an export had it", m.Number)
	case m.Adopted && m.Flagged == never:
		x.fail("generation %d is dropped, and was not flagged", m.Number)
	case m.Adopted && -m.Flagged < limit:
		x.fail("generation %d is dropped before its grace period is over", m.Number)
	}
}

// checkStore: only what was ready, was not abandoned, and fits its source is adopted. An adopted generation is not abandoned.
func (x *exhaustive) checkStore(c *call, p *point, was, is instance) {
	adopted, abandoned := is.Adopted && !was.Adopted, is.Abandoned && !was.Abandoned
	r := c.seen.Request
	switch {
	case adopted && was.Lost:
	case adopted && !was.WasReady:
		x.fail("generation %d is adopted, and was never ready", is.Number)
	case adopted && was.WasAbandoned:
		x.fail("generation %d is adopted after it was abandoned", is.Number)
	case adopted && x.derived && r.Unknown && !c.late && !was.WasUsed:
		x.fail("generation %d is adopted, and its source is not known", is.Number)
	case adopted && x.derived && was.Source != r.Source && !was.WasUsed:
		x.fail("generation %d is adopted, and belongs to another source", is.Number)
	case abandoned && was.WasAdopted && !was.Lost && !c.late:
		x.fail("generation %d is abandoned after it was adopted", is.Number)
	case abandoned && !slices.ContainsFunc(p.Objects[:], func(m instance) bool { return m.Adopted }):
		x.fail("generation %d is abandoned, and there is none to go back to", is.Number)
	}
}

// checkCreate: while a generation is in use, no number is used again.
func (x *exhaustive) checkCreate(p *point, number uint8) {
	if x.verified && p.inUse() > 0 && number <= p.Top {
		x.fail("number %d was used before", number)
	}
}

// checkAnswer: a step depends on nothing but its arguments, and not on their order. It keeps only what there is, and one
// generation at most that waits. The current generation is kept.
func (x *exhaustive) checkAnswer(
	c *call, o *view, want *generator.Desired, judged []instance, states []generator.Generation, step generator.Step,
) {
	if len(states) > 1 {
		reversed := slices.Clone(states)
		slices.Reverse(reversed)
		if again := x.fn.next(want, reversed, c.now.time()); !same(step, again) {
			x.fail("the same generations gave two steps")
		}
	}
	waiting := 0
	for i, g := range step.Keep {
		at := slices.IndexFunc(judged, func(m instance) bool { return int(m.Number) == g.Number })
		if at < 0 || i > 0 && step.Keep[i-1].Number >= g.Number {
			x.fail("the step keeps %d, which is not there, or not in order", g.Number)
			return
		}
		if m := judged[at]; !g.Unlisted && !m.WasAdopted && g.Flagged.IsZero() && !g.Adopted && !m.Lost && !g.Abandoned &&
			!g.Candidate {
			waiting++
		}
	}
	is := func(number int) bool {
		return slices.ContainsFunc(judged, func(m instance) bool { return int(m.Number) == number })
	}
	switch {
	case waiting > 1 && !x.verified:
		x.fail("the step keeps %d generations that wait to be adopted", waiting)
	case step.Make > 0 && is(step.Make):
		x.fail("the step makes %d, which is there", step.Make)
	case want == nil && (step.Make > 0 || step.Current > 0 || step.Pending > 0 || step.Previous > 0):
		x.fail("the step of a generator that is gone gives something")
	case step.Current > 0 && !keeps(step, step.Current):
		x.fail("current is %d, which is not kept", step.Current)
	case step.Previous > 0 && (!keeps(step, step.Previous) || step.Current > 0 && step.Previous >= step.Current):
		x.fail("previous is %d, which is not there, or not before %d", step.Previous, step.Current)
	case slices.ContainsFunc(judged, func(m instance) bool { return !o.listed(m) || m.Lost }): // it is waited for, or unknown
	case want != nil && step.Current == 0 && slices.ContainsFunc(states, o.wasCurrent(states)):
		x.fail("there is no current generation any more")
	}
	if step.Previous == 0 && slices.ContainsFunc(step.Keep, func(g generator.Generation) bool {
		return g.Adopted && g.Number < step.Current && !g.Unproven && !g.Abandoned && !g.Unlisted
	}) {
		x.fail("there is no previous generation, and one is in its grace period")
	}
	x.checkDue(c, want, states, step)
}

// checkDue: if nothing else is to do, time alone brings nothing before it is due.
func (x *exhaustive) checkDue(c *call, want *generator.Desired, states []generator.Generation, step generator.Step) {
	if step.Make > 0 || !slices.Equal(step.Keep, states) {
		return
	}
	until := c.now.time().AddDate(10, 0, 0)
	if !step.Due.IsZero() {
		until = step.Due.Add(-1)
	}
	if until.Before(c.now.time()) {
		x.fail("something was due")
	} else if later := x.fn.next(want, states, until); later.Make > 0 || !slices.Equal(later.Keep, step.Keep) {
		x.fail("nothing is due, and something happens")
	}
}

// wasCurrent reports whether a generation is in use, and nothing was done to it. It is not if a later one replaced it,
// which an export has, or a flag shows: it does not take the place of a later one that people deleted.
func (o *view) wasCurrent(states []generator.Generation) func(g generator.Generation) bool {
	last := int(max(o.Exports[0].Number, o.Exports[1].Number))
	for _, g := range states {
		if g.Adopted && !g.Retired && !g.Flagged.IsZero() {
			last = max(last, g.Number+1)
		}
	}
	return func(g generator.Generation) bool {
		return g.Exported && g.Number >= last && !g.Unproven && !g.Unlisted && !g.Retired
	}
}

// checkState: an export only has a value that is stored. A hash is only beside the value of its own source.
func (x *exhaustive) checkState(p *point) {
	if p.Overflow {
		x.fail("there are more than %d generations", objects)
	}
	for _, e := range p.Exports {
		m := p.withValue(e.Value)
		switch {
		case e.Value == 0 || x.attacked && p.Attacked:
		case m == nil:
			x.fail("generation %d is exported, and not stored", e.Number)
		case x.derived && e.Source != m.Source:
			x.fail("the hash of generation %d is beside another source", e.Number)
		case !m.WasReady || !m.WasAdopted && !m.Lost:
			x.fail("generation %d is exported, and was never in use", e.Number)
		}
	}
}

// end returns what is wrong if nothing changes any more.
func (x *exhaustive) end(p *point) string {
	var left []instance
	for _, m := range p.Objects {
		if m.Number > 0 && (p.listed(m) || m.UID == p.Exports[0].UID || m.UID == p.Exports[1].UID) { // others are left alone
			left = append(left, m)
		}
	}
	switch {
	case p.Request.Gone && len(left) > 0:
		return "generations of a generator that is gone are left in the end"
	case p.Request.Gone:
		return ""
	case len(left) != 1:
		return fmt.Sprintf("there are %d generations in the end", len(left))
	}
	last := left[0]
	for _, e := range p.Exports {
		if e.Value != last.Value {
			return "an export has another value in the end"
		}
	}
	switch r := p.Request; {
	case r.Rotation > 0 && last.Rotation != r.Rotation, last.Spec != r.Spec:
		return "another generation was requested in the end"
	case x.derived && last.Source != r.Source:
		return "the generation in the end belongs to another source"
	case x.verified && (p.Accepted != last.Value || p.Setter.Value != last.Value):
		return "the database has another value in the end"
	}
	return ""
}
