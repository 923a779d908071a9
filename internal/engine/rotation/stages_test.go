package rotation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

var stageNames = [...]string{"lost", "pending", "retired", "current", "previous", "abandoned", "gone"}

// TestDocumentation compares the package comment with the table that is executed.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(strings.ReplaceAll(string(doc), "\n//\t", "\n"), "| stage | when | becomes | because |\n")
	text, _, _ = strings.Cut(text, "\n//\n")
	want := "|---|---|---|---|\n"
	for _, r := range table {
		var from []string
		for _, stage := range r.from {
			from = append(from, stageNames[stage])
		}
		if len(from) == 4 {
			from = []string{"all but abandoned"}
		}
		want += fmt.Sprintf("| %s | %s | %s | %s |\n", strings.Join(from, ", "), r.when, stageNames[r.to], r.why)
	}
	if diff := cmp.Diff(want, text+"\n"); diff != "" {
		t.Errorf("-table, +package comment:\n%s", diff)
	}
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return began.Add(time.Duration(minute) * time.Minute) }

func uid(number int) string { return fmt.Sprint("u", number) }

// wanted is the input of a generator.
func wanted(changes ...func(*Wanted)) Wanted {
	w := Wanted{Origin: Origin{Kind: "k", Spec: "s", Keepers: "k"}, Policy: v1beta1.OnChange, Grace: grace,
		AbandonAfter: abandonAfter, Interval: time.Hour}
	for _, change := range changes {
		change(&w)
	}
	return w
}

// gen returns a generation that is not stale in any way.
func gen(number int, stage Stage, changes ...func(*Generation)) Generation {
	g := Generation{Reference: Reference{UID: uid(number), Number: number}, Created: began, Listed: true, Ready: true,
		Intact: true, Coded: true}
	g.State = State{Stage: stage, Origin: wanted().Origin, Grace: v1beta1.Duration{Duration: grace}}
	for n := 1; n < number; n++ {
		g.Follows = append(g.Follows, uid(n))
	}
	for _, change := range changes {
		change(&g)
	}
	return g
}

func unready(g *Generation)  { g.Ready = false }
func unlisted(g *Generation) { g.Listed = false }
func lost(g *Generation)     { g.Intact = false }
func unproven(g *Generation) { g.Follows = nil }
func specified(g *Generation) {
	g.Origin.Spec = "another"
}

func kept(g *Generation)                   { g.Origin.Keepers = "another" }
func removed(w *Wanted)                    { w.Input = Removed }
func unknown(w *Wanted)                    { w.Input = Unknown }
func periodic(w *Wanted)                   { w.Policy = v1beta1.Periodic }
func once(w *Wanted)                       { w.Policy = v1beta1.CreatedOnce }
func requested(r string) func(*Wanted)     { return func(w *Wanted) { w.Request = r } }
func request(r string) func(*Generation)   { return func(g *Generation) { g.Request = r } }
func since(minute int) func(*Generation)   { return func(g *Generation) { g.Since = at(minute) } }
func created(minute int) func(*Generation) { return func(g *Generation) { g.Created = at(minute) } }
func failures(n int) func(*Generation)     { return func(g *Generation) { g.Failures = n } }
func fit(f Fit) func(*Generation)          { return func(g *Generation) { g.Fit = f } }

func recorded(r *Record, known ...Generation) Record {
	r.Known = nil
	for _, g := range known {
		r.Known = append(r.Known, Copy{Reference: g.Reference, State: g.State})
	}
	return *r
}

// holds is the record of an export that uses a generation.
func holds(number int, known ...Generation) Record {
	return recorded(&Record{Uses: true, Holds: uid(number)}, known...)
}

// candidate is the record of an export that sets a generation.
func candidate(number int, known ...Generation) Record {
	return recorded(&Record{Sets: true, Candidate: uid(number)}, known...)
}

