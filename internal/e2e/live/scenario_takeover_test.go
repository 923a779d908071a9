package live_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// takeOverNamespace is the namespace of the composites of TestTakeOver.
const takeOverNamespace = "takeover"

// A keptSecret is what may not change of a Secret while it is taken over.
type keptSecret struct {
	UID, Type, Resource string
	Digests             map[string]string // of the values, so that no value is printed
}

func keptSecretOf(o *unstructured.Unstructured) keptSecret {
	k := keptSecret{UID: string(o.GetUID()), Type: textAt(o.Object, "type"), Digests: live.DataOf(o)}
	k.Resource = o.GetAnnotations()["crossplane.io/composition-resource-name"]

	for key, value := range k.Digests {
		k.Digests[key] = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))[:12]
	}

	return k
}

// pruned is the Secret without the key that only the former function writes.
func (k keptSecret) pruned() keptSecret {
	k.Digests = maps.Clone(k.Digests)
	delete(k.Digests, "extra")

	return k
}

// TestTakeOver changes the Compositions of 20 composites in place, from functions that compose Secrets to this one and
// back, without and with prune. Crossplane is killed at random moments. No version of a Secret may break a law.
//
// LIVE_SEED selects the moments.
func TestTakeOver(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	ctx, seed := t.Context(), setting(t, "LIVE_SEED", uint64(time.Now().UnixNano()))
	t.Logf("LIVE_SEED=%d", seed)

	s, rng := scenario{ControlPlane: plane, function: functionName, ns: takeOverNamespace}, rand.New(rand.NewPCG(seed, 4))

	installNeighbors(ctx, t)

	before, err := s.composeSecrets(ctx)
	if err != nil {
		t.Fatalf("%v\n%s", err, events(s.ns))
	}

	t.Cleanup(func() { s.deleteComposites(context.WithoutCancel(ctx), t, before) })

	migrated, err := migrate(ctx)
	if err != nil {
		t.Fatal(err)
	}

	pruned := false // the former stage removed the key

	for _, o := range []takeOver{
		{stage: "migrated", exports: true, migrated: migrated},
		{stage: "back-from-migrated"},
		{stage: "forward", exports: true},
		{stage: "back"},
		{stage: "forward-and-prune", exports: true, prune: true},
		{stage: "back-after-prune"},
		{stage: "forward-again", exports: true},
		{stage: "prune", exports: true, prune: true},
	} {
		start, seen := time.Now(), len(film.of(s.ns))

		done, err := s.change(ctx, rng, o, before)
		if err != nil {
			t.Errorf("%s: %v", o.stage, err)
		}

		versions := film.of(s.ns)[seen:]
		for _, broken := range breaches(versions, before, o.prune || pruned) {
			t.Errorf("%s: %s", o.stage, broken)
		}

		t.Logf("%s took %s, with %d versions of Secrets. Composites that had changed when Crossplane was killed: %v",
			o.stage, time.Since(start).Round(100*time.Millisecond), len(versions), done)

		if t.Failed() {
			t.Fatal(events(s.ns))
		}

		pruned = o.prune
	}
}

// composeSecrets creates the composites with the former pipelines, and returns their Secrets by name.
func (s scenario) composeSecrets(ctx context.Context) (map[string]keptSecret, error) {
	former, before := takeOver{stage: "former"}, map[string]keptSecret{}

	return before, first(
		func() error { return s.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+s.ns+"}}") },
		func() error { return s.Apply(ctx, former.compositions()) },
		func() error { return s.applyComposites(ctx) },
		func() error {
			return eventually(ctx, soon, "the Secrets of the former functions", func() error {
				for _, name := range allComposites() {
					o, err := s.Get(ctx, s.core("Secret", name+"-login"))
					if err != nil {
						return err
					}

					if keys := slices.Sorted(maps.Keys(live.DataOf(o))); len(keys) != 3 {
						return fmt.Errorf("%s has the keys %v", o.GetName(), keys)
					}

					before[o.GetName()] = keptSecretOf(o)
				}

				return s.settled(ctx, former, before)
			})
		},
	)
}

// applyComposites creates the composites, and provides their Databases.
func (s scenario) applyComposites(ctx context.Context) error {
	for _, m := range moves {
		for _, name := range m.names() {
			spec := fmt.Sprintf("{crossplane: {compositionRef: {name: takeover-%s}}, writeConnectionSecretToRef: {name: %s-login}}", m.name, name)
			app := fmt.Sprintf("{apiVersion: %s, kind: App, metadata: {name: %s, namespace: %s}, spec: %s}", group, name, s.ns, spec)

			if err := s.Apply(ctx, app); err != nil {
				return err
			}
		}
	}

	for _, name := range allComposites() {
		data := login()
		data["endpoint"] = hush()

		if err := s.provide(ctx, name+"-db", name+"-db-details", data, readyStatus("")); err != nil {
			return err
		}
	}

	return nil
}

