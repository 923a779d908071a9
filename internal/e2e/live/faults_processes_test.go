package live_test

import (
	"context"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// keep keeps processes running, as kubelets do.
func (w *world) keep(ctx context.Context) {
	for ctx.Err() == nil {
		for _, p := range append([]*live.Process{
			plane.Etcd, plane.APIServer, plane.ControllerManager, plane.Crossplane, plane.RBACManager,
		}, function.Replicas...) {
			w.mu.Lock()
			if w.away[p] == 0 && ctx.Err() == nil {
				if err := p.Start(); err != nil {
					w.t.Error(err)
				}
			}
			w.mu.Unlock()
		}

		time.Sleep(200 * time.Millisecond)
	}
}

// hurry starts Crossplane again if it calls no function for some time. After several attempts to connect that failed,
// its gRPC client waits for up to two minutes. Without this, most of a run is waiting. On a busy machine, a new process
// may need longer until its first call, so each one in a row has twice the time of the one before.
func (w *world) hurry(ctx context.Context) {
	const enough = 15 * time.Second

	limit := enough

	for calls, last, since := w.calls(), -1, time.Now(); ctx.Err() == nil; time.Sleep(time.Second) {
		if n := calls(); n != last {
			last, since, limit = n, time.Now(), enough
		}

		if time.Since(since) > limit {
			w.t.Logf("no call for %s: Crossplane is started again", limit)
			w.hurried.Add(1)
			plane.Crossplane.Kill()

			since, limit = time.Now(), min(2*limit, 2*time.Minute)
		}
	}
}

// hold kills processes, and prevents that they are started again until keepAway is called.
func (w *world) hold(p ...*live.Process) {
	w.keepAway(1, p...)

	for _, p := range p {
		p.Kill()
	}
}

// later calls do, which repairs what the test broke, after the duration d.
func (w *world) later(d time.Duration, do func()) {
	w.repairs.Go(func() { time.Sleep(d); do() })
}

// insist repeats a call that fails while the API server does not run.
func (w *world) insist(ctx context.Context, what string, do func(ctx context.Context) error) {
	for start := time.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()

			return do(ctx)
		}()
		if err == nil {
			return
		}

		if time.Since(start) > 2*time.Minute {
			w.t.Errorf("cannot %s for two minutes: %v", what, err)
			return
		}
	}
}
