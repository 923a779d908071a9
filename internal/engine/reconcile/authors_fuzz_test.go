package reconcile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// forbidden is in each value that the composite's author may not read: connection
// details of the composite and of another composed resource, that resource itself,
// the context, the environment, a source, and somebody else's Secret.
const forbidden = "verboten"

// hostile is the scene of laws with another canary in each value that the author must not read.
const hostile = laws + `
  cache:
    object: {apiVersion: example.org/v1, kind: Cache, metadata: {name: cache-1}, status: {endpoint: verboten,
      manifest: {apiVersion: v1, kind: Secret, data: {k: dmVyYm90ZW4=}}}}
    details: {password: verboten-cache, verboten-key: x}
  verboten: {object: {apiVersion: example.org/v1, kind: Cache, metadata: {name: verboten}},
    details: {verboten: verboten}}
  fromComposite/Secret/a: {object: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, type: Opaque,
    data: {k: b2xk}}}
  fromComposite/ConfigMap/c: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: team},
    data: {k: old}}}
`

// further replaces what laws has of these.
const further = `
details: {password: verboten-composite}
context: {earlier: {apiVersion: v1, kind: Secret, data: {k: verboten}}, text: verboten}
environment: {region: verboten}
seeded: {own: [{apiVersion: v1, kind: Secret, metadata: {name: own}, data: {k: dmVyYm90ZW4=}, text: verboten}]}
cluster:
- {apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: team}, data: {crt: dmVyYm90ZW4=}}
- {apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: team}, data: {k: dmVyYm90ZW4=}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: team, ownerReferences: [{controller: true,
    uid: u9, kind: App, name: other}]}, data: {k: verboten}}
desired: {earlier: {apiVersion: v1, kind: Secret, metadata: {name: earlier}}}
`

// authorInputs allow one composed resource, and nothing.
var authorInputs = []string{
	authorInput + "\n  allow: {secrets: [db], resources: [db], labels: [a, b, k, x], annotations: [a, b, k, x]}",
	authorInput,
}

const authorInput = `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
secrets:
- name: own
  from: db
  data: [{key: p, value: secret.password}, {key: ca, value: secrets.ca.crt}]
- {name: waits, data: [{key: k, value: composite.spec.later}]}
configMaps:
- {name: settings, from: db, data: [{key: k, value: resource.status.endpoint}]}
status:
- {fieldPath: endpoint, value: resources.db.status.endpoint}
fromComposite:
  fieldPath: spec.operatorSpec`

// authorFields are the lists, by a number.
var authorFields = []string{"secretExpressions", "configMapExpressions", "dynamicSecrets", "dynamicConfigMaps"}

// written is what an author writes: what raw has as JSON, and entries of the parts
// in the list that n says. It is nil for what protobuf does not carry.
func written(raw, x, y, name, key string, n uint16) *structpb.Value {
	lists := map[string]any{}
	if raw != "" && json.Unmarshal([]byte(raw), &lists) != nil {
		return nil
	}
	bit := func(i int) bool { return n>>i&1 == 1 }
	add := func(field string, e map[string]any) {
		entries, _ := lists[field].([]any)
		lists[field] = append(slices.Clone(entries), e)
	}
	first := map[string]any{"name": name, "value": x}
	if bit(2) {
		first["key"] = key
	}
	if bit(3) {
		first["labels"] = map[string]any{key: y}
		first["annotations"] = map[string]any{name: x}
	}
	if bit(4) {
		first["valueMap"] = x
		delete(first, "value")
	}
	add(authorFields[n%4], first)
	if bit(5) {
		add(authorFields[n>>6%4], map[string]any{"name": name, "key": key, "value": y})
	}
	if bit(8) {
		add(authorFields[n>>6%4], map[string]any{"name": "a", "key": "l", "value": y})
	}
	v, err := structpb.NewValue(lists)
	if err != nil {
		return nil
	}
	return v
}

// authorScene is a scene whose composite's author writes this, or nothing.
func authorScene(t *testing.T, input string, asks *structpb.Value) *scene {
	t.Helper()
	s := newScene(t, plantest.Exports(input), hostile, further)
	if asks != nil {
		s.req.Observation.Composite.Object.Proto().GetFields()["spec"].GetStructValue().Fields["operatorSpec"] = asks
	}
	return s
}

// spelled are the objects that an author names, by their composed resources.
func spelled(asks *structpb.Value) map[string]bool {
	out := map[string]bool{}
	for i, field := range authorFields {
		kind := []object.Kind{object.Secret, object.ConfigMap}[i%2]
		for _, e := range asks.GetStructValue().GetFields()[field].GetListValue().GetValues() {
			out["fromComposite/"+string(kind)+"/"+e.GetStructValue().GetFields()["name"].GetStringValue()] = true
		}
	}
	return out
}

// theInputs are the objects and status fields of the input itself.
func theInputs(r *reconcile.Result) *reconcile.Result {
	return &reconcile.Result{
		Objects: slices.DeleteFunc(slices.Clone(r.Objects), func(o reconcile.Object) bool { return o.Author }),
		Status:  r.Status, Environment: r.Environment,
		Reply: outcome.Reply{
			Others: slices.DeleteFunc(slices.Clone(r.Others), func(o reconcile.Outcome) bool { return o.Author }),
		},
	}
}

// authorsOf are the objects that an author asks for, and all that is said.
func authorsOf(r *reconcile.Result) *reconcile.Result {
	return &reconcile.Result{Objects: slices.DeleteFunc(slices.Clone(r.Objects),
		func(o reconcile.Object) bool { return !o.Author }),
		Reply: outcome.Reply{Others: r.Others, Requirements: r.Requirements}}
}

