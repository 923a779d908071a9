package generator_test

import (
	"math/bits"
	"slices"
)

// Kinds of events. The argument of a reconcile is how many of its effects happen.
type happening uint8

const (
	begins happening = iota
	reconciles
	crashes       // some effects of a reconcile happen
	reconcilesOld // with what the other replica saw
	crashesOld
	reconcilesSkewed // the other replica, whose clock is wrong
	passes
	remembersComposite
	remembersAll
	forgets
	becomesReady
	becomesUnready
	sets // the database accepts the value of the setter
	isHeld
	isReleased
	isUnknown
	isKnown
	isRemoved
	returns
	rotates
	changesSpec
	changesSource
	isDeleted
	isStripped
	isForged
	isExpelled
	isAccepted
)

// words of events.
var words = map[happening]string{
	begins: "there is nothing", reconciles: "a reconcile",
	crashes:            "a reconcile that stops after some of its writes: the bits of",
	reconcilesOld:      "the other replica reconciles with what it saw before",
	crashesOld:         "the other replica reconciles with what it saw before, and stops: the bits of",
	reconcilesSkewed:   "a replica with a wrong clock reconciles",
	passes:             "time passes",
	remembersComposite: "the cache of the other replica keeps this version of the composite",
	remembersAll:       "the other replica observes everything, and its response is late",
	forgets:            "the other replica stops",
	becomesReady:       "a generation becomes ready:",
	becomesUnready:     "a generation is not ready any more:",
	sets:               "the database accepts the candidate",
	isHeld:             "an export is held:", isReleased: "an export is released:",
	isUnknown: "an input is missing", isKnown: "the input is back",
	isRemoved: "the generator is removed", returns: "the generator returns",
	rotates: "a rotation is requested", changesSpec: "the specification changes", changesSource: "the source is now",
	isDeleted: "people delete the generation at", isStripped: "people strip the generation at",
	isForged: "an attacker creates generation", isExpelled: "people delete the object that the conflict names",
	isAccepted: "the owner accepts the object that the conflict names",
}

// An occurrence is an event with its argument.
type occurrence struct {
	what happening
	arg  uint32
}

// expand calls a function with each state that can follow. The first one is what happens when nothing else fails.
func (x *exhaustive) expand(p *point, f func(o occurrence, next *point)) {
	live := x.answer(&p.view, 0)
	calm, what := x.calm(p, live)
	f(what, &calm)
	x.reconciled(p, live, f)
	x.asks(p, f)
	x.recovers(p, f)
	if p.Faults > 0 {
		x.fails(p, f)
	}
}

// emit finishes an event.
func (x *exhaustive) emit(f func(occurrence, *point), what happening, arg uint32, next point) {
	x.checkState(&next)
	next = x.canonical(next)
	f(occurrence{what, arg}, &next)
}

// calm returns what follows if everything works. If nothing does, it is the same state.
func (x *exhaustive) calm(p *point, c *call) (next point, what occurrence) {
	found := false
	x.recovers(p, func(o occurrence, n *point) {
		if !found {
			next, what, found = *n, o, true
		}
	})
	if found {
		return next, what
	}
	if c != nil {
		if next = x.run(c, p, c.effects(p), ^uint32(0)); next != *p {
			return next, occurrence{reconciles, 0}
		}
	}
	next = *p
	next.pass()
	return x.canonical(next), occurrence{passes, 0}
}

// run some effects of a call.
func (x *exhaustive) run(c *call, p *point, effects []effect, which uint32) point {
	next := *p
	c.stopped = bits.OnesCount32(which) < len(effects)
	for i, e := range effects {
		if which&(1<<i) != 0 {
			c.apply(x, &next, e)
			x.checkState(&next)
		}
	}
	return x.canonical(next)
}

