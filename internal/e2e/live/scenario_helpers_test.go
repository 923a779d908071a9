package live_test

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
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

// A scenario runs in a namespace of its own, with Compositions of its own. It reads from the API server. Its methods
// end the test if they fail, except those that return an error.
type scenario struct {
	*live.ControlPlane
	*testing.T

	function string // the function that its Compositions call
	composer string // the function that composes other resources; by default function-compose
	ns       string // its namespace, and the name of its cluster-scoped objects
}

// newScenario returns a scenario that calls the function that all tests share.
func newScenario(t *testing.T, ns string) scenario {
	t.Helper()

	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	return scenario{ControlPlane: plane, T: t, function: functionName, ns: ns}
}

// must ends the test if there is an error.
func (s scenario) must(err error) {
	s.Helper()

	if err != nil {
		s.Fatalf("%v\n%s", err, events(s.ns))
	}
}

// broken is the error of a scenario if a promise is broken, and not the control plane.
type broken struct{ what string }

func (b broken) Error() string { return "a promise is broken: " + b.what }

func brokenf(format string, args ...any) error { return broken{fmt.Sprintf(format, args...)} }

// eventually polls until there is no error. A broken promise ends it at once.
func eventually(ctx context.Context, within time.Duration, what string, ok func() error) error {
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		err := ok()
		if err == nil || errors.As(err, &broken{}) {
			return err
		}

		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("waited %s for %s: %w", within, what, err)
		}
	}
}

func (s scenario) eventually(what string, ok func() error) {
	s.Helper()
	s.must(eventually(s.Context(), soon, what, ok))
}

// wantText returns an error with a text unless ok is true.
func wantText(ok bool, text string) error {
	if ok {
		return nil
	}

	return errors.New(text)
}

// hush returns a unique secret value.
func hush() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails

	return marker + hex.EncodeToString(b)
}

func (s scenario) apply(text string) {
	s.Helper()
	s.must(s.Apply(s.Context(), text))
}

func (s scenario) patch(r live.Ref, patch string, subresources ...string) {
	s.Helper()
	s.must(s.Patch(s.Context(), r, patch, subresources...))
}

func (s scenario) get(r live.Ref) *unstructured.Unstructured {
	s.Helper()

	o, err := s.Get(s.Context(), r)
	s.must(err)

	return o
}

// remove deletes an object.
func (s scenario) remove(r live.Ref) {
	s.Helper()
	s.must(s.Delete(s.Context(), r))
}

// gone waits until objects do not exist.
func (s scenario) gone(refs ...live.Ref) {
	s.Helper()

	for _, r := range refs {
		s.eventually("the end of "+r.String(), func() error {
			_, err := s.Get(s.Context(), r)
			return wantText(live.IsNotFound(err), fmt.Sprintf("it is there: %v", err))
		})
	}
}

// absent fails if one of the objects exists.
func (s scenario) absent(refs ...live.Ref) {
	s.Helper()

	for _, r := range refs {
		if _, err := s.Get(s.Context(), r); !live.IsNotFound(err) {
			s.must(brokenf("%s is there: %v", r, err))
		}
	}
}

// open creates the namespace of the scenario, and the Composition for composites of a kind.
func (s scenario) open(kind, input string, composed ...string) {
	s.Helper()
	s.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + s.ns + "}}")
	s.input(kind, input, composed...)
}

// input sets the input of the function in the Composition. A step before it composes the given resources. A step
// after it composes resources that refer to its generations.
func (s scenario) input(kind, input string, composed ...string) {
	s.Helper()

	in, err := live.Parse("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n" + input)
	s.must(err)

	status, _ := in[0].Object["status"].([]any)
	in[0].Object["status"] = append(status, map[string]any{"fieldPath": "handled", "value": handled, "optional": true})

	var resources, later, steps []any

	for i, text := range composed {
		o, err := live.Parse(text)
		s.must(err)

		r := map[string]any{"name": strings.TrimSuffix(fmt.Sprintf("db-%d", i), "-0"), "manifest": o[0].Object}
		if strings.Contains(text, "$(latest.") {
			later = append(later, r)
		} else {
			resources = append(resources, r)
		}
	}

	compose := func(step string, resources []any) {
		if len(resources) > 0 {
			steps = append(steps, map[string]any{
				"step": step, "functionRef": map[string]any{"name": stdcmp.Or(s.composer, "function-compose")},
				"input": map[string]any{"apiVersion": group, "kind": "Compose", "resources": resources},
			})
		}
	}

	compose("compose", resources)
	steps = append(steps, map[string]any{
		"step": "export", "functionRef": map[string]any{"name": s.function}, "input": in[0].Object,
	})
	compose("compose-later", later)

	o := compositionOf(s.ns, kind, steps)
	if kind == "XOrder" {
		_ = unstructured.SetNestedField(o.Object, "crossplane-system", "spec", "writeConnectionSecretsToNamespace")
	}

	s.must(s.ApplyObject(s.Context(), o))
}

