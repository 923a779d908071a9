package rotation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones

	"github.com/robfig/cron/v3"
)

// A Window says when rotations may start. Nil is always.
type Window struct {
	text     string
	schedule cron.Schedule
	open     time.Duration
	zone     *time.Location
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
	s, err := format.Parse(schedule)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errSchedule, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	// A list without items, as in ", * * * *", is no error for the parser. The search for its next time takes long.
	if f, ok := s.(*cron.SpecSchedule); ok && slices.Contains([]uint64{f.Minute, f.Hour, f.Dom, f.Month, f.Dow}, 0) {
		return nil, errSchedule
	}
	leapYear := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	if s.Next(leapYear).IsZero() {
		return nil, errNever
	}
	return &Window{schedule, s, open, time.UTC}, nil
}

// In returns the window with its schedule in a time zone of the IANA database. Empty is UTC.
func (w *Window) In(timeZone string) (*Window, error) {
	zone, err := time.LoadLocation(timeZone)
	if err != nil || strings.EqualFold(timeZone, "local") {
		return nil, errZone
	}
	return &Window{w.text, w.schedule, w.open, zone}, nil
}

// String describes the window.
func (w *Window) String() string {
	return fmt.Sprintf("a window of %s from %q in %s", w.open, w.text, w.zone)
}

// Open reports whether the window is open at a time.
func (w *Window) Open(t time.Time) bool {
	if w == nil {
		return true
	}
	opens := w.opensAfter(t.Add(-w.open))
	return !opens.IsZero() && !opens.After(t)
}

// Next returns the first time from t on at which the window is open, or zero if there is none in five years.
func (w *Window) Next(t time.Time) time.Time {
	if w.Open(t) {
		return t
	}
	return w.opensAfter(t)
}

// opensAfter returns the first time after t at which the window opens, or zero. Like a CronJob, it does not open at a
// time that the clocks skip.
func (w *Window) opensAfter(t time.Time) time.Time {
	return w.schedule.Next(t.In(w.zone)).In(t.Location())
}
