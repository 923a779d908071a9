package generator

import (
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// next returns the number of the next generation. A number is never used again.
func (w Desired) next(have []Generation) int {
	out := w.Used
	for _, g := range have {
		out = max(out, g.Number, g.Highest, g.Failure.Number) // one up to the last failure would count as abandoned
	}
	return out + 1
}

// splitAbandoned separates the generations that were abandoned from the others. The generation in use stores the last
// one, because another client can remove the mark. An exported or adopted generation is not abandoned, whatever its mark is.
func splitAbandoned(have []Generation, used Generation) (others, abandoned []Generation) {
	for _, g := range have {
		failed := g.Number > used.Number && g.Number <= used.Failure.Number // those before it were abandoned or superseded
		if (g.Abandoned || failed) && !g.Adopted && !g.Exported {
			g.Abandoned = true
			abandoned = append(abandoned, g)
			continue
		}
		g.Abandoned = false
		others = append(others, g)
	}
	return others, abandoned
}

// abandons reports whether the pending generation must be abandoned: because it did not become ready in time, or because
// another one is requested while its value may have been set.
func (w Desired) abandons(last Generation, used int, request bool, now time.Time) bool {
	if last.Number <= used || last.Ready || last.Unlisted {
		return false
	}
	at := w.abandonAt(last)
	return request && (last.Candidate || !last.OfferedAt.IsZero()) || !at.IsZero() && !now.Before(at)
}

// abandonAt returns when a pending generation is abandoned, or zero.
func (w Desired) abandonAt(g Generation) time.Time {
	if w.AbandonAfter == 0 || g.OfferedAt.IsZero() {
		return time.Time{}
	}
	return g.OfferedAt.Add(w.AbandonAfter - g.Waited)
}

// offer returns a pending generation with the time at which it was offered to those that set it. The time in which the
// composite was paused, or the generator was not in the input, does not count.
func (w Desired) offer(g Generation, now time.Time) Generation {
	stopped := w.stopped(g)
	switch {
	case g.Adopted || w.AbandonAfter == 0:
		g.OfferedAt, g.Waited = time.Time{}, 0
	case g.OfferedAt.IsZero():
		if g.Offered && !g.Unlisted {
			g.OfferedAt = now
		}
	case g.OfferedAt.After(now): // a clock was ahead
		g.OfferedAt = now
	case !stopped.IsZero() && stopped.Before(now):
		g.Waited += stopped.Sub(g.OfferedAt)
		g.OfferedAt = now
	}
	return g
}

// stopped returns when the time of an offered generation stopped, or zero: when the composite was paused or the generator
// was removed, whichever was first.
func (w Desired) stopped(g Generation) (out time.Time) {
	if w.PausedAt.After(g.OfferedAt) {
		out = w.PausedAt
	}
	if g.Retired && g.Flagged.After(g.OfferedAt) && (out.IsZero() || g.Flagged.Before(out)) {
		out = g.Flagged
	}
	return out
}

// record returns the generation in use with the highest number, and with the abandoned generations that followed it.
func (w Desired) record(g Generation, abandoned []Generation, highest int, now time.Time) Generation {
	if w.Verifies && highest > g.Number {
		g.Highest = max(g.Highest, highest)
	}
	if g.Failure.At.After(now) { // a clock was ahead
		g.Failure.At = now
	}
	for _, failed := range abandoned {
		if failed.Number <= max(g.Number, g.Failure.Number) {
			continue
		}
		f := Failure{Request: failed.request(), Number: failed.Number, At: now, Times: 1}
		if f.Request == g.Failure.Request {
			f.Times = min(g.Failure.Times+1, limits.Retries)
		}
		g.Failure = f
	}
	return g
}

// request returns a hash of what a generation was created for.
func (g Generation) request() string { return Hash(g.Kind, g.SpecHash, g.KeepersHash, g.Rotation) }

// request returns a hash of what is requested now.
func (w Desired) request() string { return Hash(w.Kind, w.SpecHash, w.KeepersHash, w.Rotation) }

// retries returns when the rotation that was abandoned starts again, not before now. It is zero if the rotation is not
// requested any more. One that only time requires waits for the window.
func (w Desired) retries(last, used Generation, now time.Time) time.Time {
	at, always := used.Failure.retryAt(), w
	always.Window = nil
	if w.Unknown || used.Failure.Request != w.request() || !always.asks(last, used.Number, now) {
		return time.Time{}
	}
	if at.Before(now) {
		at = now
	}
	if w.asks(last, used.Number, at) {
		return at
	}
	return w.starts(last, at)
}

// retryAt returns when the abandoned rotation may start again: after an hour, and after each further failure after twice the
// time, up to a day.
func (f Failure) retryAt() time.Time {
	wait := limits.FirstRetry << max(min(f.Times, limits.Retries)-1, 0)
	return f.At.Add(min(wait, limits.LastRetry))
}

// keepAbandoned keeps abandoned generations until the grace period ends after the last export has let go of them.
func (s *Step) keepAbandoned(abandoned []Generation, grace time.Duration, now time.Time) {
	for _, g := range abandoned {
		g.OfferedAt, g.Waited = time.Time{}, 0
		s.Abandoned = max(s.Abandoned, g.Number)
		s.keepFormer(g, grace, now)
	}
}

// keepUnrecorded keeps generations that the generation in use does not record yet. Otherwise, their numbers could be used
// again, or their failure could be forgotten.
func (s *Step) keepUnrecorded(all []Generation, recorded int) {
	for _, g := range all {
		if g.Number > recorded && kept(s.Keep, g.Number).Number == 0 {
			s.Keep = append(s.Keep, g)
		}
	}
}

// kept returns the generation with a number.
func kept(list []Generation, number int) Generation {
	if i := slices.IndexFunc(list, func(g Generation) bool { return g.Number == number }); i >= 0 {
		return list[i]
	}
	return Generation{}
}
