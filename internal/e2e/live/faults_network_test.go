package live_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const lossy = "half of the packets lost"

// A network contains the link through which connections to replicas go while packets are lost.
type network struct {
	losing sync.Mutex
	link   *live.Link
	routes map[string]string
}

func (w *world) prepareLink(ctx context.Context) {
	link, err := live.NewLink()
	if err != nil {
		w.cannot(w.t, lossy, err)
		return
	}

	w.link, w.routes = link, map[string]string{}
	w.t.Cleanup(link.Close)

	for _, a := range function.Addresses() {
		if w.routes[a], err = link.To(ctx, a); err != nil {
			w.t.Fatal(err)
		}
	}
}

// losses returns the failure that half of the packets between Crossplane and the function are lost.
func (w *world) losses() []fault {
	w.must(lossy, "packets lost")

	return []fault{{lossy, 2, func(_ context.Context, rng *rand.Rand) {
		d := time.Duration(2000+rng.IntN(4000)) * time.Millisecond
		w.repairs.Go(func() { w.losePackets(d) })
	}}}
}

// losePackets moves the connection of Crossplane to the link, and loses packets. The connection stays there, until
// something else ends it.
func (w *world) losePackets(d time.Duration) {
	w.losing.Lock()
	defer w.losing.Unlock()

	function.Route(w.routes)
	function.Cut()

	arrived, before := w.link.Packets()

	goOn(0, func() bool { // a connection that exists sees the loss, but few can be opened during it
		passed, _ := w.link.Packets()
		return passed > arrived+10
	}, func() { time.Sleep(50 * time.Millisecond) })

	w.link.Lose(true)
	goOn(d, func() bool {
		_, dropped := w.link.Packets()
		return dropped > before+10
	}, func() { time.Sleep(100 * time.Millisecond) })
	w.link.Lose(false)
	function.Route(nil)

	_, after := w.link.Packets()
	w.saw(lossy, int(after-before))
}