// reconciled are the reconciles that can happen.
func (x *exhaustive) reconciled(p *point, c *call, f func(occurrence, *point)) {
	if c != nil {
		x.outcomes(c, p, reconciles, crashes, f)
	}
	if p.Faults > 0 && p.Skew != 0 {
		q := *p
		q.Faults--
		if c := x.answer(&q.view, p.Skew); c != nil {
			x.outcomes(c, &q, reconcilesSkewed, reconcilesSkewed, f)
		}
	}
	if p.OldKind == fresh {
		return
	}
	o := p.Old
	if p.OldKind == cached {
		o = p.view
		o.Request = p.Old.Request
	}
	if c := x.answer(&o, 0); c != nil {
		c.late = true
		x.outcomes(c, p, reconcilesOld, crashesOld, f)
	}
}

// outcomes are what a call can lead to: all of its effects, or a part of them.
func (x *exhaustive) outcomes(c *call, p *point, whole, part happening, f func(occurrence, *point)) {
	effects := c.effects(p)
	if len(effects) == 0 {
		return
	}
	all := uint32(1)<<len(effects) - 1
	next := x.run(c, p, effects, all)
	f(occurrence{whole, 0}, &next)
	if p.Faults == 0 || part == whole {
		return
	}
	stopped := *p
	stopped.Faults--
	before := uint32(slices.IndexFunc(effects, func(e effect) bool { return e.kind >= storeRefs }))
	if before > all { // it only deletes
		before = uint32(len(effects))
	}
	for which := uint32(1); which < all; which++ {
		deleted, applied := which&(1<<before-1), which>>before
		if applied != 0 && (deleted != 1<<before-1 || effects[before].kind == storeRefs && applied&1 == 0) {
			continue
		}
		next := x.run(c, &stopped, effects, which)
		f(occurrence{part, which}, &next)
	}
}

// asks are what people want.
func (x *exhaustive) asks(p *point, f func(occurrence, *point)) {
	next := *p
	next.pass()
	x.emit(f, passes, 0, next)
	if p.count() >= x.most {
		return
	}
	if x.rotates {
		next = *p
		for _, o := range p.all() {
			next.Request.Rotation = max(next.Request.Rotation, o.Request.Rotation)
			for _, m := range o.Objects {
				next.Request.Rotation = max(next.Request.Rotation, m.Rotation, m.FailedFor/uint8(len(specTexts)))
			}
		}
		next.Request.Rotation++
		x.emit(f, rotates, 0, next)
	}
	if x.respecifies {
		next = *p
		next.Request.Spec = 3 - p.Request.Spec
		x.emit(f, changesSpec, 0, next)
	}
	if x.derived {
		for s := uint8(1); s <= x.sources; s++ {
			if s != p.Request.Source {
				next = *p
				next.Request.Source = s
				x.emit(f, changesSource, uint32(s), next)
			}
		}
	}
}

// count of the generations, and of one that is requested.
func (p *point) count() int {
	n := 0
	for _, m := range p.Objects {
		if m.Number > 0 {
			n++
		}
	}
	for i := range uint8(16) {
		if p.Request.Refs&(1<<i) != 0 && p.find(i) == nil {
			n++
		}
	}
	return n
}

// recovers are the ends of failures. They happen at any time.
func (x *exhaustive) recovers(p *point, f func(occurrence, *point)) {
	change := func(what happening, arg int, do func(p *point)) {
		next := *p
		do(&next)
		x.emit(f, what, uint32(arg), next)
	}
	if p.OldKind != fresh {
		change(forgets, 0, func(p *point) { p.OldKind, p.Old = fresh, view{} })
	}
	if p.Request.Unknown {
		change(isKnown, 0, func(p *point) { p.Request.Unknown = false })
	}
	for i := range p.Held {
		if p.Held[i] {
			change(isReleased, i, func(p *point) { p.Held[i] = false })
		}
	}
	for i, m := range p.Objects {
		if m.Number > 0 && !m.Ready && !x.verified {
			change(becomesReady, int(m.Number), func(p *point) { p.Objects[i].Ready, p.Objects[i].WasReady = true, true })
		}
	}
	if m := p.withValue(p.Setter.Value); x.verified && p.Setter.Value != p.Accepted && m != nil {
		change(sets, int(m.Number), func(p *point) {
			p.Accepted = p.Setter.Value
			for i := range p.Objects {
				o := &p.Objects[i]
				o.Ready = o.Value == p.Accepted
				o.WasReady = o.WasReady || o.Ready
			}
		})
	}
	if x.attacked || x.stale {
		x.resolve(p, change)
	}
}

