package rotation_test

import (
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

func window(t testing.TB, schedule string, open time.Duration, zone string) *rotation.Window {
	t.Helper()
	w, err := rotation.ParseSchedule(schedule, open)
	if err == nil {
		w, err = w.In(zone)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWindow(t *testing.T) {
	cases := map[string]struct {
		reason         string
		schedule, zone string
		open           time.Duration
		from, want     string
	}{
		"Open": {"it is open", "0 2 * * 6", "", 2 * time.Hour, "2026-11-21T03:59:59Z", "2026-11-21T03:59:59Z"},
		"OpensNow": {"its first moment counts", "0 2 * * 6", "", 2 * time.Hour,
			"2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z"},
		"Over": {"its last moment does not count", "0 2 * * 6", "", 2 * time.Hour,
			"2026-11-21T04:00:00Z", "2026-11-28T02:00:00Z"},
		"Zone": {"Berlin is an hour ahead in winter", "0 2 * * 6", "Europe/Berlin", time.Hour,
			"2026-11-20T00:00:00Z", "2026-11-21T01:00:00Z"},
		"Summer": {"and two in summer", "0 2 * * 6", "Europe/Berlin", time.Hour,
			"2026-07-03T00:00:00Z", "2026-07-04T00:00:00Z"},
		"Skipped": {"clocks go from 2:00 to 3:00", "30 2 * * *", "Europe/Berlin", time.Hour,
			"2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		"Never": {"2100 has no leap day, and nothing looks further than five years", "0 0 29 2 *", "", time.Hour,
			"2097-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"AlwaysOpen": {"windows overlap", "0 * * * *", "", 2 * time.Hour, "2026-01-01T00:59:00Z",
			"2026-01-01T00:59:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from, err := time.Parse(time.RFC3339, tc.from)
			if err != nil {
				t.Fatal(err)
			}
			w := window(t, tc.schedule, tc.open, tc.zone)
			if got := w.Next(from).UTC().Format(time.RFC3339); got != tc.want {
				t.Errorf("%s: %s is open from %s, want %s", tc.reason, w, got, tc.want)
			}
		})
	}
}

func TestParseScheduleRefuses(t *testing.T) {
	for _, schedule := range []string{
		", * * * *", "* * ,, * *", "", "0 2 * *", "0 2 * * 6 2026", "@hourly", "TZ=Europe/Berlin 0 2 * * *",
		"0 25 * * *",
		"0 0 30 2 *",
	} {
		if _, err := rotation.ParseSchedule(schedule, time.Hour); err == nil {
			t.Errorf("%q is a schedule", schedule)
		}
	}
	w := window(t, "0 2 * * 6", time.Hour, "")
	for _, zone := range []string{"Europe/Berln", "Local", "../../etc/passwd"} {
		if _, err := w.In(zone); err == nil {
			t.Errorf("%q is a time zone", zone)
		}
	}
}
