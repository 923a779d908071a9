package generator_test

import "slices"

// Kinds of effects of a call, in the order of Crossplane.
const (
	dropOne uint8 = iota
	clearExport
	storeRefs
	keepOne
	createOne
	applyExport
	applySetter
)

// An effect is one write.
type effect struct{ kind, index uint8 }

// effects returns the writes of a call that change something, in the order of Crossplane: deletions, the list of the
// composite, and then what is applied in a random order. Writes after the list are to different objects. Their order
// therefore does not matter: a reconcile that stops has done any of them.
func (c *call) effects(p *point) []effect {
	var out []effect
	add := func(kind uint8, n int) {
		for i := range n {
			after := *p
			e := effect{kind, uint8(i)}
			if c.apply(nil, &after, e); after != *p {
				out = append(out, e)
			}
		}
	}
	add(dropOne, len(c.drop))
	if c.clear {
		add(clearExport, 3)
	}
	add(storeRefs, 1)
	add(keepOne, len(c.keep))
	if c.make > 0 {
		add(createOne, 1)
	}
	if c.to.Number > 0 && !c.clear {
		add(applyExport, 2)
	}
	if c.offer.Number > 0 && !c.clear {
		add(applySetter, 1)
	}
	return out
}

// apply one write. The laws are checked if x is not nil.
func (c *call) apply(x *exhaustive, p *point, e effect) {
	switch e.kind {
	case dropOne:
		c.remove(x, p, c.drop[e.index])
	case clearExport:
		s := p.secrets()[e.index]
		c.letGo(p, s)
		if *s = (copied{}); p.inUse() == 0 {
			p.Top = p.highest()
		}
	case storeRefs:
		p.Request.Refs = c.refs
	case keepOne:
		c.store(x, p, c.keep[e.index])
	case createOne:
		c.create(x, p)
	case applyExport:
		c.export(x, p, e.index)
	case applySetter:
		if p.Setter.UID != c.offer.UID || p.Setter.Value != c.offer.Value {
			c.letGo(p, &p.Setter)
		}
		p.Setter = copied{Number: c.offer.Number, Value: c.offer.Value, UID: c.offer.UID}
	}
}

func (p *point) find(number uint8) *instance {
	for i := range p.Objects {
		if p.Objects[i].Number == number && number > 0 {
			return &p.Objects[i]
		}
	}
	return nil
}

func (p *point) withValue(value uint8) *instance {
	for i := range p.Objects {
		if p.Objects[i].Value == value && value > 0 {
			return &p.Objects[i]
		}
	}
	return nil
}

// letGo stores that an export stops to have a value. If a late response gave the value back, and the reconcile that
// replaces it stops, nothing stores that it was used again. Then its grace period is the former one.
func (c *call) letGo(p *point, s *copied) {
	if m := p.withValue(s.Value); m != nil && (!m.SetBack || !c.stopped) {
		m.LetGo, m.SetBack = 0, false
	}
}

func (p *point) inUse() uint8 { return max(p.Exports[0].Number, p.Exports[1].Number) }

func (p *point) highest() uint8 {
	out := uint8(0)
	for _, m := range p.Objects {
		out = max(out, m.Number)
	}
	return out
}

// next name that is free.
func (p *point) unused() (uid, value uint8) {
	for _, o := range p.all() {
		for _, m := range o.Objects {
			uid, value = max(uid, m.UID), max(value, m.Value)
		}
		for _, e := range o.secrets() {
			uid, value = max(uid, e.UID), max(value, e.Value)
		}
	}
	return uid + 1, max(value, p.Accepted) + 1
}

// remove deletes an object, unless it changed since it was observed.
func (c *call) remove(x *exhaustive, p *point, m instance) {
	is := p.find(m.Number)
	if is == nil || is.UID != m.UID || is.state() != m.state() {
		return
	}
	if x != nil {
		x.checkDrop(p, *is)
	}
	*is = instance{}
	slices.SortFunc(p.Objects[:], byNumber)
	if p.inUse() == 0 {
		p.Top = p.highest()
	}
}

// store gives an object its state. One that is gone comes back with its value, as another object.
func (c *call) store(x *exhaustive, p *point, k kept) {
	is := p.find(k.Number)
	if is == nil {
		back := k.instance
		back.UID, _ = p.unused()
		back.Young = true
		p.put(back)
		if is = p.find(k.Number); is == nil {
			return
		}
	}
	if is.Value != k.Value { // it is immutable
		return
	}
	was := *is
	ready := is.Ready
	*is = is.with(k.state)
	is.Ready = ready
	is.WasReady = is.WasReady || ready
	if x != nil {
		x.checkStore(c, p, was, *is)
	}
}

// put adds an object.
func (p *point) put(m instance) {
	i := slices.IndexFunc(p.Objects[:], func(m instance) bool { return m.Number == 0 })
	if i < 0 {
		p.Overflow = true
		return
	}
	p.Objects[i] = m
	slices.SortFunc(p.Objects[:], byNumber)
}

// create stores a new generation.
func (c *call) create(x *exhaustive, p *point) {
	if p.find(c.make) != nil {
		return // it is immutable
	}
	if x != nil {
		x.checkCreate(p, c.make)
	}
	uid, value := p.unused()
	r := c.seen.Request
	p.put(instance{
		Number: c.make, UID: uid, Value: value, Follows: c.refer, Made: c.now, Flagged: never, Offered: never, FailedAt: never,
		Rotation: r.Rotation, Spec: r.Spec, Source: r.Source, Young: true, LetGo: never,
		Ready: !c.slow, WasReady: !c.slow,
	})
	p.Top = max(p.Top, c.make)
}

// export gives an export the value of the generation in use.
func (c *call) export(x *exhaustive, p *point, i uint8) {
	e := &p.Exports[i]
	if p.Held[i] {
		return
	}
	next := copied{
		Number: c.to.Number, Value: c.to.Value, UID: c.to.UID, Former: c.codes, Newest: max(e.Newest, c.to.Number),
		Source: c.seen.Request.Source,
	}
	if c.late { // what was written since is overwritten
		next.Newest = c.to.Number
	}
	for _, g := range c.step.Keep {
		if g.Number == int(c.to.Number) && g.Highest > g.Number {
			next.Highest = uint8(g.Highest)
		}
	}
	if e.Value == next.Value {
		*e = next
		return
	}
	if x != nil {
		x.checkExport(c, p, e, next)
	}
	c.letGo(p, e)
	if m := p.withValue(next.Value); m != nil {
		m.WasUsed, m.SetBack = true, c.late && next.Number < e.Number
	}
	*e = next
}
