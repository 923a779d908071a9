package expression_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/observation"
)

// honest are expressions as people write them, by name.
var honest = map[string]string{
	"select":    "resource.status.host",
	"url":       "'postgres://%s:%s@%s:%d/app'.format([secret.username, secret.password, resource.status.host, resource.spec.port])",
	"filter500": "resource.items.filter(i, i.port > 200).size() > 0 ? 'y' : 'n'",
}

// many is the world, with 500 items.
func many(t testing.TB) *observation.Observation {
	t.Helper()
	o := world(t)
	items := &structpb.ListValue{}
	for i := range 500 {
		items.Values = append(items.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name": structpb.NewStringValue(fmt.Sprint("item-", i)),
			"port": structpb.NewNumberValue(float64(i)),
		}}))
	}
	o.Resources["db"].Object.Proto().Fields["items"] = structpb.NewListValue(items)
	return o
}

// What the limits cost: the same expressions here, and in cel-go alone over the
// same values.
func BenchmarkGuards(b *testing.B) {
	plain, err := cel.NewEnv(cel.OptionalTypes(), ext.Strings(), cel.Variable("resource", cel.DynType),
		cel.Variable("secret", cel.MapType(cel.StringType, cel.StringType)))
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range honest {
		b.Run(name+"/guarded", func(b *testing.B) {
			x, o := compile(b, text, expression.WantText, "db"), many(b)
			b.ReportAllocs()
			for b.Loop() {
				v, err := x.Evaluate(context.Background(), o.Scope("db", nil), budget.New(context.Background()))
				if err != nil {
					b.Fatal(err)
				}
				sink = v
			}
		})
		b.Run(name+"/plain", func(b *testing.B) {
			a, iss := plain.Compile(text)
			if iss.Err() != nil {
				b.Fatal(iss.Err())
			}
			p, err := plain.Program(a)
			if err != nil {
				b.Fatal(err)
			}
			o := many(b)
			b.ReportAllocs()
			for b.Loop() {
				v, _, err := p.Eval(o.Scope("db", nil))
				if err != nil {
					b.Fatal(err)
				}
				sink = v
			}
		})
	}
}
