package function_test

import (
	"context"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// BenchmarkGenerators is a call while nothing changes: with a generator of each kind, and
// with the same Secret of literals beside it.
func BenchmarkGenerators(b *testing.B) {
	inputs := []struct{ name, text string }{
		{"none", `
secrets:
- name: all
  data: [{key: a, value: "'b'"}, {key: c, value: "'b'"}, {key: d, value: "'b'"}, {key: e, value: "'b'"}]
`},
		{"four", `
generators:
- {name: admin, password: {length: 32}, refreshPolicy: Periodic, refreshInterval: 720h, gracePeriod: 24h}
- {name: id, uuid: {}}
- {name: ca, certificate: {isCA: true, subject: {commonName: root}}}
- {name: tls, refreshPolicy: OnChange, certificate: {ca: ca, dnsNames: [db.example.org]}}
secrets:
- name: all
  data:
  - {key: a, value: generated.admin.password}
  - {key: c, value: generated.id.uuid}
  - {key: d, value: "generated.tls['tls.crt']"}
  - {key: e, value: "generated.tls['tls.key']"}
`},
	}
	for _, in := range inputs {
		b.Run(in.name, func(b *testing.B) {
			c := functiontest.NewControlPlane(b, in.text)
			c.Settle()
			c.Wait(time.Hour)
			req := c.Request()
			rsp, err := c.Fn.RunFunction(context.Background(), req)
			if err != nil {
				b.Fatal(err)
			}
			req.RequiredResources = map[string]*fnv1.Resources{}
			for key, s := range rsp.GetRequirements().GetResources() {
				req.RequiredResources[key] = proto.Clone(c.LookUp(s)).(*fnv1.Resources)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Fn.RunFunction(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
