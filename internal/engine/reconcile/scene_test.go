package reconcile_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// canary is in each value that is secret, and in no other.
const canary = "canary"

// A sceneYAML is what Crossplane observes, as YAML.
type sceneYAML struct {
	Composite map[string]any      `json:"composite"`
	Details   map[string]string   `json:"details"`
	Resources map[string]resource `json:"resources"`

	// Cluster answers requirements.
	Cluster []map[string]any `json:"cluster"`

	// Seeded is what Crossplane hands over before it was asked.
	Seeded        map[string][]map[string]any `json:"seeded"`
	Desired       map[string]map[string]any   `json:"desired"`
	DesiredStatus map[string]any              `json:"desiredStatus"`
	Environment   map[string]any              `json:"environment"`
	Context       map[string]any              `json:"context"`
}

type resource struct {
	Object  map[string]any    `json:"object"`
	Details map[string]string `json:"details"`
}

// base is a namespaced composite and a database with connection details.
const base = `
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {size: 3,
  region: eu, nothing: null, empty: ""}}
details: {password: canary-composite}
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1}, spec: {port: 5432},
      status: {endpoint: db.example.org, conditions: [{type: Ready}]}}
    details: {username: canary-user, password: canary-pass, empty: ""}
`

// A scene is a plan and a request.
type scene struct {
	plan    *plan.Plan
	req     *reconcile.Request
	cluster []wire.Struct
}

// newScene compiles an input. Each overlay replaces top-level fields of the base.
func newScene(t testing.TB, input string, overlays ...string) *scene {
	t.Helper()
	return sceneOf(t, compile(t, input), overlays...)
}

func compile(t testing.TB, input string) *plan.Plan {
	t.Helper()
	p, diagnostics := plantest.Compile(t, input)
	if diagnostics != nil {
		t.Fatalf("Compile(...): %s", strings.Join(diagnostics, "\n"))
	}
	return p
}

// claimOf returns the claim of a composite whose claimRef only has a namespace, and completes the claimRef.
func claimOf(xr map[string]any) map[string]any {
	spec, _ := xr["spec"].(map[string]any)
	ref, _ := spec["claimRef"].(map[string]any)
	metadata, _ := xr["metadata"].(map[string]any)
	if len(ref) != 1 || spec["crossplane"] != nil || metadata["uid"] == nil {
		return nil
	}
	claim := map[string]any{
		"apiVersion": xr["apiVersion"], "kind": "AppClaim", "metadata": map[string]any{"namespace": ref["namespace"],
			"name": "claim"},
		"spec": map[string]any{"resourceRef": map[string]any{"apiVersion": xr["apiVersion"], "kind": xr["kind"],
			"name": metadata["name"]}},
	}
	ref["apiVersion"], ref["kind"], ref["name"] = xr["apiVersion"], "AppClaim", "claim"
	return claim
}

// sceneOf returns a scene of a plan. Each overlay replaces top-level fields of the base.
func sceneOf(t testing.TB, p *plan.Plan, overlays ...string) *scene {
	t.Helper()
	fields := map[string]any{}
	for _, text := range append([]string{base}, overlays...) {
		over := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &over); err != nil {
			t.Fatal(err)
		}
		maps.Copy(fields, over)
	}
	all, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	w := &sceneYAML{}
	if err := yaml.UnmarshalStrict(all, w); err != nil {
		t.Fatal(err)
	}
	claim := claimOf(w.Composite)
	s := &scene{plan: p, req: &reconcile.Request{
		Observation: observation.Observation{
			Composite:   observation.Resource{Object: plantest.StructOf(t, w.Composite), Details: detailsOf(w.Details)},
			Resources:   map[string]observation.Resource{},
			Environment: plantest.StructOf(t, w.Environment),
			Context:     plantest.StructOf(t, w.Context),
		},
		Advise:        advice.Missing,
		Found:         map[string][]wire.Struct{},
		Desired:       map[string]wire.Struct{},
		DesiredStatus: plantest.StructOf(t, w.DesiredStatus),
	}}
	for name, r := range w.Resources {
		complete(r.Object)
		s.req.Observation.Resources[name] = observation.Resource{Object: plantest.StructOf(t, r.Object),
			Details: detailsOf(r.Details)}
	}
	if claim != nil {
		s.cluster = append(s.cluster, plantest.StructOf(t, claim))
	}
	for name, o := range w.Desired {
		s.req.Desired[name] = plantest.StructOf(t, o)
	}
	for key, found := range w.Seeded {
		s.req.Found[key] = nil
		for _, o := range found {
			s.req.Found[key] = append(s.req.Found[key], plantest.StructOf(t, o))
		}
	}
	for _, o := range w.Cluster {
		complete(o)
		s.cluster = append(s.cluster, plantest.StructOf(t, o))
	}
	return s
}

