package generator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

func unlisted(g *generator.Generation)  { g.Unlisted = true }
func candidate(g *generator.Generation) { g.Candidate = true }
func offered(g *generator.Generation)   { g.Offered = true }
func abandoned(g *generator.Generation) { g.Abandoned = true }

func offeredAt(minute int) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Offered, g.OfferedAt = true, at(minute) }
}

func waited(minutes int) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Waited = time.Duration(minutes) * time.Minute }
}

func rotation(r string) func(g *generator.Generation) {
	return func(g *generator.Generation) { g.Rotation = r }
}

// failure describes the failure of generation 2 of gen.
func failure(times, minute int) func(g *generator.Generation) {
	request := generator.Hash("password", "s", "k", "r2")
	return func(g *generator.Generation) {
		g.Highest, g.Failure = 2, generator.Failure{Request: request, Number: 2, At: at(minute), Times: times}
	}
}

// verified is a generator that verifies its generations, and for which r2 is requested.
func verified(changes ...func(w *generator.Desired)) *generator.Desired {
	return wanted(v1beta1.OnChange, append([]func(w *generator.Desired){func(w *generator.Desired) {
		w.Verifies, w.AbandonAfter, w.Rotation = true, 15*time.Minute, "r2"
	}}, changes...)...)
}

func TestCandidate(t *testing.T) {
	type gens = []generator.Generation
	cases := map[string]struct {
		reason string
		have   gens
		want   int
	}{
		"None":           {"nothing is stored", nil, 0},
		"First":          {"the first one must be set before it can be verified", gens{gen(1, unready)}, 1},
		"FirstUnlisted":  {"it may not be stored", gens{gen(1, unready, unlisted)}, 0},
		"Current":        {"none is pending", gens{gen(1, exported)}, 1},
		"Pending":        {"it is stored", gens{gen(1, exported), gen(2, unready)}, 2},
		"PendingAndNext": {"the last one is the one that can be adopted", gens{gen(1, exported), gen(2, unready), gen(3, unready)}, 3},
		"Unlisted":       {"it may not be stored", gens{gen(1, exported), gen(2, unready, unlisted)}, 1},
		"Back":           {"its generator was removed, and its flag is taken off first", gens{gen(1, flagged(at(25)), retired)}, 0},
		"Abandoned":      {"the former value must be set again", gens{gen(1, exported), gen(2, unready, candidate, abandoned)}, 1},
		"AbandonedLater": {"a later one is tried", gens{gen(1, exported), gen(2, unready, abandoned), gen(3, unready)}, 3},
		"Failed": {
			"the generation in use says that it was abandoned, and its own mark is lost",
			gens{gen(1, exported, failure(1, 5)), gen(2, unready, candidate)}, 1,
		},
		"FailedBefore": {
			"a later one was also abandoned, and the mark of the first one is lost",
			gens{gen(1, exported, func(g *generator.Generation) { g.Failure = generator.Failure{Number: 3, At: at(5), Times: 1} }), gen(2, unready, candidate)}, 1,
		},
		"Unproven": {
			"another client wrote it",
			gens{gen(1, exported), gen(2, unready, func(g *generator.Generation) { g.Unproven = true })}, 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := generator.Next(verified(), tc.have, at(30)).Candidate; got != tc.want {
				t.Errorf("%s: the candidate is %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAbandon(t *testing.T) {
	type gens = []generator.Generation
	used := gen(1, exported, func(g *generator.Generation) { g.Highest = 2 })
	failed := gen(1, exported, failure(1, 20))
	cases := map[string]struct {
		reason string
		want   *generator.Desired
		have   gens
		now    int
		step   generator.Step
	}{
		"Offers": {
			reason: "the time starts once all who set it have it",
			have:   gens{used, gen(2, unready, candidate, offered)}, now: 3,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(3))}, Current: 1, Pending: 2, Candidate: 2, Due: at(18)},
		},
		"RecordsTheNumber": {
			reason: "it must not be used again",
			have:   gens{gen(1, exported), gen(2, unready)}, now: 3,
			step: generator.Step{Keep: gens{used, gen(2, unready)}, Current: 1, Pending: 2, Candidate: 2},
		},
		"DropsOnceTheNumberIsRecorded": {
			reason: "the request was taken back, so it is not needed",
			want:   verified(func(w *generator.Desired) { w.Policy = v1beta1.CreatedOnce }),
			have:   gens{gen(1, exported, rotation("r2")), gen(2, unready)}, now: 3,
			step: generator.Step{
				Keep:    gens{gen(1, exported, rotation("r2"), func(g *generator.Generation) { g.Highest = 2 }), gen(2, unready)},
				Current: 1, Candidate: 1,
			},
		},
		"NotOffered": {
			reason: "an export does not have it yet",
			have:   gens{used, gen(2, unready, candidate)}, now: 3,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate)}, Current: 1, Pending: 2, Candidate: 2},
		},
		"Waits": {
			reason: "there is time",
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 17,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(3))}, Current: 1, Pending: 2, Candidate: 2, Due: at(18)},
		},
		"Marks": {
			reason: "the mark is stored first, and nothing else changes",
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 18,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(3), abandoned)}, Current: 1, Pending: 2, Candidate: 2, Abandoned: 2,
			},
		},
		"ReadyAtTheLastMoment": {
			reason: "it works, so it is adopted",
			have:   gens{used, gen(2, candidate, offeredAt(3))}, now: 30,
			step: generator.Step{Keep: gens{used, gen(2, candidate, adopted, offered)}, Current: 1, Pending: 2, Candidate: 2},
		},
		"First": {
			reason: "there is no generation to go back to",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }),
			have:   gens{gen(1, unready, candidate, offeredAt(3))}, now: 300,
			step: generator.Step{Keep: gens{gen(1, unready, candidate, offeredAt(3))}, Pending: 1, Candidate: 1},
		},
		"NoLimit": {
			reason: "abandonAfter is not set",
			want:   verified(func(w *generator.Desired) { w.AbandonAfter = 0 }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 3000,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offered)}, Current: 1, Pending: 2, Candidate: 2},
		},
		"Unknown": {
			reason: "while an input of the generator is missing, nothing changes",
			want:   verified(func(w *generator.Desired) { w.Unknown = true }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 300,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(3))}, Current: 1, Pending: 2, Candidate: 2},
		},
		"Superseded": {
			reason: "its value may be set somewhere, so the former value is set again before another one is created",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 4,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(3), abandoned)}, Current: 1, Pending: 2, Candidate: 2, Abandoned: 2, Due: at(18),
			},
		},
		"SupersededBeforeItIsOffered": {
			reason: "no export has its value",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{used, gen(2, unready)}, now: 4,
			step: generator.Step{Keep: gens{used, gen(2, unready)}, Make: 3, Current: 1, Pending: 2, Candidate: 2},
		},
		"MarkObserved": {
			reason: "the generation in use stores the failure, and the abandoned one is kept while an export has it",
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), abandoned)}, now: 20,
			step: generator.Step{
				Keep: gens{failed, gen(2, unready, candidate, offered, abandoned)}, Current: 1, Candidate: 1, Abandoned: 2, Retry: at(80), Due: at(80),
			},
		},
		"MarkOfAnAdopted": {
			reason: "an adopted generation is never abandoned",
			have:   gens{gen(2, exported, abandoned)}, now: 20,
			step: generator.Step{Keep: gens{gen(2, exported)}, Current: 2, Candidate: 2},
		},
		"LetGo": {
			reason: "the grace period starts once no export has it",
			have:   gens{failed, gen(2, unready, abandoned)}, now: 21,
			step: generator.Step{
				Keep:    gens{failed, gen(2, unready, abandoned, func(g *generator.Generation) { g.Flagged = at(21) })},
				Current: 1, Candidate: 1, Abandoned: 2, Retry: at(80), Due: at(31),
			},
		},
		"Dropped": {
			reason: "the grace period is over",
			have:   gens{failed, gen(2, unready, abandoned, func(g *generator.Generation) { g.Flagged = at(21) })}, now: 31,
			step: generator.Step{Keep: gens{failed}, Current: 1, Candidate: 1, Abandoned: 2, Retry: at(80), Due: at(80)},
		},
		"ReadyTooLate": {
			reason: "a marked generation is never adopted",
			have:   gens{failed, gen(2, candidate, abandoned)}, now: 31,
			step: generator.Step{Keep: gens{failed, gen(2, candidate, abandoned)}, Current: 1, Candidate: 1, Abandoned: 2, Retry: at(80), Due: at(80)},
		},
		"TriedAgain": {
			reason: "an hour has passed, and its number is not used again",
			have:   gens{failed}, now: 80,
			step: generator.Step{Keep: gens{failed}, Make: 3, Current: 1, Candidate: 1},
		},
		"AnotherRequest": {
			reason: "it may be the one that works",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{failed}, now: 21,
			step: generator.Step{Keep: gens{failed}, Make: 3, Current: 1, Candidate: 1},
		},
		"NoRequest": {
			reason: "it was taken back",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }),
			have:   gens{failed}, now: 21,
			step: generator.Step{Keep: gens{failed}, Current: 1, Candidate: 1},
		},
		"SecondFailure": {
			reason: "the same request failed twice",
			have:   gens{failed, gen(3, unready, abandoned, rotation("r2"))}, now: 100,
			step: generator.Step{
				Keep: gens{
					gen(1, exported, failure(2, 100), func(g *generator.Generation) { g.Highest, g.Failure.Number = 3, 3 }),
					gen(3, unready, abandoned, rotation("r2"), func(g *generator.Generation) { g.Flagged = at(100) }),
				},
				Current: 1, Candidate: 1, Abandoned: 3, Retry: at(220), Due: at(110),
			},
		},
		"Paused": {
			reason: "the time in which the composite was paused does not count",
			want:   verified(func(w *generator.Desired) { w.PausedAt = at(10) }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 60,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, Current: 1, Pending: 2, Candidate: 2, Due: at(68),
			},
		},
		"PausedSeenTwice": {
			reason: "the observed composite may be old",
			want:   verified(func(w *generator.Desired) { w.PausedAt = at(10) }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, now: 61,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, Current: 1, Pending: 2, Candidate: 2, Due: at(68),
			},
		},
		"BackAfterItsGeneratorWasRemoved": {
			reason: "the time in which the generator was removed does not count",
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), retired, func(g *generator.Generation) { g.Flagged = at(10) })}, now: 60,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, Current: 1, Pending: 2, Candidate: 2, Due: at(68),
			},
		},
		"BackAfterItsGeneratorWasRemovedAndPaused": {
			reason: "the time stops at the first of both",
			want:   verified(func(w *generator.Desired) { w.PausedAt = at(40) }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), retired, func(g *generator.Generation) { g.Flagged = at(10) })}, now: 60,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, Current: 1, Pending: 2, Candidate: 2, Due: at(68),
			},
		},
		"AbandonedAfterItsGeneratorWasRemoved": {
			reason: "its grace period does not start before it is abandoned",
			have:   gens{used, gen(2, unready, candidate, offeredAt(15), retired, func(g *generator.Generation) { g.Flagged = at(10) })}, now: 30,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(15), abandoned)}, Current: 1, Pending: 2, Candidate: 2, Abandoned: 2,
			},
		},
		"DropsOnceTheFailureIsRecorded": {
			reason: "otherwise, the same request could start at once",
			want:   verified(func(w *generator.Desired) { w.GracePeriod = 0 }),
			have:   gens{used, gen(2, unready, abandoned, func(g *generator.Generation) { g.Flagged, g.GracePeriod = at(20), 0 })}, now: 20,
			step: generator.Step{
				Keep: gens{gen(1, exported, failure(1, 20), func(g *generator.Generation) { g.GracePeriod = 0 }),
					gen(2, unready, abandoned, func(g *generator.Generation) { g.Flagged, g.GracePeriod = at(20), 0 })},
				Current: 1, Candidate: 1, Abandoned: 2, Retry: at(80), Due: at(80),
			},
		},
		"BackAfterAnEarlierPause": {
			reason: "the pause was before it was offered",
			want:   verified(func(w *generator.Desired) { w.PausedAt = at(1) }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), retired, func(g *generator.Generation) { g.Flagged = at(10) })}, now: 60,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, Current: 1, Pending: 2, Candidate: 2, Due: at(68),
			},
		},
		"UnlistedIsOffered": {
			reason: "its time starts once the composite lists it",
			have:   gens{used, gen(2, unready, candidate, offered, unlisted)}, now: 3,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offered, unlisted)}, Current: 1, Pending: 2, Candidate: 1},
		},
		"UnlistedIsLate": {
			reason: "the mark could not be stored",
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), unlisted)}, now: 300,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(3), unlisted)}, Current: 1, Pending: 2, Candidate: 1},
		},
		"UnlistedIsReady": {
			reason: "it is adopted once it is listed, and not abandoned before",
			have:   gens{used, gen(2, candidate, offeredAt(3), unlisted)}, now: 5,
			step: generator.Step{Keep: gens{used, gen(2, candidate, offeredAt(3), unlisted)}, Current: 1, Pending: 2, Candidate: 1},
		},
		"CurrentIsRequestedAgain": {
			reason: "the generation in use is never abandoned",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{gen(1, exported, unready, candidate)}, now: 3,
			step: generator.Step{Keep: gens{gen(1, exported, unready, candidate)}, Make: 2, Current: 1, Candidate: 1},
		},
		"SupersededCandidate": {
			reason: "an export has its value, even if not all do: the former value is set again first",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{used, gen(2, unready, candidate)}, now: 4,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, abandoned)}, Current: 1, Pending: 2, Candidate: 2, Abandoned: 2},
		},
		"SupersededAfterItWasOffered": {
			reason: "it was set somewhere, even if no export has it now",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{used, gen(2, unready, offeredAt(3))}, now: 4,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, offeredAt(3), abandoned)}, Current: 1, Pending: 2, Candidate: 2, Abandoned: 2, Due: at(18),
			},
		},
		"FirstWaits": {
			reason: "it is not abandoned, so there is nothing to wait for",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }),
			have:   gens{gen(1, unready, candidate, offeredAt(3))}, now: 5,
			step: generator.Step{Keep: gens{gen(1, unready, candidate, offeredAt(3))}, Pending: 1, Candidate: 1},
		},
		"MarkLost": {
			reason: "another client removed the mark, and the generation in use has recorded the failure",
			have:   gens{failed, gen(2, unready, candidate)}, now: 21,
			step: generator.Step{
				Keep: gens{failed, gen(2, unready, candidate, abandoned)}, Current: 1, Candidate: 1, Abandoned: 2, Retry: at(80), Due: at(80),
			},
		},
		"MarkOfAnAdoptedThatIsNotExported": {
			reason: "its value may be in use",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }),
			have:   gens{gen(1, exported), gen(2, adopted, abandoned)}, now: 20,
			step: generator.Step{Keep: gens{gen(1, exported), gen(2, adopted)}, Current: 2, Previous: 1, Candidate: 2},
		},
		"MarkOfAnExported": {
			reason: "its value is in use, even if its own mark of that is lost",
			want:   verified(func(w *generator.Desired) { w.Rotation = "" }),
			have:   gens{gen(2, exported, notMarked, abandoned)}, now: 20,
			step: generator.Step{Keep: gens{gen(2, exported)}, Current: 2, Candidate: 2},
		},
		"LeftOverBeforeTheOneInUse": {
			reason: "it was superseded, and did not fail",
			have: gens{gen(1, unready), gen(3, exported, func(g *generator.Generation) {
				g.Highest, g.Failure = 4, generator.Failure{Number: 4, At: at(1), Times: 1}
			}, rotation("r2"))}, now: 20,
			step: generator.Step{
				Keep: gens{gen(3, exported, func(g *generator.Generation) {
					g.Highest, g.Failure = 4, generator.Failure{Number: 4, At: at(1), Times: 1}
				}, rotation("r2"))}, Current: 3, Candidate: 3,
			},
		},
		"AdoptedAndUnlisted": {
			reason: "a generation that was adopted does not wait any more",
			have:   gens{used, gen(2, adopted, unlisted, offeredAt(3)), gen(3, unready, rotation("r2"))}, now: 5,
			step: generator.Step{
				Keep: gens{
					gen(1, exported, func(g *generator.Generation) { g.Highest = 3 }), gen(2, adopted, unlisted, offered), gen(3, unready, rotation("r2")),
				}, Current: 1, Pending: 3, Candidate: 3,
			},
		},
		"AnotherFailure": {
			reason: "another request failed, so it is tried again after an hour",
			want:   verified(func(w *generator.Desired) { w.Rotation = "r3" }),
			have:   gens{gen(1, exported, failure(3, 20)), gen(3, unready, abandoned)}, now: 100,
			step: generator.Step{
				Keep: gens{
					gen(1, exported, func(g *generator.Generation) {
						g.Highest = 3
						g.Failure = generator.Failure{Request: generator.Hash("password", "s", "k", "r3"), Number: 3, At: at(100), Times: 1}
					}),
					gen(3, unready, abandoned, flag(100)),
				},
				Current: 1, Candidate: 1, Abandoned: 3, Retry: at(160), Due: at(110),
			},
		},
		"RequestIsFulfilled": {
			reason: "the generation in use was created for the request that had failed, so only time requires the next one",
			want:   verified(func(w *generator.Desired) { w.Policy, w.Interval = v1beta1.Periodic, time.Hour }),
			have:   gens{gen(1, exported, rotation("r2"), failure(1, 20))}, now: 21,
			step: generator.Step{
				Keep: gens{gen(1, exported, rotation("r2"), failure(1, 20))}, Current: 1, Candidate: 1, Due: at(60),
			},
		},
		"UnknownAfterAFailure": {
			reason: "while an input of the generator is missing, nothing is tried again",
			want:   verified(func(w *generator.Desired) { w.Unknown = true }),
			have:   gens{failed}, now: 21,
			step: generator.Step{Keep: gens{failed}, Current: 1, Candidate: 1},
		},
		"PausedByAClockThatIsAhead": {
			reason: "the pause would begin in the future",
			want:   verified(func(w *generator.Desired) { w.PausedAt = at(70) }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3))}, now: 10,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(3))}, Current: 1, Pending: 2, Candidate: 2, Due: at(18)},
		},
		"PausedAndThenRemoved": {
			reason: "the time stops at the first of both",
			want:   verified(func(w *generator.Desired) { w.PausedAt = at(10) }),
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), retired, flag(40))}, now: 60,
			step: generator.Step{
				Keep: gens{used, gen(2, unready, candidate, offeredAt(60), waited(7))}, Current: 1, Pending: 2, Candidate: 2, Due: at(68),
			},
		},
		"FlaggedByAnotherClient": {
			reason: "the generator was not removed, so the time goes on",
			have:   gens{used, gen(2, unready, candidate, offeredAt(3), flag(10))}, now: 12,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(3))}, Current: 1, Pending: 2, Candidate: 2, Due: at(18)},
		},
		"AClockWasAhead": {
			reason: "a time in the future would never come",
			have:   gens{used, gen(2, unready, candidate, offeredAt(300))}, now: 5,
			step: generator.Step{Keep: gens{used, gen(2, unready, candidate, offeredAt(5))}, Current: 1, Pending: 2, Candidate: 2, Due: at(20)},
		},
		"FormerIsStillACandidate": {
			reason: "the export that sets it does not have the next one yet",
			have:   gens{gen(1, adopted, candidate), gen(2, exported)}, now: 5,
			step: generator.Step{Keep: gens{gen(1, adopted, candidate), gen(2, exported)}, Current: 2, Previous: 1, Candidate: 2},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := tc.want
			if want == nil {
				want = verified()
			}
			have := slices.Clone(tc.have)
			if diff := cmp.Diff(tc.step, generator.Next(want, tc.have, at(tc.now))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(have, tc.have); diff != "" {
				t.Errorf("what was given changed: -want, +got:\n%s", diff)
			}
		})
	}
}

