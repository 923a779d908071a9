package live_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const (
	usedGeneration = "generation protected by a Usage"
	usedExport     = "export protected by a Usage"
)

// deletionAttempt is the annotation of an object that a Usage protected from a deletion.
const deletionAttempt = "usage.crossplane.io/deletion-attempt-with-policy"

// prepareUsages starts Crossplane again with webhooks, until the test ends.
func (w *world) prepareUsages(ctx context.Context) {
	usual := plane.Crossplane.Program()

	flags, remove, err := plane.Webhooks(ctx)
	if err != nil {
		w.t.Fatal(err)
	}

	next := usual
	next.Args = slices.Concat(usual.Args, flags)

	w.withoutUsages = func(ctx context.Context) {
		w.insist(ctx, "remove the webhook", remove)

		if err := plane.Crossplane.Exchange(usual, 10*time.Second); err != nil {
			w.t.Error(err)
		}
	}

	if err := plane.Crossplane.Exchange(next, 10*time.Second); err != nil {
		w.t.Fatal(err)
	}

	if err := plane.WaitForCrossplane(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// usages returns the failures that a Usage refuses to delete a generation or an export.
func (w *world) usages() []fault {
	kind := func(name, effect string, weight int, use func(composite string) user) fault {
		w.must(name, effect)

		return fault{name, weight, func(ctx context.Context, rng *rand.Rand) {
			c := w.Composites[rng.IntN(len(w.Composites))]
			usage := "usage-" + strconv.FormatInt(rng.Int64(), 36)
			w.repairs.Go(func() { w.use(context.WithoutCancel(ctx), usage, use(c)) })
		}}
	}

	return []fault{
		kind(usedGeneration, "generations whose deletion was refused", 1, w.generationUser),
		kind(usedExport, "exports whose deletion was refused, and that got a new value meanwhile", 1, w.exportUser),
	}
}

// A user has a Secret that a Usage protects, and what happens meanwhile.
type user struct {
	secret func(ctx context.Context) *unstructured.Unstructured // nil if there is none
	do     func(ctx context.Context, secret *unstructured.Unstructured)
}

// use protects a Secret with a Usage, lets its user do something, and deletes the Usage.
func (w *world) use(ctx context.Context, name string, by user) {
	w.using.Lock()
	defer w.using.Unlock()

	secret := by.secret(ctx)
	if secret == nil {
		return
	}

	usage := live.Ref{
		APIVersion: "protection.crossplane.io/v1beta1", Kind: "Usage", Namespace: faultsNamespace, Name: name,
	}

	w.insist(ctx, "create a Usage", func(ctx context.Context) error {
		return plane.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: Usage, metadata: {name: %s, namespace: %s}, "+
			"spec: {of: {apiVersion: v1, kind: Secret, resourceRef: {name: %s}}, reason: a test}}",
			usage.APIVersion, usage.Name, usage.Namespace, secret.GetName()))
	})
	defer w.release(ctx, usage)

	var revision int64

	goOn(0, func() bool {
		u, err := plane.Get(ctx, usage)
		if err == nil && live.ConditionOf(u, "Ready").Status == "True" {
			_, err = fmt.Sscan(u.GetResourceVersion(), &revision)
		}

		return err == nil && revision > 0
	}, pollStep)

	if revision == 0 {
		w.t.Logf("%s: Crossplane did not see the Usage in time", secret.GetName())
		return
	}

	by.do(ctx, secret)
	w.Protected(string(secret.GetUID()), revision, time.Now())
}

func pollStep() { time.Sleep(200 * time.Millisecond) }

// generationUser rotates a generation that a Usage protects. Crossplane cannot delete it until the Usage is gone.
func (w *world) generationUser(composite string) user {
	return user{
		secret: func(ctx context.Context) *unstructured.Unstructured { return w.current(ctx, composite) },
		do: func(ctx context.Context, secret *unstructured.Unstructured) {
			w.request(ctx, composite, usedGenerator)

			attempted := false

			goOn(0, func() bool {
				o, err := plane.Get(ctx, live.RefOf(secret))
				attempted = err == nil && o.GetUID() == secret.GetUID() && o.GetAnnotations()[deletionAttempt] != ""

				return attempted || live.IsNotFound(err)
			}, pollStep)

			if attempted {
				w.saw(usedGeneration, 1)
				time.Sleep(2 * time.Second) // deletions are tried again
			}
		},
	}
}

// exportUser tries to delete an export that a Usage protects, and rotates its value.
func (w *world) exportUser(composite string) user {
	export := live.Ref{APIVersion: "v1", Kind: "Secret", Namespace: faultsNamespace, Name: composite + "-app"}

	return user{
		secret: func(ctx context.Context) (secret *unstructured.Unstructured) {
			w.insist(ctx, "read an export", func(ctx context.Context) (err error) {
				if secret, err = plane.Get(ctx, export); live.IsNotFound(err) {
					return nil
				}

				return err
			})

			return secret
		},
		do: func(ctx context.Context, secret *unstructured.Unstructured) {
			refused := false

			goOn(0, func() bool {
				err := plane.Delete(ctx, export)
				refused = err != nil && strings.Contains(err.Error(), "in-use")

				return refused || err == nil // the laws report an object that was deleted
			}, pollStep)

			w.request(ctx, composite, "admin")

			changed := false

			goOn(0, func() bool {
				o, err := plane.Get(ctx, export)
				changed = err == nil && live.DataOf(o)["password"] != live.DataOf(secret)["password"]

				return changed
			}, pollStep)

			if refused && changed {
				w.saw(usedExport, 1)
			}
		},
	}
}

// usedGenerator is the generator whose generations are protected.
const usedGenerator = "id"

// current returns the last generation of a composite.
func (w *world) current(ctx context.Context, composite string) *unstructured.Unstructured {
	var last *unstructured.Unstructured

	w.insist(ctx, "list the generations", func(ctx context.Context) error {
		list, err := plane.List(ctx, "v1", "Secret", faultsNamespace,
			"crossplane.io/composite="+composite+","+laws.Annotations+"generator="+usedGenerator)

		for i := range list {
			if last == nil || numberOf(last) < numberOf(&list[i]) {
				last = &list[i]
			}
		}

		return err
	})

	return last
}

// numberOf returns the number of a generation.
func numberOf(o *unstructured.Unstructured) int { return laws.VersionOf("", o, time.Now()).Number }

// release deletes a Usage, and waits until it is gone.
func (w *world) release(ctx context.Context, usage live.Ref) {
	w.insist(ctx, "delete a Usage", func(ctx context.Context) error {
		if err := plane.Delete(ctx, usage); err != nil {
			return err
		}

		_, err := plane.Get(ctx, usage)
		if live.IsNotFound(err) {
			return nil
		}

		return errors.Join(errors.New("it is still there"), err)
	})
}
