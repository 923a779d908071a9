package rotation

import (
	"cmp"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Stage of a generation. Of two stored stages, the later one holds.
type Stage int

// The stages, in their order. Gone is never stored.
const (
	Lost      Stage = iota // the stored state is not known
	Pending                // created, and not accepted yet: the candidate
	Retired                // its generator left the input while it was in use
	Current                // in use. A lower one waits until no export has its value
	Previous               // replaced
	Abandoned              // it is never used
	Gone                   // it is not desired anymore
)

// ends reports whether a generation in this stage is dropped after its grace period.
func (s Stage) ends() bool { return s == Abandoned || s == Retired || s == Previous }

// An Origin contains hashes of what a generation was made from. An empty hash is not known.
type Origin struct {
	Kind    string `json:"kind,omitempty"`        // the kind of its generator. It is never empty
	Spec    string `json:"specHash,omitempty"`    // the section of the input
	Keepers string `json:"keepersHash,omitempty"` // the value of keepersExpression
	Source  string `json:"sourceHash,omitempty"`  // the value of secretExpression, keyed with the generation's data
}

// A State is what a generation stores of itself. Its time keeps fractions of a second: a grace period must not end too
// early.
type State struct {
	Stage Stage `json:"stage,omitempty"`

	// Since is when each setter had a pending generation, or from when no export has the value of one whose stage ends.
	// Zero is not yet.
	Since time.Time `json:"since,omitzero"`

	Origin

	Request  string           `json:"request,omitempty"`    // the last request that it fulfills, as a hash
	Grace    v1beta1.Duration `json:"gracePeriod,omitzero"` // the grace period, of the time at which it started
	Failures int              `json:"failures,omitempty"`   // how often the same rotation was given up, with this one
}

// A Fit says whether the outputs of a generation fit its source.
type Fit int

// Unsure is the fit while the source is not known.
const (
	Fits Fit = iota
	Other
	Unsure
)

// A Generation is one observed generation.
type Generation struct {
	Reference
	State

	Created time.Time // by the API server; zero in a file
	Listed  bool      // by the composite
	Ready   bool      // its readyExpression is true, and it has all of its outputs
	Intact  bool      // the state is one that was written for this data, now or earlier
	Coded   bool      // it must prove with a code that it is a generation
	Follows []string  // the UIDs of lower ones whose values key a code of it
	Fit     Fit       // of its outputs and the present source
	Renew   time.Time // when another generation must follow, or zero
	Ends    time.Time // the end of the validity of its outputs, or zero

	Facts
}

// Facts are what a step finds out about a generation from the records of exports.
type Facts struct {
	Recorded bool // an export has recorded it
	Held     bool // an export has its value, or may have it
	Counts   bool // it is trusted
	Lost     bool // neither it nor an export knows its state
}

// An Input says whether a generator is in the input.
type Input int

// The input is Unknown while a part of it is missing: nothing is created, or given up for another one.
const (
	Present Input = iota
	Unknown
	Removed
)

// Wanted is the input of a generator.
type Wanted struct {
	Input        Input
	Origin       Origin
	Request      string // the request on the composite, as a hash, or empty
	Policy       v1beta1.RefreshPolicy
	Interval     time.Duration // of refreshPolicy Periodic
	Grace        time.Duration
	AbandonAfter time.Duration // 0 is never
	Window       *Window       // when a rotation that only time requires may start
	PausedAt     time.Time     // when the composite was paused, if it was paused until now. That time does not count
	Taken        int           // the next number is higher, because objects may have the numbers up to it
}

// A Step says what to do.
type Step struct {
	Keep []Generation // to desire, with their next states, by number
	Drop []Generation // not to desire anymore
	Make *Generation  // to create

	Current, Previous, Candidate, Pending string // UIDs. Candidate is the pending one, or else the current one

	Failed *Generation // the failure of what is asked for, if a retry waits for it
	Full   bool        // no further generation can be created
	Due    time.Time   // when the next step is due if nothing changes, or zero
}

// A row of the table of stages.
type row struct {
	from      []Stage
	when, why string
	fits      func(*situation, *Generation) bool
	to        Stage
	fails     bool // it counts as a failure
}

// table has all transitions.
var table = []row{
	{[]Stage{Pending, Retired, Current, Previous}, "listed, without a proof that this function made it",
		"another client made it", (*situation).foreign, Abandoned, false},
	{[]Stage{Pending}, "its generator left the input", "nothing waits for it", (*situation).removed, Abandoned, false},
	{[]Stage{Pending}, "a higher one is pending or current", "it is too late", (*situation).passed, Abandoned, false},
	{[]Stage{Pending}, "listed, ready, each setter has it, and there is one or it is still wanted", "it works",
		(*situation).accepted, Current, false},
	{[]Stage{Pending}, "the input is known, and asks for another one", "another one replaces it",
		(*situation).superseded, Abandoned, false},
	{[]Stage{Pending}, "`abandonAfter` has passed since each setter had it, and one is in use", "it failed",
		(*situation).expired, Abandoned, true},
	{[]Stage{Current}, "its generator left the input", "it is in use again if its generator is back",
		(*situation).removed, Retired, false},
	{[]Stage{Current}, "a higher one is current, and no export has its value", "its grace period starts",
		(*situation).replaced, Previous, false},
	{[]Stage{Retired}, "its generator is in the input", "it was the one in use", (*situation).returned, Current, false},
	{[]Stage{Abandoned, Retired, Previous}, "unused, its grace period is over, no retry waits", "nothing needs it",
		(*situation).ended, Gone, false},
}

// A situation is what the rows decide from.
type situation struct {
	Wanted

	table   []row
	now     time.Time
	all     []*Generation // by number
	setters []Record      // of the exports that can set the candidate
	base    *Generation   // the highest one that is in use, or was when its generator left the input; or nil
	failed  *Generation   // the last failure of what is asked for, or nil
	request string        // of the next generation: one that only time requires fulfills the request before
}

// Next returns the next step. The records are those of all exports that use the generator, or that have recorded one of
// its generations.
func Next(w Wanted, have []Generation, records []Record, now time.Time) Step {
	return next(table, w, have, records, now)
}

func next(rows []row, w Wanted, have []Generation, records []Record, now time.Time) Step {
	s := &situation{Wanted: w, table: rows, now: now}
	for _, g := range slices.SortedFunc(slices.Values(have), byNumber) {
		g.Restore(records)
		if g.Stage == Pending && w.PausedAt.After(g.Since) && !g.Since.IsZero() && w.PausedAt.Before(now) {
			g.Since = g.Since.Add(now.Sub(w.PausedAt))
		}
		s.all = append(s.all, &g)
	}
	s.trust(slices.ContainsFunc(records, func(r Record) bool { return r.Uses && r.Lost }))
	s.findBase()
	s.setters = slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		return !r.Sets || s.base == nil && r.Uses // while none is in use, an export that also uses one waits
	})
	step := s.outputs()
	step.Make, step.Full = s.create()
	for _, g := range s.all { // all rows see the same stages
		next := *g
		if next.State = s.step(g); next.Stage == Gone {
			step.Drop = append(step.Drop, *g)
			continue
		}
		if g == s.failed {
			step.Failed = &next
		}
		step.Keep = append(step.Keep, next)
	}
	step.Due = s.due(&step)
	return step
}

