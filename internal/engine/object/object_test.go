package object

import (
	"encoding/json"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// canary is a value that no text may show. It is no word of any message.
const canary = "c4n4ry-hunter2"

func texts(data map[string]string) map[string]sensitive.Bytes {
	out := make(map[string]sensitive.Bytes, len(data))
	for key, value := range data {
		out[key] = sensitive.FromString(value)
	}
	return out
}

// parse makes a Struct of JSON.
func parse(t testing.TB, in string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(in)); err != nil {
		t.Fatalf("cannot parse %s: %v", in, err)
	}
	return s
}

// reveal makes data comparable, and readable in a diff.
func reveal(data map[string]sensitive.Bytes) map[string]string {
	out := make(map[string]string, len(data))
	for key, value := range data {
		out[key] = string(value.Reveal())
	}
	return out
}

func TestStruct(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     Object
		want   string
	}{
		"Secret": {
			reason: "a Secret's data is base64 of the standard alphabet, padded, and may be empty",
			in: Object{
				Kind: Secret, Name: "db", Namespace: "shop", Type: "Opaque", Immutable: new(true),
				Labels:      map[string]string{"team": "payments"},
				Annotations: map[string]string{"example.org/host": "db.local"},
				State:       map[string]string{StatePrefix + "generator": "admin"},
				Data:        texts(map[string]string{"password": "hunter2?>", "bin": "\xff\xfe", "empty": ""}),
			},
			want: `{
				"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
				"metadata": {
					"name": "db", "namespace": "shop", "labels": {"team": "payments"},
					"annotations": {"example.org/host": "db.local", "export.fn.crossplane.io/generator": "admin"}
				},
				"data": {"password": "aHVudGVyMj8+", "bin": "//4=", "empty": ""}
			}`,
		},
		"BareSecret": {
			reason: "what is empty is left out",
			in: Object{
				Kind:      Secret,
				Name:      "db",
				Namespace: "shop",
				Labels:    map[string]string{},
				Data:      texts(map[string]string{"k": "v"}),
			},
			want: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}, ` +
				`"data": {"k": "dg=="}}`,
		},
		"ConfigMap": {
			reason: "a ConfigMap's value is a text if it can be, and base64 if not",
			in: Object{
				Kind: ConfigMap, Name: "settings", Namespace: "shop", Immutable: new(false),
				Data: texts(map[string]string{"region": "eu-west-1", "umlaut": "ä", "bin": "\xff\xfe", "empty": ""}),
			},
			want: `{
				"apiVersion": "v1", "kind": "ConfigMap", "immutable": false,
				"metadata": {"name": "settings", "namespace": "shop"},
				"data": {"region": "eu-west-1", "umlaut": "ä", "empty": ""},
				"binaryData": {"bin": "//4="}
			}`,
		},
		"BinaryConfigMap": {
			reason: "data is left out when all of it is binary",
			in: Object{
				Kind:      ConfigMap,
				Name:      "a",
				Namespace: "b",
				Data:      texts(map[string]string{"bin": "\xff", "more": "\xfe"}),
			},
			want: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, ` +
				`"binaryData": {"bin": "/w==", "more": "/g=="}}`,
		},
		"NoData": {
			reason: "no data at all is no empty map",
			in:     Object{Kind: Secret, Name: "a", Namespace: "b"},
			want:   `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(parse(t, tc.want), tc.in.Struct(), protocmp.Transform()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestObjectPrintsNoValue(t *testing.T) {
	o := Object{Kind: Secret, Name: "a", Namespace: "b", Data: texts(map[string]string{"k": canary})}
	out, err := json.Marshal(o)
	assertNoCanary(t, string(out))
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		assertNoCanary(t, sprintf(format, o), sprintf(format, &o))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// marshal is a Struct's deterministic wire form.
func marshal(t testing.TB, s *structpb.Struct) []byte {
	t.Helper()
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		t.Fatalf("cannot marshal: %v", err)
	}
	return out
}

// sent returns an object as it is read from the bytes of a request.
func sent(t testing.TB, s *structpb.Struct) wire.Struct {
	t.Helper()
	req, err := wire.Encode(&fnv1.RunFunctionRequest{Input: s})
	if err != nil {
		t.Fatal(err)
	}
	return req.Input
}