// FuzzAuthors takes anything for what a composite's author asks for: nothing of the
// input's own changes, no object is elsewhere or has a name that is not spelled, no
// secret is where it must not be, and the same request gives the same answer.
func FuzzAuthors(f *testing.F) {
	names, keys := attack.Names(), attack.Keys()
	for i, x := range proof.Part(slices.Concat(expressions, []string{
		"self.spec.operatorSpec", "{'a': secret.password}", "resources.cache.status.endpoint",
		"secrets['ca' + 'che'].password", "json.encode(environment)", "secrets.theirs.k",
		"secrets.map(k, k).join()", "resources.map(k, k).join()",
	}), 6) {
		for n := range uint16(4) {
			f.Add("", x, "'w'", "b", "k", n)
			f.Add("", x, "'w'", "b", "k", n|4)
			f.Add("", "'v'", x, "b", "k", n|4|8)
			f.Add("", x, expressions[(i+1)%len(expressions)], names[i%len(names)], keys[i%len(keys)], n|4|uint16(i)<<3)
		}
	}
	for _, name := range slices.Concat(names, []string{"own", "xr-own", "xr-settings", "earlier", "theirs", "a", "c",
		"ca", "kube-system.x"}) {
		f.Add("", "'v'", "'w'", name, "k", uint16(4))
	}
	for _, key := range keys {
		f.Add("", "{'"+key+"': 'v'}", "'w'", "b", key, uint16(0))
		f.Add("", "'v'", "'w'", "b", key, uint16(4))
	}
	for _, raw := range []string{
		`{"secretExpressions": [{"name": "a", "key": "k", "value": "'v'"}, {"key": "l", "value": "'v'"}, 5, null, ` +
			`[], {"name": "a", "value": "{'k': 'w'}"}]}`,
		`{"secretExpressions": {"name": "a"}, "dynamicSecrets": [{"name": "a", "valueMap": "secret"}], ` +
			`"configMapExpressions": [{"name": "c", "key": "k", "value": "secret.password", "labels": {"a": "b"}}]}`,
		`{"dynamicConfigMaps": "x", "configMapExpressions": null, "other": {"a": [1, 2.5, true]}}`,
		`{"secretExpressions": [{"name": "a", "key": "k", "value": "'v'", "labels": {"crossplane.io/composite": ` +
			`"x"}, "annotations": {"x": "secret.password"}}]}`,
	} {
		f.Add(raw, "'v'", "'w'", "b", "k", uint16(4))
	}
	bare := map[string]*reconcile.Result{} // what the input itself exports
	f.Fuzz(func(t *testing.T, raw, x, y, name, key string, n uint16) {
		for _, s := range []string{raw, x, y, name, key} {
			for _, part := range []string{"can", "ary", "verb", "boten", "Y2Fu", "dmVy", `\u`} {
				if strings.Contains(s, part) {
					return // spells it
				}
			}
		}
		asks := written(raw, x, y, name, key, n)
		if asks == nil {
			return
		}
		input := authorInputs[n>>9%2]
		s := authorScene(t, input, asks)
		one := s.run(t)
		if diff := cmp.Diff(one, authorScene(t, input, asks).run(t), results); diff != "" {
			t.Errorf("results of the same request differ: -one, +other:\n%s", diff)
		}
		if bare[input] == nil {
			bare[input] = authorScene(t, input, nil).run(t)
		}
		if diff := cmp.Diff(theInputs(bare[input]), theInputs(one), results, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the input's own: -want, +got:\n%s", diff)
		}
		authorsStayWithin(t, s, asks, one, bare[input])
		if text := fmt.Sprint(show(authorsOf(one))); input == authorInput && strings.Contains(text, canary) {
			t.Errorf("nothing is allowed, and read:\n%s", text)
		}
	})
}

// authorsStayWithin what they may: where their objects are, what is read for them,
// and what comes out.
func authorsStayWithin(t *testing.T, s *scene, asks *structpb.Value, r, bare *reconcile.Result) {
	t.Helper()
	named := spelled(asks)
	for _, o := range r.Objects {
		if !o.Author || o.Desired == nil {
			continue
		}
		_, kind, ns, name := object.Identity(wire.Of(o.Desired))
		observed := s.req.Observation.Resources[o.Name].Object.Exists()
		if ns != "team" || o.Name != "fromComposite/"+kind+"/"+name || kind != string(o.Kind) || !named[o.Name] &&
			!observed || len(o.ConnectionDetails) > 0 {
			t.Errorf("%q is %s %s/%s, which is not an export", o.Name, kind, ns, name)
		}
		data := o.Desired.GetFields()["data"].GetStructValue().GetFields()
		bad := slices.DeleteFunc(slices.Sorted(maps.Keys(data)),
			func(k string) bool { return len(validation.IsConfigMapKey(k)) == 0 })
		if len(bad) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("%q is named %q, and has keys %q", o.Name, name, bad)
		}
	}
	for _, q := range r.Requirements {
		own := slices.ContainsFunc(bare.Requirements, func(b lookup.Requirement) bool { return cmp.Equal(b, q) })
		if !own && (q.APIVersion != "v1" || q.Namespace != "team" || len(q.Labels) > 0 ||
			!named["fromComposite/"+q.Kind+"/"+q.Name]) {
			t.Errorf("%+v was not asked for", q)
		}
	}
	if text := s.text(t, r); strings.Contains(text, canary) || strings.Contains(text, "Y2FuYXJ5") {
		t.Errorf("a secret is out:\n%s", text)
	}
	r = authorsOf(r)
	for _, all := range []string{s.text(t, r), fmt.Sprint(show(r))} {
		if strings.Contains(all, forbidden) || strings.Contains(all, "dmVyYm90ZW4") {
			t.Errorf("data that is not allowed is read:\n%s", all)
		}
	}
}
