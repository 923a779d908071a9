package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// BenchmarkTypeChecking measures one reconcile of a correct input, with encoded requests. By default, there
// is one call. Strict needs a second call with the schemas of the composite and of a composed resource, which
// many expressions may read.
func BenchmarkTypeChecking(b *testing.B) {
	for _, mode := range []struct {
		name        string
		kib         int // size of the schema of the composed resource, 0 without a schema
		expressions int // expressions that read the resource, in addition to three others
	}{{"Warn", 0, 0}, {"Strict/20KiB", 20, 0}, {"Strict/150KiB", 150, 0}, {"Strict/400KiB", 400, 0}, {"Strict/400KiB/60", 400, 60}} {
		calls := typedCalls(b, mode.kib, mode.expressions)
		b.Run(mode.name, func(b *testing.B) {
			f := functiontest.New(b).Function
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range calls {
					answerBytes(b, f, c)
				}
			}
			b.ReportMetric(float64(len(bytes.Join(calls, nil)))/1024, "KiB")
		})
	}
}

// typedCalls are the requests of a reconcile.
func typedCalls(b *testing.B, kib, expressions int) [][]byte {
	b.Helper()
	checking := "Strict"
	if kib == 0 {
		checking = "Warn"
	}
	var more strings.Builder
	for i := range expressions {
		fmt.Fprintf(&more, "    - {key: k%d, value: resources.db.status.host}\n", i)
	}
	req := functiontest.Request(b, `
meta: {capabilities: [CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_RESOURCES, CAPABILITY_REQUIRED_SCHEMAS]}
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  typeChecking: `+checking+`
  configMaps:
  - name: settings
    data:
    - {key: size, value: composite.spec.size}
    - {key: host, value: resources.db.status.host}
    - {key: url, value: "'%s:%d'.format([resources.db.status.host, resources.db.status.port])"}
    - {key: ready, value: "resources.db.status.conditions.filter(c, c.type == 'Ready').map(c, c.status).join(',')"}
`+more.String()+`
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: a, namespace: b, uid: u}, spec: {size: small}}}
  resources:
    db: {resource: {apiVersion: example.org/v1, kind: DB, metadata: {name: db}, status: {host: h, port: 1, conditions: [{type: Ready, status: "True"}]}}}
requiredResources:
  export.fn.crossplane.io/v1/ConfigMap/b/name=a-settings: {}
`)
	calls := [][]byte{marshalled(b, req)}
	if kib == 0 {
		return calls
	}
	req.RequiredSchemas = map[string]*fnv1.Schema{
		"export.fn.crossplane.io/example.org/v1/App": {OpenapiV3: padded(b, 20, `{type: object, properties: {spec: {type: object, properties: {size: {type: string}}}}}`)},
		"export.fn.crossplane.io/example.org/v1/DB": {OpenapiV3: padded(b, kib, `
type: object
properties:
  status:
    type: object
    properties:
      host: {type: string}
      port: {type: integer}
      conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}
`)},
	}
	return append(calls, marshalled(b, req))
}

func marshalled(b *testing.B, m proto.Message) []byte {
	b.Helper()
	out, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// padded returns a schema with the given number of KiB of further fields. Their descriptions are like those of
// providers.
func padded(b *testing.B, kib int, text string) *structpb.Struct {
	b.Helper()
	s := functiontest.Parse(b, text)
	for n := 0; proto.Size(s) < kib<<10; n++ {
		fields := map[string]any{}
		for i := range 8 {
			fields[fmt.Sprintf("field%d", i)] = map[string]any{"type": "string", "description": strings.Repeat("what it is for. ", 6)}
		}
		group, err := structpb.NewValue(map[string]any{"type": "object", "properties": fields})
		if err != nil {
			b.Fatal(err)
		}
		s.GetFields()["properties"].GetStructValue().Fields[fmt.Sprintf("group%d", n)] = group
	}
	return s
}