// compositionOf returns a Composition for composites of a kind of the stage.
func compositionOf(name, kind string, pipeline []any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"mode": "Pipeline", "compositeTypeRef": map[string]any{"apiVersion": group,
				"kind": kind}, "pipeline": pipeline,
		},
	}}
}

// app returns the composite of most scenarios.
func (s scenario) app() live.Ref { return s.of("App", "app") }

// of returns the reference of an object of the stage.
func (s scenario) of(kind, name string) live.Ref {
	return live.Ref{APIVersion: group, Kind: kind, Namespace: s.ns, Name: name}
}

func (s scenario) database(name string) live.Ref { return s.of("Database", name) }

func (s scenario) core(kind, name string) live.Ref {
	return live.Ref{APIVersion: "v1", Kind: kind, Namespace: s.ns, Name: name}
}

// applyApp applies the composite with these fields of its spec, in YAML's flow style.
func (s scenario) applyApp(fields ...string) {
	s.Helper()
	s.applyNamed("app", fields...)
}

func (s scenario) applyNamed(name string, fields ...string) {
	s.Helper()

	spec := strings.Join(append([]string{"crossplane: {compositionRef: {name: " + s.ns + "}}"}, fields...), ", ")
	s.apply(fmt.Sprintf("{apiVersion: %s, kind: App, metadata: {name: %s, namespace: %s}, spec: {%s}}",
		group, name, s.ns, spec))
}

// applyOrder applies a claim. Its connection Secret is order-details.
func (s scenario) applyOrder() live.Ref {
	s.Helper()
	s.apply(fmt.Sprintf(`{apiVersion: %s, kind: Order, metadata: {name: order, namespace: %s},
  spec: {size: small, compositionRef: {name: %[2]s}, writeConnectionSecretToRef: {name: order-details}}}`, group, s.ns))

	return s.of("Order", "order")
}

// applySite applies a cluster-scoped composite.
func (s scenario) applySite() live.Ref {
	s.Helper()
	s.apply(fmt.Sprintf("{apiVersion: %s, kind: Site, metadata: {name: %[2]s}, "+
		"spec: {size: small, crossplane: {compositionRef: {name: %[2]s}}}}", group, s.ns))

	return live.Ref{APIVersion: group, Kind: "Site", Name: s.ns}
}

// write writes an object with data, for example a source.
func (s scenario) write(kind, name string, data map[string]string) {
	s.Helper()
	s.must(s.ApplyObject(s.Context(), s.object(kind, name, data)))
}

// object returns an object with data. A connection Secret has an owner.
func (s scenario) object(kind, name string, data map[string]string, owners ...any) *unstructured.Unstructured {
	values := make(map[string]any, len(data))

	for k, v := range data {
		values[k] = v
		if kind == "Secret" {
			values[k] = base64Of(v)
		}
	}

	meta := map[string]any{"name": name, "namespace": s.ns}
	if len(owners) > 0 {
		meta["ownerReferences"] = owners
	}

	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": meta, "data": values,
	}}
}

// details returns the connection Secret that a Database controls.
func (s scenario) details(db *unstructured.Unstructured, name string,
	data map[string]string) *unstructured.Unstructured {
	return s.object("Secret", name, data, map[string]any{
		"apiVersion": group, "kind": "Database", "name": db.GetName(), "uid": string(db.GetUID()), "controller": true,
		"blockOwnerDeletion": true,
	})
}

// data returns the decoded data of a Secret or a ConfigMap. It returns nil if the object does not exist.
func (s scenario) data(kind, name string) (map[string]string, error) {
	o, err := s.Get(s.Context(), s.core(kind, name))
	if live.IsNotFound(err) {
		return nil, nil
	}

	if err != nil || kind == "Secret" {
		return live.DataOf(o), err
	}

	data, _, err := unstructured.NestedStringMap(o.Object, "data")

	return data, err
}

// stored is data of a Secret that can be read.
func (s scenario) stored(name string) map[string]string {
	s.Helper()

	data, err := s.data("Secret", name)
	s.must(err)

	return data
}

// becomes waits until an object has exactly these data. Before that, it must keep its previous data.
func (s scenario) becomes(kind, name string, want map[string]string) {
	s.Helper()

	before, err := s.data(kind, name)
	s.must(err)
	s.eventually(kind+" "+name, func() error {
		got, err := s.data(kind, name)
		diff := diffOf(want, got)

		if err == nil && diff != nil && !maps.Equal(got, before) {
			return brokenf("%s %s is neither what it was nor what is expected: %v", kind, name, diff)
		}

		return errors.Join(err, diff)
	})
}

// diffOf returns an error with the difference of data, as digests of the values.
func diffOf(want, got map[string]string) error {
	if diff := cmp.Diff(digests(want), digests(got)); diff != "" {
		return errors.New(diff)
	}

	return nil
}

// digests returns data whose values can be printed.
func digests(data map[string]string) map[string]string {
	out := make(map[string]string, len(data))
	for k, v := range data {
		out[k] = fmt.Sprintf("%x", sha256.Sum256([]byte(v)))[:12]
	}

	return out
}

