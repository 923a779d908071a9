package rotation

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/proof"
)

func reconciles(l loss) func(*world) bool {
	return func(w *world) bool { w.reconcile(l); return true }
}

func edited(kind, nth int) func(*world) bool {
	return func(w *world) bool { return w.edit(kind, func(n int) int { return nth % n }) }
}

// actions of the exhaustive model.
var actions = []action{
	{"a complete reconcile", reconciles(loss{})},
	{"no state of a generation is written", reconciles(loss{states: true})},
	{"no export is written", reconciles(loss{exports: [2]bool{true, true}})},
	{"only the second export is written", reconciles(loss{exports: [2]bool{true, false}, drops: true, states: true})},
	{"a reconcile stops after deletions", reconciles(loss{states: true, creation: true, exports: [2]bool{true, true}})},
	{"a stale reconcile", reconciles(loss{stale: true})},
	{"the cache stops", func(w *world) bool { w.kept = !w.kept; return w.before != nil }},
	{"a composite is stale", reconciles(loss{unlisted: true})},
	{"the first export is held", reconciles(loss{held: [2]bool{true, false}})},
	{"the second export is held", reconciles(loss{held: [2]bool{false, true}})},
	{"a minute passes", func(w *world) bool { return w.pass(time.Minute) }},
	{"16 minutes pass", func(w *world) bool { return w.pass(16 * time.Minute) }},
	{"the clock is 5 minutes slow", func(w *world) bool { return w.now.Equal(w.highest) && w.pass(-5*time.Minute) }},
	{"a rotation is requested", func(w *world) bool { w.request(); return w.requests < 4 }},
	{"the specification changes", func(w *world) bool { return change(&w.input.Origin.Spec, "s0", "s1") }},
	{"the source changes", func(w *world) bool { w.source++; return w.derived && w.source < 3 }},
	{"an input is missing, or back", func(w *world) bool { return w.toggle(Unknown) }},
	{"the generator leaves, or is back", func(w *world) bool { return w.toggle(Removed) }},
	{"the first export leaves, or is back", func(w *world) bool { return w.leave(0) }},
	{"the second export leaves, or is back", func(w *world) bool { return w.leave(1) }},
	{"the provider refuses, or not", func(w *world) bool { w.refuses = !w.refuses; return true }},
	{"people delete the first", func(w *world) bool { return w.deletes(0) }},
	{"people delete the last", func(w *world) bool { return len(w.gens) > 1 && w.deletes(len(w.gens)-1) }},
	{"the first is stripped", edited(strips, 0)},
	{"the second is stripped", edited(strips, 1)},
	{"the first is replayed", edited(replays, 0)},
	{"the second is replayed", edited(replays, 1)},
	{"the first record is stripped", edited(stripsRecord, 0)},
	{"the second record is stripped", edited(stripsRecord, 1)},
	{"the first record is replayed", edited(replaysRecord, 0)},
	{"the second record is replayed", edited(replaysRecord, 1)},
	{"a generation is forged", edited(forges, 0)},
}

func change(s *string, a, b string) bool {
	if *s != a {
		b = a
	}
	*s = b
	return true
}

// starts of the exhaustive model.
var starts = []struct {
	name string
	play func(*world)
}{
	{"new", func(*world) {}},
	{"in use", func(w *world) { w.complete(4) }},
	{"pending", func(w *world) {
		w.complete(4)
		w.refuses = true
		w.request()
		w.complete(3)
	}},
	{"abandoned", func(w *world) {
		w.complete(4)
		w.refuses = true
		w.request()
		w.complete(3)
		w.pass(abandonAfter)
		w.complete(1)
	}},
	{"replaced", func(w *world) {
		w.complete(4)
		w.request()
		w.complete(6)
	}},
	{"removed", func(w *world) {
		w.complete(4)
		w.input.Input = Removed
		w.complete(1)
	}},
	{"abandoned in use", func(w *world) { // by a stale reconcile
		w.complete(4)
		w.request()
		w.complete(2)
		w.kept = true
		w.complete(1)
		w.request()
		w.reconcile(loss{stale: true, exports: [2]bool{true, true}})
	}},
}

func (w *world) complete(times int) {
	for range times {
		w.reconcile(loss{})
	}
}

// A search visits the clusters of one setup, breadth first. A digest identifies a cluster.
type search struct {
	setup

	seeds  [2]maphash.Seed
	all    map[digest]bool
	rest   map[digest]int // how many reconciles a requested rotation takes from a cluster
	steps  int
	worst  int
	buffer []byte
}

type digest [2]uint64

func newSearch(kind string, next machine) *search {
	s := &search{setup: setups[kind], all: map[digest]bool{}, rest: map[digest]int{}}
	s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	s.next = next
	return s
}

// from visits what can follow a start, and returns the law that is broken, with the history.
func (s *search) from(start func(*world), depth int) string {
	w := newWorld(&s.setup)
	if text := broken(func() { start(w) }); text != "" {
		return text
	}
	level, known := []*world{w}, map[digest]bool{s.key(w): true}
	for range depth {
		var next []*world
		for _, from := range level {
			for i := range actions {
				to := from.clone()
				to.trace = &event{from.trace, i}
				possible := false
				if text := broken(func() { possible = actions[i].do(to) }); text != "" {
					return fmt.Sprint(text, to.trace)
				}
				s.steps++
				if key := s.key(to); possible && !known[key] {
					known[key], s.all[key] = true, true
					next = append(next, to)
				}
			}
		}
		level = next
	}
	for _, from := range level { // from each of the last ones, a rotation ends
		if text := s.rests(from); text != "" {
			return fmt.Sprint(text, from.trace)
		}
	}
	return ""
}

