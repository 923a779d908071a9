package lifecycle

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A combination is one input of Decide, described with the words of the table in the package comment.
type combination struct {
	slot                          Slot
	wanted, claimed, shown, found string
	and                           []string
}

var words = [...]string{
	Nothing: "nothing", Create: "create", Update: "update", Keep: "keep", Wait: "wait", LookUp: "look up",
	Stale:    "stale",
	Conflict: "conflict", TakeOver: "take over", Release: "release",
}

// combinations returns all inputs of Decide that differ.
func combinations() (out []combination) {
	place := Place{"Secret", "team", "xr-url"}
	shown := map[string]*Object{
		"none": nil, "own": {Place: place}, "foreign": {Place: place, Owner: Foreign},
		"other kind": {Place: Place{"ConfigMap", "team", "xr-url"}},
	}
	found := map[string]*Object{
		"unknown": nil, "unread": nil, "nothing": nil, "listed": {}, "recent": {Listing: Recent},
		"unlisted": {Listing: Unlisted},
		"restored": {Owner: Restored, Listing: Unlisted}, "foreign": {Owner: Foreign},
	}
	for i, wanted := range []string{No: "no", Unsure: "unsure", Yes: "yes"} {
		for claimed, by := range map[string][]string{"no": nil, "yes": {"x"}, "yields": {"x"}} {
			for data, ready := range []string{Ready: "ready", Missing: "not ready", Failed: "not ready"} {
				for sealed, never := range map[string]bool{"sealed": true, "not sealed": false} {
					for named, name := range map[string]string{"its name": "url", "another name": "old"} {
						for s, o := range shown {
							for f, at := range found {
								c := combination{wanted: wanted, claimed: claimed, shown: s, found: f,
									and: []string{ready, sealed, named}}
								c.slot = Slot{
									Name: "url", Want: Want(i), Data: Data(data), Place: place, Sealed: never,
									Claimed: by, Yields: claimed == "yields",
									Shown: o.named(name), Found: Lookup{f != "unread", at.named(name)},
								}
								if f == "unknown" {
									c.slot.Place.Name = ""
								}
								out = append(out, c)
							}
						}
					}
				}
			}
		}
	}
	return out
}

func (o *Object) named(name string) *Object {
	if o == nil {
		return nil
	}
	out := *o
	out.Name = name
	return &out
}

// rows returns the rows of the table in the package comment: the cells of each.
func rows(t *testing.T) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile("slot.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if row, ok := strings.CutPrefix(line, "//\t| "); ok {
			cells := strings.Split(strings.TrimSuffix(row, " |"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			out = append(out, cells)
		}
	}
	return out[1:] // the first one has the titles
}

func (c combination) fits(row []string) bool {
	for i, is := range []string{c.wanted, c.claimed, c.shown, c.found} {
		if row[i] != "" && !slices.Contains(strings.Split(row[i], ", "), is) {
			return false
		}
	}
	return row[4] == "" || slices.Contains(c.and, row[4])
}

// Each combination has a row in the package comment with its verdict and the reason, and each row is needed.
func TestDecide(t *testing.T) {
	table, used := rows(t), map[int]bool{}
	for _, c := range combinations() {
		i := slices.IndexFunc(table, c.fits)
		if i < 0 {
			t.Fatalf("no row fits %+v", c)
		}
		used[i] = true
		if got := words[c.slot.Decide()]; got != table[i][5] {
			t.Errorf("Decide() of %s, claimed %s, shown %s, found %s, %v: want %s, because %s, got %s",
				c.wanted, c.claimed, c.shown, c.found, c.and, table[i][5], table[i][6], got)
		}
	}
	for i, row := range table {
		if len(row) != 7 || row[6] == "" {
			t.Errorf("the row %v has no reason", row)
		}
		if !used[i] {
			t.Errorf("no combination needs the row %v", row)
		}
	}
}

// A name is free if neither an object nor another slot has it.
func TestAs(t *testing.T) {
	taken := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	for name, tc := range map[string]struct {
		reason string
		shown  *Object
		taken  []string
		want   string
	}{
		"Shown":    {"an object keeps the name that it has", &Object{Name: "old"}, []string{"url", "old"}, "old"},
		"New":      {"the name in the input is free", nil, []string{"old"}, "url"},
		"Taken":    {"another object has the name in the input", nil, []string{"url"}, "url~2"},
		"AlsoThat": {"another object also has the next name", nil, []string{"url", "url~2"}, "url~3"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Slot{Name: "url", Shown: tc.shown}).As(taken(tc.taken...)); got != tc.want {
				t.Errorf("As(...): %s: want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}