// change changes the pipelines while Crossplane is killed and started again, and waits until all composites are ready.
// done are the numbers of composites that had changed at each kill.
func (s scenario) change(
	ctx context.Context, rng *rand.Rand, o takeOver, before map[string]keptSecret,
) (done []int, err error) {
	killed := make(chan error)

	go func() {
		var err error

		done, err = s.killCrossplane(ctx, rng, o.stage)
		killed <- err
	}()

	if err := errors.Join(s.Apply(ctx, o.compositions()), <-killed); err != nil {
		return done, err
	}

	return done, eventually(ctx, soon, "all composites to be ready", func() error {
		if err := s.settled(ctx, o, before); err != nil {
			return err
		}

		time.Sleep(time.Second) // a reconcile that has not ended may still break a law

		return s.settled(ctx, o, before)
	})
}

// killCrossplane kills Crossplane when a random number of composites has changed, and then once more at a random
// moment soon after its start, when it reconciles all of them. done are the numbers that had changed at each kill.
func (s scenario) killCrossplane(ctx context.Context, rng *rand.Rand, stage string) (done []int, err error) {
	changed := func() (int, error) {
		list, err := s.List(ctx, group, "Database", s.ns, "stage="+stage)
		return len(list), err
	}

	least := rng.IntN(len(allComposites()))
	for n := -1; n < least; {
		if n, err = changed(); err != nil {
			return done, err
		}
	}

	for range 2 {
		s.Crossplane.Kill()

		n, err := changed()
		if err != nil {
			return done, err
		}

		done = append(done, n)

		if err := s.WaitForCrossplane(ctx); err != nil {
			return done, err
		}

		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
	}

	return done, nil
}

// settled returns an error unless the pipelines of a stage have run for all composites, and the Secrets are as they
// must be.
func (s scenario) settled(ctx context.Context, o takeOver, before map[string]keptSecret) error {
	for _, name := range allComposites() {
		db, err := s.Get(ctx, s.database(name+"-db"))
		if err != nil {
			return err
		}

		if got := db.GetLabels()["stage"]; got != o.stage {
			return fmt.Errorf("the stage of %s is %q", name, got)
		}

		app, err := s.Get(ctx, live.Ref{APIVersion: group, Kind: "App", Namespace: s.ns, Name: name})
		if err != nil {
			return err
		}

		if err := o.ready(app); err != nil {
			return err
		}

		secret, err := s.Get(ctx, s.core("Secret", name+"-login"))
		if err != nil {
			return err
		}

		want := before[name+"-login"]
		if o.prune {
			want = want.pruned()
		}

		if diff := cmp.Diff(want, keptSecretOf(secret)); diff != "" {
			return fmt.Errorf("%s-login: -want, +got:\n%s", name, diff)
		}
	}

	return nil
}

// ready returns an error unless a composite is ready, and warns of a key that its Secret keeps. The output of fn migrate
// has all keys.
func (o takeOver) ready(app *unstructured.Unstructured) error {
	conditions := []string{"Synced", "Ready"}
	if o.exports {
		conditions = append(conditions, "ExportsReady")
	}

	for _, condition := range conditions {
		if got := live.ConditionOf(app, condition); got.Status != "True" {
			return fmt.Errorf("%s: %s is %+v", app.GetName(), condition, got)
		}
	}

	message := live.ConditionOf(app, "ExportsReady").Message
	if warns := o.migrated == nil && !o.prune; o.exports && warns != strings.Contains(message, `"extra"`) {
		return fmt.Errorf("%s: the message of ExportsReady is %q", app.GetName(), message)
	}

	return nil
}

// breaches returns the versions of Secrets that break a law: a Secret is never deleted, and its UID, its type, its
// composition resource name and its data stay the same. With prune, only the key that is not exported may be removed.
func breaches(film []event, before map[string]keptSecret, prune bool) (out []string) {
	for _, e := range film {
		want, ok := before[e.object.GetName()]
		if !ok {
			continue
		}

		got := keptSecretOf(e.object)

		switch {
		case e.kind == "DELETED":
			out = append(out, e.String())
		case cmp.Equal(want, got), prune && cmp.Equal(want.pruned(), got):
		default:
			out = append(out, fmt.Sprintf("%s: -want, +got:\n%s", e, cmp.Diff(want, got)))
		}
	}

	return out
}

// deleteComposites deletes the composites. Their Secrets are still theirs, and are deleted with them.
func (s scenario) deleteComposites(ctx context.Context, t *testing.T, secrets map[string]keptSecret) {
	t.Helper()

	err := eventually(ctx, soon, "the end of the composites", func() error {
		for _, name := range allComposites() {
			if err := s.Delete(ctx, live.Ref{APIVersion: group, Kind: "App", Namespace: s.ns, Name: name}); err != nil {
				return err
			}
		}

		for name := range secrets {
			if _, err := s.Get(ctx, s.core("Secret", name)); !live.IsNotFound(err) {
				return fmt.Errorf("Secret %s is still there, or cannot be read: %w", name, err)
			}
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
