package live_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const alphaFeatures = "alpha features on or off"

// alpha are the alpha features of Crossplane, which are on or off.
type alpha struct {
	*inspector

	mu     sync.Mutex
	on     bool
	usual  live.Program
	socket string
}

func (w *world) prepareAlpha() {
	w.alpha = &alpha{usual: plane.Crossplane.Program(), socket: state("faults.socket")}
	w.alpha.inspector = inspect(w.t, w.alpha.socket)
}

// alphas returns the failure that Crossplane starts again with its alpha features, or without them.
func (w *world) alphas() []fault {
	w.must(alphaFeatures, "times that the inspector had messages, and the cache responses")

	return []fault{{alphaFeatures, 2, func(context.Context, *rand.Rand) { w.withAlpha(!w.alpha.on) }}}
}

// withAlpha starts Crossplane again, unless it already has these features.
func (w *world) withAlpha(on bool) {
	if w.alpha == nil { // the test failed early
		return
	}

	w.alpha.mu.Lock()
	defer w.alpha.mu.Unlock()

	if on == w.alpha.on {
		return
	}

	if !on { // not before they did something
		goOn(0, func() bool { return w.alphaEffect() > 0 }, func() { time.Sleep(100 * time.Millisecond) })

		if w.alphaEffect() > 0 {
			w.saw(alphaFeatures, 1)
		}
	}

	next := w.alpha.usual
	if on {
		next.Args = append(slices.Clone(next.Args), "--enable-function-response-cache", "--enable-pipeline-inspector",
			"--pipeline-inspector-socket="+w.alpha.socket)
	}

	plane.Crossplane.Kill()

	if err := plane.Crossplane.Exchange(next, time.Second); err != nil {
		w.t.Error(err)
	}

	w.alpha.on = on
}

// observeAlpha checks that the inspector got no generated value.
func (w *world) observeAlpha() {
	w.alpha.inspector.mu.Lock()
	defer w.alpha.inspector.mu.Unlock()

	values := map[string][]byte{} // most values are those of several versions

	for _, v := range w.Versions() {
		if v.Generator != "" {
			for _, text := range v.Data {
				values[text], values[base64Of(text)] = []byte(text), []byte(base64Of(text))
			}
		}
	}

	for _, m := range w.alpha.messages {
		if n := leaks(m, slices.Collect(maps.Values(values))); n > 0 {
			w.t.Errorf("a message to the pipeline inspector has %d values of Secrets", n)
		}
	}
}

// alphaEffect returns how many messages the inspector got, or 0 if the cache is empty.
func (w *world) alphaEffect() int {
	w.alpha.inspector.mu.Lock()
	defer w.alpha.inspector.mu.Unlock()

	cached, err := os.ReadDir(state("xfn-cache"))
	if err != nil {
		w.t.Error(err)
	}

	return min(len(cached), 1) * len(w.alpha.messages)
}
