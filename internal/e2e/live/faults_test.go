package live_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A world contains the composites, and everything that changes and breaks them.
type world struct {
	*laws.History
	t *testing.T

	sources   map[string]*source // keyed by composite and name
	rotations atomic.Int64
	writes    atomic.Int64
	hurried   atomic.Int64

	requesting sync.Mutex
	requests   map[string]map[string]int // by composite and generator

	effects
	variants
	pausing sync.Mutex // one composite is paused at a time

	mu      sync.Mutex
	away    map[*live.Process]int // the number of callers that keep it from running
	repairs sync.WaitGroup        // repairs that are not yet done

	gate   *live.Gate // between Crossplane and the API server
	etcd   sync.Mutex // one operation on etcd runs at a time
	record *etcdRecord
	copy   string // the folder with the snapshot of etcd
	copied time.Time

	copySeen int // what a history numbers higher is not in the copy
}

func newWorld(t *testing.T, composites []string) *world {
	h := faultsHistory(composites)

	return &world{
		History: h, t: t, sources: map[string]*source{}, away: map[*live.Process]int{},
		requests: map[string]map[string]int{},
		record:   &etcdRecord{t: t, history: h},
	}
}

// A fault lasts for as long as it says.
type fault struct {
	name   string
	weight int
	do     func(ctx context.Context, rng *rand.Rand)
}

func (w *world) faults() []fault {
	some := func(rng *rand.Rand, from, to int) time.Duration {
		return time.Duration(from+rng.IntN(to-from)) * time.Millisecond
	}
	replica := func(rng *rand.Rand) *live.Process { return function.Replicas[rng.IntN(len(function.Replicas))] }

	all := []fault{
		{"replica killed", 5, func(_ context.Context, rng *rand.Rand) { replica(rng).Kill() }},
		{"both replicas killed", 3, func(context.Context, *rand.Rand) {
			for _, p := range function.Replicas {
				p.Kill()
			}
		}},
		{"function gone", 2, func(_ context.Context, rng *rand.Rand) {
			w.hold(function.Replicas...)
			w.later(some(rng, 1000, 4000), func() { w.keepAway(-1, function.Replicas...) })
		}},
		{"function slow", 3, func(_ context.Context, rng *rand.Rand) {
			function.Delay(some(rng, 200, 2000))
			w.later(some(rng, 500, 2500), func() { function.Delay(0) })
		}},
		{"replica frozen", 3, func(_ context.Context, rng *rand.Rand) {
			p := replica(rng)
			p.Signal(syscall.SIGSTOP)
			w.later(some(rng, 300, 3000), func() { p.Signal(syscall.SIGCONT) })
		}},
		{"certificate rotated", 3, func(context.Context, *rand.Rand) {
			if err := function.RotateCertificate(); err != nil {
				w.t.Error(err)
			}
		}},
		{"Crossplane killed", 4, func(context.Context, *rand.Rand) { plane.Crossplane.Kill() }},
		{"API server restarted", 2, func(ctx context.Context, _ *rand.Rand) {
			plane.APIServer.Kill()

			if err := plane.WaitForAPIServer(ctx); err != nil {
				w.t.Error(err)
			}
		}},
		{"source lost", 3, func(ctx context.Context, rng *rand.Rand) {
			names := slices.Sorted(maps.Keys(w.sources))
			w.lose(ctx, w.sources[names[rng.IntN(len(names))]], some(rng, 500, 3000))
		}},
	}
	return slices.Concat(all, w.disturbances(), w.etcds(), w.pauses(), w.clocks(), w.upgrades())
}

// breakParts breaks something at random. The weight of a kind says how often it is chosen.
func (w *world) breakParts(ctx context.Context, rng *rand.Rand, n int) map[string]int {
	var turn []fault

	counts := map[string]int{}

	for i := range n {
		switch i {
		case n/2 - snapshotAge(w.t, n):
			w.done("copy the data of etcd", w.snapshot(ctx))
		case n / 2:
			w.done("restore etcd", w.restore(ctx))
		}

		if len(turn) == 0 {
			for _, f := range w.faults() {
				turn = append(turn, slices.Repeat([]fault{f}, f.weight)...)
			}

			rng.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}

		turn[0].do(ctx, rng)
		counts[turn[0].name]++
		turn = turn[1:]

		if (i+1)%50 == 0 {
			w.t.Logf("%d faults, %d rotations asked for", i+1, w.rotations.Load())
		}

		time.Sleep(time.Duration(200+rng.IntN(1600)) * time.Millisecond)
	}

	return counts
}

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

// TestFaults breaks parts of the live system at random while credentials are rotated all the time.
// It checks each version of each Secret that etcd ever had.
//
// LIVE_FAULTS is the number of failures, and LIVE_SEED selects them. The result of a seed also
// depends on the machine. In the middle, etcd is restored from a copy of its data that is
// LIVE_SNAPSHOT failures old. With 0, it is not restored.
func TestFaults(t *testing.T) {
	seed := setting(t, "LIVE_SEED", uint64(time.Now().UnixNano()))
	n := int(setting(t, "LIVE_FAULTS", 120))
	t.Logf("LIVE_SEED=%d LIVE_FAULTS=%d", seed, n)

	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // stopped processes stay stopped
	defer stop()

	var composites []string
	for i := range 6 {
		composites = append(composites, fmt.Sprintf("shop-%d", i))
	}

	w := newWorld(t, composites)
	w.interpose(t)

	var running sync.WaitGroup

	watching, stopWatching := context.WithCancel(ctx)
	keeping, stopKeeping := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rotating, stopRotating := context.WithCancel(ctx)

	t.Cleanup(func() { // other tests need the processes that this test stopped
		stopRotating()
		w.repairs.Wait()
		running.Wait()
		function.Delay(0)

		w.remove(keeping)
		stopKeeping()
	})

	w.prepare(ctx)

	calls := w.calls()

	go w.keep(keeping)

	if err := w.record.start(watching); err != nil {
		t.Fatal(err)
	}

	if err := w.create(ctx); err != nil {
		t.Fatal(err)
	}

	if err := w.rest(ctx, time.Minute); err != nil {
		t.Fatalf("the composites are not ready before the first failure: %v", err)
	}

	if err := w.plant(ctx); err != nil {
		t.Fatalf("a planted fault is not found: %v", err)
	}

	start := time.Now()

	running.Go(func() { w.rotate(rotating, rand.New(rand.NewPCG(seed, 1))) })
	running.Go(func() { w.rewrite(rotating, rand.New(rand.NewPCG(seed, 2))) })
	running.Go(func() { w.hurry(rotating) })

	counts := w.breakParts(ctx, rand.New(rand.NewPCG(seed, 3)), n)

	stopRotating()
	running.Wait()
	t.Logf("%d faults played in %s", n, time.Since(start).Round(time.Second))
	w.repairs.Wait()
	t.Logf("%d faults in %s", n, time.Since(start).Round(time.Second))

	w.recovers(ctx)
	w.record.finish(ctx, latest(w.Final))
	stopWatching()
	w.observe()
	w.figures(counts, calls(), seed, time.Since(start))
	w.check(t, counts)

	for law, broken := range w.Judge() {
		t.Errorf("broken: %s: %d times\n\t%s", law, len(broken), strings.Join(broken[:min(len(broken), 10)], "\n\t"))
	}
}
