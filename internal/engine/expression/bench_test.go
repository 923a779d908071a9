package expression_test

import (
	"context"
	"fmt"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// honest are expressions as people write them, by name.
var honest = map[string]string{
	"select":    "resource.status.host",
	"url":       "'postgres://%s:%s@%s:%d/app'.format([secret.username, secret.password, resource.status.host, resource.spec.port])",
	"filter500": "resource.items.filter(i, i.port > 200).size() > 0 ? 'y' : 'n'",
}

// many is the sample observation, with 500 items.
func many(t testing.TB) *observation.Observation {
	t.Helper()
	o := sampleObservation(t)
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

// A composite waits at each reconcile until its resources are there.
func BenchmarkWaiting(b *testing.B) {
	text := "'%s:%s@%s'.format([secret.user, secret['pass-word'], resource.status.address.host]) + " +
		"composite.spec.?a.orValue('x')"
	x, wrong := env.Compile(expression.Source{Text: text, Path: "p", From: "db", Want: expression.WantText})
	vars, err := cel.NewActivation(map[string]any{
		"secret": map[string]string{}, "resource": map[string]any{"status": map[string]any{}},
		"composite": map[string]any{"spec": map[string]any{}},
	})
	if x == nil || err != nil {
		b.Fatal(wrong, err)
	}
	for b.Loop() {
		if _, err := x.Evaluate(context.Background(), vars, budget.New(context.Background())); err == nil {
			b.Fatal("it does not wait")
		}
	}
}
