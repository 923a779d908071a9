package generator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
)

// at is minutes after midnight.
func at(minutes int) time.Time { return midnight.Add(time.Duration(minutes) * time.Minute) }

// gen is a generation that was made at midnight, is ready, and has the state.
func gen(number int, states ...func(g *generator.Generation)) generator.Generation {
	g := generator.Generation{
		Number: number, Kind: "password", Made: midnight, SpecHash: "s", KeepersHash: "k", Rotation: fmt.Sprintf("r%d", number),
		GracePeriod: 10 * time.Minute, Ready: true,
	}
	for _, s := range states {
		s(&g)
	}
	return g
}

func adopted(g *generator.Generation)   { g.Adopted = true }
func exported(g *generator.Generation)  { g.Adopted, g.Exported = true, true }
func unchecked(g *generator.Generation) { g.Unchecked = true }
func outdated(g *generator.Generation)  { g.Stale = true }
func unready(g *generator.Generation)   { g.Ready = false }
func retired(g *generator.Generation)   { g.Retired = true }
func recorded(highest int) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Highest = highest }
}
func stripped(g *generator.Generation) {
	*g = generator.Generation{Number: g.Number, Ready: g.Ready, Exported: g.Exported}
}
func restored(g *generator.Generation) {
	g.Made, g.SpecHash, g.KeepersHash, g.Rotation = time.Time{}, "lost", "lost", "lost"
}
func made(at time.Time) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Made = at }
}
func flagged(at time.Time) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Adopted, g.Flagged = true, at }
}

// wanted is what the generations of gen were made from, and changes to it.
func wanted(policy v1beta1.RefreshPolicy, changes ...func(w *generator.Desired)) *generator.Desired {
	w := &generator.Desired{
		Policy: policy, GracePeriod: 10 * time.Minute, Kind: "password", SpecHash: "s", KeepersHash: "k",
	}
	if policy == v1beta1.Periodic {
		w.Interval = time.Hour
	}
	for _, c := range changes {
		c(w)
	}
	return w
}

func spec(hash string) func(w *generator.Desired) {
	return func(w *generator.Desired) { w.SpecHash = hash }
}
func keepers(hash string) func(w *generator.Desired) {
	return func(w *generator.Desired) { w.KeepersHash = hash }
}
func kind(kind string) func(w *generator.Desired) {
	return func(w *generator.Desired) { w.Kind = kind }
}
func rotate(to string) func(w *generator.Desired) {
	return func(w *generator.Desired) { w.Rotation = to }
}
func grace(d time.Duration) func(w *generator.Desired) {
	return func(w *generator.Desired) { w.GracePeriod = d }
}
func used(number int) func(w *generator.Desired) {
	return func(w *generator.Desired) { w.Used = number }
}
func unknown(w *generator.Desired) { w.Unknown, w.SpecHash, w.KeepersHash = true, "", "" }

