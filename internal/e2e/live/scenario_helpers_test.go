package live_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const (
	// soon is the time within which Crossplane acts, even on a busy machine.
	soon = 45 * time.Second

	// group is the API group of the stage.
	group = "live.example.org/v1"

	// reconcileAt is the annotation that makes Crossplane reconcile a composite at once. The input of every scenario
	// writes the expression handled to the status. Crossplane has a field of its own for this, but loses it when a
	// pipeline has run.
	reconcileAt = "crossplane.io/reconcile-requested-at"
	handled     = "composite.metadata.annotations['" + reconcileAt + "']"

	// marker begins each secret value of a scenario.
	marker = "hush-"
)

// A scenario runs in a namespace of its own, with Compositions of its own. It reads from the API server.
type scenario struct {
	*live.ControlPlane

	function string // the function that its Compositions call
	composer string // the function that composes other resources; by default function-compose
	ns       string // its namespace, and the name of its cluster-scoped objects
}

// broken is the error of a scenario if a promise is broken, and not the control plane.
type broken struct{ what string }

func (b broken) Error() string { return "a promise is broken: " + b.what }

func brokenf(format string, args ...any) error { return broken{fmt.Sprintf(format, args...)} }

// eventually polls until there is no error. A broken promise ends it at once.
func eventually(ctx context.Context, within time.Duration, what string, ok func() error) error {
	deadline := time.Now().Add(within)

	for {
		err := ok()
		if err == nil || errors.As(err, &broken{}) {
			return err
		}

		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("waited %s for %s: %w", within, what, err)
		}

		time.Sleep(50 * time.Millisecond)
	}
}

// first runs steps until one fails.
func first(steps ...func() error) error {
	for _, do := range steps {
		if err := do(); err != nil {
			return err
		}
	}

	return nil
}

// hush returns a unique secret value.
func hush() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails

	return marker + hex.EncodeToString(b)
}

// open creates the namespace of the scenario, and the Composition for composites of a kind.
func (s scenario) open(ctx context.Context, kind, input string, composed ...string) error {
	if err := s.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+s.ns+"}}"); err != nil {
		return err
	}

	return s.input(ctx, kind, input, composed...)
}

// input sets the input of the function in the Composition. A step before it composes the given resources. A step
// after it composes resources that refer to its generations.
func (s scenario) input(ctx context.Context, kind, input string, composed ...string) error {
	in, err := live.Parse("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n" + input)
	if err != nil {
		return err
	}

	status, _ := in[0].Object["status"].([]any)
	in[0].Object["status"] = append(status, map[string]any{"fieldPath": "handled", "value": handled, "optional": true})

	var resources, later, steps []any

	for i, text := range composed {
		o, err := live.Parse(text)
		if err != nil {
			return err
		}

		name := "db"
		if i > 0 {
			name = fmt.Sprintf("db-%d", i)
		}

		r := map[string]any{"name": name, "manifest": o[0].Object}
		if strings.Contains(text, "$(latest.") {
			later = append(later, r)
		} else {
			resources = append(resources, r)
		}
	}

	composer := "function-compose"
	if s.composer != "" {
		composer = s.composer
	}

	compose := func(step string, resources []any) {
		if len(resources) > 0 {
			steps = append(steps, map[string]any{
				"step": step, "functionRef": map[string]any{"name": composer},
				"input": map[string]any{"apiVersion": group, "kind": "Compose", "resources": resources},
			})
		}
	}

	compose("compose", resources)
	steps = append(steps, map[string]any{"step": "export", "functionRef": map[string]any{"name": s.function}, "input": in[0].Object})
	compose("compose-later", later)

	spec := map[string]any{"compositeTypeRef": map[string]any{"apiVersion": group, "kind": kind}, "mode": "Pipeline", "pipeline": steps}
	if kind == "XOrder" {
		spec["writeConnectionSecretsToNamespace"] = "crossplane-system"
	}

	return s.ApplyObject(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": s.ns}, "spec": spec,
	}})
}

