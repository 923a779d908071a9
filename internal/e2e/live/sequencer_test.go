package live_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// sequencedComposition has a step after the function that removes what it exports and generates until the Database is
// ready.
const sequencedComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: %[1]s}
spec:
  compositeTypeRef: {apiVersion: live.example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-compose}
    input: {apiVersion: live.example.org/v1, kind: Compose, resources: [{name: db, manifest: %[2]s}]}
  - step: export
    functionRef: {name: %[3]s}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      generators: [{name: admin, uuid: {}}]
      secrets:
      - {name: static, data: [{key: k, value: "'%[4]sv'"}]}
      - {name: made, data: [{key: k, value: generated.admin.uuid}]}
  - step: sequence
    functionRef: {name: function-sequencer}
    input:
      apiVersion: sequencer.fn.crossplane.io/v1beta1
      kind: Input
      rules: [{sequence: [db, static]}, {sequence: [db, generated/admin/1]}]
`

// TestSequencer removes exported and generated objects from the desired state in a later step. While they do not exist,
// the composite is not ready, and after a minute the condition names both causes. Then, the step lets them pass.
func TestSequencer(t *testing.T) {
	t.Parallel()

	if err := stage(); err != nil {
		t.Fatal(err)
	}

	ctx := t.Context()
	s := scenario{ControlPlane: plane, function: functionName, ns: "sequencer"}

	if err := installComposer(ctx, "function-sequencer", state("function-compose")); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = s.Delete(context.WithoutCancel(ctx), s.app()) })

	const created = " is created in this reconcile"

	err := first(
		func() error { return s.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+s.ns+"}}") },
		func() error {
			return s.Apply(ctx, fmt.Sprintf(sequencedComposition, s.ns, database, s.function, marker))
		},
		func() error { return s.applyApp(ctx) },
		func() error {
			return s.says(ctx, s.app(), "Waiting", `Secret "static"`, created, "its generation 1"+created)
		},
		func() error {
			return eventually(ctx, 3*time.Minute, "both causes", func() error {
				if _, err := s.Get(ctx, s.core("Secret", "app-static")); !live.IsNotFound(err) {
					return brokenf("the sequencer let the Secret pass: %v", err)
				}

				return s.said(ctx, s.app(), "Waiting", "Crossplane cannot create it", "a later step of the pipeline removes it", "kubectl describe")
			})
		},
		func() error {
			return s.provide(ctx, "app-db", "app-db-details", map[string]string{"password": hush()}, readyStatus(""))
		},
		func() error { return s.says(ctx, s.app(), "Available") },
	)
	if err != nil {
		t.Fatalf("%v\n%s", err, events(s.ns))
	}
}
