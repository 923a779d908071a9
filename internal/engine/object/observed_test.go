package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// observedSecret is a composed Secret as Crossplane 2.4 observes it.
const observedSecret = `{
	"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
	"metadata": {
		"name": "db", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generateName": "db-", "generation": 3,
		"creationTimestamp": "2026-11-01T00:00:00Z", "finalizers": ["example.org/keep"], "managedFields": [{"manager": "apiextensions.crossplane.io"}],
		"labels": {"crossplane.io/composite": "xdb", "crossplane.io/claim-name": "db",
		  "crossplane.io/claim-namespace": "shop", "team": "payments"},
		"annotations": {
			"crossplane.io/composition-resource-name": "connection",
			"kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{}}",
			"export.fn.crossplane.io/generation": "7",
			"example.org/note": "kept"
		},
		"ownerReferences": [
			{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u2"},
			{"apiVersion": "example.org/v1", "kind": "XDatabase", "name": "xdb", "uid": "u3", "controller": true,
			  "blockOwnerDeletion": true}
		]
	},
	"data": {"password": "aHVudGVyMg==", "empty": ""},
	"stringData": {"ignored": "x"},
	"status": {"also": "ignored"}
}`

func TestHeld(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string // empty: nil
	}{
		"Secret": {
			reason: "data and metadata of the user and of ours stay; what the API server and Crossplane own goes",
			in:     observedSecret,
			want: `{
				"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
				"metadata": {
					"name": "db", "namespace": "shop", "labels": {"team": "payments"},
					"annotations": {"export.fn.crossplane.io/generation": "7", "example.org/note": "kept"}
				},
				"data": {"password": "aHVudGVyMg==", "empty": ""}
			}`,
		},
		"ConfigMap": {
			reason: "both kinds of data stay as they are",
			in: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", "uid": "u"},
				"immutable": false, "data": {"t": "x"}, "binaryData": {"b": "//4="}}`,
			want: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"},
				"immutable": false, "data": {"t": "x"}, "binaryData": {"b": "//4="}}`,
		},
		"OthersFields": {
			reason: "what others have added or changed stays without us: we would take it over, and write an old value back",
			in: `{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"url": "dQ==", "mine": "bQ==",
			  "changed": "Yw=="},
				"metadata": {"name": "a", "namespace": "b", "labels": {"team": "x", "theirs": "y"}, "annotations": {"note": "n",
				  "hand/made": "yes"}, "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {
						"f:data": {".": {}, "f:url": {}}, "f:type": {}, "f:metadata": {"f:labels": {"f:team": {}},
						  "f:annotations": {"f:note": {}}}}},
					{"manager": "kubectl-patch", "operation": "Update", "fieldsV1": {
						"f:data": {"f:mine": {}, "f:changed": {}}, "f:metadata": {"f:labels": {"f:theirs": {}}, "f:annotations": {"f:hand/made": {}}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"url": "dQ=="},
				"metadata": {"name": "a", "namespace": "b", "labels": {"team": "x"}, "annotations": {"note": "n"}}}`,
		},
		"TextOfAnotherStep": {
			reason: "a key that Crossplane applied as stringData is ours: without an owner in data it could never be removed",
			in: `{"apiVersion": "v1", "kind": "Secret", "data": {"url": "dQ==", "mine": "bQ=="},
				"metadata": {"name": "a", "namespace": "b", "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply",
					  "fieldsV1": {"f:stringData": {"f:url": {}}}},
					{"manager": "kubectl-patch", "operation": "Update", "fieldsV1": {"f:data": {"f:mine": {}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "data": {"url": "dQ=="}, "metadata": {"name": "a", ` +
				`"namespace": "b"}}`,
		},
		"OthersBytes": {
			reason: "binaryData is also ours only where Crossplane has applied it, and an object may have no namespace",
			in: `{"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"ours": "//4=", "theirs": "//4="},
				"metadata": {"name": "a", "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {"f:binaryData": {"f:ours": {}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"ours": "//4="}, "metadata": {"name": ` +
				`"a"}}`,
		},
		"OtherManagers": {
			reason: "another manager may also apply, and Crossplane may also update: neither says what Crossplane applied",
			in: `{"apiVersion": "v1", "kind": "Secret", "data": {"ours": "dQ==", "update": "dQ==", "theirs": "bQ=="},
				"metadata": {"name": "a", "namespace": "b", "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply",
					  "fieldsV1": {"f:data": {"f:ours": {}}}},
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Update",
					  "fieldsV1": {"f:data": {"f:update": {}}}},
					{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:data": {"f:theirs": {}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "data": {"ours": "dQ=="}, "metadata": {"name": "a", ` +
				`"namespace": "b"}}`,
		},
		"NothingLeft": {
			reason: "empty maps and nulls are left out, also those that became empty",
			in: `{"apiVersion": "v1", "kind": "Secret", "immutable": null, "data": {}, "binaryData": null,
				"metadata": {"name": "a", "namespace": "b", "labels": {"crossplane.io/composite": "x"}, "annotations": {"crossplane.io/composition-resource-name": "x"}}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}}`,
		},
		"OtherKind": {reason: "a managed resource would lose its spec", in: `{"apiVersion": "example.org/v1", ` +
			`"kind": "Secret", "metadata": {"name": "a"}, "spec": {}}`},
		"OtherV1": {reason: "a Service would lose its spec", in: `{"apiVersion": "v1", "kind": "Service", ` +
			`"metadata": {"name": "a"}, "spec": {}}`},
		"NotAnObject": {reason: "nothing is held of nothing", in: `{}`},
		"OddStructure": {reason: "an odd observation must not panic", in: `{"apiVersion": ["v1"], "kind": {}, ` +
			`"metadata": 7}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := parse(t, tc.in)
			in := sent(t, parse(t, tc.in))
			got := Held(in)
			if tc.want == "" {
				if got != nil {
					t.Errorf("%s: want nil, got %v", tc.reason, got)
				}
				return
			}
			if diff := cmp.Diff(parse(t, tc.want), got, protocmp.Transform()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			clear(got.GetFields()["metadata"].GetStructValue().GetFields()["labels"].GetStructValue().GetFields())
			clear(got.GetFields()["data"].GetStructValue().GetFields())
			if diff := cmp.Diff(before, in.Proto(), protocmp.Transform()); diff != "" {
				t.Errorf("changing what is held changed the observed object: -want, +got:\n%s", diff)
			}
		})
	}
	if Held(wire.Struct{}) != nil {
		t.Error("Held of none: want nil")
	}
}
