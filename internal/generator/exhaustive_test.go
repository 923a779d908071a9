package generator_test

import (
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/proof"
)

// exhaustive are the bounds of a search, and what can happen in it.
type exhaustive struct {
	name string

	faults uint8 // at most, until it stays calm
	most   int   // no generation is requested while there are so many

	rotates, respecifies     bool
	slow                     bool // generations are not ready at once
	stale, holds, unknowns   bool // old observations, exports that wait, inputs that are missing
	removes, skews, attacked bool
	verified, derived        bool
	sources                  uint8

	fn     function
	broken string
}

// start returns the first states.
func (x *exhaustive) start() []point {
	p := point{Faults: x.faults}
	p.Request.Spec = 1
	if x.derived {
		p.Request.Source = 1
	}
	if !x.skews {
		return []point{p}
	}
	early, late := p, p
	early.Skew, late.Skew = -1, 1
	return []point{early, late}
}

// A visit is how a state was found, and what follows if all is calm.
type visit struct {
	from      uint32 // the state before it, or itself
	follower  uint16 // of the states that follow that one
	calm      uint32
	reconcile bool // calm is a reconcile
}

// A digest of a state has 128 bits. That two of n states have the same is less likely than n²/2¹²⁹.
type digest [2]uint64

// A search visits all states, breadth first.
type search struct {
	exhaustive

	starts []point
	seeds  [2]maphash.Seed

	mu          sync.Mutex // guards what follows
	ids         map[digest]uint32
	visits      []visit
	transitions int
	broken      string // the first law
	at          uint32 // the state before it was broken
	follower    uint16

	depth, worst int
}

type numbered struct {
	id    uint32
	point point
}