func byNumber(a, b Generation) int { return cmp.Or(a.Number-b.Number, cmp.Compare(a.UID, b.UID)) }

// findBase finds the generation in use, and the last failure.
func (s *situation) findBase() {
	for _, g := range s.all {
		switch {
		case !g.Counts:
		case g.Stage == Current, g.Stage == Retired:
			s.base, s.failed = g, nil
		case g.Stage == Abandoned && g.Failures > 0:
			s.failed = g
		}
	}
	s.request = s.Request
	if s.base != nil {
		s.request = cmp.Or(s.Request, s.base.Request)
	}
	if f := s.failed; f != nil && (s.base == nil || s.Input == Removed || s.higher(f, Pending) ||
		s.Input == Present && (!s.asks(s.now, nil) || !s.same(f))) {
		s.failed = nil
	}
}

// Restore finds the state of a generation: the later one of its own state and of the copies that exports recorded. To
// do so again changes nothing.
func (g *Generation) Restore(records []Record) {
	if !g.Intact {
		g.State = State{}
	}
	own := g.State
	copied := func(r Record) bool { return r.writes(g.UID) }
	if !g.Coded && g.Stage != Abandoned && slices.ContainsFunc(records, copied) {
		g.Stage, g.Since = Pending, time.Time{} // any client could write it
	}
	used, left := g.readCopies(records)
	switch {
	case used && (g.Stage == Lost || g.Stage == Pending || g.Stage == Abandoned):
		g.Stage, g.Since = Current, time.Time{}
	case g.Stage == Lost:
		g.Stage, g.Grace.Duration, g.Lost = Abandoned, limits.LostGracePeriod, true
	case g.Stage.ends() && own.Stage == g.Stage && own.Since.IsZero():
		g.Since = time.Time{} // its own state says that it was held until now: an export that is gone may have had it
	case g.Stage.ends() && !g.Since.IsZero(): // letting go of it starts no grace period, because others may have it
		g.Since = latest(g.Since, left)
	}
}

