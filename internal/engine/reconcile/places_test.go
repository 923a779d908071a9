package reconcile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A composite lists its objects. Only a cluster-scoped composite lists their namespaces, and a reference may have no API
// version.
func TestLists(t *testing.T) {
	at := target{object.Secret, "team", "a"}
	for name, tc := range map[string]struct {
		reason, spec string
		want         bool
	}{
		"Listed": {
			"a namespaced composite lists it",
			"{crossplane: {resourceRefs: [{apiVersion: example.org/v1, kind: DB, name: a}, {apiVersion: v1, kind: " +
				"Secret, name: a}]}}",
			true,
		},
		"Namespace": {
			"a cluster-scoped composite also lists its namespace",
			"{crossplane: {resourceRefs: [{apiVersion: v1, kind: Secret, name: a, namespace: team}]}}", true,
		},
		"NoAPIVersion": {"the reference has no API version", "{crossplane: {resourceRefs: [{kind: Secret, name: a}]}}", true},
		"Legacy": {
			"a legacy composite lists it in another field", "{resourceRefs: [{apiVersion: v1, kind: Secret, name: a}]}",
			true,
		},
		"Disguised": {
			"the author of any other composite can write that field",
			"{crossplane: {}, resourceRefs: [{apiVersion: v1, kind: Secret, name: a}]}", false,
		},
		"OtherKind": {
			"a ConfigMap of that name is listed",
			"{crossplane: {resourceRefs: [{apiVersion: v1, kind: ConfigMap, name: a}]}}", false,
		},
		"OtherGroup": {
			"an object of another group is listed",
			"{crossplane: {resourceRefs: [{apiVersion: example.org/v1, kind: Secret, name: a}]}}", false,
		},
		"OtherName": {"another Secret is listed", "{crossplane: {resourceRefs: [{apiVersion: v1, kind: Secret, name: b}]}}", false},
		"OtherNamespace": {
			"a Secret of that name is listed in another namespace",
			"{crossplane: {resourceRefs: [{apiVersion: v1, kind: Secret, name: a, namespace: other}]}}", false,
		},
		"Nothing": {"nothing is listed yet", "{}", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lists(structOf(t, "{spec: "+tc.spec+"}"), at); got != tc.want {
				t.Errorf("lists(...): %s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
	user, spec := target{"example.org/v1/User", "team", "a"}, "{crossplane: {resourceRefs: [{apiVersion: example.org/v1, kind: User, name: a}]}}"
	if !lists(structOf(t, "{spec: "+spec+"}"), user) {
		t.Error("lists(...): want true for an object of another kind")
	}
}

// Other clients can write annotations that look like state. Crossplane must not take them over.
func TestWithStateOfCrossplaneOnly(t *testing.T) {
	observed := structOf(t, `
apiVersion: example.org/v1
kind: User
metadata:
  name: u
  annotations: {export.fn.crossplane.io/own: "1", export.fn.crossplane.io/forged: "2", other: "3"}
  managedFields:
  - manager: apiextensions.crossplane.io/composed/x
    operation: Apply
    fieldsV1: {"f:metadata": {"f:annotations": {"f:export.fn.crossplane.io/own": {}, "f:other": {}}}}
  - manager: kubectl-edit
    operation: Update
    fieldsV1: {"f:metadata": {"f:annotations": {"f:export.fn.crossplane.io/forged": {}}}}
`)
	got := withState(&structpb.Struct{Fields: map[string]*structpb.Value{}}, observed)
	want := map[string]string{"export.fn.crossplane.io/own": "1"}
	if diff := cmp.Diff(want, plan.Texts(plan.MetadataOf(wire.Of(got)).Get("annotations"))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
