package object

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/engine/wire/wiretest"
)

// observedSecret is a composed Secret as Crossplane 2.4 observes it.
const observedSecret = `{
	"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
	"metadata": {
		"name": "db", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generateName": "db-", "generation": 3,
		"creationTimestamp": "2026-11-01T00:00:00Z", "finalizers": ["example.org/keep"], "managedFields": [{"manager": "apiextensions.crossplane.io"}],
		"labels": {"crossplane.io/composite": "xdb", "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "shop", "team": "payments"},
		"annotations": {
			"crossplane.io/composition-resource-name": "connection",
			"kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{}}",
			"export.fn.crossplane.io/generation": "7",
			"example.org/note": "kept"
		},
		"ownerReferences": [
			{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u2"},
			{"apiVersion": "example.org/v1", "kind": "XDatabase", "name": "xdb", "uid": "u3", "controller": true, "blockOwnerDeletion": true}
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
			in: `{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"url": "dQ==", "mine": "bQ==", "changed": "Yw=="},
				"metadata": {"name": "a", "namespace": "b", "labels": {"team": "x", "theirs": "y"}, "annotations": {"note": "n", "hand/made": "yes"}, "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {
						"f:data": {".": {}, "f:url": {}}, "f:type": {}, "f:metadata": {"f:labels": {"f:team": {}}, "f:annotations": {"f:note": {}}}}},
					{"manager": "kubectl-patch", "operation": "Update", "fieldsV1": {
						"f:data": {"f:mine": {}, "f:changed": {}}, "f:metadata": {"f:labels": {"f:theirs": {}}, "f:annotations": {"f:hand/made": {}}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"url": "dQ=="},
				"metadata": {"name": "a", "namespace": "b", "labels": {"team": "x"}, "annotations": {"note": "n"}}}`,
		},
		"TextOfAnotherStep": {
			reason: "a key that Crossplane applied as stringData is ours: without an owner in data it could never be removed",
			in: `{"apiVersion": "v1", "kind": "Secret", "data": {"url": "dQ==", "mine": "bQ=="},
				"metadata": {"name": "a", "namespace": "b", "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {"f:stringData": {"f:url": {}}}},
					{"manager": "kubectl-patch", "operation": "Update", "fieldsV1": {"f:data": {"f:mine": {}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "data": {"url": "dQ=="}, "metadata": {"name": "a", "namespace": "b"}}`,
		},
		"OthersBytes": {
			reason: "binaryData is also ours only where Crossplane has applied it, and an object may have no namespace",
			in: `{"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"ours": "//4=", "theirs": "//4="},
				"metadata": {"name": "a", "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {"f:binaryData": {"f:ours": {}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"ours": "//4="}, "metadata": {"name": "a"}}`,
		},
		"OtherManagers": {
			reason: "another manager may also apply, and Crossplane may also update: neither says what Crossplane applied",
			in: `{"apiVersion": "v1", "kind": "Secret", "data": {"ours": "dQ==", "update": "dQ==", "theirs": "bQ=="},
				"metadata": {"name": "a", "namespace": "b", "managedFields": [
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {"f:data": {"f:ours": {}}}},
					{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Update", "fieldsV1": {"f:data": {"f:update": {}}}},
					{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:data": {"f:theirs": {}}}}]}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "data": {"ours": "dQ=="}, "metadata": {"name": "a", "namespace": "b"}}`,
		},
		"NothingLeft": {
			reason: "empty maps and nulls are left out, also those that became empty",
			in: `{"apiVersion": "v1", "kind": "Secret", "immutable": null, "data": {}, "binaryData": null,
				"metadata": {"name": "a", "namespace": "b", "labels": {"crossplane.io/composite": "x"}, "annotations": {"crossplane.io/composition-resource-name": "x"}}}`,
			want: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}}`,
		},
		"OtherKind":    {reason: "a managed resource would lose its spec", in: `{"apiVersion": "example.org/v1", "kind": "Secret", "metadata": {"name": "a"}, "spec": {}}`},
		"OtherV1":      {reason: "a Service would lose its spec", in: `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {}}`},
		"NotAnObject":  {reason: "nothing is held of nothing", in: `{}`},
		"OddStructure": {reason: "an odd observation must not panic", in: `{"apiVersion": ["v1"], "kind": {}, "metadata": 7}`},
	}
	for name, tc := range cases {
		for as, read := range wiretest.Readings {
			t.Run(name+as, func(t *testing.T) {
				before := parse(t, tc.in)
				in := read(t, parse(t, tc.in))
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
	}
	if Held(wire.Struct{}) != nil {
		t.Error("Held of none: want nil")
	}
}

// appliedBy returns an object with one entry of Crossplane in managedFields.
func appliedBy(fields string) string {
	return `{"metadata": {"managedFields": [{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "fieldsV1": {` +
		fields + `}}]}}`
}

func TestDataOf(t *testing.T) {
	cases := map[string]struct {
		reason  string
		in      string
		want    map[string]string
		wantErr string
	}{
		"Secret": {
			reason: "a Secret's data is base64, and stringData does not count",
			in:     observedSecret,
			want:   map[string]string{"password": "hunter2", "empty": ""},
		},
		"ConfigMap": {
			reason: "a ConfigMap's texts and bytes are one map",
			in:     `{"apiVersion": "v1", "kind": "ConfigMap", "data": {"t": "aHVudGVyMg=="}, "binaryData": {"b": "//4="}}`,
			want:   map[string]string{"t": "aHVudGVyMg==", "b": "\xff\xfe"},
		},
		"NoData":       {reason: "no data is an empty map", in: `{"apiVersion": "v1", "kind": "Secret"}`, want: map[string]string{}},
		"Null":         {reason: "Kubernetes reads null as an empty value", in: `{"apiVersion": "v1", "kind": "Secret", "data": {"n": null}}`, want: map[string]string{"n": ""}},
		"BinaryIgnore": {reason: "a Secret has no binaryData", in: `{"apiVersion": "v1", "kind": "Secret", "binaryData": {"b": "//4="}}`, want: map[string]string{}},
		"NotBase64": {
			reason:  "the error names the first key in order, and no value",
			in:      `{"apiVersion": "v1", "kind": "Secret", "data": {"b": "` + canary + `", "a": "` + canary + `", "c": "eA=="}}`,
			wantErr: `cannot decode key "a": its value is not what the API server returns`,
		},
		"NotText": {
			reason:  "a number is no value of a ConfigMap",
			in:      `{"apiVersion": "v1", "kind": "ConfigMap", "data": {"port": 5432}}`,
			wantErr: `cannot decode key "port": its value is not what the API server returns`,
		},
		"BadBinary": {
			reason:  "binaryData is judged too",
			in:      `{"apiVersion": "v1", "kind": "ConfigMap", "data": {"t": "x"}, "binaryData": {"b": "?"}}`,
			wantErr: `cannot decode key "b": its value is not what the API server returns`,
		},
		"Twice": {
			reason:  "one key in both maps is refused by the API server, and none of the two values wins here",
			in:      `{"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "x"}, "binaryData": {"k": "//4="}}`,
			wantErr: `cannot decode key "k": its value is not what the API server returns`,
		},
		"OtherKind": {
			reason:  "other kinds have no data that could be read",
			in:      `{"apiVersion": "example.org/v1", "kind": "Secret", "data": {"a": "eA=="}}`,
			wantErr: `cannot read data: the object is neither a v1 Secret nor a v1 ConfigMap`,
		},
	}
	for name, tc := range cases {
		for as, read := range wiretest.Readings {
			t.Run(name+as, func(t *testing.T) {
				got, err := DataOf(read(t, parse(t, tc.in)))
				if diff := cmp.Diff(tc.wantErr, message(err)); diff != "" {
					t.Errorf("%s: -want error, +got error:\n%s", tc.reason, diff)
				}
				if err != nil {
					if got != nil {
						t.Errorf("%s: want no half of the data with an error, got %d keys", tc.reason, len(got))
					}
					return
				}
				if diff := cmp.Diff(tc.want, reveal(got)); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
			})
		}
	}
}
