package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// realRequest is one of about so many KiB: composed resources as providers have them,
// each observed and desired, some with connection details.
func realRequest(tb testing.TB, kib int) []byte {
	tb.Helper()
	req := request(tb, requests["First"])
	req.Observed.Resources, req.Desired.Resources = map[string]*fnv1.Resource{}, map[string]*fnv1.Resource{}
	for n := 0; proto.Size(req) < kib<<10; n++ {
		fields := map[string]any{}
		for i := range 4 + n%30 {
			fields[fmt.Sprintf("field%d", i)] = map[string]any{"value": strings.Repeat("what is set. ", 2), "port": 5432, "on": true, "of": []any{"a", "b"}}
		}
		name := fmt.Sprintf("resource-%d", n)
		object := structOf(tb, map[string]any{
			"apiVersion": "rds.aws.example.org/v1beta1", "kind": "Instance", "metadata": map[string]any{"name": name, "labels": map[string]any{"a": "b"}},
			"spec":   map[string]any{"forProvider": fields},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		})
		details := map[string][]byte{}
		if n%4 == 0 {
			details["password"] = []byte("hunter2")
		}
		req.Observed.Resources[name] = &fnv1.Resource{Resource: object, ConnectionDetails: details}
		req.Desired.Resources[name] = &fnv1.Resource{Resource: object, Ready: fnv1.Ready_READY_TRUE}
	}
	return marshal(tb, req)
}

// BenchmarkDecode is what a request costs before anything of it is read, beside what it
// costs protobuf.
func BenchmarkDecode(b *testing.B) {
	for _, kib := range []int{2, 500, 4096} {
		decodeBoth(b, fmt.Sprintf("%dKiB", kib), realRequest(b, kib))
	}
}

// BenchmarkDecodeHostile has what is meant to cost more than it is worth: never more than
// protobuf's decoder and one look at the bytes.
func BenchmarkDecodeHostile(b *testing.B) {
	whole := realRequest(b, 500)
	tiny := func(n int, names int) []byte {
		fields := make([][]byte, n)
		for i := range fields {
			fields[i] = fieldOf(fmt.Sprint(i%names), varint(1, 0))
		}
		return sub(5, fields...)
	}
	resources := make([][]byte, 100_000)
	for i := range resources {
		resources[i] = keyedBy(2, fmt.Sprint(i))
	}
	deepest := bytes.Repeat(places["required resource"](nested(128, false)), 500)
	for name, sent := range map[string][]byte{
		"cut off at the end":       whole[:len(whole)-1],
		"malformed at the end":     append(slices.Clone(whole), 0),
		"protobuf's at the end":    append(slices.Clone(whole), sub(5, varint(99, 1))...),
		"many unknown fields":      bytes.Repeat(varint(99, 1), 500_000),
		"credentials over again":   bytes.Repeat(keyedBy(7, "a", sub(1, keyedBy(1, "k", []byte("v")))), 50_000),
		"many credentials":         append(keyedBy(7, "b"), bytes.Repeat(sub(7), 500_000)...),
		"deepest":                  deepest,
		"deeper":                   places["context"](nested(3300, false)),
		"too deep for protobuf":    places["context"](nested(20000, false)),
		"many fields":              tiny(100_000, 100_000),
		"one field 100000 times":   tiny(100_000, 1),
		"many resources":           sub(3, resources...),
		"one resource over again":  sub(3, bytes.Repeat(keyedBy(2, "a"), 100_000)),
		"many resources, then bad": message(sub(3, resources...), []byte{0}),
	} {
		decodeBoth(b, name, sent)
	}
}

func decodeBoth(b *testing.B, name string, sent []byte) {
	b.Run(name+"/protobuf", func(b *testing.B) {
		b.SetBytes(int64(len(sent)))
		b.ReportAllocs()
		for b.Loop() {
			_ = proto.Unmarshal(sent, &fnv1.RunFunctionRequest{})
		}
	})
	b.Run(name+"/wire", func(b *testing.B) {
		b.SetBytes(int64(len(sent)))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Decode(sent)
		}
	})
}

// BenchmarkStruct reads fields of bytes, and of what protobuf decoded. The decoding is not
// in it; the index is.
func BenchmarkStruct(b *testing.B) {
	for _, n := range []int{8, 100, 10_000} {
		sent := manyFields(n, n)
		made := &structpb.Struct{}
		if err := proto.Unmarshal(sent, made); err != nil {
			b.Fatal(err)
		}
		names := Of(made).Keys()
		for form, of := range map[string]func() Struct{
			"sent": func() Struct { return Struct{sent: sent, in: &indexes{}} },
			"made": func() Struct { return Of(made) },
		} {
			b.Run(fmt.Sprintf("Get one/%d/%s", n, form), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					of().Get(names[n/2]).Text()
				}
			})
			b.Run(fmt.Sprintf("Get each/%d/%s", n, form), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s := of()
					for _, name := range names {
						s.Get(name).Text()
					}
				}
			})
			b.Run(fmt.Sprintf("All/%d/%s", n, form), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, v := range of().All() {
						v.Text()
					}
				}
			})
		}
	}
}

// BenchmarkRespond carries a desired state on, of which one resource is replaced.
func BenchmarkRespond(b *testing.B) {
	sent := realRequest(b, 500)
	own := &fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"resource-1": {}, "ours": {}}}}
	for form, decoded := range map[string]*Request{"sent": lazily(b, sent), "made": OfRequest(decodedByProtobuf(b, sent))} {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decoded.Respond(own).Marshal(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func decodedByProtobuf(tb testing.TB, sent []byte) *fnv1.RunFunctionRequest {
	tb.Helper()
	req := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(sent, req); err != nil {
		tb.Fatal(err)
	}
	return req
}