// TestNextMakes says when another generation is made after the one that is in use.
func TestNextMakes(t *testing.T) {
	once, periodic, onChange := v1beta1.CreatedOnce, v1beta1.Periodic, v1beta1.OnChange
	renew := func(g *generator.Generation) { g.RenewAt = at(30) }
	cases := map[string]struct {
		reason string
		want   *generator.Desired
		last   []func(g *generator.Generation)
		now    time.Time
		makes  bool
		due    time.Time
	}{
		"CreatedOnce":          {"never again, whatever changes", wanted(once, spec("t"), keepers("l")), nil, at(9999), false, time.Time{}},
		"Default":              {"no policy is CreatedOnce", wanted("", spec("t"), keepers("l")), nil, at(9999), false, time.Time{}},
		"CreatedOnceRenews":    {"not even if it ends", wanted(once), with(renew), at(31), false, time.Time{}},
		"CreatedOnceRotated":   {"unless it is asked for by hand", wanted(once, rotate("now")), nil, at(1), true, time.Time{}},
		"CreatedOnceOtherKind": {"or is another generator by now", wanted(once, kind("uuid")), nil, at(1), true, time.Time{}},
		"AnnotationRemoved":    {"an annotation that goes asks for nothing", wanted(once, rotate("")), nil, at(1), false, time.Time{}},
		"PeriodicBefore":       {"the interval counts from when the last one was made", wanted(periodic), nil, at(59), false, at(60)},
		"PeriodicAt":           {"to the minute", wanted(periodic), nil, at(60), true, time.Time{}},
		"PeriodicSpec":         {"time is what counts, not the generator", wanted(periodic, spec("t")), nil, at(1), false, at(60)},
		"PeriodicKeepers":      {"keepers ask for one at once", wanted(periodic, keepers("l")), nil, at(1), true, time.Time{}},
		"PeriodicBehind":       {"a clock that was put back makes none", wanted(periodic), with(made(at(500))), at(1), false, at(560)},
		"PeriodicEndsBefore":   {"one that ends is followed before the interval is over", wanted(periodic), with(renew), at(30), true, time.Time{}},
		"PeriodicEndsAfter":    {"the interval is over first", wanted(periodic), with(func(g *generator.Generation) { g.RenewAt = at(90) }), at(1), false, at(60)},
		"PeriodicEndsLater":    {"and that is when to look again", wanted(periodic), with(renew), at(29), false, at(30)},
		"OnChangeSame":         {"nothing changed", wanted(onChange), nil, at(9999), false, time.Time{}},
		"OnChangeSpec":         {"the generator did", wanted(onChange, spec("t")), nil, at(1), true, time.Time{}},
		"OnChangeKeepers":      {"what keepersExpression gives did", wanted(onChange, keepers("l")), nil, at(1), true, time.Time{}},
		"OnChangeKeepersNew":   {"keepers that are new take over what there is", wanted(onChange), with(func(g *generator.Generation) { g.KeepersHash = "" }), at(1), false, time.Time{}},
		"OnChangeKeepersGone":  {"and none ask for nothing", wanted(onChange, keepers("")), nil, at(1), false, time.Time{}},
		"OnChangeEnds":         {"one that ends is followed", wanted(onChange), with(renew), at(30), true, time.Time{}},
		"SeveralAtOnce":        {"make one", wanted(periodic, spec("t"), keepers("l"), rotate("now"), kind("uuid")), with(renew), at(9999), true, time.Time{}},
		"Unknown":              {"nothing is made of what is not known", wanted(onChange, unknown, rotate("now")), nil, at(1), false, time.Time{}},
		"UnknownPeriodic":      {"and time does not help", wanted(periodic, unknown), nil, at(9999), false, time.Time{}},
		"NotReadyAnyMore":      {"one in use stays in use", wanted(onChange), with(unready), at(1), false, time.Time{}},
		"Stripped":             {"nothing proves that a request is fulfilled", wanted(v1beta1.CreatedOnce, rotate("now")), with(stripped), at(1), true, time.Time{}},
		"StrippedOnce":         {"nothing is requested", wanted(v1beta1.CreatedOnce), with(stripped), at(1), false, time.Time{}},
		"StrippedOnChange":     {"nothing proves what it was created for", wanted(onChange), with(stripped), at(1), true, time.Time{}},
		"StrippedPeriodic":     {"its age is not known in this step", wanted(periodic, keepers("")), with(stripped), at(1), false, time.Time{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			last := gen(4, exported)
			for _, s := range tc.last {
				s(&last)
			}
			got := generator.Next(tc.want, []generator.Generation{last}, tc.now)
			type result struct {
				Make, Current, Kept int
				Due                 time.Time
			}
			want := result{Current: 4, Kept: 1, Due: tc.due}
			if tc.makes {
				want.Make = 5
			}
			if diff := cmp.Diff(want, result{got.Make, got.Current, len(got.Keep), got.Due}); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func with(states ...func(g *generator.Generation)) []func(g *generator.Generation) { return states }

// TestNext says what becomes of the generations, step by step.
func TestNext(t *testing.T) {
	type gens = []generator.Generation
	once := wanted(v1beta1.CreatedOnce)
	now := at(20)
	over := flagged(at(10)) // the grace period
	left := flagged(at(15)) // time of it
	cases := map[string]struct {
		reason string
		want   *generator.Desired
		have   gens
		step   generator.Step
	}{
		"First": {
			reason: "it is made before anything has its value",
			want:   once,
			step:   generator.Step{Make: 1},
		},
		"FirstAfterOthers": {
			reason: "a number that is known of is not used again, though nothing is there any more",
			want:   wanted("", used(4)),
			step:   generator.Step{Make: 5},
		},
		"AfterOthers": {
			reason: "whichever is higher counts",
			want:   wanted("", used(4), rotate("now")),
			have:   gens{gen(6, exported)},
			step:   generator.Step{Keep: gens{gen(6, exported)}, Make: 7, Current: 6},
		},
		"Stale": {
			reason: "a generation of another source is replaced, whatever the policy",
			want:   once,
			have:   gens{gen(1, exported, outdated)},
			step:   generator.Step{Keep: gens{gen(1, exported, outdated)}, Make: 2, Current: 1},
		},
		"StaleReplaced": {
			reason: "the generation of the present source is adopted, whatever the policy",
			want:   once,
			have:   gens{gen(1, exported, outdated), gen(2)},
			step:   generator.Step{Keep: gens{gen(1, exported, outdated), gen(2, adopted)}, Current: 1, Pending: 2},
		},
		"StalePending": {
			reason: "a pending generation of another source is never adopted, even if the policy would create another one",
			want:   wanted(v1beta1.Periodic),
			have:   gens{gen(1, exported), gen(2, outdated)},
			step:   generator.Step{Keep: gens{gen(1, exported)}, Current: 1, Due: at(60)},
		},
		"StaleFirst": {
			reason: "the first generation is replaced before it is adopted",
			want:   once,
			have:   gens{gen(1, outdated)},
			step:   generator.Step{Make: 2},
		},
		"Unchecked": {
			reason: "while the source is not known, a pending generation is kept, but not adopted",
			want:   wanted(v1beta1.OnChange, unknown),
			have:   gens{gen(1, exported), gen(2, unchecked)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, unchecked)}, Current: 1, Pending: 2},
		},
		"StaleUnknown": {
			reason: "while the source is not known, nothing changes",
			want:   wanted(v1beta1.OnChange, unknown),
			have:   gens{gen(1, exported)},
			step:   generator.Step{Keep: gens{gen(1, exported)}, Current: 1},
		},
		"FirstUnknown": {
			reason: "of what is not known none is made",
			want:   wanted(v1beta1.OnChange, unknown),
		},
		"FirstUnready": {
			reason: "it is there, and nobody can use it",
			want:   once,
			have:   gens{gen(1, unready)},
			step:   generator.Step{Keep: gens{gen(1, unready)}, Pending: 1},
		},
		"FirstReady": {
			reason: "it is marked before it is given",
			want:   once,
			have:   gens{gen(1)},
			step:   generator.Step{Keep: gens{gen(1, adopted)}, Pending: 1},
		},
		"FirstMarked": {
			reason: "the mark was observed",
			want:   once,
			have:   gens{gen(1, adopted)},
			step:   generator.Step{Keep: gens{gen(1, adopted)}, Current: 1},
		},
		"NextUnready": {
			reason: "one that never gets ready takes nobody's place",
			want:   once,
			have:   gens{gen(1, exported), gen(2, unready)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, unready)}, Current: 1, Pending: 2},
		},
		"NextReady": {
			reason: "it is marked first",
			want:   once,
			have:   gens{gen(1, exported), gen(2)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, adopted)}, Current: 1, Pending: 2},
		},
		"NextMarked": {
			reason: "it is given, and the former one stays as it is while it is exported",
			want:   once,
			have:   gens{gen(1, exported), gen(2, adopted)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, adopted)}, Current: 2, Previous: 1},
		},
		"NextUnreadyAgain": {
			reason: "there is no way back",
			want:   once,
			have:   gens{gen(1, exported), gen(2, adopted, unready)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, adopted, unready)}, Current: 2, Previous: 1},
		},
		"NextExported": {
			reason: "the former one is flagged, with the grace period of now",
			want:   wanted("", grace(time.Minute)),
			have:   gens{gen(1, adopted), gen(2, exported)},
			step: generator.Step{
				Keep:    gens{gen(1, flagged(now), graced(time.Minute)), gen(2, exported, graced(time.Minute))},
				Current: 2, Previous: 1, Due: at(21),
			},
		},
		"InGrace": {
			reason: "it keeps its flag, and its own grace period",
			want:   wanted("", grace(time.Minute)),
			have:   gens{gen(1, left), gen(2, exported)},
			step:   generator.Step{Keep: gens{gen(1, left), gen(2, exported, graced(time.Minute))}, Current: 2, Previous: 1, Due: at(25)},
		},
		"GraceOver": {
			reason: "it is dropped, and there is no previous one",
			want:   once,
			have:   gens{gen(1, over), gen(2, exported)},
			step:   generator.Step{Keep: gens{gen(2, exported)}, Current: 2},
		},
		"ClockPutBack": {
			reason: "a flag of a clock that was ahead counts from now",
			want:   once,
			have:   gens{gen(1, flagged(at(500))), gen(2, exported)},
			step:   generator.Step{Keep: gens{gen(1, flagged(now)), gen(2, exported)}, Current: 2, Previous: 1, Due: at(30)},
		},
		"FlaggedAndExported": {
			reason: "what is exported is in use: its grace period starts again",
			want:   once,
			have:   gens{gen(1, over, exported), gen(2, exported)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, exported)}, Current: 2, Previous: 1},
		},
		"CurrentFlaggedAndExported": {
			reason: "a flag on what is exported does not count, and comes off",
			want:   once,
			have:   gens{gen(1, over, exported)},
			step:   generator.Step{Keep: gens{gen(1, exported)}, Current: 1},
		},
		"ExportedWithoutMark": {
			reason: "nor does it matter that it was never marked",
			want:   once,
			have:   gens{gen(1, exported, func(g *generator.Generation) { g.Adopted = false }), gen(2, adopted)},
			step: generator.Step{
				Keep:    gens{gen(1, exported, func(g *generator.Generation) { g.Adopted = false }), gen(2, adopted)},
				Current: 2, Previous: 1,
			},
		},
		"SeveralFormer": {
			reason: "previous is the last of them",
			want:   once,
			have:   gens{gen(3, exported), gen(1, left), gen(2, adopted)},
			step:   generator.Step{Keep: gens{gen(1, left), gen(2, flagged(now)), gen(3, exported)}, Current: 3, Previous: 2, Due: at(25)},
		},
		"SupersededWhileUnready": {
			reason: "nobody had it: it needs no grace period",
			want:   once,
			have:   gens{gen(1, exported), gen(2, unready), gen(3, unready)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(3, unready)}, Current: 1, Pending: 3},
		},
		"SupersededAndLeftOver": {
			reason: "nor does it come to be previous, if it was not deleted in time",
			want:   once,
			have:   gens{gen(1, left), gen(2), gen(3, exported)},
			step:   generator.Step{Keep: gens{gen(1, left), gen(3, exported)}, Current: 3, Previous: 1, Due: at(25)},
		},
		"RotatedWhileUnready": {
			reason: "one that never gets ready does not stop the next one",
			want:   wanted("", rotate("now")),
			have:   gens{gen(1, exported), gen(2, unready)},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, unready)}, Make: 3, Current: 1, Pending: 2},
		},
		"PeriodicWhileUnready": {
			reason: "time makes no other one: it may become ready yet",
			want:   wanted(v1beta1.Periodic),
			have:   gens{gen(1, exported), gen(2, unready, made(at(-999)))},
			step:   generator.Step{Keep: gens{gen(1, exported), gen(2, unready, made(at(-999)))}, Current: 1, Pending: 2},
		},
		"CurrentDeleted": {
			reason: "somebody deleted it: the former one does not come back, and stays for its grace period",
			want:   once,
			have:   gens{gen(1, left)},
			step:   generator.Step{Keep: gens{gen(1, left)}, Make: 2, Previous: 1, Due: at(25)},
		},
		"CurrentDeletedAndMade": {
			reason: "so it does while the next one gets ready",
			want:   once,
			have:   gens{gen(1, left), gen(2, unready)},
			step:   generator.Step{Keep: gens{gen(1, left), gen(2, unready)}, Previous: 1, Pending: 2, Due: at(25)},
		},
		"StrippedExported": {
			reason: "what is exported was adopted, whatever its annotations say",
			want:   once,
			have:   gens{gen(1, left), gen(2, exported, stripped, unready)},
			step: generator.Step{
				Keep: gens{gen(1, left), gen(2, exported, restored, unready)}, Current: 2, Previous: 1, Due: at(25),
			},
		},
		"StrippedFormer": {
			reason: "it may be in use somewhere: its grace period starts again",
			want:   once,
			have:   gens{gen(1, stripped), gen(2, exported)},
			step: generator.Step{
				Keep:    gens{gen(1, restored, func(g *generator.Generation) { g.Flagged = now }), gen(2, exported)},
				Current: 2, Previous: 1, Due: at(30),
			},
		},
		"StrippedUnready": {
			reason: "nobody knows whether it was in use: the next one does not push it out before it can follow",
			want:   once,
			have:   gens{gen(1, stripped, unready), gen(2, unready)},
			step: generator.Step{
				Keep:    gens{gen(1, unready, restored), gen(2, unready)},
				Pending: 2,
			},
		},
		"StrippedBetween": {
			reason: "it may have been in use, but not after the one that is: its grace period starts",
			want:   once,
			have:   gens{gen(1, exported), gen(2, stripped, unready), gen(3, unready)},
			step: generator.Step{
				Keep: gens{
					gen(1, exported),
					gen(2, unready, retired, restored, func(g *generator.Generation) { g.Flagged = now }),
					gen(3, unready),
				},
				Current: 1, Pending: 3, Due: at(30),
			},
		},
		"Gone": {
			reason: "the generator left the input: what is not exported any more is flagged",
			have:   gens{gen(1, left), gen(2, adopted), gen(3, unready)},
			step:   generator.Step{Keep: gens{gen(1, left), gen(2, flagged(now), retired, recorded(3)), gen(3, unready, retired, func(g *generator.Generation) { g.Flagged = now })}, Due: at(25)},
		},
		"GoneWhilePending": {
			reason: "the number of the pending one must be recorded before it is dropped: the generator may come back",
			have:   gens{gen(1, exported), gen(2, unready, retired, func(g *generator.Generation) { g.Flagged = at(0) })},
			step:   generator.Step{Keep: gens{gen(1, exported, retired, recorded(2)), gen(2, unready, retired, func(g *generator.Generation) { g.Flagged = at(0) })}},
		},
		"GoneWhilePendingIsRecorded": {
			reason: "its number is recorded, and its grace period is over",
			have:   gens{gen(1, exported, retired, recorded(2)), gen(2, unready, retired, func(g *generator.Generation) { g.Flagged = at(0) })},
			step:   generator.Step{Keep: gens{gen(1, exported, retired, recorded(2))}},
		},
		"GoneAndExported": {
			reason: "what is exported is in use",
			have:   gens{gen(1, exported)},
			step:   generator.Step{Keep: gens{gen(1, exported, retired)}},
		},
		"GoneFormerUnflagged": {
			reason: "a former one is no candidate if the generator comes back",
			have:   gens{gen(1, adopted), gen(2, adopted)},
			step:   generator.Step{Keep: gens{gen(1, flagged(now)), gen(2, flagged(now), retired)}, Due: at(30)},
		},
		"GoneAndOver": {
			reason: "all go after their grace period",
			have:   gens{gen(1, over), gen(2, over, retired)},
		},
		"Back": {
			reason: "the flag is taken off before it is given: a flag that is left over would count later",
			want:   once,
			have:   gens{gen(1, left, retired)},
			step:   generator.Step{Keep: gens{gen(1, adopted)}, Pending: 1},
		},
		"BackAndOver": {
			reason: "not too late, as long as it is there",
			want:   once,
			have:   gens{gen(1, over, retired)},
			step:   generator.Step{Keep: gens{gen(1, adopted)}, Pending: 1},
		},
		"BackAndFormer": {
			reason: "only the last one comes back",
			want:   once,
			have:   gens{gen(1, left), gen(2, left, retired)},
			step:   generator.Step{Keep: gens{gen(1, left), gen(2, adopted)}, Previous: 1, Pending: 2, Due: at(25)},
		},
		"BackWithLostWrites": {
			reason: "a flag from when the generator was gone says nothing about one that was followed since",
			want:   once,
			have:   gens{gen(1, over, retired), gen(2, exported)},
			step:   generator.Step{Keep: gens{gen(1, flagged(now)), gen(2, exported)}, Current: 2, Previous: 1, Due: at(30)},
		},
		"BackAfterLastWasDropped": {
			reason: "one that another one took the place of does not come back",
			want:   once,
			have:   gens{gen(1, left)},
			step:   generator.Step{Keep: gens{gen(1, left)}, Make: 2, Previous: 1, Due: at(25)},
		},
		"BackAsAnotherKind": {
			reason: "it is followed by one of that kind",
			want:   wanted("", kind("uuid")),
			have:   gens{gen(1, left, retired)},
			step:   generator.Step{Keep: gens{gen(1, adopted)}, Make: 2, Pending: 1},
		},
		"UnknownToTheState": {
			reason: "one that is there is adopted",
			want:   once,
			have:   gens{gen(7)},
			step:   generator.Step{Keep: gens{gen(7, adopted)}, Pending: 7},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			have := slices.Clone(tc.have)
			got := generator.Next(tc.want, tc.have, now)
			got.Candidate = 0 // TestCandidate checks it
			if diff := cmp.Diff(tc.step, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(have, tc.have); diff != "" {
				t.Errorf("what was given changed: -want, +got:\n%s", diff)
			}
		})
	}
}