// TestStages has a case for each row of the table. Without its row, the stage is another one.
func TestStages(t *testing.T) {
	current := gen(1, Current)
	inUse := holds(1, current)
	cases := map[string]struct {
		reason  string
		because string // the row, or empty if none fits
		w       Wanted
		have    []Generation // the last one is judged
		records []Record
		now     int
		want    Stage
	}{
		"Foreign": {
			"no export recorded it, and no code links it with the one in use", "another client made it",
			wanted(), []Generation{current, gen(2, Current, unproven)}, []Record{inUse}, 5, Abandoned,
		},
		"RemovedPending": {
			"an export may have its value, so it is not dropped at once", "nothing waits for it",
			wanted(removed), []Generation{current, gen(2, Pending)}, []Record{inUse}, 5, Abandoned,
		},
		"TooLate": {
			"a higher one is in use, and this one never worked", "it is too late",
			wanted(func(w *Wanted) { w.AbandonAfter = 0 }), []Generation{gen(3, Current), gen(1, Pending, unready)},
			[]Record{holds(3, gen(3, Current))}, 5, Abandoned,
		},
		"Accepted": {
			"it is ready, and no export must set it", "it works",
			wanted(), []Generation{current, gen(2, Pending)}, []Record{inUse}, 5, Current,
		},
		"NotReady": {
			"it does not work yet", "", wanted(), []Generation{current, gen(2, Pending, unready)}, []Record{inUse}, 5,
			Pending,
		},
		"NotOffered": {
			"the setter still has the former value", "", wanted(), []Generation{current, gen(2, Pending)},
			[]Record{inUse, candidate(1)}, 5, Pending,
		},
		"AnotherSource": {
			"a hash is only used beside its password", "", wanted(), []Generation{current,
				gen(2, Pending, fit(Other), created(5))}, []Record{inUse}, 5, Abandoned,
		},
		"Changed": {
			"the specification changed, whatever the policy is", "another one replaces it",
			wanted(once), []Generation{current, gen(2, Pending, unready, specified)}, []Record{inUse}, 1, Abandoned,
		},
		"Overdue": {
			"it does not work", "it failed",
			wanted(), []Generation{current, gen(2, Pending, unready, since(5))}, []Record{inUse, candidate(2)}, 20,
			Abandoned,
		},
		"Removed": {
			"its generator left the input", "it is in use again if its generator is back", wanted(removed),
			[]Generation{current}, []Record{inUse}, 5, Retired,
		},
		"Replaced": {
			"each export has the next value", "its grace period starts",
			wanted(), []Generation{gen(2, Current), gen(1, Current)}, []Record{holds(2, gen(2, Current))}, 5, Previous,
		},
		"NotReplaced": {
			"an export has its value", "",
			wanted(), []Generation{gen(2, Current), gen(1, Current)}, []Record{holds(2, gen(2, Current)), inUse}, 5,
			Current,
		},
		"Back": {
			"its generator is in the input again", "it was the one in use", wanted(),
			[]Generation{gen(1, Retired, since(1))}, nil, 5, Current,
		},
		"Gone": {
			"its grace period is over", "nothing needs it", wanted(), []Generation{current,
				gen(2, Abandoned, since(5))}, []Record{inUse}, 15, Gone,
		},
	}
	covered := map[string]bool{}
	for name, tc := range cases {
		covered[tc.because] = true
		t.Run(name, func(t *testing.T) {
			judged := func(rows []row) Stage {
				for _, g := range next(rows, tc.w, tc.have, tc.records, at(tc.now)).Keep {
					if g.UID == tc.have[len(tc.have)-1].UID {
						return g.Stage
					}
				}
				return Gone
			}
			if got := judged(table); got != tc.want {
				t.Errorf("%s: it becomes %s, want %s", tc.reason, stageNames[got], stageNames[tc.want])
			}
			without := slices.DeleteFunc(slices.Clone(table), func(r row) bool { return r.why == tc.because })
			if got := judged(without); got == tc.want && tc.because != "" {
				t.Errorf("%s: it also becomes %s without the row", tc.reason, stageNames[got])
			}
		})
	}
	for _, r := range table {
		if !covered[r.why] {
			t.Errorf("no case has the row %q", r.why)
		}
	}
}
