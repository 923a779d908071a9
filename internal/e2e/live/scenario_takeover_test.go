package live_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
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
	return keptSecret{
		UID: string(o.GetUID()), Type: textAt(o.Object, "type"), Digests: digests(live.DataOf(o)),
		Resource: o.GetAnnotations()["crossplane.io/composition-resource-name"],
	}
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
	s, seed := newScenario(t, takeOverNamespace), setting(t, "LIVE_SEED", uint64(time.Now().UnixNano()))
	t.Logf("LIVE_SEED=%d", seed)

	rng := rand.New(rand.NewPCG(seed, 4))

	installNeighbors(t)

	before := s.composeSecrets()
	pruned := false // the former stage removed the key

	for _, o := range []takeOver{
		{stage: "migrated", exports: true, migrated: s.migrate()},
		{stage: "back-from-migrated"},
		{stage: "forward", exports: true},
		{stage: "back"},
		{stage: "forward-and-prune", exports: true, prune: true},
		{stage: "back-after-prune"},
	} {
		start, seen := time.Now(), len(film.of(s.ns))
		done := s.change(rng, o, before)
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

	for _, name := range allComposites() { // their Secrets are still theirs, and are deleted with them
		s.remove(s.of("App", name))
		s.gone(s.core("Secret", name+"-login"))
	}
}

// composeSecrets creates the composites with the former pipelines, and returns their Secrets by name.
func (s scenario) composeSecrets() map[string]keptSecret {
	former, before := takeOver{stage: "former"}, map[string]keptSecret{}

	s.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + s.ns + "}}")
	s.must(s.applyAll(s.compositions(former)))

	for _, m := range moves {
		for _, name := range m.names() {
			s.apply(fmt.Sprintf("{apiVersion: %s, kind: App, metadata: {name: %s, namespace: %s}, spec: {crossplane: "+
				"{compositionRef: {name: takeover-%s}}, writeConnectionSecretToRef: {name: %[2]s-login}}}",
				group, name, s.ns, m.name))
		}
	}

	for _, name := range allComposites() {
		data := login()
		data["endpoint"] = hush()

		s.provide(name+"-db", name+"-db-details", data, readyStatus(""))
	}

	s.eventually("the Secrets of the former functions", func() error {
		for _, name := range allComposites() {
			o, err := s.Get(s.Context(), s.core("Secret", name+"-login"))
			if err != nil {
				return err
			}

			if data := live.DataOf(o); len(data) != 3 {
				return fmt.Errorf("%s has %d keys", o.GetName(), len(data))
			}

			before[o.GetName()] = keptSecretOf(o)
		}

		return s.settled(former, before)
	})

	return before
}

// change changes the pipelines while Crossplane is killed and started again, and waits until all composites are ready.
// done are the numbers of composites that had changed at each kill.
func (s scenario) change(rng *rand.Rand, o takeOver, before map[string]keptSecret) (done []int) {
	s.Helper()

	killed := make(chan error)

	go func() {
		var err error

		done, err = s.killCrossplane(rng, o.stage)
		killed <- err
	}()

	s.must(errors.Join(s.applyAll(s.compositions(o)), <-killed))
	s.eventually("all composites to be ready", func() error {
		if err := s.settled(o, before); err != nil {
			return err
		}

		time.Sleep(time.Second) // a reconcile that has not ended may still break a law

		return s.settled(o, before)
	})

	return done
}

func (s scenario) applyAll(objects []*unstructured.Unstructured) (err error) {
	for _, o := range objects {
		err = errors.Join(err, s.ApplyObject(s.Context(), o))
	}

	return err
}

// killCrossplane kills Crossplane when a random number of composites has changed, and then once more at a random
// moment soon after its start, when it reconciles all of them. done are the numbers that had changed at each kill.
func (s scenario) killCrossplane(rng *rand.Rand, stage string) (done []int, err error) {
	changed := func() (int, error) {
		list, err := s.List(s.Context(), group, "Database", s.ns, "stage="+stage)
		return len(list), err
	}

	least := rng.IntN(len(allComposites()))
	if err := eventually(s.Context(), soon, "composites that have changed", func() error {
		n, err := changed()
		if err == nil && n < least {
			err = fmt.Errorf("%d of %d have changed", n, least)
		}

		return err
	}); err != nil {
		return nil, err
	}

	for range 2 {
		s.Crossplane.Kill()

		n, err := changed()
		done = append(done, n)

		if err := errors.Join(err, s.WaitForCrossplane(s.Context())); err != nil {
			return done, err
		}

		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
	}

	return done, nil
}

// settled returns an error unless the pipelines of a stage have run for all composites, and the Secrets are as they
// must be.
func (s scenario) settled(o takeOver, before map[string]keptSecret) error {
	for _, name := range allComposites() {
		db, err := s.Get(s.Context(), s.database(name+"-db"))
		if err != nil {
			return err
		}

		if got := db.GetLabels()["stage"]; got != o.stage {
			return fmt.Errorf("the stage of %s is %q", name, got)
		}

		app, err := s.Get(s.Context(), s.of("App", name))
		if err != nil {
			return err
		}

		if err := o.ready(app); err != nil {
			return err
		}

		secret, err := s.Get(s.Context(), s.core("Secret", name+"-login"))
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

// ready returns an error unless a composite is ready.
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
