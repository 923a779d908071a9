// Package reconciler_test runs Crossplane's own reconciler, unchanged, with the function. Calls of the API server and
// of the function fail at random, or Crossplane crashes there. Users act in between. Each version of each Secret is
// judged by the laws of the tests on a real control plane.
package reconciler_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// setting returns a number from an environment variable, or the default.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// steps are the reconciles of a history in which something fails. Some more follow until the system is stable.
const steps = 30

// A tally counts what happened in histories.
type tally struct {
	histories, reconciles int
	versions              laws.Counts
	faults, actions       map[string]int
}

func (y *tally) add(p *play) {
	y.histories++
	y.reconciles += p.reconciles
	c := p.Counts()
	y.versions.Versions += c.Versions
	y.versions.Exported += c.Exported
	y.versions.Generations += c.Generations
	y.versions.Deleted += c.Deleted
	for k, n := range p.faults {
		y.faults[k] += n
	}
	for k, n := range p.actions {
		y.actions[k] += n
	}
}

// A found is a history that broke a law.
type found struct {
	history uint64
	broken  map[string][]string
	trace   *trace
}

// search plays histories until there were as many reconciles, until one broke a law, or until the time limit of the
// test is too close for another one. The Crossplanes play at the same time.
func search(t *testing.T, seed uint64, reconciles int, calm bool, planes ...*crossplane) (tally, *found) {
	t.Helper()
	var (
		mu      sync.Mutex // guards the variables below
		y       = tally{faults: map[string]int{}, actions: map[string]int{}}
		bad     *found
		started uint64
		longest time.Duration // of the histories
		running sync.WaitGroup
	)
	deadline, limited := t.Deadline()
	next := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		started++
		return started, bad == nil && y.reconciles < reconciles && (!limited ||
			time.Until(deadline) > time.Minute+2*longest)
	}
	for _, c := range planes {
		running.Go(func() {
			for i, ok := next(); ok; i, ok = next() {
				begin := time.Now()
				p := newPlay(c, rand.New(rand.NewPCG(seed, i)))
				broken := p.run(steps, calm)
				mu.Lock()
				y.add(p)
				longest = max(longest, time.Since(begin))
				if len(broken) > 0 {
					bad = &found{i, broken, c.trace}
				}
				if y.histories%20 == 0 {
					t.Logf("%d histories, %d reconciles", y.histories, y.reconciles)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return y, bad
}

// TestReconciler plays histories with Crossplane's reconciler. LOOP_RECONCILES is the number of reconciles, and
// LOOP_SEED selects what fails and what users do. Crossplane applies objects in random order, so a seed does not repeat
// a history: the end of a history that breaks a law is printed.
func TestReconciler(t *testing.T) {
	seed := setting(t, "LOOP_SEED", uint64(time.Now().UnixNano()))
	n := int(setting(t, "LOOP_RECONCILES", 300))
	t.Logf("LOOP_SEED=%d LOOP_RECONCILES=%d", seed, n)
	path := programForTest(t)
	var planes []*crossplane
	for range setting(t, "LOOP_WORKERS", 2) {
		planes = append(planes, start(t, path))
	}
	begin := time.Now()
	y, bad := search(t, seed, n, false, planes...)
	if bad != nil {
		for law, what := range bad.broken {
			t.Errorf("broken: %s: %d times\n\t%s", law, len(what), strings.Join(what[:min(len(what), 10)], "\n\t"))
		}
		lines := bad.trace.lines
		t.Fatalf("history %d:\n%s", bad.history, strings.Join(lines[max(0, len(lines)-200):], "\n"))
	}
	figures := y.figures(seed, time.Since(begin))
	t.Log("\n" + figures)
	if err := proof.Write("reconciler", figures); err != nil {
		t.Error(err)
	}
}

// figures returns a table of what was counted.
func (y *tally) figures(seed uint64, took time.Duration) string {
	var b strings.Builder
	row := func(what string, n any) { fmt.Fprintf(&b, "| %s | %v |\n", what, n) }
	fmt.Fprint(&b, "| Histories with Crossplane's reconciler | |\n|---|---|\n")
	row("Histories", y.histories)
	row("Reconciles", y.reconciles)
	row("Versions of Secrets that were judged", y.versions.Versions)
	row("Versions of exported Secrets", y.versions.Exported)
	row("Generations created, and deleted again", fmt.Sprintf("%d, %d", y.versions.Generations, y.versions.Deleted))
	kinds := map[string]int{}
	for k, n := range y.faults {
		kind, _, _ := strings.Cut(k, " at ")
		kinds[kind] += n
	}
	row("Failures", listed(kinds))
	row("In between", listed(y.actions))
	row("Broken laws", 0)
	row("Seed", seed)
	row(fmt.Sprintf("Minutes on %d cores", runtime.NumCPU()), fmt.Sprintf("%.1f", took.Minutes()))
	return b.String()
}

// listed returns counts as a list.
func listed(counts map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s: %d", k, counts[k]))
	}
	return strings.Join(out, ", ")
}

func remembers(f runner) runner { return &remembering{runner: f} }

// TestFindsPlantedFault checks that a function that remembers what it sent is found, and only if something fails. The
// model of rotations cannot find it, because the decisions are correct. On a real control plane, Crossplane must be
// killed between two writes of one reconcile.
func TestFindsPlantedFault(t *testing.T) {
	seed := setting(t, "LOOP_SEED", 1)
	c := start(t, programForTest(t))
	c.fault = remembers
	if _, bad := search(t, seed, 80, true, c); bad != nil {
		t.Fatalf("the planted fault breaks laws although nothing fails: %v", bad.broken)
	}
	y, bad := search(t, seed, 2000, false, c)
	if bad == nil {
		t.Fatalf("the planted fault was not found in %d reconciles", y.reconciles)
	}
	t.Logf("found in history %d, after %d reconciles: %v", y.histories, y.reconciles,
		slices.Sorted(maps.Keys(bad.broken)))
}