// complete seals the state of a generation, or the record of an export, as the function does.
func complete(o map[string]any) {
	meta, _ := o["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	data, _ := o["data"].(map[string]any)
	for _, name := range []string{rotation.AnnotationState, rotation.AnnotationRecord} {
		if text, ok := annotations[name].(string); ok && o["kind"] == "Secret" && !strings.Contains(text, `"seal"`) {
			annotations[name] = seal.Add(name, outputsOf(data), text)
		}
	}
}

func outputsOf(data map[string]any) credential.Outputs {
	out := credential.Outputs{}
	for k, v := range data {
		b, _ := base64.StdEncoding.DecodeString(fmt.Sprint(v))
		out[k] = sensitive.New(b)
	}
	return out
}

func detailsOf(m map[string]string) observation.Details {
	out := observation.Details{}
	for k, v := range m {
		out[k] = []byte(v)
	}
	return out
}

// answer a requirement as Crossplane does.
func (s *scene) answer(r lookup.Requirement) []wire.Struct {
	var out []wire.Struct
	for _, o := range s.cluster {
		m := o.Proto().AsMap()
		meta, _ := m["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		ns, _ := meta["namespace"].(string)
		ok := m["apiVersion"] == r.APIVersion && m["kind"] == r.Kind && ns == r.Namespace &&
			(r.Name == "" || meta["name"] == r.Name)
		for k, v := range r.Labels {
			ok = ok && labels[k] == v
		}
		if ok {
			out = append(out, o)
		}
	}
	return out
}

// call runs the plan once. An object that is only not created yet counts as available, except for TestCreated.
func (s *scene) call(t testing.TB) (*reconcile.Result, error) {
	t.Helper()
	r, err := s.callOnce()
	for i := 0; err == nil && i < len(r.Objects); i++ {
		if o := &r.Objects[i]; o.State == reconcile.Created {
			o.State, o.Message = reconcile.Available, ""
		}
	}
	return r, err
}

func (s *scene) callOnce() (*reconcile.Result, error) {
	return reconcile.Run(context.Background(), s.plan, s.req)
}

// find reads what a result requires, as Crossplane does.
func (s *scene) find(from *reconcile.Result) {
	for _, r := range from.Requirements {
		s.req.Found[r.Key()] = s.answer(r)
	}
}

// run calls as Crossplane does, until all requirements were read. Each call has the same requirements.
func (s *scene) run(t testing.TB) *reconcile.Result {
	t.Helper()
	first, err := s.call(t)
	if err != nil {
		t.Fatalf("Run(...): %v", err)
	}
	s.find(first)
	second, err := s.call(t)
	if err != nil {
		t.Fatalf("Run(...): %v", err)
	}
	if diff := cmp.Diff(first.Requirements, second.Requirements); diff != "" {
		t.Errorf("Run(...): requirements of two calls of one reconcile: -first, +second:\n%s", diff)
	}
	return second
}

// text is all that the plan says in public: everything but the data of Secrets
// and connection details.
func (s *scene) text(t testing.TB, r *reconcile.Result) string {
	t.Helper()
	var b strings.Builder
	for _, q := range r.Requirements {
		fmt.Fprintf(&b, "%s %#v\n", q.Key(), q)
	}
	for _, o := range r.Objects {
		fmt.Fprintf(&b, "%s %s %s\n", o.Name, o.Message, o.See)
		public := o.Desired.AsMap()
		if o.Desired.GetFields()["kind"].GetStringValue() == "Secret" {
			delete(public, "data")
		}
		fmt.Fprintf(&b, "%v\n", public)
	}
	for _, f := range r.Status {
		fmt.Fprintf(&b, "%v %s %s %v\n", f.Segments, f.Message, f.See, f.Value.AsInterface())
	}
	for _, o := range r.Others {
		fmt.Fprintf(&b, "%s %s\n", o.Message, o.See)
	}
	fmt.Fprintf(&b, "%v\n", r.Environment.AsMap())
	return b.String()
}

// show is each object and status field of a result, in one line.
func show(r *reconcile.Result) []string {
	var out []string
	for _, o := range r.Objects {
		line := stateText(o.Outcome) + " " + showObject(o.Desired)
		if len(o.ConnectionDetails) > 0 {
			details := map[string]string{}
			for k, v := range o.ConnectionDetails {
				details[k] = string(v.Reveal())
			}
			line += " details=" + flow1(details)
		}
		out = append(out, withMessage(line, o.Message))
	}
	for _, f := range r.Status {
		line := stateText(f.Outcome) + " " + strings.Join(f.Segments, ".") + "=" + "nothing"
		if f.Value != nil {
			line = stateText(f.Outcome) + " " + strings.Join(f.Segments, ".") + "=" + flow1(f.Value.AsInterface())
		}
		out = append(out, withMessage(line, f.Message))
	}
	for _, o := range r.Others {
		out = append(out, withMessage(stateText(o), o.Message))
	}
	return out
}

func withMessage(line, message string) string {
	if message == "" {
		return line
	}
	return line + " | " + message
}

// stateText has a mark for a warning.
func stateText(o reconcile.Outcome) string {
	if o.Warn {
		return o.State.String() + "!"
	}
	return o.State.String()
}

func showObject(s *structpb.Struct) string {
	if s == nil {
		return "nothing"
	}
	m := s.AsMap()
	meta, _ := m["metadata"].(map[string]any)
	line := fmt.Sprintf("%v %v/%v", m["kind"], meta["namespace"], meta["name"])
	if data, ok := m["data"].(map[string]any); ok && m["kind"] == "Secret" {
		for k, v := range data {
			b, err := base64.StdEncoding.DecodeString(fmt.Sprint(v))
			if err != nil {
				b = []byte("not base64")
			}
			data[k] = strings.ToValidUTF8(string(b), "?")
		}
	}
	delete(meta, "name")
	delete(meta, "namespace")
	shortenRecord(meta)
	if a, ok := meta["annotations"].(map[string]any); ok && len(a) == 0 {
		delete(meta, "annotations")
	}
	delete(m, "kind")
	delete(m, "apiVersion")
	if m["type"] == "Opaque" {
		delete(m, "type")
	}
	if len(meta) == 0 {
		delete(m, "metadata")
	}
	return line + " " + flow1(m)
}

// shortenRecord leaves out what tests of the record are for.
func shortenRecord(meta map[string]any) {
	annotations, _ := meta["annotations"].(map[string]any)
	delete(annotations, object.StatePrefix+"revision") // TestRevisions
	text, ok := annotations[rotation.AnnotationRecord].(string)
	var record seal.Record
	if !ok || json.Unmarshal([]byte(text), &record) != nil {
		return
	}
	delete(annotations, rotation.AnnotationRecord)
	if !plan.IsAuthors(record.Export) { // TestAuthorsRecord of the function
		words := append([]string{record.Export}, record.Kept...)
		for _, name := range slices.Sorted(maps.Keys(record.Generators)) {
			words = append(words, name+"="+record.Generators[name].Holds)
		}
		annotations["record"] = strings.TrimSpace(strings.Join(words, " "))
	}
}

// flow1 is a value as one line.
func flow1(v any) string {
	s, err := structpb.NewValue(toAny(v))
	if err != nil {
		return err.Error()
	}
	return showValue(s)
}

func toAny(v any) any {
	m, ok := v.(map[string]string)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, e := range m {
		out[k] = e
	}
	return out
}

func showValue(v *structpb.Value) string {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		var parts []string
		for _, n := range slices.Sorted(maps.Keys(k.StructValue.GetFields())) {
			parts = append(parts, n+": "+showValue(k.StructValue.GetFields()[n]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *structpb.Value_ListValue:
		var parts []string
		for _, e := range k.ListValue.GetValues() {
			parts = append(parts, showValue(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.AsInterface())
}
