package generator

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTrusted(t *testing.T) {
	knows := func(uids ...string) func(string) bool {
		return func(uid string) bool { return slices.Contains(uids, uid) }
	}
	root := Claim{Number: 1, UID: "a", Listed: true, Whole: true, Proves: knows()}
	next := Claim{Number: 2, UID: "b", Whole: true, Follows: []string{"a"}, Proves: knows("a")}
	forged, half, unlisted, lost := next, next, root, root
	forged.Proves, half.Whole, unlisted.Listed, lost.Lost = knows(), false, false, true
	codeless, codelessLost := next, next
	codeless.Proves, codelessLost.Proves, codelessLost.Lost = nil, nil, true
	recorded := Known{Recorded: map[string]int{"a": 1}}
	unchanged := func(uid string, number int) Claim {
		return Claim{Number: number, UID: uid, Listed: true, Whole: true, Proves: knows()}
	}
	flagged := func(c Claim) Claim { c.Flagged = true; return c }
	former := func(uid string, number int) Claim {
		c := flagged(unchanged(uid, number))
		c.Adopted = true
		return c
	}
	changed := func(uid string, number int) Claim { c := unchanged(uid, number); c.Lost = true; return c }
	lostFormer := former("a", 1)
	lostFormer.Lost = true
	twenty := map[string]int{}
	for i := range 20 {
		twenty[fmt.Sprintf("b%d", i+1)] = i + 1
	}
	cases := map[string]struct {
		reason   string
		claims   []Claim
		known    Known
		want     []string
		impostor string
	}{
		"None":     {reason: "there is no object"},
		"Root":     {reason: "the very first is listed and whole", claims: []Claim{root}, want: []string{"a"}},
		"Unlisted": {reason: "the very first must be listed", claims: []Claim{unlisted}},
		"Next":     {reason: "it proves that it follows", claims: []Claim{next, root}, want: []string{"a", "b"}},
		"Forged":   {reason: "it has no code", claims: []Claim{root, forged}, want: []string{"a"}},
		"Half":     {reason: "it is not as a step creates it", claims: []Claim{root, half}, want: []string{"a"}},
		"Codeless": {reason: "this kind has no codes", claims: []Claim{root, codeless}, want: []string{"a", "b"}},
		"CodelessLost": {
			reason: "another writer changed it", claims: []Claim{root, codelessLost}, want: []string{"a"},
		},
		"LostRoot": {reason: "a lost state is no other object", claims: []Claim{lost}, want: []string{"a"}},
		"Impostor": {
			reason: "another object has the number of the one in use", known: recorded,
			claims: []Claim{{Number: 1, UID: "x", Listed: true, Whole: true}}, impostor: "x",
		},
		"UnlistedInUse": {
			reason: "the recorded object is not listed", known: recorded, claims: []Claim{unlisted}, impostor: "a",
		},
		"Accepted": {
			reason: "the owner accepts it", claims: []Claim{unlisted}, want: []string{"a"},
			known: Known{Recorded: map[string]int{"a": 1}, Accepted: map[string]bool{"a": true}},
		},
		"Deleted": {
			reason: "it proves that it follows a recorded one", known: recorded, claims: []Claim{next}, want: []string{"b"},
		},
		"DeletedLater": {
			reason: "it cannot follow one of its own number", claims: []Claim{next},
			known: Known{Recorded: map[string]int{"a": 2, "c": 3}},
		},
		"Former": {
			reason: "the used one says that it follows it", want: []string{"a", "b"},
			claims: []Claim{unlisted, {Number: 2, UID: "b", Listed: true, Follows: []string{"a"}}},
			known:  Known{Recorded: map[string]int{"b": 2}},
		},
		"RecordedAsFormer": {
			reason: "it is listed", claims: []Claim{{Number: 1, UID: "a", Listed: true}}, want: []string{"a"},
			known: Known{Former: map[string]bool{"a": true}},
		},
		"UnlistedFormer": {
			reason: "it is not listed", claims: []Claim{{Number: 1, UID: "a"}},
			known: Known{Former: map[string]bool{"a": true}},
		},
		"DeletedHigher": {
			reason: "an export recorded a later one, so it is not the very first", claims: []Claim{root},
			known: Known{Recorded: map[string]int{"z": 3}},
		},
		"FirstAfterFormer": {
			reason: "a generation is known, so there is no very first one", want: []string{"a"},
			claims: []Claim{{Number: 1, UID: "a", Listed: true}, unchanged("b", 2)},
			known:  Known{Former: map[string]bool{"a": true}},
		},
		"HalfRoot":    {reason: "the very first must be whole", claims: []Claim{{Number: 1, UID: "a", Listed: true}}},
		"NeverProven": {reason: "an abandoned candidate was never in use", claims: []Claim{flagged(unchanged("a", 1))}},
		"EarliestUnchanged": {
			reason: "later ones can prove that they follow", want: []string{"a"},
			claims: []Claim{unchanged("a", 1), unchanged("b", 2)},
		},
		"LatestFormer": {
			reason: "it was in use after the other one", want: []string{"b"},
			claims: []Claim{former("a", 1), former("b", 2)},
		},
		"LatestLost": {
			reason: "it was in use after the other one", want: []string{"b"}, claims: []Claim{changed("a", 1), changed("b", 2)},
		},
		"UnchangedAfterFormer": {
			reason: "it is in use", want: []string{"b"}, claims: []Claim{former("a", 1), unchanged("b", 2)},
		},
		"UnchangedAfterLost": {
			reason: "its state says that it is in use", want: []string{"b"}, claims: []Claim{changed("a", 1), unchanged("b", 2)},
		},
		"LostBeforeFormer": {
			reason: "it may be in use", want: []string{"a"}, claims: []Claim{changed("a", 1), former("b", 2)},
		},
		"LostFlagBeforeFormer": {
			reason: "its flag may be someone else's", want: []string{"a"},
			claims: []Claim{lostFormer, former("b", 2)},
		},
		"ImpostorAmongOthers": {
			reason: "nothing is proven while it exists", impostor: "x",
			claims: []Claim{
				unchanged("a", 1), unchanged("x", 20),
				{Number: 21, UID: "c", Whole: true, Follows: []string{"b20"}, Proves: knows("b20")},
			},
			known: Known{Recorded: twenty},
		},
		"HighestInUse": {
			reason: "lower numbers may belong to other objects", want: []string{"b20"},
			claims: []Claim{unchanged("x", 1), unchanged("b20", 20)}, known: Known{Recorded: twenty},
		},
		"Chain": {
			reason: "each says what it follows", want: []string{"a", "b", "c"},
			claims: []Claim{
				{Number: 1, UID: "a"}, {Number: 2, UID: "b", Follows: []string{"a"}},
				{Number: 3, UID: "c", Listed: true, Follows: []string{"b"}},
			},
			known: Known{Recorded: map[string]int{"c": 3}},
		},
		"FollowedByAStranger": {
			reason: "the object that names it is not proven", want: []string{"c"},
			claims: []Claim{
				{Number: 1, UID: "a"}, {Number: 2, UID: "b", Follows: []string{"a"}}, {Number: 3, UID: "c", Listed: true},
			},
			known: Known{Recorded: map[string]int{"c": 3}},
		},
		"NextOfAFormerOne": {
			reason: "the used one says that it follows the former one", want: []string{"a", "b", "c"},
			claims: []Claim{
				{Number: 1, UID: "a"}, next, {Number: 3, UID: "c", Listed: true, Follows: []string{"a"}},
			},
			known: Known{Recorded: map[string]int{"c": 3}},
		},
		"FormerOfTheNext": {
			reason: "the next one says that it follows both", want: []string{"a", "b", "c"},
			claims: []Claim{
				{Number: 1, UID: "a"}, {Number: 2, UID: "b", Listed: true},
				{Number: 3, UID: "c", Whole: true, Follows: []string{"a", "b"}, Proves: knows("b")},
			},
			known: Known{Recorded: map[string]int{"b": 2}},
		},
		"CodeOfAStranger": {
			reason: "the one with this value is not proven", want: []string{"c"},
			claims: []Claim{{Number: 1, UID: "a"}, next, {Number: 3, UID: "c", Listed: true}},
			known:  Known{Recorded: map[string]int{"c": 3}},
		},
		"CodeWithoutFollowing": {
			reason: "it does not say that it follows the one with this value", want: []string{"a"},
			claims: []Claim{root, {Number: 2, UID: "b", Whole: true, Proves: knows("a")}},
		},
		"CodeOfALaterOne": {
			reason: "it cannot follow one with a higher number", want: []string{"c"},
			claims: []Claim{
				{Number: 1, UID: "a", Whole: true, Follows: []string{"c"}, Proves: knows("c")},
				{Number: 2, UID: "c", Listed: true},
			},
			known: Known{Recorded: map[string]int{"c": 2}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Trusted(tc.claims, tc.known)
			maps.DeleteFunc(got.Proven, func(_ string, proven bool) bool { return !proven })
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(got.Proven))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			impostor := ""
			if got.Impostor != nil {
				impostor = got.Impostor.UID
			}
			if impostor != tc.impostor {
				t.Errorf("%s: the impostor is %q, want %q", tc.reason, impostor, tc.impostor)
			}
		})
	}
}