// The same request is tried again after 1, 2, 4, 8, 16, and then each 24 hours.
func TestRetries(t *testing.T) {
	for times, hours := range map[int]int{1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 24, 7: 24, 1000: 24} {
		used := gen(1, exported, failure(times, 0))
		got := generator.Next(verified(), []generator.Generation{used}, at(1))
		if want := at(60 * hours); got.Make != 0 || !got.Retry.Equal(want) {
			t.Errorf("after %d failures, the next try is at %s, want %s", times, got.Retry, want)
		}
	}
}

// A rotation that only time requires is tried again in its window. Until then, the failure is not forgotten.
func TestRetriesInTheWindow(t *testing.T) {
	const hour = 60
	want := verified(func(w *generator.Desired) {
		w.Policy, w.Interval, w.Window = v1beta1.Periodic, time.Hour, window(t, "0 2 * * *", 2*time.Hour, "")
	})
	cases := map[string]struct {
		reason      string
		rotation    string // that the generation in use was created for
		failed, now int
		make, retry int
	}{
		"InTheWindow":  {"the window is open in an hour", "r2", 2*hour + 15, 2*hour + 20, 0, 3*hour + 15},
		"Now":          {"the window is still open", "r2", 2*hour + 15, 3*hour + 15, 3, 0},
		"InTheNextOne": {"the window closes before", "r2", 3*hour + 15, 3*hour + 20, 0, 26 * hour},
		"Closed":       {"an hour has passed, but the window is closed", "r2", 3*hour + 15, 5 * hour, 0, 26 * hour},
		"ClosedAgain":  {"the window was open after an hour, and has closed since", "r2", 15, 5 * hour, 0, 26 * hour},
		"Requested":    {"somebody asked for it, so it does not wait for the window", "r1", 3*hour + 15, 3*hour + 20, 0, 4*hour + 15},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			used := gen(1, exported, rotation(tc.rotation), failure(1, tc.failed))
			got := generator.Next(want, []generator.Generation{used}, at(tc.now))
			retry := time.Time{}
			if tc.retry > 0 {
				retry = at(tc.retry)
			}
			if got.Make != tc.make || !got.Retry.Equal(retry) || !got.Due.Equal(retry) {
				t.Errorf("%s: it creates %d, tries again at %s, and is due at %s, want %d and %s",
					tc.reason, got.Make, got.Retry, got.Due, tc.make, retry)
			}
		})
	}
}