// readCopies reads what exports recorded about a generation. It returns whether one uses it, and when the last one let
// go of it.
func (g *Generation) readCopies(records []Record) (used bool, left time.Time) {
	for _, r := range records {
		g.Held = g.Held || r.has(g.UID)
		used = used || !r.Lost && r.Uses && r.Holds == g.UID
		if c := r.Of(g.UID); c != nil {
			g.Recorded, g.State = true, later(g.State, c.State)
			left = latest(left, c.Left)
		}
	}
	return used, left
}

// later returns the state that holds of two copies. The origin of a generation is in both, unless one was lost.
func later(a, b State) State {
	if a.Stage < b.Stage || a.Stage == b.Stage && a.Request == lostHash { // the other one may know what it was made for
		a, b = b, a
	}
	if a.Origin == (Origin{}) {
		a.Origin, a.Request = b.Origin, b.Request
	}
	if a.Stage == b.Stage {
		a.Since = latest(a.Since, b.Since)
		a.Grace.Duration, a.Failures = max(a.Grace.Duration, b.Grace.Duration), max(a.Failures, b.Failures)
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// outputs returns the generations whose values expressions see.
func (s *situation) outputs() (out Step) {
	for _, g := range s.all {
		switch {
		case s.Input == Removed || !g.Counts:
		case g.Stage == Retired, g.Stage == Current && !g.Listed: // no value is better than an older one
			out.Current, out.Candidate, out.Previous = "", "", ""
		case g.Stage == Current:
			out.Previous = cmp.Or(out.Current, out.Previous)
			out.Current, out.Candidate = g.UID, g.UID
		case g.Stage == Previous && g.Listed && out.Current == "":
			out.Previous = g.UID
		case g.Stage == Pending:
			out.Pending = g.UID
			if g.Listed && s.step(g).Stage != Abandoned {
				out.Candidate = g.UID
			}
		}
	}
	return out
}

// step returns the next state of a generation: it takes the first row that fits, and starts or stops the time of a
// stage.
func (s *situation) step(g *Generation) State {
	next := g.State
	fits := func(r row) bool { return slices.Contains(r.from, g.Stage) && r.fits(s, g) }
	if i := slices.IndexFunc(s.table, fits); i >= 0 {
		next.Stage, next.Since = s.table[i].to, time.Time{}
		if s.table[i].fails {
			next.Failures = min(next.Failures+1, limits.Retries)
		}
	}
	if s.Input != Removed && (!next.Stage.ends() || next.Since.IsZero()) { // until its grace period starts
		next.Grace.Duration = s.Grace
		if s.Input == Unknown { // the grace period may not be known either
			next.Grace.Duration = max(s.Grace, g.Grace.Duration)
		}
	}
	switch { // stop the time, or start it
	case next.Stage == Current, next.Stage.ends() && g.Held, next.Stage == Pending && !s.offered(g):
		next.Since = time.Time{}
	case (next.Since.IsZero() || next.Since.After(s.now)) && (next.Stage.ends() || g.Listed): // a clock may be ahead
		next.Since = s.now
	}
	return next
}

func (s *situation) foreign(g *Generation) bool { return g.Listed && !g.Counts }
func (s *situation) removed(*Generation) bool   { return s.Input == Removed }
func (s *situation) returned(*Generation) bool  { return s.Input != Removed }
func (s *situation) passed(g *Generation) bool  { return s.higher(g, Pending, Current) }

// offered reports whether each setter has a generation.
func (s *situation) offered(g *Generation) bool {
	return !slices.ContainsFunc(s.setters, func(r Record) bool { return r.Lost || r.Candidate != g.UID })
}

func (s *situation) accepted(g *Generation) bool {
	wanted := len(s.setters) > 0 || s.Input == Present && s.same(g)
	return g.Listed && g.Ready && s.offered(g) && g.Fit == Fits && wanted
}

// superseded reports whether another generation replaces a pending one. A changed input does so only after a minute,
// because it could change in each reconcile. One with another source can never be used.
func (s *situation) superseded(g *Generation) bool {
	requested := s.Request != "" && s.Request != g.Request
	return s.Input == Present && g.Listed && !s.same(g) &&
		(requested || g.Fit == Other || !s.now.Before(g.Created.Add(limits.RefreshInterval)))
}

func (s *situation) expired(g *Generation) bool {
	return s.base != nil && s.Input == Present && s.AbandonAfter > 0 && s.offered(g) && s.over(g.Since, s.AbandonAfter)
}

func (s *situation) replaced(g *Generation) bool { return s.higher(g, Current) && !g.Held }

func (s *situation) ended(g *Generation) bool {
	return g.Listed && !g.Held && s.over(g.Since, g.Grace.Duration) && g != s.failed
}

// higher reports whether a higher generation that counts is in one of these stages.
func (s *situation) higher(g *Generation, stages ...Stage) bool {
	return slices.ContainsFunc(s.all, func(o *Generation) bool {
		return o.Number > g.Number && o.Listed && o.Counts && slices.Contains(stages, o.Stage)
	})
}

func (s *situation) over(since time.Time, d time.Duration) bool {
	return !since.IsZero() && !s.now.Before(since.Add(d))
}

// same reports whether a generation was made for what is wanted now, whatever the policy is.
func (s *situation) same(g *Generation) bool {
	return s.fulfills(g) && !changed(s.Origin.Spec, g.Origin.Spec) && !changed(s.Origin.Keepers, g.Origin.Keepers)
}

// fulfills reports whether a generation has the wanted kind, source and request. A lost kind never fits.
func (s *situation) fulfills(g *Generation) bool {
	return g.Origin.Kind == s.Origin.Kind && g.Fit != Other && (s.Request == "" || s.Request == g.Request)
}

// changed reports whether a hash is known to have changed.
func changed(is, was string) bool { return is != "" && was != "" && is != was }

// create returns the next generation, if one is asked for, none is on its way, and the last failure is long enough ago.
func (s *situation) create() (out *Generation, full bool) {
	f := s.failed // it is not dropped before another one follows it
	if s.Input != Present || s.base != nil && s.base.Stage != Current || !s.asks(s.now, s.Window) ||
		f != nil && s.now.Before(RetryAt(f, s.now)) {
		return nil, false
	}
	out = &Generation{State: State{Stage: Pending, Origin: s.Origin, Request: s.request}}
	out.Number, out.Grace.Duration = s.Taken+1, s.Grace
	if f != nil {
		out.Failures = f.Failures
	}
	for _, g := range s.all {
		if !g.Listed || g.Stage == Pending && g.Counts {
			return nil, false
		}
		out.Number = max(out.Number, g.Number+1)
		if g.Counts {
			out.Follows = append(out.Follows, g.UID)
		}
	}
	if len(s.all) >= limits.Generations {
		return nil, true
	}
	return out, false
}
