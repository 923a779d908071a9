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
		"Open":         {"the window is open", "0 2 * * 6", "", 2 * time.Hour, "2026-11-21T03:59:59Z", "2026-11-21T03:59:59Z"},
		"OpensNow":     {"its first moment counts", "0 2 * * 6", "", 2 * time.Hour, "2026-11-21T02:00:00Z", "2026-11-21T02:00:00Z"},
		"Over":         {"its last moment does not count", "0 2 * * 6", "", 2 * time.Hour, "2026-11-21T04:00:00Z", "2026-11-28T02:00:00Z"},
		"Zone":         {"Berlin is an hour ahead in winter", "0 2 * * 6", "Europe/Berlin", time.Hour, "2026-11-20T00:00:00Z", "2026-11-21T01:00:00Z"},
		"Summer":       {"and two in summer", "0 2 * * 6", "Europe/Berlin", time.Hour, "2026-07-03T00:00:00Z", "2026-07-04T00:00:00Z"},
		"Skipped":      {"clocks go from 2:00 to 3:00", "30 2 * * *", "Europe/Berlin", time.Hour, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		"SkippedWest":  {"so they do west of Greenwich", "30 2 * * *", "America/New_York", time.Hour, "2026-03-07T12:00:00Z", "2026-03-08T07:00:00Z"},
		"AfterSkipped": {"the next day has the time again", "30 2 * * *", "Europe/Berlin", time.Hour, "2026-03-29T12:00:00Z", "2026-03-30T00:30:00Z"},
		"Twice":        {"clocks go from 3:00 to 2:00, and the first 2:30 counts", "30 2 * * *", "Europe/Berlin", time.Minute, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		"NotTwice":     {"the second 2:30 does not count", "30 2 * * *", "Europe/Berlin", time.Minute, "2026-10-25T00:31:00Z", "2026-10-26T01:30:00Z"},
		"SecondHour":   {"the hour comes again, and its 2:30 is still to come", "30 2 * * *", "Europe/Berlin", time.Minute, "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"},
		"HalfAnHour":   {"clocks go from 2:00 to 2:30", "15 2 * * *", "Australia/Lord_Howe", time.Minute, "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
		"ADay":         {"Samoa had no 30 December 2011", "0 12 30 12 *", "Pacific/Apia", time.Minute, "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z"},
		"LeapDay":      {"it opens every four years", "0 0 29 2 *", "", time.Hour, "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		"NoLeapDay":    {"2100 is not a leap year, and nothing looks further than five years", "0 0 29 2 *", "", time.Hour, "2097-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"AlwaysOpen":   {"the windows overlap", "0 * * * *", "", 2 * time.Hour, "2026-01-01T00:59:00Z", "2026-01-01T00:59:00Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from, err := time.Parse(time.RFC3339, tc.from)
			if err != nil {
				t.Fatal(err)
			}
			if got := window(t, tc.schedule, tc.open, tc.zone).Next(from).UTC().Format(time.RFC3339); got != tc.want {
				t.Errorf("%s: it is open from %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// An explanation of the input shows the window.
func TestWindowIsDescribed(t *testing.T) {
	const want = `a window of 2h0m0s from "0 2 * * 6" in Europe/Berlin`
	if got := window(t, "0 2 * * 6", 2*time.Hour, "Europe/Berlin").String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Through a whole year with both changes of the clocks, a window opens once for each day, and is open exactly from
// then on for its duration.
func TestWindowOpensOncePerDay(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"} {
		w := window(t, "30 2 * * *", 20*time.Minute, zone)
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		days := map[string]int{}
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, location); at.Year() < 2027; {
			at = w.Next(at)
			days[at.Format(time.DateOnly)]++
			for _, after := range []struct {
				time.Duration
				open bool
			}{{-time.Second, false}, {0, true}, {20*time.Minute - time.Second, true}, {20 * time.Minute, false}} {
				if got := w.Open(at.Add(after.Duration)); got != after.open {
					t.Errorf("%s: %s after %s, open is %t", zone, after.Duration, at, got)
				}
			}
			at = at.Add(20 * time.Minute)
		}
		delete(days, "2027-01-01")
		for day, n := range days {
			if n != 1 {
				t.Errorf("%s: it opens %d times on %s", zone, n, day)
			}
		}
		if len(days) != 365 {
			t.Errorf("%s: it opens on %d days", zone, len(days))
		}
	}
}

// FuzzWindowIsOpenAtItsNextTime also tests that the next time is not before the given one.
func FuzzWindowIsOpenAtItsNextTime(f *testing.F) {
	f.Add("0 2 * * 6", int64(2*time.Hour), int64(1_795_000_000), "Europe/Berlin")
	f.Add("*/7 1-3 * 3,10 0", int64(time.Minute), int64(1_774_745_999), "Australia/Lord_Howe")
	f.Fuzz(func(t *testing.T, schedule string, open, second int64, zone string) {
		w, err := rotation.ParseSchedule(schedule, max(time.Minute, time.Duration(open)%(168*time.Hour)))
		if err != nil {
			return
		}
		if w, err = w.In(zone); err != nil {
			return
		}
		from := time.Unix(second%4_000_000_000, 0).UTC()
		next := w.Next(from)
		if next.IsZero() {
			return
		}
		if next.Before(from) || !w.Open(next) || w.Open(from) != next.Equal(from) {
			t.Errorf("from %s, the next time is %s", from, next)
		}
	})
}

func TestParseScheduleRefuses(t *testing.T) {
	for _, schedule := range []string{", * * * *", "* * ,, * *", "", "0 2 * *", "0 2 * * 6 2026", "@hourly", "@every 1h", "TZ=Europe/Berlin 0 2 * * *", "TZ=", "0 25 * * *", "0 0 30 2 *"} {
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
