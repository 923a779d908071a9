package wire

import (
	"testing"
)

// A large object is looked through once. That it is not again is seen by what happens to
// bytes that are only needed for that: nothing, when they are gone.
func TestLargeObjectIsReadOnce(t *testing.T) {
	cases := map[string]struct {
		reason string
		sent   []byte
		first  func(Struct)
	}{
		"Get":         {"the first Get makes the index", manyFields(2000, 2000), func(s Struct) { s.Get("name-003") }},
		"Get, absent": {"also one that finds nothing", manyFields(2000, 2000), func(s Struct) { s.Get("") }},
		"Keys":        {"so do Keys", manyFields(2000, 2000), func(s Struct) { s.Keys() }},
		"Len":         {"so does Len", manyFields(2000, 2000), func(s Struct) { s.Len() }},
		"All": {
			"so does All",
			manyFields(2000, 2000),
			func(s Struct) { s.All()(func(string, Value) bool { return false }) },
		},
		"Names twice": {"of each name, the last field is in the " +
			"index", manyFields(2000, 1000), func(s Struct) { s.Get("name-003") }},
		"Few names": {
			reason: "what many fields with few names cost is what they take to look through, not how many are left",
			sent:   manyFields(2000, 11), first: func(s Struct) { s.Get("name-003") },
		},
		"In another": {
			reason: "an object in an indexed one has an index of its own",
			sent:   message(manyFields(20, 20), fieldOf("in", objectOf(manyFields(2000, 2000)))),
			first:  func(s Struct) { s.At("in", "name-003") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := sentStruct(t, tc.sent)
			tc.first(s)
			if in := s.Get("in"); in.Exists() {
				s = in.Struct()
			}
			want := s.Get("name-007").Text()
			s.sent[0] = 0
			if got := s.Get("name-007").Text(); got != want || want == "" {
				t.Errorf("%s: got %q, want %q", tc.reason, got, want)
			}
			if got := testing.AllocsPerRun(10, func() {
				if v := s.Get("name-007"); !v.Is(want) || s.Get("none").Exists() || s.Len() == 0 {
					t.Error("another Value")
				}
			}); got != 0 {
				t.Errorf("%s: got %v allocations to read it again, want none", tc.reason, got)
			}
			if got := testing.AllocsPerRun(10, func() { s.Get("name-007").Text() }); got != 0 {
				t.Errorf("%s: got %v allocations to read a text, want none: its page was copied", tc.reason, got)
			}
		})
	}
}

func null() []byte { return varint(1, 0) }
