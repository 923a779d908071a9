package rotation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// tell describes a step: the stages that are kept, with the minute of their time, and what else is not empty.
func tell(s Step) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	minute := func(t time.Time) int { return int(t.Sub(began) / time.Minute) }
	for _, g := range s.Keep {
		add("%d %s", g.Number, stageNames[g.Stage])
		if !g.Since.IsZero() {
			add("since %d", minute(g.Since))
		}
		if g.Failures > 0 {
			add("failed %d", g.Failures)
		}
	}
	for _, g := range s.Drop {
		add("drop %d", g.Number)
	}
	number := func(uid string) string { return strings.TrimPrefix(uid, "u") }
	add("see %s/%s/%s", number(s.Current), number(s.Previous), number(s.Candidate))
	if s.Make != nil {
		add("make %d", s.Make.Number)
		if s.Make.Failures > 0 {
			add("after %d", s.Make.Failures)
		}
	}
	if s.Full {
		add("full")
	}
	if !s.Due.IsZero() {
		add("due %d", minute(s.Due))
	}
	return strings.Join(words, " ")
}

func window(t testing.TB, schedule string, open time.Duration) func(*Wanted) {
	t.Helper()
	w, err := ParseSchedule(schedule, open)
	if err != nil {
		t.Fatal(err)
	}
	return func(in *Wanted) { in.Window = w }
}

func paused(minute int) func(*Wanted) { return func(w *Wanted) { w.PausedAt = at(minute) } }

func valid(renew, ends int) func(*Generation) {
	return func(g *Generation) { g.Renew, g.Ends = at(renew), at(ends) }
}

