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
	add("see %s/%s/%s", strings.TrimPrefix(s.Current, "u"), strings.TrimPrefix(s.Previous, "u"), strings.TrimPrefix(s.Candidate, "u"))
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
	return func(g *Generation) { g.Valid = Validity{Renew: at(renew), Ends: at(ends)} }
}

func TestNext(t *testing.T) {
	const hour = 60
	current := gen(1, Current)
	inUse := []Record{holds(1, current)}
	failed := gen(2, Abandoned, since(20), failures(1), request("r"))
	again := wanted(requested("r"))
	night := window(t, "0 2 * * *", 2*time.Hour)
	many := []Generation{current}
	for n := 2; n <= limits.Generations; n++ {
		many = append(many, gen(n, Abandoned, since(0), func(g *Generation) { g.Grace = 24 * time.Hour }))
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
		"FirstIsSet":   {"it must be set before it can work", wanted(), []Generation{gen(1, Pending, unready)}, []Record{{Sets: true}}, 5, "1 pending see //1"},
		"Taken":        {"an object may have the number", wanted(func(w *Wanted) { w.Taken = 7 }), []Generation{gen(3, Abandoned, since(5))}, nil, 5, "3 abandoned since 5 see // make 8 due 15"},
		"Unlisted":     {"it is not known whether it is stored", again, []Generation{current, gen(2, Abandoned, since(5), unlisted)}, inUse, 5, "1 current 2 abandoned since 5 see 1//1"},
		"OneAtATime":   {"a pending one is on its way", again, []Generation{current, gen(2, Pending, unready, request("r"))}, inUse, 5, "1 current 2 pending since 5 see 1//2 due 20"},
		"Full":         {"there are as many as may be", again, many, inUse, 5, "1 current " + abandonedUpTo(limits.Generations) + "see 1//1 full due 1440"},
		"NotFull":      {"nothing is asked for", wanted(), many, inUse, 5, "1 current " + abandonedUpTo(limits.Generations) + "see 1//1 due 1440"},

		// Policies.
		"Spec":          {"the policy is OnChange", wanted(), []Generation{gen(1, Current, specified)}, inUse, 5, "1 current see 1//1 make 2"},
		"SpecOnce":      {"the policy is CreatedOnce", wanted(once), []Generation{gen(1, Current, specified)}, inUse, 5, "1 current see 1//1"},
		"SpecDefault":   {"the policy is the default", wanted(func(w *Wanted) { w.Policy = "" }), []Generation{gen(1, Current, specified)}, inUse, 5, "1 current see 1//1"},
		"SpecPeriodic":  {"the policy is Periodic", wanted(periodic), []Generation{gen(1, Current, specified)}, inUse, 5, "1 current see 1//1 due 60"},
		"SpecIsLost":    {"what it was made from is not known", wanted(), []Generation{gen(1, Current, func(g *Generation) { g.Origin.Spec = "" })}, inUse, 5, "1 current see 1//1"},
		"Keepers":       {"the keepers changed", wanted(), []Generation{gen(1, Current, kept)}, inUse, 5, "1 current see 1//1 make 2"},
		"KeepersOnce":   {"the policy is CreatedOnce", wanted(once), []Generation{gen(1, Current, kept)}, inUse, 5, "1 current see 1//1"},
		"KeepersPeriod": {"they also count with Periodic", wanted(periodic), []Generation{gen(1, Current, kept)}, inUse, 5, "1 current see 1//1 make 2"},
		"NoKeepers":     {"the input has none", wanted(func(w *Wanted) { w.Origin.Keepers = "" }), []Generation{current}, inUse, 5, "1 current see 1//1"},
		"Kind":          {"its outputs are of another kind", wanted(once), []Generation{gen(1, Current, func(g *Generation) { g.Origin.Kind = "other" })}, inUse, 5, "1 current see 1//1 make 2"},
		"Requested":     {"each policy allows requests", wanted(once, requested("r")), []Generation{current}, inUse, 5, "1 current see 1//1 make 2"},
		"Fulfilled":     {"it was made for the request", wanted(once, requested("r")), []Generation{gen(1, Current, request("r"))}, inUse, 5, "1 current see 1//1"},
		"TakenBack":     {"the annotation was removed", wanted(), []Generation{gen(1, Current, request("r"))}, inUse, 5, "1 current see 1//1"},
		"UnknownInput":  {"an input is missing", wanted(unknown, requested("r")), []Generation{gen(1, Current, specified)}, inUse, 5, "1 current see 1//1"},

		// Sources.
		"AnotherSource":   {"a derived value follows its source", wanted(once), []Generation{gen(1, Current, fit(Other))}, inUse, 5, "1 current see 1//1 make 2"},
		"UnsureSource":    {"the source is not known", wanted(unknown), []Generation{gen(1, Current, fit(Unsure))}, inUse, 5, "1 current see 1//1"},
		"SourceOfPending": {"the source changed again", wanted(once), []Generation{current, gen(2, Pending, fit(Other), created(5))}, inUse, 5, "1 current 2 abandoned since 5 see 1//1 due 15"},

		// Time.
		"Interval":       {"its interval is over", wanted(periodic), []Generation{current}, inUse, hour, "1 current see 1//1 make 2"},
		"InItsInterval":  {"a minute is left", wanted(periodic), []Generation{current}, inUse, hour - 1, "1 current see 1//1 due 60"},
		"NoCreationTime": {"a file has none", wanted(periodic), []Generation{gen(1, Current, func(g *Generation) { g.Created = time.Time{} })}, inUse, hour, "1 current see 1//1"},
		"Renewal":        {"its end comes nearer", wanted(), []Generation{gen(1, Current, valid(30, 90))}, inUse, 30, "1 current see 1//1 make 2"},
		"RenewalOnce":    {"CreatedOnce renews nothing", wanted(once), []Generation{gen(1, Current, valid(30, 90))}, inUse, 30, "1 current see 1//1"},
		"RenewalIsDue":   {"there is time", wanted(), []Generation{gen(1, Current, valid(30, 90))}, inUse, 29, "1 current see 1//1 due 30"},

		"PendingFirst":   {"the interval waits for the pending one", wanted(periodic), []Generation{current, gen(2, Pending, unready, since(50))}, []Record{inUse[0], candidate(2)}, 55, "1 current 2 pending since 50 see 1//2 due 65"},
		"UnknownPeriod":  {"an input is missing", wanted(periodic, unknown), []Generation{current}, inUse, 5, "1 current see 1//1"},
		"UnknownPending": {"an input is missing", wanted(unknown), []Generation{current, gen(2, Pending, unready, specified, created(5))}, inUse, 5, "1 current 2 pending since 5 see 1//2"},

		// Windows.
		"Overdue":         {"it waits for the window", wanted(periodic, night), []Generation{current}, inUse, hour + 1, "1 current see 1//1 due 120"},
		"InTheWindow":     {"the window is open", wanted(periodic, night), []Generation{current}, inUse, 2*hour + 1, "1 current see 1//1 make 2"},
		"Missed":          {"the window is over, so it waits for the next one", wanted(periodic, night), []Generation{current}, inUse, 5 * hour, "1 current see 1//1 due 1560"},
		"NotDue":          {"it is due while the window is open", wanted(periodic, night), []Generation{gen(1, Current, created(90))}, inUse, 2 * hour, "1 current see 1//1 due 150"},
		"RequestedAtDay":  {"requests do not wait", wanted(periodic, night, requested("r")), []Generation{current}, inUse, 5, "1 current see 1//1 make 2"},
		"KeepersAtDay":    {"the input asks for it", wanted(periodic, night), []Generation{gen(1, Current, kept)}, inUse, 5, "1 current see 1//1 make 2"},
		"RenewalWaits":    {"the certificate is valid until then", wanted(night), []Generation{gen(1, Current, valid(10, 50*hour))}, inUse, 11, "1 current see 1//1 due 120"},
		"RenewalAtOnce":   {"the certificate ends before the window opens", wanted(night), []Generation{gen(1, Current, valid(10, 90))}, inUse, 11, "1 current see 1//1 make 2"},
		"RenewalIsNotDue": {"it is renewed before it ends", wanted(night), []Generation{gen(1, Current, valid(10, 90))}, inUse, 9, "1 current see 1//1 due 10"},
		"RetryInWindow": {
			"a retry that only time requires waits for the window", wanted(periodic, night),
			[]Generation{current, gen(2, Abandoned, since(2*hour+59), failures(1))}, inUse, 5 * hour, "1 current 2 abandoned since 179 failed 1 see 1//1 due 1560",
		},

		// Failures.
		"Fails":         {"it does not work", again, []Generation{current, gen(2, Pending, unready, since(5), request("r"))}, []Record{inUse[0], candidate(2)}, 20, "1 current 2 abandoned failed 1 see 1//1"},
		"FailsAgain":    {"the same rotation failed before", again, []Generation{current, gen(2, Pending, unready, since(5), request("r"), failures(1))}, []Record{inUse[0], candidate(2)}, 20, "1 current 2 abandoned failed 2 see 1//1"},
		"StillSet":      {"a setter has it", again, []Generation{current, gen(2, Abandoned, failures(1), request("r"))}, []Record{inUse[0], candidate(2)}, 500, "1 current 2 abandoned failed 1 see 1//1 due 560"},
		"RetryWaits":    {"an hour has not passed", again, []Generation{current, failed}, inUse, 79, "1 current 2 abandoned since 20 failed 1 see 1//1 due 80"},
		"Retry":         {"an hour has passed, and the failure is remembered", again, []Generation{current, failed}, inUse, 80, "1 current 2 abandoned since 20 failed 1 see 1//1 make 3 after 1"},
		"RetryIsMade":   {"its successor remembers the failure", again, []Generation{current, failed, gen(3, Pending, unready, request("r"), failures(1), created(80))}, inUse, 80, "1 current 3 pending since 80 failed 1 drop 2 see 1//3 due 95"},
		"SecondRetry":   {"the time doubles", again, []Generation{current, gen(2, Abandoned, since(20), failures(2), request("r"))}, inUse, 80, "1 current 2 abandoned since 20 failed 2 see 1//1 due 140"},
		"LastRetry":     {"it is a day at most", again, []Generation{current, gen(2, Abandoned, since(20), failures(6), request("r"))}, inUse, 80, "1 current 2 abandoned since 20 failed 6 see 1//1 due 1460"},
		"AnotherReason": {"a new request starts at once", wanted(requested("r2")), []Generation{current, failed}, inUse, 21, "1 current 2 abandoned since 20 failed 1 see 1//1 make 3 due 30"},
		"AnotherSpec":   {"a changed input starts at once", again, []Generation{current, gen(2, Abandoned, since(20), failures(1), request("r"), specified)}, inUse, 21, "1 current 2 abandoned since 20 failed 1 see 1//1 make 3 due 30"},
		"NoReason":      {"nothing is asked for anymore", wanted(), []Generation{current, failed}, inUse, 30, "1 current drop 2 see 1//1"},
		"FullOfRetries": {"a failure that waits also counts for the limit", again, append(many[:limits.Generations-1:limits.Generations-1], gen(16, Abandoned, since(0), failures(1), request("r"))), inUse, hour, "1 current " + abandonedUpTo(limits.Generations-1) + "16 abandoned since 0 failed 1 see 1//1 full due 1440"},

		"FailsOften":    {"the time no longer doubles", again, []Generation{current, gen(2, Pending, unready, since(5), request("r"), failures(6))}, []Record{inUse[0], candidate(2)}, 20, "1 current 2 abandoned failed 6 see 1//1"},
		"ManyFailures":  {"a copy of the state may have any number", again, []Generation{current, gen(2, Abandoned, since(20), failures(100), request("r"))}, inUse, 80, "1 current 2 abandoned since 20 failed 100 see 1//1 due 1460"},
		"NoneIsInUse":   {"people deleted the one in use", again, []Generation{failed}, nil, 21, "2 abandoned since 20 failed 1 see // make 3 due 30"},
		"UnknownReason": {"an input is missing", wanted(unknown), []Generation{current, failed}, inUse, 500, "1 current 2 abandoned since 20 failed 1 see 1//1"},
		"FailedBefore":  {"another one was in use since", wanted(), []Generation{gen(1, Abandoned, since(20), failures(1)), gen(2, Current, specified)}, []Record{holds(2, gen(2, Current))}, 21, "1 abandoned since 20 failed 1 2 current see 2//2 make 3 due 30"},

		// Pauses.
		"PausedBeforeItIsOffered": {"the time starts now", wanted(paused(10)), []Generation{current, gen(2, Pending, unready)}, []Record{inUse[0], candidate(2)}, 60, "1 current 2 pending since 60 see 1//2 due 75"},
		"PausedGracePeriod":       {"grace periods go on", wanted(paused(10)), []Generation{current, gen(2, Abandoned, since(3))}, inUse, 60, "1 current drop 2 see 1//1"},
		"Paused":                  {"the pause does not count", wanted(paused(10)), []Generation{current, gen(2, Pending, unready, since(3))}, []Record{inUse[0], candidate(2)}, 60, "1 current 2 pending since 53 see 1//2 due 68"},
		"PausedBefore":            {"it was offered after the pause", wanted(paused(1)), []Generation{current, gen(2, Pending, unready, since(3))}, []Record{inUse[0], candidate(2)}, 17, "1 current 2 pending since 3 see 1//2 due 18"},
		"PausedLater":             {"a clock was ahead", wanted(paused(30)), []Generation{current, gen(2, Pending, unready, since(3))}, []Record{inUse[0], candidate(2)}, 17, "1 current 2 pending since 3 see 1//2 due 18"},
		"PausedOneIsLost":         {"one of its copies is older", wanted(), []Generation{current, gen(2, Pending, unready, since(53))}, []Record{inUse[0], candidate(2, gen(2, Pending, since(3)))}, 61, "1 current 2 pending since 53 see 1//2 due 68"},

		// Removal and return.
		"Leaves":        {"nothing has outputs, and a failure is not remembered", wanted(removed), []Generation{current, failed}, nil, 25, "1 retired since 25 2 abandoned since 20 failed 1 see // due 30"},
		"LeavesAlone":   {"a later step of the pipeline may have the generator", wanted(removed), []Generation{current}, nil, 25, "1 retired since 25 see //"},
		"LeavesAtLast":  {"without its generator, no failure is remembered", wanted(removed), []Generation{gen(1, Retired, since(25)), failed}, nil, 30, "1 retired since 25 drop 2 see // due 35"},
		"ReturnsAndAsk": {"one step after the other", wanted(requested("r")), []Generation{gen(1, Retired, since(5))}, nil, 14, "1 current see //"},
		"LeavesOnce":    {"the next step drops it", wanted(removed), []Generation{gen(1, Retired, since(5))}, nil, 14, "1 retired since 5 see // due 15"},
		"Returns":       {"the value is read once it is stored that it is in use", wanted(), []Generation{gen(1, Retired, since(5))}, nil, 14, "1 current see //"},
		"ReturnsLater":  {"it is not dropped in the step in which its generator is back", wanted(), []Generation{gen(1, Retired, since(5))}, nil, 500, "1 current see //"},
		"ReturnsOther":  {"only the one in use returns", wanted(), []Generation{gen(1, Previous, since(5)), gen(2, Retired, since(5))}, nil, 6, "1 previous since 5 2 current see // due 15"},
		"NothingIsBack": {"an abandoned one does not return", wanted(), []Generation{gen(1, Abandoned, since(5))}, nil, 6, "1 abandoned since 5 see // make 2 due 15"},

		// What people delete.
		"CurrentIsDeleted":  {"another one follows, and the previous one stays previous", wanted(), []Generation{gen(1, Previous, since(5))}, []Record{holds(2, gen(1, Previous, since(5)))}, 6, "1 previous since 5 see /1/ make 2 due 15"},
		"PreviousIsDeleted": {"nothing follows", wanted(), []Generation{gen(2, Current)}, []Record{holds(2, gen(2, Current))}, 6, "2 current see 2//2"},
		"PendingIsDeleted":  {"another one is made", again, []Generation{current}, []Record{inUse[0], candidate(2)}, 6, "1 current see 1//1 make 2"},
		"LowerIsInUse":      {"the higher one was replaced by one that people deleted", wanted(), []Generation{current, gen(2, Previous, since(5))}, inUse, 6, "1 current 2 previous since 5 see 1//1 due 15"},

		// Values.
		"Rotated":          {"exports change in the step after", wanted(), []Generation{current, gen(2, Pending)}, inUse, 6, "1 current 2 current see 1//2"},
		"Both":             {"the former one is previous as soon as there is another one", wanted(), []Generation{current, gen(2, Current)}, inUse, 6, "1 current 2 current see 2/1/2"},
		"UnlistedNext":     {"no value is better than an older one", wanted(), []Generation{current, gen(2, Current, unlisted)}, inUse, 6, "1 current 2 current see //"},
		"UnlistedPrevious": {"it may not be stored", wanted(), []Generation{gen(1, Previous, since(5), unlisted), gen(2, Current)}, []Record{holds(2, gen(2, Current))}, 6, "1 previous since 5 2 current see 2//2"},
		"UnlistedPending":  {"it may not be stored", wanted(), []Generation{current, gen(2, Pending, unlisted, specified, created(6))}, inUse, 6, "1 current 2 pending see 1//1"},
		"RetiredNext":      {"no value is better than an older one", wanted(), []Generation{current, gen(2, Retired)}, inUse, 6, "1 current 2 current see //"},
		"GivenUp":          {"it is not offered in the step that gives it up", wanted(requested("r")), []Generation{current, gen(2, Pending, unready)}, inUse, 6, "1 current 2 abandoned since 6 see 1//1 due 16"},
		"ClockIsAhead":     {"a time in the future starts now", wanted(), []Generation{gen(2, Current), gen(1, Previous, since(500))}, []Record{holds(2, gen(2, Current))}, 6, "1 previous since 6 2 current see 2/1/2 due 16"},

		// Trust.
		"Forged":         {"an object without a code", wanted(), []Generation{current, gen(2, Current, unproven)}, inUse, 6, "1 current 2 abandoned since 6 see 1//1 due 16"},
		"LinkedUp":       {"its code has the value of one that counts", wanted(), []Generation{current, gen(2, Current)}, inUse, 6, "1 current 2 current see 2/1/2"},
		"LinkedDown":     {"one that counts has a code with its value", wanted(), []Generation{gen(1, Previous, since(5)), gen(2, Current)}, []Record{holds(2, gen(2, Current))}, 6, "1 previous since 5 2 current see 2/1/2 due 15"},
		"Chain":          {"the links form a chain", wanted(), []Generation{gen(1, Previous, since(5)), gen(2, Abandoned, since(5)), gen(3, Current, func(g *Generation) { g.Follows = []string{uid(2)} })}, []Record{holds(1, gen(1, Previous, since(5)))}, 6, "1 previous 2 abandoned since 5 3 current see 3/1/3 due 15"},
		"ChainDown":      {"the links form a chain", wanted(), []Generation{gen(1, Previous, since(5)), gen(2, Previous, since(5), func(g *Generation) { g.Follows = []string{uid(1)} }), gen(3, Current, func(g *Generation) { g.Follows = []string{uid(2)} })}, []Record{holds(3, gen(3, Current))}, 6, "1 previous since 5 2 previous since 5 3 current see 3/2/3 due 15"},
		"RecordedOnly":   {"one is recorded, although it was abandoned", wanted(), []Generation{gen(1, Abandoned, since(5), created(3)), gen(2, Current, unproven)}, []Record{{Uses: true, Known: holds(1, gen(1, Abandoned, since(5))).Known}}, 6, "1 abandoned since 5 2 abandoned since 6 see // make 3 due 15"},
		"OldestIsHidden": {"only a listed one counts", wanted(), []Generation{gen(1, Pending, unlisted), gen(2, Current, unproven, created(3))}, nil, 6, "1 abandoned since 6 2 current see 2//2"},
		"Oldest":         {"all records are lost, and another client cannot create an older object", wanted(), []Generation{gen(1, Current, unproven, created(3)), gen(2, Current, unproven)}, []Record{{Uses: true, Lost: true}}, 6, "1 abandoned 2 current see 2//2"},
		"OldestIsLost":   {"all annotations are lost, and the other object is of another client", wanted(), []Generation{gen(1, Current, lost), gen(2, Current, unproven, created(3))}, []Record{{Uses: true, Lost: true}}, 6, "1 abandoned 2 abandoned see // make 3"},
		"RecordedIsGone": {"what an export recorded does not exist anymore", wanted(), []Generation{gen(2, Current, unproven)}, []Record{{Uses: true, Known: holds(1, gen(1, Abandoned)).Known}}, 6, "2 current see 2//2"},
		"Resource":       {"a composed resource has no code", wanted(), []Generation{current, gen(2, Current, unproven, func(g *Generation) { g.Coded = false })}, inUse, 6, "1 current 2 current see 2/1/2"},
		"UnlistedFirst":  {"it may be stored", wanted(), []Generation{gen(1, Pending, unlisted)}, nil, 6, "1 pending see //"},
		"ForeignPending": {"it does not keep others from being made", again, []Generation{current, gen(2, Pending, unproven)}, inUse, 6, "1 current 2 abandoned since 6 see 1//1 make 3 due 16"},
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

// TestMake shows what a new generation stores, and TestNext when one is made.
func TestMake(t *testing.T) {
	w := wanted(periodic, func(w *Wanted) { w.Grace = time.Hour })
	have := []Generation{gen(1, Current, request("r")), gen(2, Abandoned, unproven, since(50))}
	got := Next(w, have, []Record{holds(1, have[0])}, at(60))
	want := &Generation{Number: 3, Follows: []string{uid(1)}, State: State{
		Stage: Pending, Origin: w.Origin, Grace: time.Hour,
		Request: "r", // an interval forgets no request
	}}
	if diff := cmp.Diff(want, got.Make); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
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
			if got := Next(tc.w, []Generation{tc.g}, nil, at(5)).Keep[0].Grace; got != tc.want {
				t.Errorf("%s: it is %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
