package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Slots are written as name:place, with ? for an unsure slot and for an unknown place. Objects are written as
// name:place or name:namespace/place, with ! for a foreign object and < before the slot that took it over.
func TestMatch(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, slots, shown, want string
	}{
		"Own":            {"the name and the place are its own", "a:1", "a:1", "a=a:1"},
		"None":           {"there is no object", "a:1", "", ""},
		"Moved":          {"Crossplane cannot move an object", "a:2", "a:1", "a=a:1"},
		"MovedToAnother": {"it has an object, which would be deleted", "a:2", "a:1 old:2", "a=a:1"},
		"MovedToASlots": {"it has an object, which would be deleted, so the other slot keeps its own", "a:2 b:3",
			"a:1 b:2", "a=a:1 b=b:2"},
		"Unknown":     {"its place is unknown", "a:?", "a:1", "a=a:1"},
		"UnknownNew":  {"its place is unknown, and it has no object", "a:?", "old:1", ""},
		"TakeOver":    {"nothing wants the name of the object at its place", "a:1", "old:1", "a=old:1"},
		"TwoTakeOver": {"two slots with one place are a conflict elsewhere", "a:1 b:1", "old:1", "a=old:1 b=old:1"},
		"OtherSlots":  {"the other slot is at its place", "a:1 b:1", "b:1", "b=b:1"},
		"OfUnknown":   {"the other slot may have its place there", "a:1 b:?", "b:1", "b=b:1"},
		"OfUnsure":    {"the other slot may still be wanted", "a:1 b:1?", "b:1", "b=b:1"},
		"OfMoved": {"the other slot wants another place, and gets a new object there", "a:1 b:2", "b:1",
			"a=b:1"},
		"EditedName": {"another client changed the name of the only object of a slot", "a:1 b:2", "x:1 b:2",
			"a=x:1 b=b:2"},
		"CopiedName": {"Crossplane shows one of two objects with one name; the other one is looked up", "a:1 b:2",
			"b:1", "a=b:1"},
		"CopiedAgain":     {"the slot's own object got a free name before", "a:1", "a:2 a~2:1", "a=a~2:1"},
		"FreeNameApart":   {"another client wrote such a name", "a:1", "a~2:2", ""},
		"CopiedOtherName": {"Crossplane shows the other one", "a:1 b:2", "b:2", "b=b:2"},
		"Swapped":         {"each slot takes the object at its place", "a:1 b:2", "a:2 b:1", "a=b:1 b=a:2"},
		"Circle":          {"as with two", "a:1 b:2 c:3", "a:2 b:3 c:1", "a=c:1 b=a:2 c=b:3"},
		"SwappedThree":    {"a third slot has its own object", "a:1 b:2 c:3", "a:2 b:1 c:3", "a=b:1 b=a:2 c=c:3"},
		"SwappedUnknown": {"the place of one is unknown, so both keep what they have", "a:1 b:?", "a:2 b:1",
			"a=a:2 b=b:1"},
		"TookOver": {"it took the object over before, and the input wants another place now", "a:2", "old:1<a",
			"a=old:1"},
		"TookOverSwapped": {"as before, with the name of another slot", "a:3 b:2", "b:1<a a:2<b", "a=b:1 b=a:2"},
		"TookOverOther":   {"the slot that took it over left the input", "a:1", "a:1<gone", "a=a:1"},
		"TookOverAlso":    {"its own name precedes", "a:2", "a:1 old:3<a", "a=a:1"},
		"TookOverAt":      {"its place precedes", "a:3", "a:1 old:3<a", "a=old:3"},
		"NamedOnly": {"the slot with that name has another object, at its place", "a:1 b:2", "a:2 x:1<a",
			"a=x:1 b=a:2"},
		"TookOverApart": {"the object is in another namespace", "a:1", "old:other/1<a", ""},
		"Foreign":       {"a foreign object is a conflict", "a:1", "a:1!", "a=a:1!"},
		"ForeignAt":     {"a foreign object is not taken over", "a:1", "old:1!", ""},
		"ForeignMoved":  {"nor does it move", "a:2 b:1", "a:1!", "a=a:1!"},
	} {
		t.Run(name, func(t *testing.T) {
			var slots []*Slot
			for _, text := range strings.Fields(tc.slots) {
				name, place, _ := strings.Cut(text, ":")
				s := &Slot{Name: name, Want: Yes, Place: Place{"Secret", "team", strings.Trim(place, "?")}}
				if strings.HasSuffix(place, "?") && place != "?" {
					s.Want = Unsure
				}
				slots = append(slots, s)
			}
			var shown []Object
			for _, text := range strings.Fields(tc.shown) {
				name, rest, _ := strings.Cut(text, ":")
				rest, took, _ := strings.Cut(rest, "<")
				o := Object{Name: name, Place: Place{"Secret", "team", strings.Trim(rest, "!")}, TookOver: took}
				if ns, place, ok := strings.Cut(o.Place.Name, "/"); ok {
					o.Namespace, o.Place.Name = ns, place
				}
				if strings.HasSuffix(rest, "!") {
					o.Owner = Foreign
				}
				shown = append(shown, o)
			}
			var got []string
			for i, o := range Match(slots, shown) {
				if o != nil {
					got = append(got, fmt.Sprintf("%s=%s:%s%s", slots[i].Name, o.Name, o.Place.Name,
						strings.Repeat("!", int(o.Owner)/int(Foreign))))
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("Match(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
