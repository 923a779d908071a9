package live_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
)

// An etcdRecord adds each version that etcd stores to a history. A watch through the API server misses some of them.
type etcdRecord struct {
	t       *testing.T
	history *laws.History

	mu       sync.Mutex
	revision int64 // the revision of the last version that etcd reported

	stop func() // stops the watch of etcd, and waits until it has ended
}

// start starts the watch. It ends with the context.
func (r *etcdRecord) start(ctx context.Context) error {
	status, err := plane.EtcdStatus(ctx)
	if err == nil {
		r.follow(ctx, status.Revision+1)
	}

	return err
}

// follow watches etcd from a revision on.
func (r *etcdRecord) follow(ctx context.Context, from int64) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	r.stop = func() { cancel(); <-done }

	go func() {
		defer close(done)

		err := plane.RecordSecrets(ctx, faultsNamespace, from, func(event string, o *unstructured.Unstructured) {
			v := laws.VersionOf(event, o, time.Now())
			r.history.Add(v)

			r.mu.Lock()
			defer r.mu.Unlock()

			r.revision = v.Revision
		})
		if err != nil {
			r.t.Errorf("the record of etcd is not complete: %v", err)
		}
	}()
}

// seen returns the revision up to which the record is complete.
func (r *etcdRecord) seen() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.revision
}

// finish stops the record after it has reached a revision.
func (r *etcdRecord) finish(ctx context.Context, revision int64) {
	for start := time.Now(); r.seen() < revision && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			r.t.Errorf("the record of etcd ends at revision %d, and a Secret has %d", r.seen(), revision)
			break
		}
	}

	r.stop()
}

// plant lets another API server of the same etcd write an export whose digest is of another password, and then the
// export as it was, while the API server of this control plane is away. The law must find this in the record. Then the
// record forgets it.
func (w *world) plant(ctx context.Context) error {
	i := slices.IndexFunc(w.Final,
		func(v laws.Version) bool { return v.Composite == w.Composites[0] && v.Export == "app" })
	name := w.Final[i].Name

	data, err := plane.Data(ctx, faultsNamespace, name)
	if err != nil {
		return err
	}

	plane.APIServer.Kill()

	digest, other := data["digest"], strings.Repeat("0", len(data["digest"]))
	for _, text := range [][2]string{{digest, other}, {other, digest}} {
		err := plane.RewriteSecret(ctx, faultsNamespace, name, func(stored []byte) []byte {
			return bytes.ReplaceAll(stored, []byte(text[0]), []byte(text[1]))
		})
		if err != nil {
			return err
		}
	}

	if err := w.rest(ctx, time.Minute); err != nil {
		return err
	}

	if found := w.Judge()["what is exported is of one moment"]; len(found) != 1 {
		return fmt.Errorf("the record shows %d broken versions: %q", len(found), found)
	}

	w.Forget(func(v laws.Version) bool { return v.Name == name && v.Data["digest"] == other })

	return nil
}

// latest returns the latest revision of versions.
func latest(versions []laws.Version) int64 {
	last := int64(0)
	for _, v := range versions {
		last = max(last, v.Revision)
	}

	return last
}
