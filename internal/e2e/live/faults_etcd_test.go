package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const etcdKilled = "etcd killed"

// etcds returns the failure of etcd.
func (w *world) etcds() []fault {
	w.must(etcdKilled, "new terms of etcd")

	return []fault{{etcdKilled, 2, func(_ context.Context, rng *rand.Rand) {
		w.killEtcd(time.Duration(rng.IntN(2000)) * time.Millisecond)
	}}}
}

// keepAway adds n to the callers that keep processes from running.
func (w *world) keepAway(n int, p ...*live.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, p := range p {
		w.away[p] += n
	}
}

// down kills processes, and prevents that they are started until do returns.
func (w *world) down(do func() error, p ...*live.Process) error {
	w.hold(p...)
	defer w.keepAway(-1, p...)

	return do()
}

// restartEtcd kills etcd, and starts it again after do returns.
func (w *world) restartEtcd(ctx context.Context, do func() error) error {
	before, err := plane.EtcdStatus(ctx)
	if err != nil {
		return err
	}

	if err := errors.Join(w.down(do, plane.Etcd), plane.WaitForEtcd(ctx)); err != nil {
		return err
	}

	after, err := plane.EtcdStatus(ctx)
	if err != nil {
		return err
	}

	if after.Term <= before.Term {
		return fmt.Errorf("etcd has term %d, and had %d", after.Term, before.Term)
	}

	return nil
}

// killEtcd kills etcd for some time, while the test continues. etcd passes each write to the kernel before it confirms
// the write. So the data survives, although etcd does not wait until the disk has it.
func (w *world) killEtcd(d time.Duration) {
	w.repairs.Go(func() {
		w.etcd.Lock()
		defer w.etcd.Unlock()

		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()

		if err := w.restartEtcd(ctx, func() error { time.Sleep(d); return nil }); err != nil {
			w.t.Errorf("cannot start etcd again: %v", err)
			return
		}

		w.saw(etcdKilled, 1)
	})
}
