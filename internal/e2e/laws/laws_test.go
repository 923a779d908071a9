package laws

import (
	"maps"
	"slices"
	"strings"
	"testing"
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
		"ExportedBeforeItWasAdopted": {
			reason: "the mark comes after the export",
			changes: chapter{"02 adopted": nothing, "03b adopted": func(s *story) {
				s.write(3,
					s.generation(1, true, 0))
			}},
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
		"RotatedUnasked": {
			reason:  "nobody asked for the second generation",
			changes: chapter{"05 asked": nothing},
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
		"NoFormer": {
			reason:  "the former value goes at once, and programs still have it",
			changes: chapter{"08 second exported": func(s *story) { s.write(7, app(2, "")) }},
			want:    []string{"never goes back"},
		},
		"DeletedInUse": {
			reason: "the generation is deleted before the export has another value",
			changes: chapter{
				"08 second exported": nothing, "09 flagged": nothing, "11 grace is over": nothing,
				"12 former is gone": nothing,
				"08a": func(s *story) {
					s.write(8, with(s.generation(1, true, 0),
						func(v *Version) { v.event = "DELETED" }))
				},
				"08b": func(s *story) { s.write(9, app(2, "p1")); s.write(9, app(2, "")) },
			},
			want: []string{"while something exports it", "grace period"},
		},
		"GraceTooShort": {
			reason: "the generation is deleted a second early",
			changes: chapter{
				"11 grace is over": func(s *story) {
					s.write(10, with(s.generation(1, true, 8),
						func(v *Version) { v.event = "DELETED" }))
				},
			},
			want: []string{"grace period"},
		},
		"ChangedWhilePaused": {
			reason:  "Crossplane changes a Secret of a composite that it said is paused",
			changes: chapter{"09b paused": func(s *story) { s.Paused("xr", s.now(), s.at(10)) }},
			want:    []string{"is paused"},
		},
		"GraceTooShortByAWrongClock": {
			reason: "the grace period is measured with a clock that is ahead",
			changes: chapter{
				"09b clock": func(s *story) { s.WrongClock(s.at(9), s.at(10)) },
				"11 grace is over": func(s *story) {
					s.write(10, with(s.generation(1, true, 8),
						func(v *Version) { v.event = "DELETED" }))
				},
			},
		},
		"EditedByAUser": {
			reason: "a user can export anything, and the function writes it again as it was",
			changes: chapter{"10b edited": func(s *story) {
				s.write(10, with(app(2, "p1"), func(v *Version) { v.Data["digest"], v.User = "edited", true }))
				s.write(10, app(2, "p1"))
			}},
		},
		"NeverFlagged": {
			reason: "the generation is deleted and was never flagged",
			changes: chapter{"09 flagged": nothing, "11 grace is over": func(s *story) {
				s.write(12,
					with(s.generation(1, true, 0), func(v *Version) { v.event = "DELETED" }))
			}},
			want: []string{"grace period"},
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
			reason: "programs restart and nothing has changed",
			changes: chapter{"10b again": func(s *story) {
				s.write(10,
					with(account(2), func(v *Version) { v.changes = 3 }))
			}},
			want: []string{"revision of its own"},
		},
		"DeletedExport": {
			reason: "an export is deleted and created again",
			changes: chapter{"10b": func(s *story) {
				s.write(10, with(account(2), func(v *Version) { v.event = "DELETED" }))
				s.write(10, with(account(2), func(v *Version) { v.uid = "another" }))
			}},
			want: []string{"loses a key"},
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
				if !slices.ContainsFunc(slices.Collect(maps.Keys(got)),
					func(law string) bool { return strings.Contains(law, words) }) {
					t.Errorf("%s: did not break the law of %q", tc.reason, words)
				}
			}
		})
	}
}
