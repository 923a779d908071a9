package live_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// neighbors is the environment variable with the folder of the programs function-patch-and-transform and
// function-go-templating. If it is not set, TestTakeOver uses stand-ins, because the Go proxy refuses the modules.
const neighbors = "LIVE_NEIGHBORS"

// A move is a Composition whose Secret changes from another function to this one.
type move struct {
	name       string
	composites int
	former     func(stage string, secret bool) string // the step that composes the Database and, if asked, the Secret
}

// moves have 20 composites. Each former pipeline composes a Secret <composite>-login with three keys.
var moves = []move{
	{"patch-and-transform", 10, patchAndTransformStep},
	{"go-templating", 5, func(stage string, secret bool) string { return goTemplatingStep(stage, secret, dataTemplate) }},
	{"go-templating-text", 5, func(stage string, secret bool) string { return goTemplatingStep(stage, secret, stringDataTemplate) }},
}

const (
	patchAndTransformInput = `
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: db
        base: {apiVersion: live.example.org/v1, kind: Database, metadata: {labels: {stage: %s}}}
        patches:
        - fromFieldPath: metadata.name
          toFieldPath: metadata.name
          transforms: [{type: string, string: {type: Format, fmt: "%%s-db"}}]
        - fromFieldPath: metadata.name
          toFieldPath: spec.writeConnectionSecretToRef.name
          transforms: [{type: string, string: {type: Format, fmt: "%%s-db-details"}}]
`
	patchAndTransformDetails = `
        connectionDetails:
        - {type: FromConnectionSecretKey, name: username, fromConnectionSecretKey: username}
        - {type: FromConnectionSecretKey, name: password, fromConnectionSecretKey: password}
        - {type: FromConnectionSecretKey, name: extra, fromConnectionSecretKey: endpoint}
`
	goTemplatingInput = `
  - step: compose
    functionRef: {name: function-go-templating}
    input:
      apiVersion: gotemplating.fn.crossplane.io/v1beta1
      kind: GoTemplate
      source: Inline
      inline:
        template: |
          {{ $composite := .observed.composite.resource.metadata.name }}
          apiVersion: live.example.org/v1
          kind: Database
          metadata:
            name: {{ $composite }}-db
            labels: {stage: %s}
            annotations:
              gotemplating.fn.crossplane.io/composition-resource-name: db
              gotemplating.fn.crossplane.io/ready: "True"
          spec: {writeConnectionSecretToRef: {name: {{ $composite }}-db-details}}
`
	goTemplatingSecret = `
          {{ with .observed.resources }}{{ with .db }}{{ with .connectionDetails }}
          ---
          apiVersion: v1
          kind: Secret
          metadata:
            name: {{ $composite }}-login
            annotations:
              gotemplating.fn.crossplane.io/composition-resource-name: login-secret
              gotemplating.fn.crossplane.io/ready: "True"
%s
          {{ end }}{{ end }}{{ end }}
`
	dataTemplate = `
          data:
            username: {{ .username }}
            password: {{ .password }}
            extra: {{ printf "app://%s:%s@db" (b64dec .username) (b64dec .password) | b64enc }}
`
	stringDataTemplate = `
          stringData:
            username: {{ b64dec .username }}
            password: {{ b64dec .password }}
            extra: {{ b64dec .endpoint }}
`
	exportStep = `
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      secrets:
      - name: connection
        metadata: {nameExpression: composite.spec.writeConnectionSecretToRef.name}
        from: db
        data: [{valueMap: "{'username': secret.username, 'password': secret.password}"}]
`
)

func patchAndTransformStep(stage string, secret bool) string {
	step := fmt.Sprintf(patchAndTransformInput, stage)
	if secret {
		step += patchAndTransformDetails
	}

	return step
}

func goTemplatingStep(stage string, secret bool, template string) string {
	step := fmt.Sprintf(goTemplatingInput, stage)
	if secret {
		step += fmt.Sprintf(goTemplatingSecret, template)
	}

	return step
}

// A takeOver is a stage of the test: the pipelines of all moves change at once.
type takeOver struct {
	stage   string
	exports bool // the function composes the Secrets, otherwise the former one
	prune   bool
}

func (s takeOver) compositions() string {
	var out strings.Builder

	for _, m := range moves {
		steps := m.former(s.stage, !s.exports)
		if s.exports {
			steps += exportStep
			if s.prune {
				steps += "        prune: true\n"
			}
		}

		fmt.Fprintf(&out, `---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: takeover-%s}
spec:
  compositeTypeRef: {apiVersion: live.example.org/v1, kind: App}
  mode: Pipeline
  pipeline:%s
`, m.name, steps)
	}

	return out.String()
}

// A keptSecret is what may not change of a Secret while it is taken over.
type keptSecret struct {
	UID, Type, Resource string
	Digests             map[string]string // of the values, so that no value is printed
}