// app returns the composite of most scenarios.
func (s scenario) app() live.Ref {
	return live.Ref{APIVersion: group, Kind: "App", Namespace: s.ns, Name: "app"}
}

// applyApp applies the composite with these fields of its spec, in YAML's flow style.
func (s scenario) applyApp(ctx context.Context, fields ...string) error {
	spec := strings.Join(append([]string{"crossplane: {compositionRef: {name: " + s.ns + "}}"}, fields...), ", ")

	return s.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: App, metadata: {name: app, namespace: %s}, spec: {%s}}", group, s.ns, spec))
}

// write writes an object with data. It is a source, or a connection Secret, which has an owner.
func (s scenario) write(ctx context.Context, kind, name string, data map[string]string, owner ...map[string]any) error {
	values := make(map[string]any, len(data))

	for k, v := range data {
		values[k] = v
		if kind == "Secret" {
			values[k] = base64Of(v)
		}
	}

	meta := map[string]any{"name": name, "namespace": s.ns}
	if len(owner) > 0 {
		meta["ownerReferences"] = []any{owner[0]}
	}

	return s.ApplyObject(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": meta, "data": values}})
}

func (s scenario) core(kind, name string) live.Ref {
	return live.Ref{APIVersion: "v1", Kind: kind, Namespace: s.ns, Name: name}
}

// data returns the decoded data of a Secret or a ConfigMap. It returns nil if the object does not exist.
func (s scenario) data(ctx context.Context, kind, name string) (map[string]string, error) {
	o, err := s.Get(ctx, s.core(kind, name))
	if live.IsNotFound(err) {
		return nil, nil
	}

	if err != nil || kind == "Secret" {
		return live.DataOf(o), err
	}

	data, _, err := unstructured.NestedStringMap(o.Object, "data")

	return data, err
}

// becomes waits until an object has exactly these data. Before that, it must keep its previous data.
func (s scenario) becomes(ctx context.Context, kind, name string, want map[string]string) error {
	before, err := s.data(ctx, kind, name)
	if err != nil {
		return err
	}

	return eventually(ctx, soon, kind+" "+name, func() error {
		got, err := s.data(ctx, kind, name)
		if err != nil {
			return err
		}

		diff := cmp.Diff(want, got)
		if diff != "" && !maps.Equal(got, before) {
			return brokenf("%s %s is neither what it was nor what it shall be: %s", kind, name, diff)
		}

		if diff != "" {
			return fmt.Errorf("%s %s: %s", kind, name, diff)
		}

		return nil
	})
}

// says waits until ExportsReady has a reason, and a message with some text. The composite must be ready only if the
// reason is Available.
func (s scenario) says(ctx context.Context, r live.Ref, reason string, mentions ...string) error {
	return eventually(ctx, soon, reason, func() error { return s.said(ctx, r, reason, mentions...) })
}

// saysOf is like says. In the meantime, an object must not change.
func (s scenario) saysOf(ctx context.Context, before *unstructured.Unstructured, reason string, mentions ...string) error {
	return eventually(ctx, soon, reason, func() error {
		if err := s.untouched(ctx, before); err != nil {
			return err
		}

		return s.said(ctx, s.app(), reason, mentions...)
	})
}

func (s scenario) said(ctx context.Context, r live.Ref, reason string, mentions ...string) error {
	o, err := s.Get(ctx, r)
	if err != nil {
		return err
	}

	exports, ready := live.ConditionOf(o, "ExportsReady"), live.ConditionOf(o, "Ready")
	if exports.Reason != reason || (ready.Status == "True") != (reason == "Available" || reason == "InvalidInput") {
		return fmt.Errorf("ExportsReady is %+v, Ready is %+v, Synced is %+v", exports, ready, live.ConditionOf(o, "Synced"))
	}

	for _, text := range mentions {
		if !strings.Contains(exports.Message, text) {
			return fmt.Errorf("the message has no %q: %s", text, exports.Message)
		}
	}

	return nil
}

// force causes the given number of reconciles, and waits for the end of each.
func (s scenario) force(ctx context.Context, r live.Ref, times int) error {
	for range times {
		token := rand.Text()
		if err := s.Patch(ctx, r, fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, reconcileAt, token)); err != nil {
			return err
		}

		err := eventually(ctx, soon, "a reconcile", func() error {
			o, err := s.Get(ctx, r)
			if err != nil {
				return err
			}

			if got, _, _ := unstructured.NestedString(o.Object, "status", "handled"); got != token {
				return fmt.Errorf("the last one is %q", got)
			}

			return nil
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// untouched returns an error if an object has changed since it was read. It compares all bytes, including the
// resource version.
func (s scenario) untouched(ctx context.Context, before *unstructured.Unstructured) error {
	after, err := s.Get(ctx, live.RefOf(before))
	if live.IsNotFound(err) {
		return brokenf("%s is gone", live.RefOf(before))
	}

	if err != nil {
		return err
	}

	was, _ := json.Marshal(before.Object) //nolint:errchkjson // It came as JSON.
	is, _ := json.Marshal(after.Object)   //nolint:errchkjson // It came as JSON.

	if !bytes.Equal(was, is) {
		return brokenf("%s was touched: %s", live.RefOf(before), cmp.Diff(withoutValues(before), withoutValues(after)))
	}

	return nil
}

// withoutValues returns an object with digests of its data, so that no value of a Secret is printed.
func withoutValues(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy().Object
	if data, ok := out["data"].(map[string]any); ok {
		for key, value := range data {
			data[key] = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, value)))[:12]
		}
	}

	return out
}

// provide acts as the provider of a Database. It writes the connection details, and then the status.
func (s scenario) provide(ctx context.Context, name, details string, data map[string]string, status string) error {
	return first(
		func() error { return s.connect(ctx, name, details, data) },
		func() error { return s.Patch(ctx, s.database(name), `{"status": `+status+`}`, "status") },
	)
}

func (s scenario) database(name string) live.Ref {
	return live.Ref{APIVersion: group, Kind: "Database", Namespace: s.ns, Name: name}
}

// connect writes the connection details of a Database as its provider does, to a Secret that the Database controls.
func (s scenario) connect(ctx context.Context, name, details string, data map[string]string) error {
	return eventually(ctx, soon, name, func() error {
		db, err := s.Get(ctx, s.database(name))
		if err != nil {
			return err
		}

		return s.write(ctx, "Secret", details, data, map[string]any{
			"apiVersion": group, "kind": "Database", "name": name, "uid": string(db.GetUID()), "controller": true, "blockOwnerDeletion": true,
		})
	})
}

// readyStatus returns the status of a ready Database, with some other fields before it.
func readyStatus(fields string) string {
	return `{` + fields + ` "conditions": [{"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`
}

// base64Of returns a value in the form of an object's data.
func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// unchangedBy returns an error if reconciles change a Secret, or create one.
func (s scenario) unchangedBy(ctx context.Context, reconciles int) error {
	before, err := s.composedSecrets(ctx)
	if err != nil {
		return err
	}

	if err := s.force(ctx, s.app(), reconciles); err != nil {
		return err
	}

	for _, o := range before {
		if err := s.untouched(ctx, o); err != nil {
			return err
		}
	}

	after, err := s.composedSecrets(ctx)
	if err == nil && len(after) != len(before) {
		return brokenf("there were %d Secrets, and now there are %d", len(before), len(after))
	}

	return err
}

func (s scenario) composedSecrets(ctx context.Context) (out []*unstructured.Unstructured, err error) {
	err = eachObject(ctx, s.ns, func(o *unstructured.Unstructured) {
		if o.GetKind() == "Secret" && o.GetLabels()["crossplane.io/composite"] != "" {
			out = append(out, o)
		}
	})

	return out, err
}
