package generator_test

import "slices"

// Two states that only differ in names are one: in how high the numbers are, in the UIDs, and in the texts of requests.
// The machine only compares these, so that it does the same in both.

// all returns all observations of a state.
func (p *point) all() []*view {
	if p.OldKind == fresh {
		p.Old = view{}
		return []*view{&p.view}
	}
	return []*view{&p.view, &p.Old}
}

// forget what makes no difference any more.
func (x *exhaustive) forget(o *view, m *instance) {
	switch {
	case m.Number == 0:
		return
	case m.Adopted && m.Made != never: // its age only counts until it is adopted
		m.Made = -1
	}
	if -m.LetGo >= graceUnits {
		m.LetGo = never
	}
	m.WasUsed = m.WasUsed && m.Forged
	if o.listed(*m) && o.Exports[0].UID == m.UID && o.Exports[1].UID == m.UID { // it is one of the generations now
		o.Request.Accepted &^= 1 << m.UID
	}
	used := slices.ContainsFunc(o.secrets(), func(e *copied) bool { return e.UID == m.UID })
	replaced := m.Adopted && m.Flagged != never && !m.Retired && !used
	if replaced && !x.stale && !x.attacked { // it cannot be the last one again
		m.Rotation, m.Spec, m.Source = 0, 1, 0
	}
}

// names renames values in the order in which they are found.
type names struct {
	to   [32]uint8
	next uint8
}

func (n *names) rename(at *uint8) {
	if *at == 0 {
		return
	}
	if n.to[*at] == 0 {
		n.next++
		n.to[*at] = n.next
	}
	*at = n.to[*at]
}

// mask renames UIDs in a set, and leaves out those of which nothing is left.
func (n *names) mask(at *uint32) {
	was := *at
	*at = 0
	for i := range n.to {
		if was&(1<<i) != 0 && n.to[i] != 0 {
			*at |= 1 << n.to[i]
		}
	}
}

// canonical returns the state with new names.
func (x *exhaustive) canonical(p point) point {
	for _, o := range p.all() {
		slices.SortFunc(o.Objects[:], byNumber)
		for i := range o.Objects {
			x.forget(o, &o.Objects[i])
		}
		if e := o.Exports; p.Held == [2]bool{} && (e[0].Newest > e[1].Newest || e[0].Newest == e[1].Newest && e[0].Number > e[1].Number) {
			for _, o := range p.all() { // it does not matter which export is the first
				o.Exports[0], o.Exports[1] = o.Exports[1], o.Exports[0]
			}
		}
	}
	p.renumber()
	var uids, values, rotations names
	for _, o := range p.all() {
		for i := range o.Objects {
			uids.rename(&o.Objects[i].UID)
			values.rename(&o.Objects[i].Value)
		}
		for _, e := range o.secrets() {
			uids.rename(&e.UID)
			values.rename(&e.Value)
		}
		rotations.rename(&o.Request.Rotation)
	}
	if values.to[p.Accepted] == 0 {
		p.Accepted = 0
	}
	values.rename(&p.Accepted)
	for _, o := range p.all() {
		for i := range o.Objects {
			m := &o.Objects[i]
			rotations.rename(&m.Rotation)
			if m.Failed > 0 {
				r := m.FailedFor / uint8(len(specTexts))
				rotations.rename(&r)
				m.FailedFor = r*uint8(len(specTexts)) + m.FailedFor%uint8(len(specTexts))
			}
			uids.mask(&m.Follows)
		}
		for _, e := range o.secrets() {
			uids.mask(&e.Former)
		}
		uids.mask(&o.Request.Accepted)
	}
	return p
}

func (o *view) secrets() []*copied { return []*copied{&o.Exports[0], &o.Exports[1], &o.Setter} }

// byNumber sorts objects. Those that do not exist come last.
func byNumber(a, b instance) int { return int(a.Number-1) - int(b.Number-1) }

// numbers calls a function with each number in a state.
func (p *point) numbers(f func(at *uint8)) {
	for _, o := range p.all() {
		for i := range o.Objects {
			m := &o.Objects[i]
			f(&m.Number)
			f(&m.Highest)
			f(&m.Failed)
		}
		for _, e := range o.secrets() {
			f(&e.Number)
			f(&e.Highest)
			f(&e.Newest)
		}
	}
	f(&p.Top)
}

// renumber makes numbers small. Their order stays.
func (p *point) renumber() {
	var used [64]bool
	p.numbers(func(at *uint8) { used[*at] = true })
	for _, o := range p.all() {
		for n := range 16 {
			if o.Request.Refs&(1<<n) != 0 {
				used[n] = true
			}
		}
	}
	var to [64]uint8
	next := uint8(0)
	for n := 1; n < len(used); n++ {
		if used[n] {
			next++
			to[n] = next
		}
	}
	p.numbers(func(at *uint8) { *at = to[*at] })
	for _, o := range p.all() {
		was := o.Request.Refs
		o.Request.Refs = 0
		for n := range 16 {
			if was&(1<<n) != 0 {
				o.Request.Refs |= 1 << to[n]
			}
		}
	}
}

// pass lets a unit of time pass.
func (p *point) pass() {
	ago := longAgo
	if p.Skew == 0 {
		ago = -graceUnits
	}
	for i := range p.Objects {
		pass(&p.Objects[i], ago)
	}
	p.Old, p.OldKind = view{}, fresh // each response is applied within a unit
}

func pass(o *instance, longAgo ticks) {
	if o.Number == 0 {
		return
	}
	for _, at := range []*ticks{&o.Made, &o.Flagged, &o.Offered, &o.FailedAt, &o.LetGo} {
		if *at != never {
			*at--
		}
	}
	o.Young = false
	if o.Retired && o.Flagged != never && o.Flagged < longAgo { // how long it was offered before is added up
		if o.Offered != never {
			o.Offered += longAgo - o.Flagged
		}
		o.Flagged = longAgo
	}
	for _, at := range []*ticks{&o.Made, &o.Flagged, &o.FailedAt, &o.LetGo} {
		if *at != never {
			*at = max(*at, longAgo)
		}
	}
	if o.Offered != never {
		o.Offered = max(o.Offered, 2*longAgo)
	}
	o.Waited = min(o.Waited, waitUnits)
}
