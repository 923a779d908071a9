package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// A run of TestFaults restores etcd once, from a copy of its data. Each law holds before and after the restore.
//
// As the instructions of Kubernetes require, the API server and everything that watches it is started again after the
// restore. The function is not: it stores nothing.

// snapshotAge returns how many failures before the restore the copy is made.
func snapshotAge(t *testing.T, n int) int {
	t.Helper()

	return min(n/4, int(setting(t, "LIVE_SNAPSHOT", 30)))
}

// still waits until nothing changes etcd, and no composite is paused: what a copy has of these would stay after the
// restore. Other failures go on. The returned function ends the wait of these.
func (w *world) still() (resume func()) {
	w.pausing.Lock()
	w.etcd.Lock()

	return func() { w.pausing.Unlock(); w.etcd.Unlock() }
}

// snapshot copies the data of etcd.
func (w *world) snapshot(ctx context.Context) error {
	defer w.still()()

	return w.restartEtcd(ctx, func() (err error) {
		w.copied = time.Now()
		w.copy, err = plane.CopyEtcd()
		w.copySeen = w.Ask("", "") // it numbers what follows

		return err
	})
}

// restore lets etcd have what it had at the snapshot. The writers of sources then write again, as they do with real
// sources.
func (w *world) restore(ctx context.Context) error {
	defer w.still()()

	for start := time.Now(); !w.ExportedSince(w.copySeen) && time.Since(start) < time.Minute; {
		time.Sleep(100 * time.Millisecond)
	}

	before, err := plane.EtcdStatus(ctx)
	if err != nil {
		return err
	}

	err = w.down(func() error {
		err := w.down(func() error { return plane.RestoreEtcd(w.copy) }, plane.Etcd)
		if err := errors.Join(err, plane.WaitForEtcd(ctx)); err != nil {
			return err
		}

		after, err := plane.EtcdStatus(ctx)
		if err != nil {
			return err
		}

		w.record.cut(after.Revision)
		w.record.follow(ctx, after.Revision+1)

		return w.wentBack(before.Revision, after.Revision)
	}, plane.Crossplane, plane.RBACManager, plane.ControllerManager, plane.APIServer)
	if err != nil {
		return err
	}

	if err := plane.WaitForAPIServer(ctx); err != nil {
		return err
	}

	for _, name := range slices.Sorted(maps.Keys(w.sources)) {
		w.write(ctx, w.sources[name])
	}

	return nil
}

// wentBack returns an error unless the restore took generations and exported values away.
func (w *world) wentBack(before, after int64) error {
	lost, exported := w.Lost()

	w.t.Logf("etcd is what it was %s ago: revision %d after %d; %d generations are gone, and %d of them were exported",
		time.Since(w.copied).Round(time.Second), after, before, lost, exported)

	if after >= before || lost == 0 || exported == 0 {
		return fmt.Errorf("the restore had no effect")
	}

	return nil
}

// cut ends the record before etcd was restored at a revision.
func (r *etcdRecord) cut(revision int64) {
	r.stop()
	r.history.Restored(revision)

	r.mu.Lock()
	defer r.mu.Unlock()

	r.revision = revision
}

// done fails the test if something that breaks the system cannot be done.
func (w *world) done(what string, err error) {
	w.t.Helper()

	if err != nil {
		w.t.Fatalf("cannot %s: %v", what, err)
	}
}
