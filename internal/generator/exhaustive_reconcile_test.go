package generator_test

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
)

// A call is what the function answers to an observation, and what Crossplane then does: first it deletes, then it stores
// which objects the composite lists, then it applies each object.
type call struct {
	seen  view
	known bool  // an export had recorded a generation
	now   ticks // of the replica
	late  bool
	slow  bool // new generations are not ready

	stopped bool // after some of its writes

	drop  []instance // observed objects that are not desired
	clear bool       // the exports are not desired
	refs  uint16
	keep  []kept
	make  uint8
	to    instance // whose value the exports get, or no object
	offer instance
	refer uint32 // UIDs that a new one follows
	codes uint32 // UIDs that the exports record

	step generator.Step
}

// kept is an observed object, and the state that it is given.
type kept struct {
	instance
	state generator.Generation
}

// visible returns the objects that a call sees: those that the composite or an export names, and those that may have one
// of the next numbers.
func (o *view) visible() []instance {
	var recorded, former uint32
	var numbers uint16
	next := uint8(1)
	for _, e := range o.secrets() {
		former |= e.Former
		if e == &o.Setter {
			former |= 1 << e.UID
			continue
		}
		if e.Number > 0 {
			recorded, numbers, next = recorded|1<<e.UID, numbers|1<<e.Number, max(next, e.Number+1)
		}
	}
	for n := uint8(1); n < 16; n++ {
		if o.Request.Refs&(1<<n) == 0 {
			continue
		}
		if next = max(next, n); slices.ContainsFunc(o.Objects[:], func(m instance) bool { return m.Number == n }) {
			next = max(next, n+1)
		}
	}
	var out []instance
	for _, m := range o.Objects {
		named := (recorded|former)&(1<<m.UID) != 0 || (o.Request.Refs|numbers)&(1<<m.Number) != 0
		if m.Number > 0 && (named || m.Number >= next && m.Number < next+3) {
			out = append(out, m)
		}
	}
	return out
}

func (o *view) listed(m instance) bool { return o.Request.Refs&(1<<m.Number) != 0 }

// recorded returns what exports say of generations.
func (o *view) recorded() generator.Known {
	known := generator.Known{Recorded: map[string]int{}, Former: map[string]bool{}, Accepted: map[string]bool{}}
	for _, e := range o.Exports {
		if e.UID != 0 {
			known.Recorded[uidText(e.UID)] = int(e.Number)
		}
	}
	for _, e := range o.secrets() {
		former := e.Former
		if e == &o.Setter && e.UID != 0 {
			former |= 1 << e.UID
		}
		for uid := range uint8(32) {
			if former&(1<<uid) != 0 {
				known.Former[uidText(uid)] = true
			}
		}
	}
	for uid := range uint8(32) {
		if o.Request.Accepted&(1<<uid) != 0 {
			known.Accepted[uidText(uid)] = true
		}
	}
	return known
}

func uidText(uid uint8) string { return strconv.Itoa(int(uid)) }

// trust returns which objects are generations.
func (x *exhaustive) trust(o *view, have []instance, known generator.Known) generator.Trust {
	claims := make([]generator.Claim, len(have))
	var readable uint32 // UIDs whose value is known
	for _, m := range have {
		readable |= 1 << m.UID
	}
	for _, e := range o.Exports {
		readable |= 1 << e.UID
	}
	for i, m := range have {
		claims[i] = generator.Claim{
			Number: int(m.Number), UID: uidText(m.UID), Listed: o.listed(m), Whole: true,
			Adopted: m.Adopted, Flagged: m.Flagged != never && !m.Retired, Lost: m.Made == never,
			Proves: func(former string) bool {
				uid, err := strconv.Atoi(former)
				return err == nil && !m.Forged && m.Follows&readable&(1<<uid) != 0
			},
		}
		for uid := range uint8(32) {
			if m.Follows&(1<<uid) != 0 {
				claims[i].Follows = append(claims[i].Follows, uidText(uid))
			}
		}
	}
	return x.fn.trust(claims, known)
}