// The record of an abandoned rotation can be read again, and a number that no generation can
// have is left out.
func TestRecordOfAnAbandonedRotation(t *testing.T) {
	want := generator.Record{Generator: "admin", Generation: gen(1, failure(3, 7), abandoned, waited(2), func(g *generator.Generation) {
		g.OfferedAt, g.Ready = at(5), false
	})}
	text := want.Annotation(nil)
	got := generator.ReadRecord(text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	text = strings.ReplaceAll(text, `"generation":2`, fmt.Sprintf(`"generation":%d`, 1<<40))
	if got := generator.ReadRecord(text).Failure; got != (generator.Failure{}) {
		t.Errorf("read %+v", got)
	}
}

// A failure that is later than now cannot delay a rotation for longer than one that happens now.
func TestFailureOfTheFuture(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w := generator.Desired{Policy: v1beta1.Periodic, Interval: time.Hour, Kind: "resource", SpecHash: "s", Verifies: true, AbandonAfter: time.Minute}
	used := generator.Generation{
		Number: 1, Kind: "resource", Made: now.Add(-24 * time.Hour), SpecHash: "s", Adopted: true, Ready: true, Exported: true,
		Failure: generator.Failure{Request: generator.Hash("resource", "s", "", ""), Number: 2, At: now.AddDate(900, 0, 0), Times: 1},
	}
	step := generator.Next(&w, []generator.Generation{used}, now)
	if want := now.Add(limits.FirstRetry); !step.Retry.Equal(want) || !step.Keep[0].Failure.At.Equal(now) {
		t.Errorf("Next(...): want a retry at %s, got %s, and %v", want, step.Retry, step.Keep[0].Failure)
	}
	if step = generator.Next(&w, step.Keep, now.Add(limits.FirstRetry)); step.Make != 3 {
		t.Errorf("Next(...): want generation 3, got %d: a number up to that of the failure would count as abandoned", step.Make)
	}
}
