package rotation

import (
	"cmp"
	"slices"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// asks reports whether another generation must follow the one in use, at a time and with a window.
func (s *situation) asks(now time.Time, w *Window) bool {
	switch {
	case s.base == nil, !s.fulfills(s.base):
		return true
	case s.once():
	case changed(s.Origin.Keepers, s.base.Origin.Keepers),
		s.Policy == v1beta1.OnChange && changed(s.Origin.Spec, s.base.Origin.Spec):
		return true
	default:
		at := s.startsAt(now, w)
		return !at.IsZero() && !at.After(now)
	}
	return false
}

func (s *situation) once() bool { return s.Policy == v1beta1.CreatedOnce || s.Policy == "" }

// startsAt returns when a rotation starts that only time requires, or zero. It is not before now. A window delays it,
// but not beyond the end of the outputs.
func (s *situation) startsAt(now time.Time, w *Window) (out time.Time) {
	at := func(due, ends time.Time) {
		due = latest(due, now)
		if opens := w.Next(due); ends.IsZero() || opens.Before(ends) {
			due = opens
		}
		if !due.IsZero() && (out.IsZero() || due.Before(out)) {
			out = due
		}
	}
	if !s.base.Valid.Renew.IsZero() {
		at(s.base.Valid.Renew, cmp.Or(s.base.Valid.Ends, s.base.Valid.Renew))
	}
	if s.Policy == v1beta1.Periodic && !s.base.Created.IsZero() {
		at(s.base.Created.Add(s.Interval), time.Time{})
	}
	return out
}

// retryAt returns when a rotation that failed may start again: an hour after no setter has the value anymore, and after
// each further failure after twice the time, up to a day. It is far in the future while a setter has it.
func (s *situation) retryAt(f *Generation) time.Time {
	since := f.Since
	if since.IsZero() {
		since = s.now
	}
	return since.Add(min(limits.FirstRetry<<max(min(f.Failures, limits.Retries)-1, 0), limits.LastRetry))
}

// RetryAt returns when the rotation that a failed generation was made for may start again.
func (w Wanted) RetryAt(f *Generation, now time.Time) time.Time {
	s := &situation{Wanted: w, now: now}
	return s.retryAt(f)
}

// AbandonAt returns when a pending generation is given up, or zero.
func (w Wanted) AbandonAt(g Generation) time.Time {
	if g.Stage != Pending || w.AbandonAfter == 0 || g.Since.IsZero() {
		return time.Time{}
	}
	return g.Since.Add(w.AbandonAfter)
}

// has reports whether a generation has a state already.
func (s *situation) has(state State) bool {
	return slices.ContainsFunc(s.all, func(g *Generation) bool { return g.State == state })
}

// due returns when the next step is due if nothing changes. A step that is possible now and is not taken waits for a
// change.
func (s *situation) due(step *Step) time.Time {
	out := s.rotatesAt(step)
	for i := range step.Keep {
		if at := s.endsAt(&step.Keep[i]); at.After(s.now) && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	return out
}

// endsAt returns when the stage of a generation ends if nothing changes, or zero.
func (s *situation) endsAt(g *Generation) time.Time {
	switch {
	case g.Stage.ends() && !g.Since.IsZero() && g.Listed:
		if s.Input == Removed && !s.has(g.State) { // a later step may have the generator, and use it again
			return time.Time{}
		}
		return g.Since.Add(g.Grace.Duration)
	case g.Stage != Pending || s.Input != Present:
	case g.Listed && !s.same(g):
		return g.Created.Add(limits.RefreshInterval)
	case s.base != nil:
		return s.AbandonAt(*g)
	}
	return time.Time{}
}

// rotatesAt returns when the next rotation starts if nothing changes, or zero. It is after now.
func (s *situation) rotatesAt(step *Step) (at time.Time) {
	switch {
	case s.Input != Present || step.Make != nil || step.Pending != "" || s.base == nil || s.base.Stage != Current:
	case s.failed != nil:
		if at = latest(s.now, s.retryAt(s.failed)); !s.asks(at, s.Window) {
			at = s.startsAt(at, s.Window)
		}
	case !s.once():
		at = s.startsAt(s.now, s.Window)
	}
	if !at.After(s.now) {
		return time.Time{}
	}
	return at
}
