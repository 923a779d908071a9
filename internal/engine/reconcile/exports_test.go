package reconcile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// sized is an object of this many bytes, all of which are connection details.
func sized(name string, bytes int) Object {
	out := Object{Name: name}
	if bytes > 0 {
		out.ConnectionDetails = map[string]sensitive.Bytes{"k": sensitive.FromString(strings.Repeat("x", bytes-len("k")))}
	}
	return out
}

// A change is the new version of an object: its bytes, and those that it has if it is kept as it was observed.
type change struct {
	name        string
	bytes, kept int
	author      bool
	created     bool // there is nothing to keep, so that it cannot add fewer bytes
	waits       bool // it is kept as it was observed in any case
}

func (c change) object() Object {
	out := sized(c.name, c.bytes)
	out.Author, out.footprint.bytes = c.author, c.bytes
	if !c.created {
		out.footprint.keep = func(why string) Object {
			kept := sized(c.name, c.kept)
			kept.Outcome = Outcome{State: Held, Message: why}
			return kept
		}
	}
	return out
}

// keptNames are the names of the objects that are kept as they were observed.
func keptNames(all []Object) string {
	var out []string
	for _, o := range all {
		if o.State == Held {
			out = append(out, o.Name)
		}
	}
	return strings.Join(out, " ")
}

// A response that is too large contains some objects as they were observed.
func TestKeep(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		objects []change
		excess  int
		want    string // the objects that are kept
	}{
		"OneByte": {"one byte is enough of a reason", []change{{name: "a", bytes: 100}}, 1, "a"},
		"LargestFirst": {
			"as few objects as possible are kept",
			[]change{{name: "a", bytes: 100}, {name: "b", bytes: 300}, {name: "c", bytes: 200}}, 250, "b",
		},
		"Two": {
			"the second largest is the next one",
			[]change{{name: "a", bytes: 100}, {name: "b", bytes: 300}, {name: "c", bytes: 200}}, 301, "b c",
		},
		"SavesMost": {
			"a large object that was as large before saves little",
			[]change{{name: "a", bytes: 500, kept: 450}, {name: "b", bytes: 100}}, 10, "b",
		},
		"SavesOne": {"each saved byte counts", []change{{name: "a", bytes: 500, kept: 499}}, 10, "a"},
		"Created": {
			"an object that is not changed stays",
			[]change{{name: "a", bytes: 500, created: true}, {name: "b", bytes: 100}}, 10, "b",
		},
		"Author": {
			"the objects of the composite author are kept first",
			[]change{{name: "a", bytes: 500}, {name: "b", bytes: 10, author: true}, {name: "c", bytes: 500}}, 5, "b",
		},
		"AuthorThen": {
			"and then those of the input",
			[]change{{name: "a", bytes: 500}, {name: "b", bytes: 10, author: true}, {name: "c", bytes: 600}}, 20, "b c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{}
			for _, c := range tc.objects {
				r.Objects = append(r.Objects, c.object())
			}
			kept := r.Keep(tc.excess)
			if got := keptNames(r.Objects); got != tc.want || kept != (tc.want != "") {
				t.Errorf("Keep(%d): %s: want %q to be kept, got %q, reported %v", tc.excess, tc.reason, tc.want, got, kept)
			}
			for i, c := range tc.objects {
				if o := r.Objects[i]; o.Name != c.name || o.Author != c.author {
					t.Errorf(
						"Keep(%d): %s: want the object %q of the composite author: %v, got %q, %v", tc.excess,
						tc.reason, c.name, c.author, o.Name, o.Author,
					)
				}
			}
		})
	}
}

// The message says how many bytes the object has, and how many a response can have.
func TestKeepMessage(t *testing.T) {
	r := &Result{Objects: []Object{change{name: "a", bytes: 500}.object()}}
	r.Keep(1)
	want := fmt.Sprintf("with its 500 bytes the response is larger than the %d that Crossplane accepts: "+
		"export fewer keys, or export it in another composite", limits.ResponseBytes)
	if diff := cmp.Diff(want, r.Objects[0].Message); diff != "" {
		t.Errorf("Keep(...): -want, +got:\n%s", diff)
	}
	if r.Keep(1) {
		t.Error("Keep(...): an object that was kept is kept once more")
	}
}

// An object is built once it is known that it fits into the response, so that large objects are not in memory together.
func TestAddObjects(t *testing.T) {
	const most = limits.ResponseBytes
	for name, tc := range map[string]struct {
		reason  string
		objects []change
		want    string // the objects that are kept
	}{
		"Fit": {
			"all objects together have as many bytes as a response can have",
			[]change{{name: "a", bytes: most - 10}, {name: "b", bytes: 10}}, "",
		},
		"Large": {
			"an object that is larger than a response is never built",
			[]change{{name: "a", bytes: most + 1}, {name: "b", bytes: 10}}, "a",
		},
		"LastSmall": {
			"the last object does not fit, and another one saves more",
			[]change{{name: "a", bytes: most - 10}, {name: "b", bytes: 11}}, "a",
		},
		"Waits": {
			"an object that waits is in the response as it was observed",
			[]change{{name: "a", bytes: 1000, waits: true}, {name: "b", bytes: most - 999}}, "b",
		},
		"Kept": {
			"what an object has while it is kept counts",
			[]change{{name: "a", bytes: most + 1, kept: 1000}, {name: "b", bytes: most - 999, kept: 100}}, "a b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all objects
			var built []string
			for _, c := range tc.objects {
				if c.waits {
					all = all.add(sized(c.name, c.bytes))
					continue
				}
				o := Object{Name: c.name, footprint: footprint{bytes: c.bytes, keep: c.object().footprint.keep}}
				o.footprint.build = func() *structpb.Struct {
					built = append(built, c.name)
					return &structpb.Struct{}
				}
				all = all.add(o)
			}
			if got := keptNames(all); got != tc.want {
				t.Errorf("add(...): %s: want %q to be kept, got %q", tc.reason, tc.want, got)
			}
			for i, o := range all {
				if !tc.objects[i].waits && (o.State == Held) == (o.Desired != nil) || o.footprint.build != nil {
					t.Errorf("add(...): %s: want %q to be built or kept, got %v", tc.reason, o.Name, o.Desired)
				}
			}
			last := tc.objects[len(tc.objects)-1].name
			if strings.Contains(strings.Join(built, " "), last) == strings.Contains(tc.want, last) {
				t.Errorf("add(...): %s: built %q, and kept %q", tc.reason, built, tc.want)
			}
		})
	}
}
