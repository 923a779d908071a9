package generator

import "slices"

// A Claim is what an object says of itself, and what is true of it, before anybody believes
// that it is a generation.
type Claim struct {
	Number int

	// UID of the object.
	UID string

	// Listed is set if the composite lists the object among its resources. Only the
	// composite's controller writes that list.
	Listed bool

	// Whole is set if the object is what a step makes: controlled by the composite,
	// immutable, and with just the outputs of the generator.
	Whole bool

	// Adopted and Flagged are the state of the object. Lost is set if the state was
	// changed by somebody else, or is gone.
	Adopted, Flagged, Lost bool

	// Follows are the UIDs of the generations that were there when this one was made.
	Follows []string

	// Proves reports whether the object carries a code keyed with the values of the
	// generation that has this UID. It is nil for a kind of object that carries none.
	Proves func(former string) bool
}

// Known is what is known of a generator from objects that are not its generations.
type Known struct {
	// Recorded are the generations in use that exports recorded: their numbers by their
	// UIDs. Former are the UIDs of those that exports recorded as former ones.
	Recorded map[string]int
	Former   map[string]bool

	// Accepted are the UIDs of objects that the owner of the composite accepts.
	Accepted map[string]bool
}

// A Trust says which objects are generations.
type Trust struct {
	// Proven are the UIDs of those that are.
	Proven map[string]bool

	// Impostor is the object that has the number of the generation in use and is not
	// the recorded one, or nil. While there is one, nothing may be changed.
	Impostor *Claim
}

// Trusted finds the generations among the objects that look like one.
//
// An object is a generation if an export recorded its UID, or if the owner of the
// composite accepts it. Those that it follows are generations, because only a step writes
// that. The next one is a generation if it is whole and proves that its maker knew the
// value of one before. The first generation of all has nothing to prove
// that with: it must be listed and whole.
func Trusted(claims []Claim, known Known) Trust {
	t := Trust{Proven: map[string]bool{}}
	highest := 0
	for _, n := range known.Recorded {
		highest = max(highest, n)
	}
	for _, c := range claims {
		if _, ok := known.Recorded[c.UID]; ok || known.Former[c.UID] || known.Accepted[c.UID] {
			t.Proven[c.UID] = true
		}
	}
	atHighest := func(c Claim) bool { return c.Number == highest }
	if i := slices.IndexFunc(claims, atHighest); i >= 0 && !slices.ContainsFunc(claims, func(c Claim) bool { return t.Proven[c.UID] && c.Number >= highest }) {
		t.Impostor = &claims[i]
		return t
	}
	if len(t.Proven) == 0 && highest == 0 {
		if root, ok := first(claims); ok {
			t.Proven[root.UID] = true
		}
	}
	for t.extend(claims, known) {
	}
	return t
}

// first is the generation that everything else is judged by while nothing is recorded: the
// one in use, as far as its state says so.
func first(claims []Claim) (Claim, bool) {
	const former, changed, whole = 0, 1, 2
	rank := func(c Claim) int {
		switch {
		case c.Lost:
			return changed
		case c.Flagged:
			return former
		}
		return whole
	}
	claims = slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool {
		return !c.Listed || !c.Whole || c.Flagged && !c.Adopted // which was not proven before
	})
	if len(claims) == 0 {
		return Claim{}, false
	}
	return slices.MaxFunc(claims, func(a, b Claim) int {
		d, later := rank(a)-rank(b), a.Number-b.Number
		switch {
		case d != 0:
			return d
		case rank(a) == whole: // later ones can prove that they follow
			return -later
		}
		return later
	}), true
}

// extend the trust by one step to both sides, and report whether it grew.
func (t *Trust) extend(claims []Claim, known Known) bool {
	grew := false
	for _, c := range claims {
		switch {
		case t.Proven[c.UID]:
			continue
		case slices.ContainsFunc(claims, func(next Claim) bool {
			return t.Proven[next.UID] && slices.Contains(next.Follows, c.UID) && c.Number < next.Number
		}):
		case t.follows(c, claims, known):
		default:
			continue
		}
		t.Proven[c.UID], grew = true, true
	}
	return grew
}

// follows reports whether a claim is the next generation after a proven one, or after one
// that an export recorded and that is gone.
func (t *Trust) follows(c Claim, claims []Claim, known Known) bool {
	if !c.Whole {
		return false
	}
	if c.Proves == nil { // whoever creates Secrets cannot create it
		return !c.Lost
	}
	return slices.ContainsFunc(c.Follows, func(uid string) bool {
		n, recorded := known.Recorded[uid]
		former := slices.ContainsFunc(claims, func(f Claim) bool { return f.UID == uid && t.Proven[uid] && f.Number < c.Number })
		return (former || recorded && n < c.Number) && c.Proves(uid)
	})
}
