package rotation

import (
	"slices"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// checkDrop: nothing is deleted while an export has it, or before its grace period is over.
func (w *world) checkDrop(o *secret) {
	switch {
	case w.exported(o.UID):
		fail("%s is deleted, and still exported", o.UID)
	case w.free || o.foreign:
	case !o.released.IsZero() && w.now.Sub(o.released) < grace-oldest:
		fail("%s is deleted in its grace period", o.UID)
	}
}

// checkStore: only what works and fits its source is accepted. No state says that a generation was made for another
// request or another input.
func (w *world) checkStore(o *secret, g Generation, before *world, l loss) {
	accepted := g.Stage == Current && o.Stage == Pending && !slices.ContainsFunc(before.exports[:],
		func(e export) bool {
			c := e.record.Of(o.UID) // it was accepted before
			return e.has(o.UID) && e.value == o.UID || c != nil && c.Stage > Pending
		})
	switch {
	case o.foreign:
	case accepted && !o.works:
		fail("%s is accepted, and does not work", o.UID)
	case accepted && !l.stale && w.fit(o) != Fits:
		fail("%s is accepted, and has another source", o.UID)
	case accepted && !l.stale && w.setup.exports[1].Sets && before.exports[1].wanted &&
		before.exports[1].candidate != o.UID:
		fail("%s is accepted, and a setter does not have it", o.UID)
	case g.Request != "" && g.Request != lostHash && g.Request != o.initial.Request:
		fail("%s counts for the request %q, and was made for %q", o.UID, g.Request, o.initial.Request)
	case g.Origin != o.initial.Origin && g.Origin.Spec != lostHash && g.Origin != Origin{}:
		fail("%s was not made from %v", o.UID, g.Origin)
	}
}

// checkExport: an export only gets a value that is stored, works, was made by this function, and was not abandoned when
// the reading was made. The value in use is not replaced by an older one.
func (w *world) checkExport(from, to *export, l loss) {
	for _, uid := range []string{to.value, to.candidate} {
		o := w.find(uid)
		uses := uid == to.value
		switch {
		case uid == "" || from.has(uid):
		case o == nil:
			if !w.deleted {
				fail("%s is exported, and not stored", uid)
			}
		case o.foreign:
			fail("the foreign %s is exported", uid)
		case w.free, o.Origin.Spec == lostHash: // all that was known was lost
		case uses && !o.works:
			fail("%s is exported, and does not work", uid)
		case o.abandoned && !l.stale:
			fail("%s is exported, and was abandoned", uid)
		case uses && !l.stale && !w.deleted && !from.record.Lost && from.value != "" && w.find(from.value) != nil &&
			w.find(from.value).Number > o.Number:
			fail("%s is exported after %s", uid, from.value)
		}
	}
}

// checkStep: a step decides about each generation once, in order. It depends only on its arguments, and not on their
// order. Expressions see at most one generation in each role. While nothing is to do, time alone changes nothing
// until it is due.
func (w *world) checkStep(s Step, have []Generation, records []Record) {
	if len(s.Keep)+len(s.Drop) != len(have) || !slices.IsSortedFunc(s.Keep, byNumber) {
		fail("the step keeps %d and drops %d of %d", len(s.Keep), len(s.Drop), len(have))
	}
	number := map[string]int{}
	still := s.Make == nil && len(s.Drop) == 0
	for _, g := range s.Keep {
		number[g.UID] = g.Number
		i := slices.IndexFunc(have, func(h Generation) bool { return h.UID == g.UID })
		still = still && have[i].Intact && have[i].State == g.State
	}
	for _, uid := range []string{s.Current, s.Previous, s.Candidate} {
		o := w.find(uid)
		switch {
		case uid == "" || w.free || o == nil:
		case number[uid] == 0 && uid != s.Previous:
			fail("expressions see %s, which is not kept", uid)
		case o.foreign:
			fail("expressions see the foreign %s", uid)
		case uid == s.Previous && o.abandoned:
			fail("the abandoned %s is previous", uid)
		}
	}
	switch {
	case w.input.Input == Removed && (s.Current+s.Previous+s.Candidate != "" || s.Make != nil):
		fail("a generator that is not in the input has outputs")
	case s.Current != "" && s.Previous != "" && number[s.Previous] >= number[s.Current]:
		fail("previous is %s, and current is %s", s.Previous, s.Current)
	case s.Make != nil && slices.ContainsFunc(have, func(g Generation) bool { return g.Number >= s.Make.Number }):
		fail("the number %d is not new", s.Make.Number)
	}
	if w.reconciles%4 == 0 {
		w.checkOrder(s, have, records)
	}
	if still && !w.now.Before(w.highest) { // no stored time is in the future
		w.checkDue(s, have, records)
	}
}

func (w *world) checkOrder(s Step, have []Generation, records []Record) {
	reversedHave, reversedRecords := slices.Clone(have), slices.Clone(records)
	slices.Reverse(reversedHave)
	slices.Reverse(reversedRecords)
	if !same(s, w.next(w.input, reversedHave, reversedRecords, w.now)) {
		fail("the same generations in another order have another step")
	}
}

// ahead reports whether a copy of the state of a generation is older than its own state.
func ahead(g Generation, records []Record) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		return r.writes(g.UID) && r.Of(g.UID).State != g.State
	})
}

