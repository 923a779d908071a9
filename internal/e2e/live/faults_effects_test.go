package live_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/proof"
)

// effects counts what failures did, by kind. A failure that does nothing proves nothing, so each kind that is played
// must have an effect.
type effects struct {
	mu sync.Mutex

	did  map[string]int
	what map[string]string
}

// must makes a run fail in which the kind is played, and does nothing of this.
func (e *effects) must(kind, what string) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.what == nil {
		e.what, e.did = map[string]string{}, map[string]int{}
	}

	e.what[kind] = what
}

func (e *effects) saw(kind string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.did[kind] += n
}

// patience is how long a failure goes on if it has no effect. A busy machine needs most of it.
const patience = time.Minute

// goOn repeats a step for some time, and then until it had an effect or the patience ends.
func goOn(d time.Duration, effect func() bool, step func()) {
	for start := time.Now(); time.Since(start) < d || !effect() && time.Since(start) < patience; {
		step()
	}
}

// check fails if a kind of failure was played and had no effect.
func (e *effects) check(t *testing.T, counts map[string]int) {
	t.Helper()

	for _, kind := range slices.Sorted(maps.Keys(e.what)) {
		if counts[kind] > 0 && e.did[kind] == 0 {
			t.Errorf("%s: played %d times without an effect, want %s", kind, counts[kind], e.what[kind])
		}
	}
}

// figures returns the counts of a run as a table, and writes them to the page about what is guaranteed.
func (w *world) figures(counts map[string]int, calls int, seed uint64, duration time.Duration) {
	var b strings.Builder

	fmt.Fprint(&b, "| Kind of failure | Times | Effect |\n|---|---|---|\n")

	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		effect := ""
		if what := w.what[kind]; what != "" {
			effect = fmt.Sprintf("%d %s", w.did[kind], what)
		}

		fmt.Fprintf(&b, "| %s | %d | %s |\n", kind, counts[kind], effect)
	}

	fmt.Fprintf(&b, "\n%d rotations were requested, and %d changes of sources. The function answered %d calls, and\n"+
		"%d versions of Secrets were checked. Crossplane was started again %d times because it called nothing\n"+
		"for some time. The run took %.0f minutes with the seed %d.\n",
		w.rotations.Load(), w.writes.Load(), calls, w.Counts().Versions, w.hurried.Load(), duration.Minutes(), seed)
	w.t.Log("\n" + b.String())

	if err := proof.Write("live", b.String()); err != nil {
		w.t.Error(err)
	}
}
