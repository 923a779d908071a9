package wire

import (
	"fmt"
	"strings"
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
		"All":         {"so does All", manyFields(2000, 2000), func(s Struct) { s.All()(func(string, Value) bool { return false }) }},
		"Names twice": {"of each name, the last field is in the index", manyFields(2000, 1000), func(s Struct) { s.Get("name-003") }},
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

func TestLargeListIsReadOnce(t *testing.T) {
	values := make([][]byte, 2000)
	for i := range values {
		values[i] = textOf(fmt.Sprint(i))
	}
	for name, first := range map[string]func(List){
		"At":  func(l List) { l.At(1) },
		"Len": func(l List) { l.Len() },
	} {
		t.Run(name, func(t *testing.T) {
			l := sentStruct(t, fieldOf("list", listOf(values...))).Get("list").List()
			first(l)
			l.sent[0] = 0
			if got := testing.AllocsPerRun(10, func() {
				if l.Len() != 2000 || !l.At(0).Is("0") || !l.At(1000).Is("1000") || !l.At(1999).Is("1999") {
					t.Error("another element")
				}
			}); got != 0 {
				t.Errorf("got %v allocations to read elements again, want none", got)
			}
		})
	}
}

// The number of fields decides about an index, not the number of bytes. Otherwise an object with a
// thousand small fields would be scanned for each of its fields, each time it is read.
func TestSmallObjectOfManyFieldsIsReadOnce(t *testing.T) {
	cases := map[string]struct {
		reason string
		sent   []byte
		size   int
	}{
		"Smallest":   {"no object of more than 16 fields is smaller", message(fieldOf("a", null()), repeatedFields(16, "")), 2},
		"Letters":    {"names of a letter each, in less than a KiB", letters(90), 90},
		"Few names":  {"the index is of what is looked through, not of what is left", message(letters(3), repeatedFields(14, "a")), 3},
		"Twice each": {"of two of a name, the second one counts", message(letters(90), letters(90)), 90},
		"Many of one": {
			reason: "17 fields of one name are one",
			sent:   repeatedFields(17, "a"), size: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for how, first := range map[string]func(Struct){
				"Get":  func(s Struct) { s.Get("a") },
				"Len":  func(s Struct) { s.Len() },
				"Keys": func(s Struct) { s.Keys() },
			} {
				s := sentStruct(t, tc.sent)
				if len(s.sent) > copiedText && name != "Twice each" {
					t.Fatalf("%s: the object has %d bytes, want a small one", tc.reason, len(s.sent))
				}
				first(s)
				s.sent[0] = 0
				if got := testing.AllocsPerRun(10, func() {
					if !s.Get("a").Exists() || s.Get("none").Exists() || s.Len() != tc.size {
						t.Error("another object")
					}
				}); got != 0 || len(s.in.structs) != 1 {
					t.Errorf("%s: after %s got %v allocations and %d indexes to read it again, want none and one", tc.reason, how, got, len(s.in.structs))
				}
			}
		})
	}
}

// letters are so many fields, with a letter for a name.
func letters(n int) []byte {
	fields := make([][]byte, 0, n)
	for i := range n {
		fields = append(fields, fieldOf(string(rune('a'+i%26+i/26*0x100)), null()))
	}
	return message(fields...)
}

func null() []byte { return varint(1, 0) }

// repeatedFields are so many of one name.
func repeatedFields(n int, name string) []byte {
	return []byte(strings.Repeat(string(fieldOf(name, null())), n))
}

// A large text that is read in a loop is copied once. A smaller one is a part of a page.
func TestLargeTextIsCopiedOnce(t *testing.T) {
	before := textOf(strings.Repeat("y", copiedText))
	for name, tc := range map[string]struct {
		reason string
		size   int
		inList bool // after another one
		allocs float64
		kept   int
	}{
		"None":      {reason: "no text has no bytes to be found by", size: 0},
		"Small":     {reason: "it is a part of a page", size: 100},
		"Large":     {reason: "the smallest that is kept", size: copiedText, kept: 1},
		"Megabyte":  {reason: "as large as an author may write", size: 1 << 20, kept: 1},
		"In a list": {reason: "each of two is kept for itself", size: copiedText, inList: true, kept: 2},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.Repeat("x", tc.size)
			s := sentStruct(t, fieldOf("x", textOf(want)))
			v := s.Get("x")
			if tc.inList {
				s = sentStruct(t, fieldOf("x", listOf(before, textOf(want))))
				v = s.Get("x").List().At(1)
			}
			if !v.Is(want) || len(s.in.texts) != 0 {
				t.Errorf("%s: to compare a text keeps %d", tc.reason, len(s.in.texts))
			}
			if tc.inList {
				s.Get("x").List().At(0).Text()
			}
			for range 2 {
				if got := v.Text(); got != want {
					t.Errorf("%s: Text(): got %d bytes, want the %d of the text", tc.reason, len(got), len(want))
				}
			}
			if got := testing.AllocsPerRun(10, func() { v.Text() }); got != tc.allocs || len(s.in.texts) != tc.kept {
				t.Errorf("%s: Text() again: got %v allocations and %d texts kept, want %v and %d", tc.reason, got, len(s.in.texts), tc.allocs, tc.kept)
			}
		})
	}
}

// An object that is small, or has few fields, has no index, because a scan costs less.
func TestSmallOnesAreNotIndexed(t *testing.T) {
	s := sentStruct(t, message(manyFields(16, 16), fieldOf("list", listOf(textOf("a"), textOf("b")))))
	small := sentStruct(t, message(fieldOf("a", textOf("b")), fieldOf("a", textOf("c"))))
	few := sentStruct(t, manyFields(16, 16))
	if got := testing.AllocsPerRun(10, func() {
		s.Get("list").List().At(1)
		s.Get("list").List().Len()
		small.Get("a")
		few.Get("name-007")
	}); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
	few.Keys()
	if len(s.in.lists)+len(small.in.structs)+len(few.in.structs) != 0 {
		t.Error("got an index of a small one, want none")
	}
}
