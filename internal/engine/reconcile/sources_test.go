package reconcile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A source is a Secret with details, or objects that Crossplane found in the right scope.
func TestAnswerForSource(t *testing.T) {
	const (
		secret  = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, data: {k: bWFkZS11cA==}}"
		another = "{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: team}, data: {k: bWFkZS11cA==}}"
		author  = "{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: team, annotations: " +
			"{crossplane.io/composition-resource-name: fromComposite/Secret/c}, ownerReferences: [{controller: true, uid: u1}]}}"
	)
	type want struct {
		details       observation.Details
		objects       int
		clusterScoped bool
	}
	for name, tc := range map[string]struct {
		reason   string
		required Requirement
		objects  []string // that match the requirement
		found    []string // that Crossplane passes, which need not match
		want     want
	}{
		"Secret": {
			"a Secret has details", Requirement{APIVersion: "v1", Kind: "Secret", Namespace: "team", Name: "a"},
			[]string{secret}, []string{secret}, want{observation.Details{"k": []byte("made-up")}, 1, false},
		},
		"Secrets": {
			"several Secrets have none", Requirement{APIVersion: "v1", Kind: "Secret", Namespace: "team"},
			[]string{secret, another}, nil, want{nil, 2, false},
		},
		"Author": {
			"the object of a composite author is left out", Requirement{APIVersion: "v1", Kind: "Secret", Namespace: "team"},
			[]string{secret, author}, nil, want{observation.Details{"k": []byte("made-up")}, 1, false},
		},
		"AnotherGroup": {
			"a Secret of another API group has none", Requirement{APIVersion: "example.org/v1", Kind: "Secret", Name: "a"},
			[]string{"{apiVersion: example.org/v1, kind: Secret, metadata: {name: a}, data: {k: bWFkZS11cA==}}"}, nil,
			want{nil, 1, false},
		},
		"ConfigMap": {
			"a ConfigMap has none", Requirement{APIVersion: "v1", Kind: "ConfigMap", Namespace: "team", Name: "a"},
			[]string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}, data: {k: made-up}}"}, nil,
			want{nil, 1, false},
		},
		"ClusterScoped": {
			"Crossplane finds a cluster-scoped object without its namespace",
			Requirement{APIVersion: "example.org/v1", Kind: "Check", Namespace: "team", Name: "a"}, nil,
			[]string{
				"{apiVersion: example.org/v1, kind: Check, metadata: {name: a}}",
				"{apiVersion: example.org/v1, kind: Check, metadata: {name: a, namespace: team}}",
			}, want{nil, 0, true},
		},
		"NoNamespace": {
			"none was required", Requirement{APIVersion: "example.org/v1", Kind: "Check", Name: "a"}, nil,
			[]string{"{apiVersion: example.org/v1, kind: Check, metadata: {name: a}}"}, want{nil, 0, false},
		},
		"Namespaced": {
			"the object has another namespace",
			Requirement{APIVersion: "example.org/v1", Kind: "Check", Namespace: "team", Name: "a"},
			nil, []string{"{apiVersion: example.org/v1, kind: Check, metadata: {name: a, namespace: other}}"}, want{nil, 0, false},
		},
		"AnotherKind": {
			"the object has another kind", Requirement{APIVersion: "example.org/v1", Kind: "Check", Namespace: "team", Name: "a"},
			nil, []string{"{apiVersion: example.org/v1, kind: Other, metadata: {name: a}}"}, want{nil, 0, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			structs := func(texts []string) (out []wire.Struct) {
				for _, text := range texts {
					out = append(out, structOf(t, text))
				}
				return out
			}
			a := &answer{objects: structs(tc.objects), read: true}
			out := a.forSource(tc.required, structs(tc.found))
			got := want{out.details, len(out.objects), out.clusterScoped}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("forSource(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The composite author can name an object as it likes, but another client cannot hide an object with such a name.
func TestWithoutAuthors(t *testing.T) {
	object := func(name, composed, owners string) wire.Struct {
		return structOf(t, "{metadata: {name: "+name+", annotations: {crossplane.io/composition-resource-name: "+composed+
			"}, ownerReferences: ["+owners+"]}}")
	}
	const owner = "{controller: true, uid: u1}"
	all := []wire.Struct{
		object("author", "fromComposite/Secret/a", owner),
		object("uncontrolled", "fromComposite/Secret/a", ""),
		object("composed", "db", owner),
	}
	var got []string
	for _, o := range withoutAuthors(all) {
		got = append(got, o.At("metadata", "name").Text())
	}
	if diff := cmp.Diff([]string{"uncontrolled", "composed"}, got); diff != "" {
		t.Errorf("withoutAuthors(...): -want, +got:\n%s", diff)
	}
}

// The Composition's own required resources are lists, and requirements of this function are not sources.
func TestReadSources(t *testing.T) {
	l := newLimited(t, `
sources:
- {name: cm, apiVersion: v1, kind: ConfigMap, matchName: cm}
- {name: many, apiVersion: v1, kind: Secret, matchLabels: {a: b}}
- {name: none, apiVersion: v1, kind: Secret, optional: true, nameExpression: "composite.spec.?name"}
secrets:
- name: url
  data: [{key: k, value: sources.cm.data.x}, {key: l, value: secrets.many.x}, {key: m, value: secrets.none.x}]`, nil)
	l.sees.Composite.Object = structOf(t, "{spec: {size: 3}}")
	own := structOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: own}}")
	req := newRequest(&Request{Found: map[string][]wire.Struct{
		"mine": {own}, RequirementPrefix + "v1/ConfigMap/team/name=x": {own},
	}})
	s := newSession(t.Context(), l.plan, req, composite{name: "xr", namespace: "team"}, l.sees)
	out := readSources(s, l.plan, req)
	want := map[string]observation.Source{
		"mine": {Read: true, Optional: true, Many: true, Objects: []wire.Struct{own}},
		"cm":   {Objects: []wire.Struct{}},
		"many": {Many: true, Secret: true, Objects: []wire.Struct{}},
		"none": {Secret: true, Read: true, Optional: true},
	}
	opt := cmp.Comparer(func(a, b wire.Struct) bool { return a.Proto().String() == b.Proto().String() })
	if diff := cmp.Diff(want, out.sources, opt); diff != "" {
		t.Errorf("readSources(...): -want, +got:\n%s", diff)
	}
	if len(out.session.observed.Sources) != len(want) {
		t.Errorf("readSources(...): want %d sources in the session, got %d", len(want), len(out.session.observed.Sources))
	}
}

// A source that Crossplane finds without its namespace says which field of the input must be changed.
func TestSourceInAnotherScope(t *testing.T) {
	l := newLimited(t, `
sources: [{name: check, apiVersion: example.org/v1, kind: Check}]
secrets: [{name: url, data: [{key: k, value: sources.check.status.x}]}]`, nil)
	found := structOf(t, "{apiVersion: example.org/v1, kind: Check, metadata: {name: check}}")
	key := RequirementPrefix + "example.org/v1/Check/team/name=check"
	req := newRequest(&Request{Found: map[string][]wire.Struct{key: {found}}})
	s := newSession(t.Context(), l.plan, req, composite{name: "xr", namespace: "team"}, l.sees)
	out := readSources(s, l.plan, req)
	const want = "Check is cluster scoped: set sources[0].scope to Cluster"
	if got := out.sources["check"].Failed; got != want {
		t.Errorf("readSources(...): want the error %q, got %q", want, got)
	}
}
