package generator

import (
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
