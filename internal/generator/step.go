package generator

import (
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Step describes what to do with the generations of one generator.
type Step struct {
	// Keep are the generations to desire, by number, with their desired state. Other observed ones are dropped.
	Keep []Generation

	Make int // the number of a generation to create, or 0

	// Current is the number of the generation whose value is generated, Previous of the one whose value is previous, and
	// Pending of one that is not adopted yet. 0 is none.
	Current, Previous, Pending int

	// Candidate is the number of the generation whose value is candidate: the pending one if it is stored and not
	// abandoned, otherwise the current one. 0 is none.
	Candidate int

	Abandoned int       // the number of the generation that is abandoned with this step or that was, or 0
	Retry     time.Time // when the abandoned rotation starts again, or zero

	Due time.Time // the time of the next step if nothing changes before, or zero
}

// Next returns the next step for a generator. If desired is nil, the generator was removed from the input. The order of
// the generations does not matter, but their numbers must differ.
func Next(desired *Desired, have []Generation, now time.Time) Step {
	have = slices.SortedFunc(slices.Values(have), func(a, b Generation) int { return a.Number - b.Number })
	if desired == nil {
		return retire(have, now)
	}
	var s Step
	next := desired.next(have)
	h := desired.history(s.keepUnproven(have, desired.GracePeriod, now), next-1, now)
	s.assign(h)
	s.rotate(desired, h, next, now)
	s.keep(desired, h, now)
	s.keepAbandoned(h.abandoned, desired.GracePeriod, now)
	if h.used.Number > 0 {
		s.keepUnrecorded(h.abandoned, max(h.failed, h.used.Number))
	}
	if desired.Verifies && h.used.Number > 0 {
		s.keepUnrecorded(slices.Concat(h.have, h.abandoned), max(h.recorded, h.used.Number))
	}
	slices.SortFunc(s.Keep, func(a, b Generation) int { return a.Number - b.Number })
	s.due(desired, h.last, h.used, now)
	return s
}

// A history contains the generations of a generator by number, with the state that they have from this step on.
type history struct {
	have, abandoned []Generation

	used   Generation // the one in use, or zero
	last   Generation // the one that the next one follows, or zero if all are replaced
	former int        // generations up to this number are replaced

	// recorded and failed are the highest number and the last failure that the generation in use had stored before.
	recorded, failed int
}

// history returns the history of proven generations. highest is the highest number that was ever used.
func (w Desired) history(have []Generation, highest int, now time.Time) history {
	for i, g := range have {
		have[i] = w.restore(g)
	}
	h := history{used: inUse(have)}
	h.have, h.abandoned = splitAbandoned(have, h.used)
	h.recorded, h.failed = h.used.Highest, h.used.Failure.Number
	for i, g := range h.have {
		switch {
		case g.Number == h.used.Number:
			h.used = w.record(g, h.abandoned, highest, now)
			h.have[i] = h.used
		case g.Number > h.used.Number:
			h.have[i] = w.offer(g, now)
		}
	}
	if len(h.have) > 0 {
		h.last = h.have[len(h.have)-1]
	}
	h.former = max(h.used.Number-1, replaced(h.have))
	if h.last.Number <= h.former || h.last.Number > h.used.Number && !w.makes(h.last, h.used) {
		h.last = h.used // which is zero if all are replaced
	}
	return h
}

// assign sets which generations are current, pending, and the candidate.
func (s *Step) assign(h history) {
	// If it is flagged, its generator is back. Then it is used after the flag is removed.
	if !h.used.Unlisted && !h.used.flagged() {
		s.Current = h.used.Number
	}
	if h.last.Number > s.Current {
		s.Pending = h.last.Number
	}
	s.Candidate = s.Current
	if h.last.Number > h.used.Number && !h.last.Unlisted {
		s.Candidate = h.last.Number
	}
}

// rotate creates the next generation, or abandons the pending one.
func (s *Step) rotate(w *Desired, h history, next int, now time.Time) {
	request := !w.Unknown && w.asks(h.last, h.used.Number, now)
	retry := w.retries(h.last, h.used, now)
	switch {
	case s.Current > 0 && !w.Unknown && w.abandons(h.last, h.used.Number, request, now):
		s.Abandoned = h.last.Number
	case now.Before(retry):
		s.Retry = retry
	case request:
		s.Make = next
	}
}

// keep keeps the generations that are in use, will be, or were, with their next state.
func (s *Step) keep(w *Desired, h history, now time.Time) {
	for _, g := range h.have {
		switch {
		case g.Number == s.Abandoned: // the mark is stored before anything else changes
			g.Abandoned = true
			g.Flagged, g.Retired = time.Time{}, false // its grace period starts after its generator came back
			s.Keep = append(s.Keep, g)
		case g.Number > h.former &&
			(g.Number == h.last.Number || g.Number == h.used.Number || g.lost() && h.used.Number == 0):
			s.Keep = append(s.Keep, w.adopt(g))
		case g.Number > h.former && g.lost():
			g.Retired = true // because the last one has not replaced it yet
			s.keepFormer(g, w.GracePeriod, now)
		case g.Unlisted: // Crossplane deletes it only after the composite lists it
			s.Keep = append(s.Keep, g)
		case g.Adopted, g.Exported, g.Candidate, g.lost(), !g.Flagged.IsZero():
			if g.Retired { // the flag dates from the time when the generator was removed: it has been used since
				g.Flagged, g.Retired = time.Time{}, false
			}
			s.keepFormer(g, w.GracePeriod, now)
		default:
			// Never adopted, and superseded: its value is not in use.
		}
	}
}

// keepUnproven keeps unproven generations for the grace period, and returns the others.
func (s *Step) keepUnproven(have []Generation, grace time.Duration, now time.Time) []Generation {
	proven := make([]Generation, 0, len(have))
	for _, g := range have {
		if !g.Unproven {
			proven = append(proven, g)
			continue
		}
		g.Adopted, g.Exported = false, false
		s.keepFormer(g, grace, now)
	}
	s.Previous = 0
	return proven
}

// keepFormer keeps a replaced generation until its grace period ends. It is flagged after no export has its value. Until
// then, its grace period is that of the input.
func (s *Step) keepFormer(g Generation, grace time.Duration, now time.Time) {
	switch {
	case g.Exported, g.Candidate:
		g.Flagged, g.GracePeriod = time.Time{}, grace
	case g.Flagged.IsZero(), g.Flagged.After(now): // a clock was ahead
		g.Flagged, g.GracePeriod = now, grace
		s.sooner(now.Add(grace))
	case now.Before(g.Flagged.Add(g.GracePeriod)):
		s.sooner(g.Flagged.Add(g.GracePeriod))
	case !g.Unlisted:
		return
	default: // Crossplane deletes it only after the composite lists it
	}
	s.Keep = append(s.Keep, g)
	if !g.Unlisted && !g.Abandoned && (g.Adopted || g.Exported || g.lost()) && (s.Current == 0 || g.Number < s.Current) {
		s.Previous = g.Number
	}
}

// retire keeps the generations of a generator that was removed from the input until their grace periods end. If the
// generator comes back, the generation that was in use is in use again, but not those that had been replaced.
func retire(have []Generation, now time.Time) Step {
	var s Step
	used := inUse(have).Number
	highest := Desired{}.next(have) - 1
	recorded := highest
	for _, g := range have {
		if g.lost() { // its grace period is lost with its state
			g.GracePeriod = limits.LostGracePeriod
		}
		if g.Exported || g.Number == used { // the others may be dropped before it
			recorded = min(recorded, max(g.Number, g.Highest))
			if g.Number < highest {
				g.Highest = highest
			}
		}
		g.Retired = g.Retired || g.Flagged.IsZero() && g.Number >= used
		s.keepFormer(g, g.GracePeriod, now)
	}
	s.keepUnrecorded(have, recorded)
	slices.SortFunc(s.Keep, func(a, b Generation) int { return a.Number - b.Number })
	s.Previous = 0
	return s
}

// due returns the time of the next step that only depends on time.
func (s *Step) due(w *Desired, last, used Generation, now time.Time) {
	switch {
	case s.Make > 0 || w.Unknown: // another one is created if there is no last one
	case !s.Retry.IsZero():
		s.sooner(s.Retry)
	case last.Number > used.Number:
		if w.replaces(last, used.Number) {
			s.sooner(last.Made.Add(limits.RefreshInterval))
		}
		if at := w.abandonAt(kept(s.Keep, last.Number)); s.Current > 0 && !last.Ready && at.After(now) {
			s.sooner(at)
		}
	case w.once():
	default:
		if at := w.starts(last, now); !at.IsZero() {
			s.sooner(at)
		}
	}
}

func (s *Step) sooner(t time.Time) {
	if s.Due.IsZero() || t.Before(s.Due) {
		s.Due = t
	}
}
