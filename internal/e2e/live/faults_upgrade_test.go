package live_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const (
	upgraded    = "replica of the former version"
	clockAhead  = "clock of a replica 5 minutes fast"
	clockBehind = "clock of a replica 5 minutes slow"

	skewed = 5 * time.Minute
)

// variants are the programs that take the place of a replica's own program for some time.
type variants struct {
	usual  map[*live.Process]live.Program
	spare  chan *live.Process // the replicas that run their own program
	former string             // the path of the former version
	clock  string             // the path of the variant whose clock can be wrong

	skewing sync.Mutex // one clock is wrong at a time
}

// prepare builds the programs of the failures.
func (w *world) prepare(ctx context.Context) {
	w.usual, w.spare = map[*live.Process]live.Program{}, make(chan *live.Process, len(function.Replicas))

	for _, p := range function.Replicas {
		w.usual[p] = p.Program()
		w.spare <- p
	}

	w.clock = state("function-export-clocks")
	if overlay, err := e2e.Overlay(root, e2e.Clocks, w.t.TempDir()); err != nil {
		w.t.Fatal(err)
	} else if err := command(ctx, root, "go", "build", overlay, "-o", w.clock, "./fn"); err != nil {
		w.t.Fatal(err)
	}

	w.faults() // names the effects
	w.buildFormer(ctx)
}

// buildFormer builds the former version of the function: the commit that LIVE_FORMER names, or else the one before the
// last. The program stays in the user's cache.
func (w *world) buildFormer(ctx context.Context) {
	commit := cmp.Or(os.Getenv("LIVE_FORMER"), "HEAD~1")

	git := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", commit+"^{commit}")
	git.Dir = root

	hash, err := git.Output()
	if err != nil {
		w.t.Fatalf("there is no commit %s, is this a shallow clone? %v", commit, err)
	}

	cache, err := os.UserCacheDir()
	if err != nil {
		w.t.Fatal(err)
	}

	dir := filepath.Join(cache, "function-export", "former")
	w.former = filepath.Join(dir, strings.TrimSpace(string(hash)))
	w.t.Logf("the former version is %s: %s", commit, filepath.Base(w.former))

	if _, err := os.Stat(w.former); err == nil {
		return
	}

	source := filepath.Join(dir, "source") // always the same, so that Go's cache has the packages that did not change
	if err := errors.Join(os.RemoveAll(source), os.MkdirAll(source, 0o700)); err != nil {
		w.t.Fatal(err)
	}

	for _, step := range []struct {
		dir  string
		args []string
	}{
		{root, []string{"git", "archive", "--output=" + filepath.Join(source, "former.tar"), commit}},
		{source, []string{"tar", "-xf", "former.tar"}},
		{source, []string{"go", "build", "-o", w.former, "./fn"}},
	} {
		if err := command(ctx, step.dir, step.args[0], step.args[1:]...); err != nil {
			w.t.Fatal(err)
		}
	}
}

// upgrades returns the failure that a replica runs the former version.
func (w *world) upgrades() []fault {
	w.must(upgraded, "calls that the former version has answered")

	return []fault{{upgraded, 2, func(_ context.Context, rng *rand.Rand) {
		d := time.Duration(2000+rng.IntN(3000)) * time.Millisecond
		w.repairs.Go(func() {
			w.exchange("former", w.former, nil, func(p *live.Process) { w.alternate(d, printed(p, "Ran function")) })
		})
	}}}
}

// clocks returns the failures that the clock of a replica is wrong. It becomes right while the replica runs.
func (w *world) clocks() []fault {
	kind := func(name string, offset time.Duration) fault {
		w.must(name, "calls that were answered with this clock")

		return fault{name, 1, func(_ context.Context, rng *rand.Rand) {
			d := time.Duration(1500+rng.IntN(2500)) * time.Millisecond
			file := state(strings.ReplaceAll(name, " ", "-"))
			set := func(offset time.Duration) {
				if err := os.WriteFile(file+".new", []byte(offset.String()), 0o600); err != nil {
					w.t.Error(err)
				} else if err := os.Rename(file+".new", file); err != nil {
					w.t.Error(err)
				}
			}

			w.repairs.Go(func() {
				w.skewing.Lock()
				defer w.skewing.Unlock()

				set(offset)

				from := time.Now()
				w.exchange("clock", w.clock, []string{"FUNCTION_EXPORT_CLOCK=" + file}, func(p *live.Process) {
					w.alternate(d, printed(p, fmt.Sprintf("clock %+d", int(offset.Seconds()))))
					set(0)
					w.alternate(d/2, printed(p, "clock +0"))
				})
				w.WrongClock(from, time.Now())
			})
		}}
	}

	return []fault{kind(clockAhead, skewed), kind(clockBehind, -skewed)}
}

// exchange runs another program in the place of a replica while do runs.
func (w *world) exchange(name, path string, env []string, do func(p *live.Process)) {
	p := <-w.spare
	defer func() { w.spare <- p }()

	if err := p.Exchange(w.usual[p].Variant(name, path, env...), 2*time.Second); err != nil {
		w.t.Error(err)
	}

	do(p)

	if err := p.Exchange(w.usual[p], 2*time.Second); err != nil {
		w.t.Error(err)
	}
}

// alternate makes all replicas answer calls, because Crossplane has one connection, and uses it while it can. It cuts a
// connection only after a call was answered: gRPC waits for up to two minutes after several failed attempts to connect.
func (w *world) alternate(d time.Duration, effect func() bool) {
	calls, last := w.calls(), -1

	goOn(d, effect, func() {
		if n := calls(); n != last {
			last = n

			function.Cut()
		}

		time.Sleep(500 * time.Millisecond)
	})
}

// printed returns whether the program of a process prints a text from now on.
func printed(p *live.Process, text string) func() bool {
	tail := p.Program().Follow(text)

	return func() bool { return tail.Count() > 0 }
}

// calls returns how many calls all programs of the function have answered from now on.
func (w *world) calls() func() int {
	var tails []*live.Tail

	for _, usual := range w.usual {
		for _, p := range []live.Program{usual, usual.Variant("former", ""), usual.Variant("clock", "")} {
			tails = append(tails, p.Follow("Ran function"))
		}
	}

	return func() (n int) {
		for _, t := range tails {
			n += t.Count()
		}

		return n
	}
}

// observe counts the effects that are in logs.
func (w *world) observe() {
	for _, usual := range w.usual {
		w.saw(upgraded, strings.Count(usual.Variant("former", "").Output(), "Ran function"))

		clock := usual.Variant("clock", "").Output()
		w.saw(clockAhead, strings.Count(clock, "clock +300"))
		w.saw(clockBehind, strings.Count(clock, "clock -300"))
	}
}
