package reconcile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A requirement has a key for Crossplane, and a text for messages.
func TestRequirement(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		required  Requirement
		key, text string
	}{
		"Name": {
			"an object in a namespace", Requirement{APIVersion: "v1", Kind: "Secret", Namespace: "team", Name: "a"},
			"v1/Secret/team/name=a", "Secret team/a",
		},
		"Cluster": {
			"an object without a namespace", Requirement{APIVersion: "v1", Kind: "Node", Name: "a"}, "v1/Node//name=a",
			"Node a",
		},
		"Labels": {
			"labels are in the order of their names",
			Requirement{
				APIVersion: "v1", Kind: "Secret", Namespace: "team", Labels: map[string]string{"c": "d", "a": "b"},
			},
			"v1/Secret/team/labels=a=b,c=d", "Secret with a=b,c=d in team",
		},
		"ClusterLabels": {
			"labels of objects without a namespace",
			Requirement{APIVersion: "v1", Kind: "Node", Labels: map[string]string{"a": "b"}}, "v1/Node//labels=a=b",
			"Node with a=b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := []string{tc.required.Key(), tc.required.String()}
			if diff := cmp.Diff([]string{RequirementPrefix + tc.key, tc.text}, got); diff != "" {
				t.Errorf("Key(), String(): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Crossplane also returns objects that it found for an earlier requirement with the same key.
func TestRequirementMatches(t *testing.T) {
	const object = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team, labels: {a: b, c: d}}}"
	byName := Requirement{APIVersion: "v1", Kind: "Secret", Namespace: "team", Name: "a"}
	byLabels := Requirement{APIVersion: "v1", Kind: "Secret", Namespace: "team", Labels: map[string]string{"a": "b"}}
	for name, tc := range map[string]struct {
		reason   string
		required Requirement
		change   func(*Requirement)
		want     bool
	}{
		"Name":   {"the object has the name", byName, func(*Requirement) {}, true},
		"Labels": {"the object has the label, and another one", byLabels, func(*Requirement) {}, true},
		"TwoLabels": {
			"the object has both", byLabels, func(r *Requirement) { r.Labels = map[string]string{"a": "b", "c": "d"} },
			true,
		},
		"OtherName":       {"it has another name", byName, func(r *Requirement) { r.Name = "b" }, false},
		"OtherNamespace":  {"it is in another namespace", byName, func(r *Requirement) { r.Namespace = "other" }, false},
		"OtherKind":       {"it has another kind", byName, func(r *Requirement) { r.Kind = "ConfigMap" }, false},
		"OtherAPIVersion": {"it has another group", byName, func(r *Requirement) { r.APIVersion = "example.org/v1" }, false},
		"OtherLabel": {
			"its label has another value", byLabels, func(r *Requirement) { r.Labels = map[string]string{"a": "d"} },
			false,
		},
		"OneOfTwoLabels": {"it lacks a label", byLabels, func(r *Requirement) { r.Labels = map[string]string{"a": "b", "x": "y"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			required := tc.required
			tc.change(&required)
			if got := required.matches(structOf(t, object)); got != tc.want {
				t.Errorf("matches(...): %s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// Objects are in the order of namespace and name.
func TestRequirementFind(t *testing.T) {
	object := func(ns, name string) wire.Struct {
		return structOf(t, "{apiVersion: v1, kind: Secret, metadata: {namespace: "+ns+", name: "+name+", labels: {a: b}}}")
	}
	found := []wire.Struct{object("b", "a"), object("a", "c"), object("a", "b"), object("a-b", "a")}
	var got []string
	for _, ns := range []string{"a", "b", "a-b"} {
		all := Requirement{APIVersion: "v1", Kind: "Secret", Namespace: ns, Labels: map[string]string{"a": "b"}}
		for _, o := range all.find(found) {
			got = append(got, ns+" "+o.At("metadata", "name").Text())
		}
	}
	if diff := cmp.Diff([]string{"a b", "a c", "b a", "a-b a"}, got); diff != "" {
		t.Errorf("find(...): -want, +got:\n%s", diff)
	}
}