// TestNext has what the models do not show: policies, renewal, windows, retries, and what people delete.
func TestNext(t *testing.T) {
	const hour = 60
	current := gen(1, Current)
	inUse := []Record{holds(1, current)}
	setting := []Record{inUse[0], candidate(2)}
	again := wanted(requested("r"))
	night := window(t, "0 2 * * *", 2*time.Hour)
	one := func(changes ...func(*Generation)) []Generation { return []Generation{gen(1, Current, changes...)} }
	second := func(stage Stage, changes ...func(*Generation)) []Generation {
		return []Generation{current, gen(2, stage, append(changes, request("r"))...)}
	}
	full := one()
	for n := 2; n <= limits.Generations; n++ {
		full = append(full, gen(n, Abandoned, since(0), func(g *Generation) { g.Grace.Duration = 24 * time.Hour }))
	}
	cases := map[string]struct {
		reason  string
		w       Wanted
		have    []Generation
		records []Record
		now     int
		want    string
	}{
		// Creation.
		"First":        {"nothing exists", wanted(), nil, nil, 5, "see // make 1"},
		"FirstUnknown": {"an input is missing", wanted(unknown), nil, nil, 5, "see //"},
		"FirstRemoved": {"nothing is wanted", wanted(removed), nil, nil, 5, "see //"},
		"Unlisted": {"it may not be stored", again, second(Abandoned, since(5), unlisted), inUse, 5,
			"1 current 2 abandoned since 5 see 1//1 due 15"},
		"OneAtATime": {"a pending one is on its way", again, second(Pending, unready), inUse, 5,
			"1 current 2 pending since 5 see 1//2 due 20"},
		"Full": {"there are as many as may be", again, full, inUse, 5,
			"1 current " + abandonedUpTo(limits.Generations) + "see 1//1 full due 1440"},

		// Policies.
		"Spec":     {"the policy is OnChange", wanted(), one(specified), inUse, 5, "1 current see 1//1 make 2"},
		"SpecOnce": {"the policy is CreatedOnce", wanted(once), one(specified), inUse, 5, "1 current see 1//1"},
		"SpecPeriodic": {"the policy is Periodic", wanted(periodic), one(specified), inUse, 5,
			"1 current see 1//1 due 60"},
		"Keepers":     {"the keepers changed", wanted(), one(kept), inUse, 5, "1 current see 1//1 make 2"},
		"KeepersOnce": {"the policy is CreatedOnce", wanted(once), one(kept), inUse, 5, "1 current see 1//1"},
		"KeepersPeriod": {"they also count with Periodic", wanted(periodic), one(kept), inUse, 5,
			"1 current see 1//1 make 2 due 60"},
		"Requested": {"each policy allows it", wanted(once, requested("r")), one(), inUse, 5,
			"1 current see 1//1 make 2"},
		"Fulfilled": {"it was made for it", again, one(request("r")), inUse, 5, "1 current see 1//1"},
		"Source": {"a hash follows its password", wanted(once), one(fit(Other)), inUse, 5,
			"1 current see 1//1 make 2"},
		"Unsure": {"its source is not known", wanted(unknown), one(fit(Unsure)), inUse, 5, "1 current see 1//1"},

		// Time.
		"Interval": {"its interval is over", wanted(periodic), one(), inUse, hour, "1 current see 1//1 make 2"},
		"NotYet":   {"a minute is left", wanted(periodic), one(), inUse, hour - 1, "1 current see 1//1 due 60"},
		"Renewal":  {"its end comes nearer", wanted(), one(valid(30, 90)), inUse, 30, "1 current see 1//1 make 2"},
		"RenewalOnce": {"CreatedOnce renews nothing", wanted(once), one(valid(30, 90)), inUse, 30,
			"1 current see 1//1"},
		"RenewalIsDue": {"there is time", wanted(), one(valid(30, 90)), inUse, 29, "1 current see 1//1 due 30"},
		"Overdue":      {"it waits", wanted(periodic, night), one(), inUse, hour + 1, "1 current see 1//1 due 120"},
		"InTheWindow":  {"it is open", wanted(periodic, night), one(), inUse, 2*hour + 1, "1 current see 1//1 make 2"},
		"Missed":       {"it is over", wanted(periodic, night), one(), inUse, 5 * hour, "1 current see 1//1 due 1560"},
		"Day": {"keepers do not wait", wanted(periodic, night), one(kept), inUse, 5,
			"1 current see 1//1 make 2 due 120"},
		"RenewalWaits": {"it is valid until then", wanted(night), one(valid(10, 5000)), inUse, 11,
			"1 current see 1//1 due 120"},
		"RenewalNow": {"it ends before", wanted(night), one(valid(10, 90)), inUse, 11, "1 current see 1//1 make 2"},

		// Failures.
		"Fails": {"it does not work", again, second(Pending, unready, since(5)), setting, 20,
			"1 current 2 abandoned failed 1 see 1//1"},
		"StillSet": {"a setter has it", again, second(Abandoned, failures(1)), setting, 500,
			"1 current 2 abandoned failed 1 see 1//1 due 560"},
		"RetryWaits": {"an hour has not passed", again, second(Abandoned, since(20), failures(1)), inUse, 79,
			"1 current 2 abandoned since 20 failed 1 see 1//1 due 80"},
		"Retry": {"an hour has passed, and the failure is remembered", again, second(Abandoned, since(20), failures(1)),
			inUse, 80, "1 current 2 abandoned since 20 failed 1 see 1//1 make 3 after 1"},
		"SecondRetry": {"the time doubles", again, second(Abandoned, since(20), failures(2)), inUse, 80,
			"1 current 2 abandoned since 20 failed 2 see 1//1 due 140"},
		"LastRetry": {"it is a day at most", again, second(Abandoned, since(20), failures(6)), inUse, 80,
			"1 current 2 abandoned since 20 failed 6 see 1//1 due 1460"},
		"AnotherReason": {"it starts at once", wanted(requested("r2")), second(Abandoned, since(20), failures(1)),
			inUse, 21, "1 current 2 abandoned since 20 failed 1 see 1//1 make 3 due 30"},
		"NoReason": {"nothing is asked for anymore", wanted(), second(Abandoned, since(20), failures(1)), inUse, 30,
			"1 current drop 2 see 1//1"},
		"RetryInWindow": {"it also waits for the window", wanted(periodic, night),
			[]Generation{current, gen(2, Abandoned, since(2*hour+59), failures(1))}, inUse, 5 * hour,
			"1 current 2 abandoned since 179 failed 1 see 1//1 due 1560"},

		// Pauses do not count.
		"PausedBeforeItIsOffered": {"the time starts now", wanted(paused(10)), second(Pending, unready), setting, 60,
			"1 current 2 pending since 60 see 1//2 due 75"},
		"PausedGracePeriod": {"grace periods go on", wanted(paused(10)), second(Abandoned, since(3)), inUse, 60,
			"1 current drop 2 see 1//1"},
		"Paused": {"the pause does not count", wanted(paused(10)), second(Pending, unready, since(3)), setting, 60,
			"1 current 2 pending since 53 see 1//2 due 68"},
		"PausedBefore": {"it was offered after the pause", wanted(paused(1)), second(Pending, unready, since(3)),
			setting, 17, "1 current 2 pending since 3 see 1//2 due 18"},

		// Deleted and lost generations.
		"CurrentIsDeleted": {"another one follows", wanted(), []Generation{gen(1, Previous, since(5))},
			[]Record{holds(2, gen(1, Previous, since(5)))}, 6, "1 previous since 5 see /1/ make 2 due 15"},
		"PendingIsDeleted": {"another one is made", again, one(), setting, 6, "1 current see 1//1 make 2"},
		"Oldest": {"all records are lost, and another client cannot create an older object", wanted(),
			[]Generation{gen(1, Current, unproven, created(3)), gen(2, Current, unproven)},
			[]Record{{Uses: true, Lost: true}}, 6, "1 abandoned 2 current see 2//2"},
		"AllIsLost": {"it works, and the export may have its value", wanted(), one(lost),
			[]Record{{Uses: true, Lost: true}}, 6,
			"1 current see 1//1 make 2"},
		"OldestIsLost": {"all annotations are lost, and the oldest object is of another client", wanted(),
			[]Generation{gen(1, Current, lost), gen(2, Current, unproven, created(3))},
			[]Record{{Uses: true, Lost: true}}, 6, "1 abandoned 2 abandoned see // make 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tell(Next(tc.w, tc.have, tc.records, at(tc.now)))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func abandonedUpTo(number int) (out string) {
	for n := 2; n <= number; n++ {
		out += fmt.Sprintf("%d abandoned since 0 ", n)
	}
	return out
}

// A grace period has the length of the time at which it starts.
func TestGracePeriod(t *testing.T) {
	hour := func(w *Wanted) { w.Grace = time.Hour }
	zero := func(w *Wanted) { w.Grace = 0 } // without its generator, it is not known
	cases := map[string]struct {
		reason string
		w      Wanted
		g      Generation
		want   time.Duration
	}{
		"InUse":   {"it has not started", wanted(hour), gen(1, Current), time.Hour},
		"Pending": {"it is in use later", wanted(hour), gen(1, Pending, since(3)), time.Hour},
		"Started": {"it has started", wanted(hour), gen(1, Previous, since(3)), grace},
		"Starts":  {"it starts now", wanted(hour), gen(1, Previous), time.Hour},
		"Leaves":  {"the last known one", wanted(zero, removed), gen(1, Current), grace},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Next(tc.w, []Generation{tc.g}, nil, at(5)).Keep[0].Grace.Duration; got != tc.want {
				t.Errorf("%s: it is %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
