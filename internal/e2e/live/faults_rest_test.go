package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// rest waits until the system is stable: all composites are ready, and the law of the end holds.
func (w *world) rest(ctx context.Context, within time.Duration) error {
	for deadline := time.Now().Add(within); ; time.Sleep(300 * time.Millisecond) {
		err := w.well(ctx)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (w *world) well(ctx context.Context) error {
	list, err := plane.List(ctx, "v1", "Secret", faultsNamespace, "")
	if err != nil {
		return err
	}

	w.Final = nil

	for i := range list {
		v := laws.VersionOf("LISTED", &list[i], time.Now())
		w.Add(v)
		w.Final = append(w.Final, v)
	}

	var errs []error

	for _, c := range w.Composites {
		o, err := plane.Get(ctx, compositeRef(c))
		if err != nil {
			return err
		}

		for _, condition := range []string{"Synced", "Ready", "ExportsReady"} {
			if got := live.ConditionOf(o, condition); got.Status != "True" {
				errs = append(errs, fmt.Errorf("%s: %s is %+v", c, condition, got))
			}
		}
	}

	for _, broken := range w.Settled() {
		errs = append(errs, errors.New(broken))
	}

	return errors.Join(errs...)
}

// describe tells what the composites and their Secrets say, without any value.
func (w *world) describe(ctx context.Context) string {
	var b strings.Builder

	for _, c := range w.Composites {
		o, err := plane.Get(ctx, compositeRef(c))
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", c, err)
			continue
		}

		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		refs, _, _ := unstructured.NestedSlice(o.Object, "spec", "crossplane", "resourceRefs")
		fmt.Fprintf(&b, "%s: conditions %v, refs %v, annotations %v\n", c, conditions, refs, o.GetAnnotations())
	}

	secrets, err := plane.List(ctx, "v1", "Secret", faultsNamespace, "")
	for _, o := range secrets {
		fmt.Fprintf(&b, "%s: resourceVersion %s, deleted %s, state %s%s\n", o.GetName(), o.GetResourceVersion(),
			o.GetDeletionTimestamp(), o.GetAnnotations()[generationState], o.GetAnnotations()[exportState])
	}

	return fmt.Sprint(b.String(), err)
}

// recovers waits until the system is well after the last failure.
func (w *world) recovers(ctx context.Context) {
	began := time.Now()
	if err := w.rest(ctx, 3*time.Minute); err != nil {
		w.t.Logf("not well three minutes after the last fault: %v\n%s", err, w.describe(ctx))

		// The function stores nothing between two calls. If a new process of Crossplane recovers, the memory
		// of the old process was wrong, for example because its watches were interrupted.
		plane.Crossplane.Kill()

		if err := w.rest(ctx, 2*time.Minute); err != nil {
			w.t.Errorf("not well after Crossplane was started again either: %v\n%s", err, w.describe(ctx))
		} else {
			w.t.Log("WELL ONLY AFTER CROSSPLANE WAS STARTED AGAIN: its memory was wrong, see above")
		}
	}

	w.t.Logf("well again after %s", time.Since(began).Round(100*time.Millisecond))
}