// run visits all states, and returns what is wrong, or nothing.
func (x *exhaustive) search() (*search, string) {
	s := &search{exhaustive: *x, ids: map[digest]uint32{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	var level []numbered
	s.starts = x.start()
	for i, p := range s.starts {
		s.starts[i] = x.canonical(p)
		id, _ := s.visit(&s.starts[i], uint32(i), 0)
		level = append(level, numbered{id, s.starts[i]})
	}
	for ; len(level) > 0; s.depth++ {
		var wait sync.WaitGroup
		next := make([][]numbered, workers)
		for w := range workers {
			wait.Go(func() {
				for i := w; i < len(level); i += workers {
					next[w] = s.follow(level[i], next[w])
				}
			})
		}
		if wait.Wait(); s.broken != "" {
			return s, fmt.Sprintf("%s\n%s", s.broken, s.history(s.at, s.follower))
		}
		level = slices.Concat(next...)
	}
	return s, s.settle()
}

// visit returns the identity of a state, and whether it is new.
func (s *search) visit(p *point, from uint32, follower uint16) (uint32, bool) {
	d := digest{maphash.Comparable(s.seeds[0], *p), maphash.Comparable(s.seeds[1], *p)}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[d]
	if !ok {
		id = uint32(len(s.visits))
		s.ids[d] = id
		s.visits = append(s.visits, visit{from: from, follower: follower})
	}
	return id, !ok
}

// follow visits what follows a state, and adds what is new.
func (s *search) follow(n numbered, level []numbered) []numbered {
	x, follower, calm, reconcile := s.exhaustive, uint16(0), uint32(0), false
	x.expand(&n.point, func(o occurrence, next *point) {
		id, isNew := s.visit(next, n.id, follower)
		if follower == 0 {
			calm, reconcile = id, o.what == reconciles
		}
		if isNew {
			level = append(level, numbered{id, *next})
		}
		if x.broken == "" && calm == n.id {
			x.broken = x.end(&n.point)
		}
		if x.broken != "" {
			s.breaks(x.broken, n.id, follower)
			x.broken = ""
		}
		follower++
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transitions += int(follower)
	s.visits[n.id].calm, s.visits[n.id].reconcile = calm, reconcile
	return level
}

func (s *search) breaks(law string, at uint32, follower uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == "" {
		s.broken, s.at, s.follower = law, at, follower
	}
}

// settle returns whether a state never comes to rest, and counts the reconciles until it does.
func (s *search) settle() string {
	const unknown, pending = -1, -2
	steps := make([]int, len(s.visits))
	for i := range steps {
		steps[i] = unknown
	}
	for i := range steps {
		var way []uint32
		at := uint32(i)
		for ; steps[at] == unknown && s.visits[at].calm != at; at = s.visits[at].calm {
			steps[at] = pending
			way = append(way, at)
		}
		if steps[at] == pending {
			return "it never comes to rest\n" + s.history(at, 0)
		}
		steps[at] = max(steps[at], 0)
		for _, w := range slices.Backward(way) {
			steps[w] = steps[s.visits[w].calm]
			if s.visits[w].reconcile {
				steps[w]++
			}
			s.worst = max(s.worst, steps[w])
		}
	}
	return ""
}

// history tells the shortest way to a state, and its follower.
func (s *search) history(at uint32, follower uint16) string {
	followers := []uint16{follower}
	for s.visits[at].from != at {
		followers = append(followers, s.visits[at].follower)
		at = s.visits[at].from
	}
	p := s.starts[at]
	x := s.exhaustive
	var out []string
	for _, f := range slices.Backward(followers) {
		n, next := uint16(0), p
		x.expand(&p, func(o occurrence, q *point) {
			if n == f {
				next = *q
				out = append(out, fmt.Sprintf("%s %d\n    %s", words[o.what], o.arg, next.describe()))
			}
			n++
		})
		p = next
	}
	return strings.Join(out, "\n")
}

// describe a state in words.
func (p *point) describe() string {
	var out []string
	for _, m := range p.Objects {
		if m.Number == 0 {
			continue
		}
		text := state(m.state())
		for word, is := range map[string]bool{
			"forged": m.Forged, "lost": m.Lost, "abandoned": m.Abandoned, "unlisted": !p.listed(m), "offered": m.Offered != never,
		} {
			if is {
				text += " " + word
			}
		}
		out = append(out, text)
	}
	e, r := p.Exports, p.Request
	return fmt.Sprintf("%s; exports have %d and %d; candidate %d; request %d, spec %d, source %d, refs %b, gone %t",
		strings.Join(out, ", "), e[0].Number, e[1].Number, p.Setter.Number, r.Rotation, r.Spec, r.Source, r.Refs, r.Gone)
}

// workers share the states of a level.
const workers = 2

// states is the environment variable that makes the test visit all states of the long bounds, if it is "long".
const states = "MODEL_STATES"

// TestExhaustive visits all states of each configuration.
func TestExhaustive(t *testing.T) {
	size := short
	switch {
	case os.Getenv(states) == "long":
		size = long
	case proof.Whole():
		size = usual
	}
	rows := []string{"| Configuration | Failures | Generations | States | Transitions | Depth | Reconciles until it is at rest |",
		"|---|---|---|---|---|---|---|"}
	began := time.Now()
	for _, x := range configurations(size) {
		t.Run(x.name, func(t *testing.T) {
			x.fn = machine()
			s, broken := x.search()
			if broken != "" {
				t.Fatal(broken)
			}
			rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |",
				x.name, x.faults, x.most, len(s.visits), s.transitions, s.depth, s.worst))
			t.Logf("%d faults, %d generations: %d states, %d transitions, depth %d, at rest after %d reconciles",
				x.faults, x.most, len(s.visits), s.transitions, s.depth, s.worst)
			if s.worst > mostReconciles {
				t.Errorf("it takes up to %d reconciles until nothing changes, not %d", s.worst, mostReconciles)
			}
		})
	}
	if size != long || t.Failed() {
		return
	}
	rows = append(rows, "", fmt.Sprintf("It took %s on %d cores, while other programs ran. Nothing is random, so there is no seed.",
		time.Since(began).Round(time.Minute), workers))
	if err := proof.Write("model", strings.Join(rows, "\n")+"\n"); err != nil {
		t.Error(err)
	}
}

// mostReconciles until nothing changes any more, from any state, if nothing else fails.
const mostReconciles = 16

// Sizes of the bounds.
const (
	short = iota
	usual
	long
)

// configurations returns what is searched, each within its own bounds.
func configurations(size int) []exhaustive {
	within := func(x exhaustive, bounds [3][2]int) exhaustive {
		x.faults, x.most = uint8(bounds[size][0]), bounds[size][1]
		return x
	}
	return []exhaustive{
		within(exhaustive{name: "crashes", rotates: true, slow: true}, [...][2]int{{1, 3}, {3, 3}, {3, 4}}),
		within(exhaustive{name: "inputs", rotates: true, respecifies: true, removes: true, holds: true, unknowns: true},
			[...][2]int{{1, 2}, {1, 3}, {3, 4}}),
		within(exhaustive{name: "stale", rotates: true, stale: true}, [...][2]int{{1, 2}, {1, 3}, {3, 4}}),
		within(exhaustive{name: "clocks", rotates: true, removes: true, skews: true}, [...][2]int{{1, 3}, {2, 3}, {3, 4}}),
		within(exhaustive{name: "verified", rotates: true, verified: true, removes: true}, [...][2]int{{0, 2}, {0, 3}, {1, 4}}),
		within(exhaustive{name: "attacked", rotates: true, attacked: true}, [...][2]int{{1, 3}, {2, 3}, {3, 4}}),
		within(exhaustive{name: "derived", derived: true, sources: 3, unknowns: true}, [...][2]int{{1, 3}, {2, 3}, {3, 4}}),
	}
}
