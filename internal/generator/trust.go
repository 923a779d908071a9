package generator

import (
	"cmp"
	"slices"
)

// A Claim contains the facts about an object before it is trusted as a generation.
type Claim struct {
	Number int
	UID    string // of the object

	// Listed is set if the composite lists the object among its resources. Only the composite's controller writes that
	// list.
	Listed bool

	// Whole is set if the object is as a step creates it: controlled by the composite, immutable, and with exactly the
	// outputs of the generator.
	Whole bool

	// Adopted and Flagged are the state of the object. Lost is set if another writer changed or removed the state.
	Adopted, Flagged, Lost bool

	// Follows are the UIDs of the generations that existed when this one was created.
	Follows []string

	// Proves reports whether the object has a code that is keyed with the values of the generation with this UID. It is
	// nil for a kind of object that has no codes.
	Proves func(former string) bool
}

// Known contains facts about a generator from objects that are not its generations.
type Known struct {
	// Recorded are the generations in use that exports recorded: their numbers by their UIDs. Former are the UIDs of
	// those that exports recorded as former ones or as candidates.
	Recorded map[string]int
	Former   map[string]bool

	Accepted map[string]bool // the UIDs of objects that the owner of the composite accepts
}

// A Trust determines which objects are generations.
type Trust struct {
	Proven map[string]bool // the UIDs of the generations

	// Impostor, unless it is nil, is an object that has the number of the generation in use, but is not the recorded object
	// or is not listed. While it exists, nothing may be changed.
	Impostor *Claim
}

// Trusted finds the generations among the objects that look like one.
//
// An object is a generation if the owner of the composite accepts it, or if an export recorded its UID and the
// composite lists it. The objects that it follows are generations, because only a step writes that. The next object is
// a generation if it is whole and proves that its author knew the value of a previous one. The very first generation
// cannot prove that: it must be listed and whole.
func Trusted(claims []Claim, known Known) Trust {
	claims = slices.SortedFunc(slices.Values(claims), func(a, b Claim) int { return a.Number - b.Number })
	t := Trust{Proven: map[string]bool{}}
	highest, top := 0, 0 // of those in use that exports recorded, and of those that are proven
	for _, n := range known.Recorded {
		highest = max(highest, n)
	}
	for _, c := range claims {
		_, used := known.Recorded[c.UID]
		used = c.Listed && used || known.Accepted[c.UID]
		if used {
			top = c.Number // they are sorted
		}
		if used || c.Listed && known.Former[c.UID] {
			t.Proven[c.UID] = true
		}
	}
	if i := slices.IndexFunc(claims, func(c Claim) bool { return c.Number == highest }); i >= 0 && top < highest {
		t.Impostor = &claims[i]
		return t
	}
	if len(t.Proven) == 0 && highest == 0 {
		if root, ok := first(claims); ok {
			t.Proven[root.UID] = true
		}
	}
	t.proveFormer(claims)
	t.proveNext(claims, known)
	t.proveFormer(claims)
	return t
}

// first returns the generation that the others are compared with while nothing is recorded: the one whose state says that
// it is in use.
func first(claims []Claim) (Claim, bool) {
	const former, changed, unchanged = 0, 1, 2
	state := func(c Claim) int {
		switch {
		case c.Lost:
			return changed
		case c.Flagged:
			return former
		}
		return unchanged
	}
	claims = slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool {
		return !c.Listed || !c.Whole || c.Flagged && !c.Adopted // it was not proven before
	})
	if len(claims) == 0 {
		return Claim{}, false
	}
	return slices.MaxFunc(claims, func(a, b Claim) int {
		later := a.Number - b.Number
		if state(a) == unchanged { // later ones can prove that they follow
			later = -later
		}
		return cmp.Or(state(a)-state(b), later)
	}), true
}

// proveFormer proves the objects that precede proven ones.
func (t *Trust) proveFormer(claims []Claim) {
	followed := map[string]bool{}
	for _, c := range slices.Backward(claims) {
		if followed[c.UID] {
			t.Proven[c.UID] = true
		}
		if t.Proven[c.UID] {
			for _, uid := range c.Follows {
				followed[uid] = true
			}
		}
	}
}

// proveNext proves the objects that follow a proven one, or a deleted one that an export recorded.
func (t *Trust) proveNext(claims []Claim, known Known) {
	before := map[string]bool{} // proven ones with a lower number
	for _, c := range claims {
		if c.Whole && (c.Proves == nil && !c.Lost || // the right to create Secrets is not enough to create it
			c.Proves != nil && slices.ContainsFunc(c.Follows, func(uid string) bool {
				n, recorded := known.Recorded[uid]
				return (before[uid] || recorded && n < c.Number) && c.Proves(uid)
			})) {
			t.Proven[c.UID] = true
		}
		before[c.UID] = t.Proven[c.UID]
	}
}
