package rotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/proof"
)

// rows returns a machine with another table.
func rows(change func(all []row) []row) machine {
	return func(w Wanted, have []Generation, records []Record, now time.Time) Step {
		return next(change(slices.Clone(table)), w, have, records, now)
	}
}

// to returns a machine in which another condition decides about a transition to a stage.
func to(stage Stage, when string, fits func(*situation, *Generation) bool) machine {
	return rows(func(all []row) []row {
		for i := range all {
			if all[i].to == stage && strings.Contains(all[i].when, when) {
				all[i].fits = fits
				return all
			}
		}
		panic("there is no row " + when)
	})
}

// before returns a machine that sees something else than what is stored.
func before(generation func(*Generation), record func(*Record)) machine {
	return func(w Wanted, have []Generation, records []Record, now time.Time) Step {
		have, records = slices.Clone(have), slices.Clone(records)
		for i := range have {
			if generation != nil {
				generation(&have[i])
			}
		}
		for i := range records {
			if record != nil {
				records[i].Known = slices.Clone(records[i].Known)
				record(&records[i])
			}
		}
		return Next(w, have, records, now)
	}
}

// after returns a machine that does something else.
func after(change func(s *Step, w Wanted, have []Generation)) machine {
	return func(w Wanted, have []Generation, records []Record, now time.Time) Step {
		s := Next(w, have, records, now)
		s.Keep = slices.Clone(s.Keep)
		change(&s, w, have)
		return s
	}
}

func copies(change func(*Copy)) func(*Record) {
	return func(r *Record) {
		for i := range r.Known {
			change(&r.Known[i])
		}
	}
}

var mistakes = map[string]machine{
	// The table.
	"a generation is accepted before it works": to(Current, "ready", func(s *situation, g *Generation) bool {
		return g.Listed && s.offered(g) && g.Fit == Fits
	}),
	"a generation is accepted before each setter has it": to(Current, "ready", func(_ *situation, g *Generation) bool {
		return g.Listed && g.Ready && g.Fit == Fits
	}),
	"a generation of another source is accepted": to(Current, "ready", func(s *situation, g *Generation) bool {
		return g.Listed && g.Ready && s.offered(g)
	}),
	"an abandoned one is accepted": rows(func(all []row) []row {
		return append([]row{{from: []Stage{Abandoned}, fits: (*situation).accepted, to: Current}}, all...)
	}),
	"a pending one is dropped at once": rows(func(all []row) []row {
		return append([]row{{from: []Stage{Pending}, fits: (*situation).removed, to: Gone}}, all...)
	}),
	"the one in use is abandoned if its generator leaves": rows(func(all []row) []row {
		return append([]row{{from: []Stage{Current}, fits: (*situation).removed, to: Abandoned}}, all...)
	}),
	"all stages are retired": rows(func(all []row) []row {
		return append([]row{{from: []Stage{Current, Previous, Abandoned}, fits: (*situation).removed, to: Retired}},
			all...)
	}),
	"retired ones do not return": to(Current, "its generator is in", func(*situation,
		*Generation) bool {
		return false
	}),
	"there is no grace period": to(Gone, "grace", func(_ *situation, g *Generation) bool {
		return g.Listed && !g.Held
	}),
	"exported ones are dropped": to(Gone, "grace", func(s *situation, g *Generation) bool {
		return g.Listed && s.over(g.Since, g.Grace.Duration)
	}),
	"nothing is dropped":  to(Gone, "grace", func(*situation, *Generation) bool { return false }),
	"nothing is replaced": to(Abandoned, "asks for another", func(*situation, *Generation) bool { return false }),
	"foreign ones are kept in use": to(Abandoned, "proof", func(*situation, *Generation) bool {
		return false
	}),

	// Copies.
	"copies in records are not read":     before(nil, copies(func(c *Copy) { c.State = State{} })),
	"the time of letting go is not read": before(nil, copies(func(c *Copy) { c.Left = time.Time{} })),
	"a lost record holds nothing":        before(nil, func(r *Record) { r.Lost = false }),
	"what is used stays abandoned":       before(nil, func(r *Record) { r.Uses = false }),
	"setters hold nothing": before(nil, func(r *Record) {
		if c := r.Of(r.Candidate); c == nil || c.Stage != Pending {
			r.Candidate = ""
		}
	}),
	"lost states are pending": before(func(g *Generation) {
		if !g.Intact {
			g.Intact, g.State = true, State{Stage: Pending, Origin: g.Origin, Request: g.Request}
		}
	}, func(r *Record) { r.Known = nil }),
	"each generation counts for the last request": func(w Wanted, have []Generation, records []Record,
		now time.Time) Step {
		s := Next(w, have, records, now)
		for i := range s.Keep {
			s.Keep[i].Request = w.Request
		}
		return s
	},

	// Trust.
	"each listed object counts": before(func(g *Generation) { g.Coded = false }, nil),
	"what does not count is recorded": after(func(s *Step, _ Wanted, _ []Generation) {
		for i := range s.Keep {
			s.Keep[i].Counts = true
		}
	}),
	"codes do not matter": before(func(g *Generation) { g.Follows = nil }, nil),

	// Outputs.
	"a value is read from the next state": after(func(s *Step, _ Wanted, _ []Generation) {
		for _, g := range s.Keep {
			if g.Stage == Current && g.Listed && g.Counts {
				s.Current = g.UID
			}
		}
	}),
	"one that is given up is still offered": after(func(s *Step, _ Wanted, _ []Generation) {
		if s.Pending != "" {
			s.Candidate = s.Pending
		}
	}),
	"an older value is better than none": func(w Wanted, have []Generation, records []Record, now time.Time) Step {
		s := Next(w, have, records, now)
		for _, g := range s.Keep {
			if s.Current == "" && w.Input != Removed && g.Counts && g.Listed && (g.Stage == Current || g.Stage == Previous) {
				s.Current = g.UID
			}
		}
		return s
	},
	"no due time of a grace period": func(w Wanted, have []Generation, records []Record, now time.Time) Step {
		s := Next(w, have, records, now)
		if slices.ContainsFunc(s.Keep, func(g Generation) bool { return g.Stage.ends() }) {
			s.Due = time.Time{}
		}
		return s
	},
	"a number is used again": after(func(s *Step, _ Wanted, _ []Generation) {
		if s.Make != nil {
			m := *s.Make
			m.Number = max(1, m.Number-1)
			s.Make = &m
		}
	}),
	"a request is forgotten": before(func(g *Generation) { g.Request = "" }, copies(func(c *Copy) { c.Request = "" })),
}

// found returns the law that a mistake breaks, with the shortest history if there are few actions in it.
func found(m machine) string {
	for depth := 1; depth <= 2; depth++ {
		for _, kind := range setupNames {
			for _, start := range starts {
				if law := newSearch(kind, m).from(start.play, depth); law != "" {
					return fmt.Sprintf("%s, %s, %d actions: %s", kind, start.name, depth, law)
				}
			}
		}
	}
	for seed := range uint64(30_000) {
		if law := broken(func() { history(m, seed, false, nil) }); law != "" {
			return fmt.Sprintf("seed %d: %s", seed, law)
		}
	}
	return ""
}

// TestModelsFindMistakes shows that the laws can fail.
func TestModelsFindMistakes(t *testing.T) {
	for _, name := range proof.Part(slices.Sorted(maps.Keys(mistakes)), 3) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law := found(mistakes[name])
			if law == "" {
				t.Error("no law fails")
			}
			t.Log(law)
		})
	}
}
