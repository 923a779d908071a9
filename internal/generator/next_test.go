package generator_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

func unproven(g *generator.Generation)  { g.Unproven = true }
func notMarked(g *generator.Generation) { g.Adopted = false }
func forgotten(g *generator.Generation) { g.Made = time.Time{} } // its state, but not what it was created from

// flag sets only the flag.
func flag(minute int) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Flagged = at(minute) }
}

func specified(hash string) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.SpecHash = hash }
}

// TestNextKeeps says what becomes of generations in states that are rare, because another client, a lost write, or a
// stale observation caused them.
func TestNextKeeps(t *testing.T) {
	type gens = []generator.Generation
	once := wanted(v1beta1.CreatedOnce)
	cases := map[string]struct {
		reason string
		want   *generator.Desired
		have   gens
		step   generator.Step
	}{
		"NotExportedYet": {
			reason: "the one in use is not flagged while the next one is pending, even if no export has it",
			want:   once, have: gens{gen(1, adopted), gen(2, unready)},
			step: generator.Step{Keep: gens{gen(1, adopted), gen(2, unready)}, Current: 1, Pending: 2, Candidate: 2},
		},
		"UnlistedReady": {
			reason: "one that the composite does not list may not be stored, so it is not adopted",
			want:   once, have: gens{gen(1, exported), gen(2, unlisted)},
			step: generator.Step{Keep: gens{gen(1, exported), gen(2, unlisted)}, Current: 1, Pending: 2, Candidate: 1},
		},
		"UnlistedAdopted": {
			reason: "its mark does not count before the composite lists it",
			want:   once, have: gens{gen(1, exported), gen(2, adopted, unlisted)},
			step: generator.Step{Keep: gens{gen(1, exported), gen(2, adopted, unlisted)}, Current: 1, Pending: 2, Candidate: 1},
		},
		"UnlistedExported": {
			reason: "its value is in use, but must not be read again before the composite lists it",
			want:   once, have: gens{gen(1, exported, unlisted)},
			step: generator.Step{Keep: gens{gen(1, exported, unlisted)}, Pending: 1},
		},
		"UnlistedSuperseded": {
			reason: "Crossplane would forget it, and not delete it",
			want:   once, have: gens{gen(1, exported), gen(2, unready, unlisted), gen(3, unready)},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, unready, unlisted), gen(3, unready)}, Current: 1, Pending: 3, Candidate: 3,
			},
		},
		"UnlistedFormer": {
			reason: "its grace period is over, but Crossplane would forget it",
			want:   once, have: gens{gen(1, flagged(at(5)), unlisted), gen(2, exported)},
			step: generator.Step{Keep: gens{gen(1, flagged(at(5)), unlisted), gen(2, exported)}, Current: 2, Candidate: 2},
		},
		"FlaggedAndSuperseded": {
			reason: "the generator was removed for some time, in which it may have become ready: it has its grace period",
			want:   once, have: gens{gen(1, exported), gen(2, unready, flag(15)), gen(3, unready)},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, unready, flag(15)), gen(3, unready)}, Current: 1, Pending: 3, Candidate: 3, Due: at(25),
			},
		},
		"FormerCandidate": {
			reason: "an export still sets it, but it was never in use: it is not previous, and its time does not start",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }), have: gens{gen(1, candidate, offered), gen(2, exported)},
			step: generator.Step{Keep: gens{gen(1, candidate, offered), gen(2, exported)}, Current: 2, Candidate: 2},
		},
		"FormerBeforeADeletedOne": {
			reason: "the flag of the second says that a third replaced it, so the first does not come back",
			want:   once, have: gens{gen(1, adopted), gen(2, flagged(at(15)))},
			step: generator.Step{Keep: gens{gen(1, flagged(at(20))), gen(2, flagged(at(15)))}, Make: 3, Previous: 2, Due: at(25)},
		},
		"ForgottenAndFlagged": {
			reason: "its flag says that another one replaced it, so it does not come back",
			want:   once, have: gens{gen(1, forgotten, flag(15))},
			step: generator.Step{Keep: gens{gen(1, forgotten, flag(15))}, Make: 2, Previous: 1, Due: at(25)},
		},
		"ForgottenBeforeADeletedOne": {
			reason: "nor does an earlier one",
			want:   once, have: gens{gen(1, forgotten, flag(15)), gen(2, flagged(at(16)))},
			step: generator.Step{Keep: gens{gen(1, forgotten, flag(15)), gen(2, flagged(at(16)))}, Make: 3, Previous: 2, Due: at(25)},
		},
		"ForgottenAndAbandoned": {
			reason: "a generation that never worked is not previous, even if its age is unknown",
			want:   once, have: gens{gen(1, forgotten, abandoned, flag(15)), gen(2, exported)},
			step: generator.Step{
				Keep: gens{gen(1, forgotten, abandoned, flag(15)), gen(2, exported)}, Current: 2, Candidate: 2, Abandoned: 1, Due: at(25),
			},
		},
		"Unproven": {
			reason: "its state is not believed: it is flagged, and neither used nor previous",
			want:   once, have: gens{gen(1, exported), gen(2, exported, unproven)},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, unproven, flag(20))}, Current: 1, Candidate: 1, Due: at(30),
			},
		},
		"UnprovenAndForgotten": {
			reason: "the same holds if its age is unknown",
			want:   once, have: gens{gen(1, exported), gen(2, forgotten, unproven)},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, forgotten, unproven, flag(20))}, Current: 1, Candidate: 1, Due: at(30),
			},
		},
		"FirstAbandoned": {
			reason: "nothing else is in use, and its grace period is over",
			want:   once, have: gens{gen(1, unready, abandoned, flag(5))},
			step: generator.Step{Make: 2, Abandoned: 1},
		},
		"FirstSuperseded": {
			reason: "nothing is in use that could record its number, and the next one has a higher number",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }), have: gens{gen(1, unready), gen(2, unready)},
			step: generator.Step{Keep: gens{gen(2, unready)}, Pending: 2, Candidate: 2},
		},
		"GoneForgotten": {
			reason: "its own grace period is unknown, so it has the longest usual one",
			have:   gens{gen(1, forgotten)},
			step: generator.Step{
				Keep: gens{gen(1, forgotten, retired, flag(20), graced(limits.LostGracePeriod))}, Due: at(20).Add(limits.LostGracePeriod),
			},
		},
		"GoneWhileTwoAreExported": {
			reason: "either may be the last one that is left, so both record the highest number",
			have:   gens{gen(1, exported), gen(2, exported), gen(3, unready, retired, flag(15))},
			step: generator.Step{Keep: gens{
				gen(1, exported, recorded(3)), gen(2, exported, retired, recorded(3)), gen(3, unready, retired, flag(15)),
			}, Due: at(25)},
		},
		"GoneUnlisted": {
			reason: "its grace period is over, but Crossplane would forget it",
			have:   gens{gen(1, flagged(at(5)), retired, unlisted)},
			step:   generator.Step{Keep: gens{gen(1, flagged(at(5)), retired, unlisted)}},
		},
		"UnlistedForgotten": {
			reason: "it is not previous: its value must not be read before the composite lists it",
			want:   once, have: gens{gen(1, exported, unlisted), gen(2, forgotten, unlisted), gen(3, unready)},
			step: generator.Step{
				Keep:    gens{gen(1, exported, unlisted), gen(2, forgotten, unlisted, retired, flag(20)), gen(3, unready)},
				Pending: 3, Candidate: 3, Due: at(30),
			},
		},
		"FirstOfAnInterval": {
			reason: "its interval starts when it is created, so nothing is due before",
			want:   wanted(v1beta1.Periodic), step: generator.Step{Make: 1},
		},
		"GoneTwice": {
			reason: "the next call changes nothing",
			have:   gens{gen(1, flagged(at(15)), retired)},
			step:   generator.Step{Keep: gens{gen(1, flagged(at(15)), retired)}, Due: at(25)},
		},
		"GoneAfterItWasReplaced": {
			reason: "it does not come back with the generator, because another one had replaced it",
			have:   gens{gen(1, flagged(at(15)))},
			step:   generator.Step{Keep: gens{gen(1, flagged(at(15)))}, Due: at(25)},
		},
		"GoneAndNotRecorded": {
			reason: "the one in use is dropped before it records the number of the next one, which is kept once",
			have:   gens{gen(1, flagged(at(5)), retired), gen(2, unready, retired, flag(15))},
			step:   generator.Step{Keep: gens{gen(2, unready, retired, flag(15))}, Due: at(25)},
		},
		"GoneInOrder": {
			reason: "the order of the generations is that of their numbers, so the response does not change without a reason",
			have:   gens{gen(1, exported), gen(2, unready, retired, flag(5)), gen(3, unready, retired, flag(15))},
			step: generator.Step{Keep: gens{
				gen(1, exported, retired, recorded(3)), gen(2, unready, retired, flag(5)), gen(3, unready, retired, flag(15)),
			}, Due: at(25)},
		},
		"KindForgotten": {
			reason: "an annotation that was edited does not replace a value that is in use",
			want:   once, have: gens{gen(1, exported, func(g *generator.Generation) { g.Kind = "" })},
			step: generator.Step{
				Keep: gens{gen(1, exported, func(g *generator.Generation) { g.Kind = "" })}, Current: 1, Candidate: 1,
			},
		},
		"CurrentNotReady": {
			reason: "a change of the generator does not replace one that is in use, even while it is not ready",
			want:   wanted(v1beta1.CreatedOnce, spec("t")), have: gens{gen(1, exported, unready)},
			step: generator.Step{Keep: gens{gen(1, exported, unready)}, Current: 1, Candidate: 1},
		},
		"PendingOfAMistake": {
			reason: "it may never become ready because of a mistake that is now corrected, so each policy replaces it",
			want:   wanted(v1beta1.CreatedOnce, spec("t")), have: gens{gen(1, exported), gen(2, unready, made(at(-60)))},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, unready, made(at(-60)))}, Make: 3, Current: 1, Pending: 2, Candidate: 2,
			},
		},
		"PendingOfAMistakeIsNew": {
			reason: "a generator that changes with each reconcile does not create a generation each time",
			want:   wanted(v1beta1.CreatedOnce, spec("t")), have: gens{gen(1, exported), gen(2, unready, made(at(20)))},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, unready, made(at(20)))}, Current: 1, Pending: 2, Candidate: 2,
				Due: at(20).Add(limits.RefreshInterval),
			},
		},
		"PendingIsReady": {
			reason: "it works, so a change of the generator does not replace it",
			want:   wanted(v1beta1.CreatedOnce, spec("t")), have: gens{gen(1, exported), gen(2, made(at(-60)))},
			step: generator.Step{
				Keep: gens{gen(1, exported), gen(2, adopted, made(at(-60)))}, Current: 1, Pending: 2, Candidate: 2,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.step, generator.Next(tc.want, tc.have, at(20))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNextAdopts says which generation is still adopted after the request that created it has changed.
func TestNextAdopts(t *testing.T) {
	same := rotation("r1") // the rotation of the generation in use
	renews := func(g *generator.Generation) { g.RenewAt = at(500) }
	cases := map[string]struct {
		reason     string
		want       *generator.Desired
		used, last []func(g *generator.Generation)
		adopts     bool
	}{
		"OnChange":      {"nothing asks for it any more", wanted(v1beta1.OnChange), nil, with(same), false},
		"NoRotation":    {"an annotation that was removed asked for nothing", wanted(""), nil, with(rotation("")), false},
		"Rotation":      {"somebody asked for it", wanted(""), nil, nil, true},
		"Spec":          {"the generator changed", wanted(v1beta1.OnChange), nil, with(same, specified("t")), true},
		"SpecOnce":      {"under this policy, no change of the generator asks for one", wanted(""), nil, with(same, specified("t")), false},
		"Keepers":       {"the keepers changed", wanted(v1beta1.OnChange), nil, with(same, func(g *generator.Generation) { g.KeepersHash = "l" }), true},
		"Periodic":      {"time asked for it", wanted(v1beta1.Periodic), nil, with(same), true},
		"Renewed":       {"the one in use ends", wanted(v1beta1.OnChange), with(renews), with(same), true},
		"Unknown":       {"while an input is missing, nothing is dropped", wanted("", unknown), nil, with(same), true},
		"StaleUsed":     {"the one in use does not fit its source", wanted(""), with(outdated), with(same), true},
		"ForgottenUsed": {"it is unknown what the one in use was created for", wanted(""), with(forgotten), with(same), true},
		"Forgotten":     {"it may have been in use", wanted(""), nil, with(same, forgotten), true},
		"Adopted":       {"its value may be in use", wanted(""), nil, with(same, adopted, unlisted), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			used, last := gen(1, exported), gen(2)
			for _, s := range tc.used {
				s(&used)
			}
			for _, s := range tc.last {
				s(&last)
			}
			got := generator.Next(tc.want, []generator.Generation{used, last}, at(1))
			if adopts := got.Pending == 2; adopts != tc.adopts {
				t.Errorf("%s: adopted is %t, want %t", tc.reason, adopts, tc.adopts)
			}
		})
	}
	if got := generator.Next(wanted(""), []generator.Generation{gen(1, rotation(""))}, at(1)); got.Pending != 1 {
		t.Errorf("the first generation is adopted without a request: the pending one is %d", got.Pending)
	}
}