// says waits until ExportsReady has a reason, and a message with some text. The composite must be ready only if the
// reason is Available.
func (s scenario) says(r live.Ref, reason string, mentions ...string) {
	s.Helper()
	s.eventually(reason, func() error { return s.said(r, reason, mentions...) })
}

// saysOf is like says. In the meantime, an object must not change.
func (s scenario) saysOf(before *unstructured.Unstructured, reason string, mentions ...string) {
	s.Helper()
	s.eventually(reason, func() error {
		return errors.Join(s.unchanged(before), s.said(s.app(), reason, mentions...))
	})
}

func (s scenario) said(r live.Ref, reason string, mentions ...string) error {
	o, err := s.Get(s.Context(), r)
	if err != nil {
		return err
	}

	exports, ready := live.ConditionOf(o, "ExportsReady"), live.ConditionOf(o, "Ready")
	if exports.Reason != reason || (ready.Status == "True") != (reason == "Available" || reason == "InvalidInput") {
		return fmt.Errorf("ExportsReady is %+v, Ready is %+v, Synced is %+v", exports, ready,
			live.ConditionOf(o, "Synced"))
	}

	for _, text := range mentions {
		if !strings.Contains(exports.Message, text) {
			return fmt.Errorf("the message has no %q: %s", text, exports.Message)
		}
	}

	return nil
}

// force causes the given number of reconciles, and waits for the end of each.
func (s scenario) force(r live.Ref, times int) {
	s.Helper()

	for range times {
		token := rand.Text()
		s.patch(r, fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, reconcileAt, token))
		s.eventually("a reconcile", func() error {
			o, err := s.Get(s.Context(), r)
			if err != nil {
				return err
			}

			return wantText(textAt(o.Object, "status", "handled") == token, "it has not ended")
		})
	}
}

// unchanged returns an error if an object has changed since it was read. It compares all bytes, including the
// resource version.
func (s scenario) unchanged(before *unstructured.Unstructured) error {
	after, err := s.Get(s.Context(), live.RefOf(before))
	if live.IsNotFound(err) {
		return brokenf("%s is gone", live.RefOf(before))
	}

	if err != nil {
		return err
	}

	was, _ := json.Marshal(before.Object) //nolint:errchkjson // It came as JSON.
	is, _ := json.Marshal(after.Object)   //nolint:errchkjson // It came as JSON.

	if !bytes.Equal(was, is) {
		return brokenf("%s has changed: %s", live.RefOf(before), cmp.Diff(withoutValues(before), withoutValues(after)))
	}

	return nil
}

// untouched fails if one of the objects has changed since it was read.
func (s scenario) untouched(before ...*unstructured.Unstructured) {
	s.Helper()

	for _, o := range before {
		s.must(s.unchanged(o))
	}
}

// stays checks for two seconds that an object does not change.
func (s scenario) stays(before *unstructured.Unstructured) {
	s.Helper()

	for range 10 {
		time.Sleep(200 * time.Millisecond)
		s.untouched(before)
	}
}

// withoutValues returns an object with digests of its data, so that no value of a Secret is printed.
func withoutValues(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy().Object
	if _, ok := out["data"]; ok {
		out["data"] = digests(live.DataOf(o))
	}

	return out
}

// provide acts as the provider of a Database. It writes the connection details, and then the status.
func (s scenario) provide(name, details string, data map[string]string, status string) {
	s.Helper()
	s.connect(name, details, data)
	s.patch(s.database(name), `{"status": `+status+`}`, "status")
}

// connect writes the connection details of a Database as its provider does, once the Database exists.
func (s scenario) connect(name, details string, data map[string]string) {
	s.Helper()
	s.eventually(name, func() error {
		db, err := s.Get(s.Context(), s.database(name))
		if err != nil {
			return err
		}

		return s.ApplyObject(s.Context(), s.details(db, details, data))
	})
}

// readyStatus returns the status of a ready Database, with some other fields before it.
func readyStatus(fields string) string {
	return `{` + fields + ` "conditions": [{"type": "Ready", "status": "True", "reason": "Available", ` +
		`"lastTransitionTime": "2026-01-01T00:00:00Z"}]}`
}

// base64Of returns a value in the form of an object's data.
func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// rest waits until nothing has changed for three seconds.
func (s scenario) rest() {
	for seen := -1; seen != len(film.of(s.ns)); time.Sleep(3 * time.Second) {
		seen = len(film.of(s.ns))
	}
}

// versions fails if a Secret ever had data that are not among these.
func (s scenario) versions(name string, allowed ...map[string]string) {
	s.Helper()
	s.must(everHad(s.ns, name, allowed...))
}

func everHad(ns, name string, allowed ...map[string]string) error {
	seen := false

	for _, e := range film.of(ns) {
		if e.object.GetName() != name {
			continue
		}

		seen = true
		got := live.DataOf(e.object)

		if !slices.ContainsFunc(allowed, func(a map[string]string) bool { return maps.Equal(a, got) }) {
			return brokenf("%s has data that it must never have: %v", e, digests(got))
		}
	}

	return wantText(seen, "the watch saw no Secret "+name)
}
