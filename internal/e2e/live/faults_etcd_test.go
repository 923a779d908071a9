package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// Kinds of failures of etcd.
const (
	etcdKilled = "etcd killed"
	etcdFull   = "etcd full"
)

// etcds returns the failures of etcd.
func (w *world) etcds() []fault {
	w.must(etcdKilled, "new terms of etcd")
	w.must(etcdFull, "writes that were refused because etcd is full")

	return []fault{
		{etcdKilled, 2, func(_ context.Context, rng *rand.Rand) {
			w.killEtcd(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}},
		{etcdFull, 1, func(_ context.Context, rng *rand.Rand) {
			w.fillEtcd(time.Duration(2000+rng.IntN(3000)) * time.Millisecond)
		}},
	}
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

// refused writes through the API server for some time, and longer if no write is refused because etcd is full.
func (w *world) refused(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	refused := false

	for i, start := 0, time.Now(); !refused || time.Since(start) < d; i++ {
		const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: full, namespace: faults}, data: {i: '%d'}}"

		err := plane.Apply(ctx, fmt.Sprintf(object, i))
		if err != nil && strings.Contains(err.Error(), "database space exceeded") {
			refused = true

			w.saw(etcdFull, 1)
		}

		if ctx.Err() != nil {
			return fmt.Errorf("no write is refused: %w", err)
		}

		time.Sleep(100 * time.Millisecond)
	}

	return nil
}

// operate breaks and repairs etcd while the test continues. Only one such operation runs at a time.
func (w *world) operate(what string, do func(ctx context.Context) error) {
	w.repairs.Go(func() {
		w.etcd.Lock()
		defer w.etcd.Unlock()

		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()

		if err := do(ctx); err != nil {
			w.t.Errorf("%s: %v", what, err)
		}
	})
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

// killEtcd kills etcd for some time. etcd passes each write to the kernel before it confirms the write. So the data
// survives, although etcd does not wait until the disk has it.
func (w *world) killEtcd(d time.Duration) {
	w.operate(etcdKilled, func(ctx context.Context) error {
		if err := w.restartEtcd(ctx, func() error { time.Sleep(d); return nil }); err != nil {
			return err
		}

		w.saw(etcdKilled, 1)

		return nil
	})
}

// fillEtcd lets etcd be full for some time. Meanwhile, it refuses writes, and still deletes and answers reads.
func (w *world) fillEtcd(d time.Duration) {
	const space = 8 << 20

	w.operate(etcdFull, func(ctx context.Context) error {
		status, err := plane.EtcdStatus(ctx)
		if err != nil {
			return err
		}

		quota := func(bytes int64) func() error { return func() error { plane.SetEtcdQuota(bytes); return nil } }
		if err := w.restartEtcd(ctx, quota(status.Size+space)); err != nil {
			return err
		}

		if err := plane.FillEtcd(ctx); err != nil {
			return fmt.Errorf("cannot fill etcd: %w", err)
		}

		refused := w.refused(ctx, d)

		if err := plane.EmptyEtcd(ctx, w.record.seen()); err != nil {
			return fmt.Errorf("cannot free its space: %w", err)
		}

		return errors.Join(refused, w.restartEtcd(ctx, quota(0)))
	})
}