func keptSecretOf(o *unstructured.Unstructured) keptSecret {
	digests := live.DataOf(o)
	for key, value := range digests {
		digests[key] = fmt.Sprintf("%x", sha256.Sum256([]byte(value)))[:12]
	}

	return keptSecret{string(o.GetUID()), textAt(o.Object, "type"), o.GetAnnotations()["crossplane.io/composition-resource-name"], digests}
}

// pruned is the Secret without the key that only the former function writes.
func (k keptSecret) pruned() keptSecret {
	k.Digests = maps.Clone(k.Digests)
	delete(k.Digests, "extra")

	return k
}

// names returns the names of the composites.
func (m move) names() []string {
	out := make([]string, m.composites)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", m.name, i)
	}

	return out
}

func allComposites() (out []string) {
	for _, m := range moves {
		out = append(out, m.names()...)
	}

	return out
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

	before := s.composeSecrets(ctx, t)
	t.Cleanup(func() { s.deleteComposites(context.WithoutCancel(ctx), t, before) })

	pruned := false // the former stage removed the key

	for _, o := range []takeOver{
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

// installNeighbors installs the functions that compose the Secrets before this function does.
func installNeighbors(ctx context.Context, t *testing.T) {
	t.Helper()

	for _, name := range []string{"function-patch-and-transform", "function-go-templating"} {
		program := state("function-compose")

		if dir := os.Getenv(neighbors); dir != "" {
			program = state(name)
			// They have no command, and no flag for metrics.
			script := fmt.Sprintf("#!/bin/sh\nexec %q \"$2\" \"$3\" \"$4\"\n", filepath.Join(dir, name))

			if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // It is executed.
				t.Fatal(err)
			}
		}

		if err := installComposer(ctx, name, program); err != nil {
			t.Fatal(err)
		}
	}
}

// composeSecrets creates the composites with the former pipelines, and returns their Secrets by name.
func (s scenario) composeSecrets(ctx context.Context, t *testing.T) map[string]keptSecret {
	t.Helper()

	first := takeOver{stage: "former"}
	if err := s.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+s.ns+"}}\n"+first.compositions()); err != nil {
		t.Fatal(err)
	}

	for _, m := range moves {
		for _, name := range m.names() {
			err := s.Apply(ctx, fmt.Sprintf(`{apiVersion: %s, kind: App, metadata: {name: %s, namespace: %s},
  spec: {crossplane: {compositionRef: {name: takeover-%s}}, writeConnectionSecretToRef: {name: %[2]s-login}}}`, group, name, s.ns, m.name))
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	for _, name := range allComposites() {
		data := login()
		data["endpoint"] = hush()

		if err := s.provide(ctx, name+"-db", name+"-db-details", data, readyStatus("")); err != nil {
			t.Fatal(err)
		}
	}

	before := map[string]keptSecret{}

	err := eventually(ctx, soon, "the Secrets of the former functions", func() error {
		for _, name := range allComposites() {
			o, err := s.Get(ctx, s.core("Secret", name+"-login"))
			if err != nil {
				return err
			}

			before[o.GetName()] = keptSecretOf(o)
			if keys := slices.Sorted(maps.Keys(live.DataOf(o))); len(keys) != 3 {
				return fmt.Errorf("%s has the keys %v", o.GetName(), keys)
			}
		}

		return s.settled(ctx, first, before)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, events(s.ns))
	}

	return before
}

// change changes the pipelines while Crossplane is killed and started again, and waits until all composites are ready.
// done are the numbers of composites that had changed at each kill.
func (s scenario) change(ctx context.Context, rng *rand.Rand, o takeOver, before map[string]keptSecret) (done []int, err error) {
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

// killCrossplane kills Crossplane when a random number of composites has changed, and then several times at random
// moments soon after its start, when it reconciles all of them. done are the numbers that had changed at each kill.
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

	for range 4 {
		s.Crossplane.Kill()

		n, err := changed()
		if err != nil {
			return done, err
		}

		done = append(done, n)

		if err := s.WaitForCrossplane(ctx); err != nil {
			return done, err
		}

		time.Sleep(time.Duration(rng.IntN(2500)) * time.Millisecond)
	}

	return done, nil
}

// settled returns an error unless the pipelines of a stage have run for all composites, and their Secrets are as they must be.
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

		conditions := []string{"Synced", "Ready"}
		if o.exports {
			conditions = append(conditions, "ExportsReady")
		}

		for _, condition := range conditions {
			if got := live.ConditionOf(app, condition); got.Status != "True" {
				return fmt.Errorf("%s: %s is %+v", name, condition, got)
			}
		}

		if got := live.ConditionOf(app, "ExportsReady"); o.exports && o.prune == strings.Contains(got.Message, `"extra"`) {
			return fmt.Errorf("%s: the message of ExportsReady is %q", name, got.Message)
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
				return fmt.Errorf("Secret %s is still there, or cannot be read: %v", name, err)
			}
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