// String tells how a cluster was reached.
func (e *event) String() string {
	if e == nil {
		return ""
	}
	return e.before.String() + "\n  " + actions[e.action].name
}

// rests returns a law that is broken when nothing fails anymore. The successors of equal clusters are only visited
// once.
func (s *search) rests(from *world) string {
	w := from.clone()
	type at struct {
		key   digest
		taken int // reconciles from here to the next one
	}
	return broken(func() {
		w.calm(true)
		var way []at
		for {
			here := at{key: s.key(w)}
			if _, known := s.rest[here.key]; known {
				way = append(way, here)
				break
			}
			tick := 30 * time.Minute
			if !w.settled() {
				here.taken, tick = 1, 3*time.Minute
			} else if len(way) > 0 && here.key == way[len(way)-1].key {
				w.checkRest()
				break
			}
			if way = append(way, here); len(way) > 100 {
				fail("it never comes to rest: %s", w)
			}
			w.reconcile(loss{})
			w.pass(tick)
		}
		taken := s.rest[way[len(way)-1].key]
		for _, a := range slices.Backward(way) {
			taken += a.taken
			s.rest[a.key] = taken
		}
		if s.worst = max(s.worst, taken); taken > mostReconciles {
			fail("a rotation takes %d reconciles", taken)
		}
	})
}

// key identifies a cluster, except for differences that do not matter.
func (s *search) key(w *world) digest {
	b := w.append(s.buffer[:0], w.now)
	if w.before != nil && w.now.Sub(w.before.now).Abs() <= oldest {
		b = w.before.append(append(b, 1), w.now)
	}
	s.buffer = b
	return digest{maphash.Bytes(s.seeds[0], b), maphash.Bytes(s.seeds[1], b)}
}

// append adds the parts that identify a cluster. Times are compared with now, and are the same if all periods are over.
func (w *world) append(b []byte, now time.Time) []byte {
	ageUpTo := func(most time.Duration, t time.Time) {
		seconds := int64(1 << 30)
		if !t.IsZero() {
			seconds = int64(min(now.Sub(t), most) / time.Second)
		}
		b = binary.AppendVarint(b, seconds)
	}
	age := func(t time.Time) { ageUpTo(25*time.Hour, t) }
	flags := func(all ...bool) {
		for _, f := range all {
			b = append(b, '0')
			if f {
				b[len(b)-1] = '1'
			}
		}
	}
	index := func(uid string) {
		b = append(b, byte(slices.IndexFunc(w.gens, func(o secret) bool { return o.UID == uid })))
		if uid != "" && w.find(uid) == nil {
			b = append(b, '?')
		}
	}
	state := func(s State) {
		b = append(b, byte(s.Stage), byte(s.Failures), byte(s.Grace.Duration/time.Minute))
		b = append(append(b, s.Origin.Spec...), s.Request...)
		age(s.Since)
	}
	record := func(r Record) {
		flags(r.Lost)
		for i, o := range w.gens {
			if k := r.Of(o.UID); k != nil {
				b = append(b, byte(i))
				state(k.State)
				age(k.Left)
			}
		}
	}
	ageUpTo(0, w.highest)
	flags(w.refuses, w.clean, w.deleted, w.kept)
	b = append(b, byte(w.input.Input), byte(w.source), byte(w.requests))
	b = append(append(b, w.input.Origin.Spec...), w.input.Request...)
	if len(w.gens) > 0 {
		b = binary.AppendVarint(b, int64(w.gens[0].Number))
	}
	for _, o := range w.gens {
		flags(o.Intact, o.works, o.foreign, o.abandoned)
		b = append(b, byte(o.Number-w.gens[0].Number), byte(o.source), byte(len(o.old)))
		state(o.State)
		state(o.initial)
		for _, old := range o.old {
			state(old)
		}
		ageUpTo(2*time.Minute, o.Created)
		age(o.released)
		for _, uid := range o.Follows {
			index(uid)
		}
	}
	for _, e := range w.exports {
		flags(e.wanted, e.there)
		index(e.value)
		index(e.candidate)
		record(e.record)
		for _, r := range e.old {
			record(r)
		}
	}
	return b
}

// TestExhaustive visits what can happen within a number of actions, from each start.
func TestExhaustive(t *testing.T) {
	depth, least := 3, 41_440 // as many as the former model
	if proof.Whole() {
		depth, least = 4, 193_259
	}
	var (
		mu     sync.Mutex
		wait   sync.WaitGroup
		worlds int
		rows   = []string{
			"| Configuration | Actions | States | Transitions | Reconciles of a rotation |", "|---|---|---|---|---|",
		}
	)
	for _, kind := range setupNames {
		wait.Go(func() {
			s := newSearch(kind, Next)
			for _, start := range starts {
				if text := s.from(start.play, depth); text != "" {
					t.Errorf("%s, %s: %s", kind, start.name, text)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			worlds += len(s.all)
			rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d |", kind, depth, len(s.all), s.steps, s.worst))
		})
	}
	wait.Wait()
	t.Logf("%d worlds\n%s", worlds, strings.Join(rows, "\n"))
	if worlds < least {
		t.Errorf("it visits %d worlds, want %d", worlds, least)
	}
	if proof.Whole() && !t.Failed() {
		if err := proof.Write("model", strings.Join(rows, "\n")+"\n"); err != nil {
			t.Error(err)
		}
	}
}