func graced(d time.Duration) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.GracePeriod = d }
}

// If a user edits a state, its generation is still not removed before its grace period ends.
func TestReadRecordOfANegativeGracePeriod(t *testing.T) {
	r := generator.ReadRecord(`{"state":{"kind":"uuid","gracePeriod":"-1h"}}`)
	if r.Kind != "uuid" || r.GracePeriod != 0 {
		t.Errorf("read %+v", r)
	}
}

// If the grace period is raised while an export still has the former generation, that one gets it, although the generator
// is removed before the next reconcile.
func TestRaisedGracePeriodIsKept(t *testing.T) {
	desired := wanted(v1beta1.CreatedOnce)
	desired.GracePeriod = time.Hour
	former := gen(1, exported)
	former.GracePeriod = 0

	step := generator.Next(desired, []generator.Generation{former, gen(2, adopted)}, at(0))
	if step.Current != 2 {
		t.Fatalf("generation %d is in use, want 2", step.Current)
	}
	have := step.Keep
	have[0].Exported, have[1].Exported = false, true // the exports have moved

	for minute, want := range map[int]int{1: 2, 59: 2, 61: 1} { // the flag is set at the first minute
		kept := generator.Next(nil, have, at(1)).Keep
		kept[1].Exported = true
		if got := generator.Next(nil, kept, at(minute)).Keep; len(got) != want {
			t.Errorf("minute %d: %d generations are kept, want %d", minute, len(got), want)
		}
	}
}

// Two lists of texts that read the same one after the other are two.
func TestHashRecordsTellTextsApart(t *testing.T) {
	if generator.Hash("a", "bc") == generator.Hash("ab", "c") || generator.Hash("a") == generator.Hash("a", "") {
		t.Error("texts run into each other")
	}
	one := generator.Record{Generation: gen(1)}
	other := generator.Record{Generation: gen(2)}
	if one.Key() == other.Key() {
		t.Error("two generations that wait to be dropped have one key")
	}
}