// answer returns the answer of the function to an observation, or nil if it changes nothing.
func (x *exhaustive) answer(o *view, now ticks) *call {
	have, known := o.visible(), o.recorded()
	trust := x.trust(o, have, known)
	c := &call{seen: *o, known: len(known.Recorded) > 0, now: now, slow: x.slow || x.verified}
	if trust.Impostor != nil {
		return nil // nothing is changed
	}
	unknown := len(trust.Proven)+len(known.Recorded) == 0
	var judged []instance
	var states []generator.Generation
	for _, m := range have {
		proven := trust.Proven[uidText(m.UID)]
		if unknown && !o.listed(m) && m.Young {
			return nil // the composite may list it soon
		}
		if !proven && !o.listed(m) {
			continue
		}
		g := x.facts(o, m, known)
		g.Unproven = !proven
		judged, states = append(judged, m), append(states, g)
		if proven {
			c.refer |= 1 << m.UID
		}
	}
	for _, e := range o.Exports {
		if e.UID != 0 {
			c.refer |= 1 << e.UID
		}
	}
	want := x.want(o)
	step := x.fn.next(want, states, now.time())
	x.checkAnswer(c, o, want, judged, states, step)
	c.step = step
	c.fill(x, o, have, judged)
	return c
}

// facts returns an object as Next sees it.
func (x *exhaustive) facts(o *view, m instance, known generator.Known) generator.Generation {
	g := m.state()
	g.Unlisted = !o.listed(m)
	_, g.Exported = known.Recorded[uidText(m.UID)]
	used := max(o.Exports[0].Number, o.Exports[1].Number)
	g.Exported = g.Exported || m.Number == used && known.Accepted[uidText(m.UID)]
	if x.verified {
		g.Candidate, g.Offered = o.Setter.UID == m.UID, o.Setter.UID == m.UID
		g.Ready = g.Ready || g.Adopted
	}
	if x.derived {
		g.Unchecked = o.Request.Unknown
		g.Stale = !g.Unchecked && m.Source != o.Request.Source
	}
	return g
}

// want returns what the input says of the generator.
func (x *exhaustive) want(o *view) *generator.Desired {
	r := o.Request
	if r.Gone {
		return nil
	}
	want := &generator.Desired{
		Policy: v1beta1.OnChange, GracePeriod: graceUnits * unit, Kind: "password", SpecHash: specTexts[r.Spec],
		Rotation: rotationTexts[r.Rotation], Unknown: r.Unknown,
	}
	if r.Unknown {
		want.SpecHash = ""
	}
	if x.verified {
		want.Verifies, want.AbandonAfter = true, waitUnits*unit
	}
	for _, e := range o.Exports {
		want.Used = max(want.Used, int(e.Number), int(e.Highest))
	}
	for n := 1; n < 16; n++ {
		if r.Refs&(1<<n) != 0 {
			want.Used = max(want.Used, n-1)
		}
	}
	return want
}

// fill computes what Crossplane does with a step.
func (c *call) fill(x *exhaustive, o *view, have, judged []instance) {
	step := c.step
	at := func(n int) (instance, bool) {
		i := slices.IndexFunc(judged, func(m instance) bool { return int(m.Number) == n })
		if i < 0 {
			return instance{}, false
		}
		return judged[i], true
	}
	for _, g := range step.Keep {
		if m, ok := at(g.Number); ok {
			c.keep = append(c.keep, kept{m, g})
			c.refs |= 1 << m.Number
		}
	}
	for _, m := range have {
		if o.listed(m) && c.refs&(1<<m.Number) == 0 {
			c.drop = append(c.drop, m)
		}
	}
	if step.Make > 0 {
		c.make = uint8(step.Make)
		for range 3 { // a name that is taken is left alone
			if slices.ContainsFunc(have, func(m instance) bool { return m.Number == c.make }) {
				c.make++
			}
		}
		c.refs |= 1 << c.make
	}
	c.clear = o.Request.Gone
	c.to, _ = at(step.Current)
	if x.verified {
		c.offer, _ = at(step.Candidate)
	}
	if x.derived && (o.Request.Unknown || c.to.Source != o.Request.Source) {
		c.to = instance{} // what has another source is kept as it is
	}
	for _, m := range judged {
		if c.refer&(1<<m.UID) != 0 && m.Number < c.to.Number {
			c.codes |= 1 << m.UID
		}
	}
}

// same reports whether two steps are the same.
func same(a, b generator.Step) bool { return reflect.DeepEqual(a, b) }
