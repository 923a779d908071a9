package laws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLaws breaks each law in invented histories.
func TestLaws(t *testing.T) {
	type chapter = map[string]func(s *story)

	nothing := func(*story) {}
	with := func(v Version, change func(v *Version)) Version { change(&v); return v }

	cases := map[string]struct {
		reason  string
		changes chapter
		want    []string // parts of the names of the broken laws
	}{
		"Honest": {reason: "nothing is broken in what is as it should be"},
		"TornValue": {
			reason: "a digest of another password is half of an update",
			changes: chapter{"08 second exported": func(s *story) {
				s.write(7, with(app(2, "p1"), func(v *Version) { v.Data["digest"] = app(1, "").Data["digest"] }))
			}},
			want: []string{"of one moment"},
		},
		"TornGeneration": {
			reason: "two outputs of one generator are of two generations",
			changes: chapter{"08 second exported": func(s *story) {
				s.write(7, with(app(2, "p1"), func(v *Version) { v.Data["token"] = "t1" }))
				s.write(7, app(2, "p1"))
			}},
			want: []string{"of one moment"},
		},
		"TornSource": {
			reason: "user and password of a source are of two moments",
			changes: chapter{"10 source changed": func(s *story) {
				s.Ask("xr", "account")
				s.write(9, with(account(2), func(v *Version) { v.Data["password"] = "password-1" }))
				s.write(9, account(2))
			}},
			want: []string{"of one moment"},
		},
		"WrongAnnotation": {
			reason: "the annotation says that the former generation is exported",
			changes: chapter{"08 second exported": func(s *story) {
				s.write(7, with(app(2, "p1"), func(v *Version) { v.generated = app(1, "").generated }))
			}},
			want: []string{"of one moment"},
		},
		"ExportedBeforeItWasAdopted": {
			reason:  "the mark comes after the export",
			changes: chapter{"02 adopted": nothing, "03b adopted": func(s *story) { s.write(3, s.generation(1, true, 0)) }},
			want:    []string{"stored and adopted"},
		},
		"AdoptedByAnExport": {
			reason: "what an export recorded is stored, and the mark of the generation is lost for a moment",
			changes: chapter{
				"07 second adopted": func(s *story) {
					s.write(6, with(app(1, ""), func(v *Version) { v.known = map[string]lifeStage{"uid-of-xr-admin-2": {Stage: "current"}} }))
				},
				"08b adopted": func(s *story) { s.write(7, s.generation(2, true, 0)) },
			},
		},
		"FlaggedByAnExport": {
			reason: "the time is only in the record of an export that is not judged",
			changes: chapter{
				"09 flagged": func(s *story) {
					s.write(8, Version{Name: "xr-setter", Export: "setter", known: map[string]lifeStage{
						"uid-of-xr-admin-1": {Stage: "previous", Since: s.at(8).Format(time.RFC3339Nano)},
					}})
				},
				"11 grace is over": func(s *story) { s.write(12, with(s.generation(1, true, 0), func(v *Version) { v.event = "DELETED" })) },
			},
		},
		"AdoptedByItsExport": {
			reason: "the export records the mark only together with the value",
			changes: chapter{
				"07 second adopted": nothing,
				"08 second exported": func(s *story) {
					s.write(7, with(app(2, "p1"), func(v *Version) { v.known = map[string]lifeStage{"uid-of-xr-admin-2": {Stage: "current"}} }))
				},
				"08b adopted": func(s *story) { s.write(7, s.generation(2, true, 0)) },
			},
			want: []string{"stored and adopted"},
		},
		"ExportedBeforeItWasStored": {
			reason: "the generation comes after the export",
			changes: chapter{
				"06 second stored": nothing, "07 second adopted": nothing,
				"08b stored": func(s *story) { s.write(7, s.generation(2, true, 0)) },
			},
			want: []string{"stored and adopted"},
		},
		"ExportedWhatIsNowhere": {
			reason: "a value that no generation has",
			changes: chapter{"03 exported": func(s *story) {
				s.write(3, with(app(7, ""), func(*Version) {}))
				s.write(3, app(1, ""))
			}},
			want: []string{"stored and adopted"},
		},
		"Mutable": {
			reason: "a generation that can be edited",
			changes: chapter{
				"01 stored":  func(s *story) { s.write(1, with(s.generation(1, false, 0), func(v *Version) { v.immutable = false })) },
				"02 adopted": func(s *story) { s.write(2, with(s.generation(1, true, 0), func(v *Version) { v.immutable = false })) },
			},
			want: []string{"stored and adopted"},
		},
		"RotatedUnasked": {
			reason:  "nobody asked for the second generation",
			changes: chapter{"05 asked": nothing},
			want:    []string{"asked for"},
		},
		"RotatedBeforeItWasAsked": {
			reason:  "it was asked for only after it was made",
			changes: chapter{"05 asked": nothing, "09b asked": func(s *story) { s.Ask("xr", "admin") }},
			want:    []string{"asked for"},
		},
		"SourceUnwritten": {
			reason: "nobody wrote what is exported",
			changes: chapter{"10 source changed": func(s *story) {
				s.write(9, account(2))
				s.Ask("xr", "account")
			}},
			want: []string{"asked for"},
		},
		"BackToTheFormer": {
			reason: "the former value is exported again for a moment",
			changes: chapter{"08b back": func(s *story) {
				s.write(7, app(1, ""))
				s.write(7, app(2, "p1"))
			}},
			want: []string{"never goes back"},
		},
		"SourceBack": {
			reason: "a source of before is exported again for a moment",
			changes: chapter{"10b back": func(s *story) {
				s.write(9, account(1))
				s.write(9, account(2))
			}},
			want: []string{"never goes back"},
		},
		"NoFormer": {
			reason:  "the former value goes at once, and programs still have it",
			changes: chapter{"08 second exported": func(s *story) { s.write(7, app(2, "")) }},
			want:    []string{"never goes back"},
		},
		"FormerIsTheSame": {
			reason:  "the former value is the one in use",
			changes: chapter{"08 second exported": func(s *story) { s.write(7, app(2, "p2")) }},
			want:    []string{"never goes back"},
		},
		"DeletedInUse": {
			reason: "the generation is deleted before the export has another value",
			changes: chapter{
				"08 second exported": nothing, "09 flagged": nothing, "11 grace is over": nothing, "12 former is gone": nothing,
				"08a": func(s *story) { s.write(8, with(s.generation(1, true, 0), func(v *Version) { v.event = "DELETED" })) },
				"08b": func(s *story) { s.write(9, app(2, "p1")); s.write(9, app(2, "")) },
			},
			want: []string{"while something exports it", "grace period"},
		},
		"FlaggedInUse": {
			reason: "the generation is flagged before the export has another value",
			changes: chapter{
				"08 second exported": func(s *story) { s.write(8, s.generation(1, true, 8)) },
				"09 flagged":         func(s *story) { s.write(8, app(2, "p1")) },
			},
			want: []string{"while something exports it"},
		},
		"GraceTooShort": {
			reason: "the generation is deleted a second early",
			changes: chapter{
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *Version) { v.event = "DELETED" })) },
			},
			want: []string{"grace period"},
		},
		"ChangedWhilePaused": {
			reason:  "Crossplane changes a Secret of a composite that it said is paused",
			changes: chapter{"09b paused": func(s *story) { s.Paused("xr", s.now(), s.at(10)) }},
			want:    []string{"is paused"},
		},
		"ChangedAfterAPause": {
			reason:  "the changes before and after a pause are no changes in it",
			changes: chapter{"09b paused": func(s *story) { s.Paused("xr", s.now(), s.at(9)) }},
		},
		"DeletedInUseByUsage": {
			reason:  "a generation is deleted although a Usage protects it",
			changes: chapter{"09b protected": func(s *story) { s.Protected("uid-of-xr-admin-1", s.now(), s.at(13)) }},
			want:    []string{"a Usage protects it"},
		},
		"GraceTooShortByAWrongClock": {
			reason: "the grace period is measured with a clock that is ahead",
			changes: chapter{
				"09b clock":        func(s *story) { s.WrongClock(s.at(9), s.at(10)) },
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *Version) { v.event = "DELETED" })) },
			},
		},
		"GraceTooShortAfterAWrongClock": {
			reason: "the clock was right again before the generation was flagged",
			changes: chapter{
				"05b clock":        func(s *story) { s.WrongClock(s.at(4), s.at(5)) },
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *Version) { v.event = "DELETED" })) },
			},
			want: []string{"grace period"},
		},
		"FlaggedInTheFuture": {
			reason: "a clock that is ahead stores the flag, and the right clock corrects it: the grace period began before",
			changes: chapter{
				"08b clock": func(s *story) { s.WrongClock(s.at(8), s.at(8)) },
				"09 flagged": func(s *story) {
					s.write(8, s.generation(1, true, 300))
					s.write(8, Version{Name: "xr-setter", Export: "setter", known: map[string]lifeStage{
						"uid-of-xr-admin-1": {Stage: "previous", Since: s.at(300).Format(time.RFC3339Nano)},
					}})
				},
				"11 grace is over": func(s *story) {
					s.write(11, s.generation(1, true, 11))
					s.write(14, with(s.generation(1, true, 11), func(v *Version) { v.event = "DELETED" }))
				},
			},
		},
		"FlaggedInTheFutureAndGoneEarly": {
			reason: "the grace period began when the flag arrived",
			changes: chapter{
				"03b clock":        func(s *story) { s.WrongClock(s.at(3), s.at(4)) },
				"09 flagged":       func(s *story) { s.write(8, s.generation(1, true, 300)) },
				"11 grace is over": func(s *story) { s.write(10, with(s.generation(1, true, 8), func(v *Version) { v.event = "DELETED" })) },
			},
			want: []string{"grace period"},
		},
		"EditedByAUser": {
			reason: "a user can export anything, and the function writes it again as it was",
			changes: chapter{"10b edited": func(s *story) {
				s.write(10, with(app(2, "p1"), func(v *Version) { v.Data["digest"], v.User = "edited", true }))
				s.write(10, app(2, "p1"))
			}},
		},
		"EditedWhilePaused": {
			reason: "a user can change an export of a composite that is paused",
			changes: chapter{
				"10b paused": func(s *story) { s.Paused("xr", s.now(), s.at(12)) },
				"10c edited": func(s *story) {
					s.write(11, with(app(2, "p1"), func(v *Version) { v.Data["digest"], v.User = "edited", true }))
				},
				"11b as it was":     func(s *story) { s.write(12, app(2, "p1")) },
				"12 former is gone": func(s *story) { s.write(13, app(2, "")) },
			},
		},
		"DeletedInUseByAUser": {
			reason: "a user can delete a generation in use, whose value cannot stay beside the next one",
			changes: chapter{
				"08 second exported": nothing, "09 flagged": nothing, "11 grace is over": nothing, "12 former is gone": nothing,
				"08a": func(s *story) {
					s.write(8, with(s.generation(1, true, 0), func(v *Version) { v.event, v.User = "DELETED", true }))
				},
				"08b": func(s *story) { s.write(9, app(2, "")) },
			},
		},
		"NeverFlagged": {
			reason:  "the generation is deleted and was never flagged",
			changes: chapter{"09 flagged": nothing, "11 grace is over": func(s *story) { s.write(12, with(s.generation(1, true, 0), func(v *Version) { v.event = "DELETED" })) }},
			want:    []string{"grace period"},
		},
		"GoneUnseen": {
			reason:  "the generation is not there in the end, and was never flagged",
			changes: chapter{"09 flagged": nothing, "11 grace is over": func(s *story) { delete(s.last, "xr-admin-1") }},
			want:    []string{"grace period"},
		},
		"KeyLost": {
			reason: "a key is gone for a moment",
			changes: chapter{"10b": func(s *story) {
				s.write(10, with(app(2, "p1"), func(v *Version) { delete(v.Data, "token") }))
			}},
			want: []string{"loses a key", "never goes back"},
		},
		"ChangeWithoutRevision": {
			reason: "programs that wait for another revision do not see the change",
			changes: chapter{"10 source changed": func(s *story) {
				s.Ask("xr", "account")
				s.write(9, with(account(2), func(v *Version) { v.changes = 1 }))
			}},
			want: []string{"revision of its own"},
		},
		"RevisionWithoutChange": {
			reason:  "programs restart and nothing has changed",
			changes: chapter{"10b again": func(s *story) { s.write(10, with(account(2), func(v *Version) { v.changes = 3 })) }},
			want:    []string{"revision of its own"},
		},
		"DeletedExport": {
			reason: "an export is deleted and created again",
			changes: chapter{"10b": func(s *story) {
				s.write(10, with(account(2), func(v *Version) { v.event = "DELETED" }))
				s.write(10, with(account(2), func(v *Version) { v.uid = "another" }))
			}},
			want: []string{"loses a key"},
		},
		"ExportGone": {
			reason:  "an export is deleted",
			changes: chapter{"13": func(s *story) { s.write(13, with(account(2), func(v *Version) { v.event = "DELETED" })) }},
			want:    []string{"loses a key", "in the end"},
		},
		"GenerationEdited": {
			reason: "a generation has another value than it was made with",
			changes: chapter{"07b": func(s *story) {
				s.write(7, with(s.generation(2, true, 0), func(v *Version) { v.Data["password"] = "p3" }))
				s.write(7, s.generation(2, true, 0))
			}},
			want: []string{"loses a key"},
		},
		"TwoGenerationsLeft": {
			reason:  "the former generation is never deleted",
			changes: chapter{"11 grace is over": nothing},
			want:    []string{"in the end"},
		},
		"OldValueLeft": {
			reason:  "what is exported is not what is stored",
			changes: chapter{"08 second exported": nothing, "09 flagged": nothing, "11 grace is over": nothing, "12 former is gone": nothing},
			want:    []string{"in the end"},
		},
		"FormerLeft": {
			reason:  "the former value is never taken away",
			changes: chapter{"12 former is gone": nothing},
			want:    []string{"in the end"},
		},
		"SourceBehind": {
			reason:  "what was written last is not exported",
			changes: chapter{"13": func(s *story) { s.Ask("xr", "account") }},
			want:    []string{"in the end"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tell(tc.changes).Judge()
			for law, broken := range got {
				if !slices.ContainsFunc(tc.want, func(words string) bool { return strings.Contains(law, words) }) {
					t.Errorf("%s: broke %q: %s", tc.reason, law, broken)
				}
			}

			for _, words := range tc.want {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(law string) bool { return strings.Contains(law, words) }) {
					t.Errorf("%s: did not break the law of %q", tc.reason, words)
				}
			}
		})
	}
}

// If people delete the generation in use, an earlier one can be in use until the next one is: what is derived from it
// is derived twice.
func TestDerivedAgain(t *testing.T) {
	for _, user := range []bool{true, false} {
		s := newStory()
		s.Generators["hash"] = Rotates{With: "admin"}
		hash := func(n int) Version {
			return Version{Name: fmt.Sprintf("xr-hash-%d", n), Generator: "hash", Number: n, immutable: true}
		}
		s.write(1, s.generation(1, true, 0))
		s.write(2, hash(1))
		s.Ask("xr", "admin") // a rotation
		s.write(3, s.generation(2, true, 0))
		s.write(4, hash(2))
		s.Ask("xr", "admin") // the deletion
		gone := s.generation(2, true, 0)
		gone.event, gone.User = "DELETED", user
		s.write(5, gone)
		s.write(6, hash(3)) // of the first one
		s.write(7, s.generation(3, true, 0))
		s.write(8, hash(4))

		if got := asked(s.lives()); (len(got) > 0) == user {
			t.Errorf("deleted by a user: %t: %q", user, got)
		}
	}
}