func (w *world) checkDue(s Step, have []Generation, records []Record) {
	until := w.now.AddDate(1, 0, 0)
	if !s.Due.IsZero() {
		until = s.Due.Add(-1)
	}
	if w.input.Input == Removed && slices.ContainsFunc(have, func(g Generation) bool { return g.Since.Equal(w.now) }) {
		return // its copies are written now
	}
	if slices.ContainsFunc(have, func(g Generation) bool { return !g.Coded && ahead(g, records) }) {
		return // the copies count, and are written now
	}
	if until.Before(w.now) {
		fail("something was due")
	}
	if later := w.next(w.input, have, records, until); !same(s, later) {
		fail("nothing is due until %s, and something happens", until)
	}
}

// same compares steps except for the time at which the next one is due.
func same(a, b Step) bool {
	equal := func(x, y Generation) bool { return x.UID == y.UID && x.State == y.State && x.Counts == y.Counts }
	return slices.EqualFunc(a.Keep, b.Keep, equal) && slices.EqualFunc(a.Drop, b.Drop, equal) &&
		(a.Make == nil) == (b.Make == nil) &&
		a.Current == b.Current && a.Previous == b.Previous && a.Candidate == b.Candidate && a.Pending == b.Pending &&
		a.Full == b.Full
}

// calm ends everything that fails, and requests a rotation.
func (w *world) calm(request bool) {
	w.input.Input, w.refuses, w.lifetime = Present, false, 0
	w.input.Policy, w.input.Interval, w.input.Window = v1beta1.OnChange, 0, nil
	for i, r := range w.setup.exports {
		w.exports[i].wanted = r.Uses || r.Sets
	}
	if request {
		w.request()
	}
}

func (w *world) request() {
	w.requests++
	w.input.Request = "r" + string(rune('0'+w.requests))
}

// settled reports whether each export has a value that is wanted.
func (w *world) settled() bool {
	for i, e := range w.exports {
		r := w.setup.exports[i]
		if r.Uses && !w.wants(w.find(e.value)) || r.Sets && !w.wants(w.find(e.candidate)) {
			return false
		}
	}
	return true
}

// wants reports whether a generation was made for what is wanted now.
func (w *world) wants(o *secret) bool {
	if o == nil || o.foreign {
		return false
	}
	s := situation{Wanted: w.input}
	g := o.Generation
	g.State, g.Fit = o.initial, w.fit(o)
	return s.same(&g)
}

// checkRest: in the end there is one generation.
func (w *world) checkRest() {
	if len(w.gens) != 1 || !w.settled() || w.gens[0].Stage != Current {
		fail("there are %d generations in the end: %s", len(w.gens), w)
	}
}
