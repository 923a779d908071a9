package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// What follows writes messages field by field, so that they can be written wrongly.

func message(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

func tagged(num protowire.Number, typ protowire.Type, rest []byte) []byte {
	return append(protowire.AppendTag(nil, num, typ), rest...)
}

// sub is a field with a length: of a message, a string or bytes.
func sub(num protowire.Number, body ...[]byte) []byte {
	return tagged(num, protowire.BytesType, protowire.AppendBytes(nil, message(body...)))
}

func varint(num protowire.Number, v uint64) []byte {
	return tagged(num, protowire.VarintType, protowire.AppendVarint(nil, v))
}

func str(num protowire.Number, s string) []byte { return sub(num, []byte(s)) }

// keyedBy is an entry of a map with messages, strings or bytes for values.
func keyedBy(num protowire.Number, key string, value ...[]byte) []byte {
	return sub(num, str(1, key), sub(2, value...))
}

// The fields of a Struct, and the Values in them.

func fieldOf(name string, value ...[]byte) []byte { return keyedBy(1, name, value...) }

func textOf(s string) []byte { return str(3, s) }

func objectOf(fields ...[]byte) []byte { return sub(5, fields...) }

func listOf(values ...[]byte) []byte {
	elements := make([][]byte, 0, len(values))
	for _, v := range values {
		elements = append(elements, sub(1, v))
	}
	return sub(6, elements...)
}

// nested is a Struct with so many others in it, each in the one before, or with lists.
func nested(depth int, list bool) []byte {
	headers := [][]byte{}
	size := 0
	header := func(num protowire.Number) {
		h := tagged(num, protowire.BytesType, protowire.AppendVarint(nil, uint64(size)))
		headers = append(headers, h)
		size += len(h)
	}
	for i := range depth {
		if inmost := i == depth-1; list && !inmost {
			header(6)
			header(1)
			continue
		}
		if list {
			header(6)
		} else {
			header(5)
		}
		header(2)
		headers = append(headers, str(1, "a"))
		size += len(str(1, "a"))
		header(1)
	}
	slices.Reverse(headers)
	return message(headers...)
}

// manyFields are so many, of so many names, with Values long enough for an index.
func manyFields(n, names int) []byte {
	fields := make([][]byte, 0, n)
	for i := range n {
		name := fmt.Sprintf("name-%03d", i*7%names)
		fields = append(fields, fieldOf(name, textOf(fmt.Sprintf("%d %s", i, strings.Repeat("x", 64)))))
	}
	return message(fields...)
}

// requests are such as Crossplane sends.
var requests = map[string]string{
	"Empty": `{}`,
	"First": `{
		"meta": {"tag": "4e3a", "capabilities": ["CAPABILITY_CAPABILITIES", "CAPABILITY_REQUIRED_SCHEMAS"]},
		"input": {"apiVersion": "export.fn.crossplane.io/v1beta1", "kind": "Exports",
		  "secrets": [{"name": "connection", "data": []}]},
		"observed": {"composite": {
			"resource": {"apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "a", "labels": {}},
			  "spec": {"size": 3, "on": true, "none": null}},
			"connectionDetails": {}}},
		"desired": {}}`,
	"Later": `{
		"meta": {"tag": "4e3b"},
		"input": {"kind": "Exports"},
		"context": {"apiextensions.crossplane.io/environment": {"region": "eu", "zones": ["a", "b", null, 1, {}, []]},
		  "other": "x"},
		"observed": {
			"composite": {"resource": {"kind": "App", "status": {"ü": "Grüße, 世界 \u0000 🎉"}},
			  "connectionDetails": {"password": "aHVudGVyMg==", "empty": ""}},
			"resources": {
				"db": {"resource": {"kind": "DB", "status": {"port": 5432, "ratio": -0.5, "ready": false}},
				  "connectionDetails": {"host": "aG9zdA=="}, "ready": "READY_TRUE"},
				"": {}, "ä": {"ready": "READY_FALSE"}}},
		"desired": {
			"composite": {"resource": {"status": {"endpoint": "e"}}, "ready": "READY_UNSPECIFIED"},
			"resources": {"db": {"resource": {"spec": {}}, "ready": "READY_TRUE"},
			  "cache": {"resource": {"spec": {"list": [[[]]]}}}}},
		"requiredResources": {"ca": {"items": [{"resource": {"kind": "Secret", "data": {"ca.crt": "eA=="}},
		  "connectionDetails": {"a": "Yg=="}}, {}]}, "none": {}},
		"requiredSchemas": {"app": {"openapiV3": {"type": "object", "properties": {}}}, "none": {}, "empty": {"openapiV3": {}}}}`,
	"Large": `{
		"context": ` + largeObject(100) + `,
		"observed": {"composite": {"resource": ` + largeObject(17) + `}},
		"desired": {"resources": {"a": {"resource": {"in": ` + largeObject(40) + `, "list": [` + strings.Repeat(`"element", {"a": 1}, `, 60) + `null]}}}}}`,
}

func largeObject(n int) string {
	fields := make([]string, 0, n)
	for i := range n {
		fields = append(fields, fmt.Sprintf(`"field-%d": {"description": %q}`, i, strings.Repeat("what it is "+
			"for. ", 4)))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func request(t testing.TB, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	req := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal([]byte(text), req); err != nil {
		t.Fatal(err)
	}
	return req
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sentStruct is a Struct over bytes, which are those of an input.
func sentStruct(t testing.TB, s []byte) Struct {
	t.Helper()
	return lazily(t, sub(4, s)).Input
}

func unmarshal(sent []byte) (*Request, error) {
	r := &Request{}
	return r, r.Unmarshal(sent)
}
