package rotation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones

	"github.com/robfig/cron/v3"

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
	if !s.base.Renew.IsZero() {
		at(s.base.Renew, cmp.Or(s.base.Ends, s.base.Renew))
	}
	if s.Policy == v1beta1.Periodic && !s.base.Created.IsZero() {
		at(s.base.Created.Add(s.Interval), time.Time{})
	}
	return out
}

// RetryAt returns when the rotation that a failed generation was made for may start again: an hour after no setter has
// the value anymore, and after each further failure after twice the time, up to a day. It is far in the future while a
// setter has it.
func RetryAt(f *Generation, now time.Time) time.Time {
	return cmp.Or(f.Since, now).Add(min(limits.FirstRetry<<max(min(f.Failures, limits.Retries)-1, 0), limits.LastRetry))
}

// AbandonAt returns when a pending generation is given up, or zero.
func (w Wanted) AbandonAt(g Generation) time.Time {
	if g.Stage != Pending || w.AbandonAfter == 0 || g.Since.IsZero() {
		return time.Time{}
	}
	return g.Since.Add(w.AbandonAfter)
}

// due returns when the next step is due if nothing changes. It may be too early, and is never too late. A step that is
// possible now and is not taken waits for a change.
func (s *situation) due(step *Step) (out time.Time) {
	soonest := func(at time.Time) {
		if at.After(s.now) && (out.IsZero() || at.Before(out)) {
			out = at
		}
	}
	for _, g := range step.Keep {
		switch {
		case g.Stage.ends() && !g.Since.IsZero():
			soonest(g.Since.Add(g.Grace.Duration))
		case g.Stage == Pending && !s.same(&g):
			soonest(g.Created.Add(limits.RefreshInterval))
		default:
			soonest(s.AbandonAt(g))
		}
	}
	if s.failed != nil {
		soonest(RetryAt(s.failed, s.now))
	}
	if s.base != nil && s.Input == Present && !s.once() {
		soonest(s.startsAt(s.now, s.Window))
	}
	return out
}

// A Window says when rotations may start. Nil is always.
type Window struct {
	text     string
	schedule cron.SpecSchedule
	open     time.Duration
}

// format of a schedule, as in a CronJob of Kubernetes, without @hourly and the like.
var format = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// The errors of ParseWindow.
var (
	errSchedule = errors.New("must be a minute, an hour, a day of the month, a month, and a day of the week from 0 " +
		`(Sunday) to 6, for example "0 2 * * 6"`)
	errNever = errors.New("never opens: change the day of the month, or the month")
	errZone  = errors.New(`is not in the IANA time zone database: write for example "Europe/Berlin"`)
)

// ParseSchedule returns the window that opens at each time of a cron schedule, in UTC, and stays open for a duration.
func ParseSchedule(schedule string, open time.Duration) (*Window, error) {
	if strings.Contains(schedule, "=") { // the parser would read a time zone
		return nil, errSchedule
	}
	parsed, err := format.Parse(schedule)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errSchedule, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	// A list without items, as in ", * * * *", is no error for the parser. The search for its next time takes long.
	s, ok := parsed.(*cron.SpecSchedule)
	if !ok || slices.Contains([]uint64{s.Minute, s.Hour, s.Dom, s.Month, s.Dow}, 0) {
		return nil, errSchedule
	}
	leapYear := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	if s.Location = time.UTC; s.Next(leapYear).IsZero() {
		return nil, errNever
	}
	return &Window{schedule, *s, open}, nil
}

// In returns the window with its schedule in a time zone of the IANA database. Empty is UTC.
func (w *Window) In(timeZone string) (*Window, error) {
	zone, err := time.LoadLocation(timeZone)
	if err != nil || strings.EqualFold(timeZone, "local") {
		return nil, errZone
	}
	out := *w
	out.schedule.Location = zone
	return &out, nil
}

// String describes the window.
func (w *Window) String() string {
	return fmt.Sprintf("a window of %s from %q in %s", w.open, w.text, w.schedule.Location)
}

// Next returns the first time from t on at which the window is open, or zero if there is none in five years. Like a
// CronJob, a window does not open at a time that the clocks skip.
func (w *Window) Next(t time.Time) time.Time {
	if w == nil {
		return t
	}
	if opens := w.schedule.Next(t.Add(-w.open)); !opens.IsZero() && !opens.After(t) {
		return t
	}
	return w.schedule.Next(t)
}
