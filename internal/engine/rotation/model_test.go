package rotation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

var (
	uses = Record{Uses: true}
	sets = Record{Sets: true}
	both = Record{Uses: true, Sets: true}
)

// setups of the models.
var setups = map[string]setup{
	"plain":    {exports: [2]Record{uses, uses}},
	"verified": {exports: [2]Record{uses, sets}, verified: true},
	"both":     {exports: [2]Record{both, sets}, verified: true},
	"derived":  {exports: [2]Record{uses, {}}, derived: true},
	"resource": {exports: [2]Record{uses, uses}, resource: true},
}

var setupNames = []string{"plain", "verified", "derived", "resource", "both"}

// mostReconciles is how many reconciles a requested rotation takes at most, if nothing fails anymore.
const mostReconciles = 12

// history plays a random history, and lets the cluster come to rest. Everything in it depends on the seed.
func history(next machine, seed uint64, free bool, says func(string)) (reconciles int, w *world) {
	r := rand.New(rand.NewPCG(seed, 1))
	s := setups[setupNames[seed%uint64(len(setupNames))]]
	s.next, s.free = next, free
	w = newWorld(&s)
	w.says = says
	w.input.AbandonAfter = []time.Duration{0, abandonAfter}[r.IntN(2)]
	w.input.Policy = []v1beta1.RefreshPolicy{v1beta1.OnChange, v1beta1.OnChange, v1beta1.CreatedOnce,
		v1beta1.Periodic}[r.IntN(4)]
	w.input.Interval = time.Hour
	if r.IntN(4) == 0 {
		w.input.Window, _ = ParseSchedule("0 */3 * * *", 20*time.Minute)
	}
	if r.IntN(4) == 0 {
		w.lifetime = 3 * time.Hour
	}
	bit := func(n int) bool { return r.IntN(n) == 0 }
	for range 20 + r.IntN(40) {
		w.pass([]time.Duration{0, time.Second, time.Minute, 5 * time.Minute, 11 * time.Minute, 20 * time.Minute,
			2 * time.Hour}[r.IntN(7)])
		w.happen(r)
		if bit(5) { // the reconcile stops before it writes
			w.clean = false
			continue
		}
		l := loss{
			drops: bit(8), states: bit(8), creation: bit(6), exports: [2]bool{bit(6), bit(6)},
			held:  [2]bool{bit(8), bit(12)},
			stale: bit(8), unlisted: bit(4),
		}
		if bit(4) && len(w.gens) > 0 {
			l.one = 1 + r.IntN(len(w.gens))
		}
		w.reconcile(l)
	}
	return w.comeToRest(bit(2)), w
}

// happen lets one thing happen.
func (w *world) happen(r *rand.Rand) {
	switch r.IntN(30) {
	case 0:
		w.input.Origin.Spec = fmt.Sprint("s", r.IntN(3))
	case 1:
		w.input.Origin.Keepers = fmt.Sprint("k", r.IntN(2))
	case 2, 3:
		w.request()
	case 4:
		w.input.Request = ""
	case 5:
		w.toggle(Unknown)
	case 6:
		w.toggle(Removed)
	case 7:
		w.refuses = !w.refuses
	case 8:
		w.leave(r.IntN(2))
	case 9:
		w.pass(-time.Duration(r.IntN(90)) * time.Minute)
	case 10:
		w.deletes(r.IntN(16))
	case 21, 22:
		w.kept = w.before != nil
	case 12, 13:
		w.source = r.IntN(3)
	case 14, 15, 16, 17, 18, 19, 20:
		w.edit(r.IntN(edits), r.IntN)
	}
}

// comeToRest returns how many reconciles a requested rotation took. Without a request, a retry may be hours away.
func (w *world) comeToRest(request bool) (reconciles int) {
	w.sayf("all is calm")
	w.calm(request)
	tick, most, before := 3*time.Minute, mostReconciles, w.exports[0].value
	if !request {
		tick, most = 30*time.Minute, 100
	}
	for ; !w.settled(); reconciles++ {
		if reconciles > most {
			fail("the rotation does not end: %s", w)
		}
		w.reconcile(loss{})
		w.pass(tick)
	}
	if request && before == w.exports[0].value {
		fail("a request counts as done without a new generation")
	}
	for range 60 {
		w.reconcile(loss{})
		w.pass(30 * time.Minute)
	}
	w.checkRest()
	if !request {
		reconciles = 0
	}
	return reconciles
}

// TestModel plays random histories. In a part of them, edits come at any time. Then only exported values are safe.
func TestModel(t *testing.T) {
	var (
		mu          sync.Mutex
		wait        sync.WaitGroup
		most, count int
		n           = proof.Count("MODEL_HISTORIES", 8000, 100_000)
	)
	const workers = 2
	for worker := range uint64(workers) {
		wait.Go(func() {
			for seed := worker; seed < n && !t.Failed(); seed += workers {
				play := func(says func(string)) string {
					return broken(func() {
						reconciles, w := history(Next, seed, seed%11 == 10, says)
						mu.Lock()
						most, count = max(most, reconciles), count+w.count
						mu.Unlock()
					})
				}
				if broken := play(nil); broken != "" {
					var lines []string
					play(func(line string) { lines = append(lines, line) })
					t.Errorf("seed %d: %s\n%s", seed, broken, strings.Join(lines[max(0, len(lines)-40):], "\n"))
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d histories, %d generations, at most %d reconciles for a requested rotation", n, count, most)
}