// resolve a conflict as its message says: people delete the object that it names, or accept it.
func (x *exhaustive) resolve(p *point, change func(what happening, arg int, do func(p *point))) {
	c := x.trust(&p.view, p.visible(), p.recorded()).Impostor
	if c == nil {
		return
	}
	number := uint8(c.Number)
	if m := p.find(number); m.Forged || !m.WasReady || x.attacked {
		change(isExpelled, c.Number, func(p *point) {
			*p.find(number) = instance{}
			p.Attacked = true
		})
		return
	}
	change(isAccepted, c.Number, func(p *point) { p.Request.Accepted |= 1 << p.find(number).UID })
}

// fails are the failures that can start.
func (x *exhaustive) fails(p *point, f func(occurrence, *point)) {
	change := func(what happening, arg int, do func(p *point)) {
		next := *p
		next.Faults--
		do(&next)
		x.emit(f, what, uint32(arg), next)
	}
	if p.OldKind == fresh && x.stale {
		change(remembersComposite, 0, func(p *point) { p.OldKind, p.Old = cached, view{Request: p.Request} })
		if !p.WasLate {
			change(remembersAll, 0, func(p *point) { p.OldKind, p.Old, p.WasLate = late, p.view, true })
		}
	}
	if x.holds {
		for i := range p.Held {
			if !p.Held[i] {
				change(isHeld, i, func(p *point) { p.Held[i] = true })
			}
		}
	}
	if x.unknowns && !p.Request.Unknown {
		change(isUnknown, 0, func(p *point) { p.Request.Unknown = true })
	}
	if x.removes {
		what := isRemoved
		if p.Request.Gone {
			what = returns
		}
		change(what, 0, func(p *point) { p.Request.Gone = !p.Request.Gone })
	}
	if x.slow && !x.verified {
		for i, m := range p.Objects {
			if m.Number > 0 && m.Ready {
				change(becomesUnready, int(m.Number), func(p *point) { p.Objects[i].Ready = false })
			}
		}
	}
	if x.attacked {
		x.attacks(p, change)
	}
}

// attacks are what people can do who may not edit the composite.
func (x *exhaustive) attacks(p *point, change func(what happening, arg int, do func(p *point))) {
	for i, m := range p.Objects {
		if m.Number == 0 {
			continue
		}
		change(isDeleted, i, func(p *point) {
			p.Objects[i], p.Attacked = instance{}, true
		})
		change(isStripped, i, func(p *point) {
			p.Attacked = true
			o := &p.Objects[i]
			*o = instance{
				Number: m.Number, Value: m.Value, UID: m.UID, Ready: m.Ready, Source: m.Source, Made: never, Flagged: never,
				Offered: never, FailedAt: never, Forged: m.Forged, Lost: true, WasReady: m.WasReady, WasAdopted: m.WasAdopted,
				WasUsed: m.WasUsed, WasAbandoned: m.WasAbandoned, Young: m.Young, LetGo: m.LetGo,
			}
		})
	}
	if p.count() >= x.most {
		return
	}
	for n := uint8(1); n <= p.highest()+2; n++ {
		if p.find(n) != nil {
			continue
		}
		for adopted := range 2 {
			change(isForged, int(n)+100*adopted, func(p *point) {
				p.Attacked = true
				uid, value := p.unused()
				p.put(instance{
					Number: n, UID: uid, Value: value, Flagged: never, Offered: never, FailedAt: never, LetGo: never,
					Rotation: p.Request.Rotation, Spec: p.Request.Spec, Source: p.Request.Source, Adopted: adopted == 1,
					Ready: true, WasReady: true, Forged: true, Young: true,
				})
			})
		}
	}
}
