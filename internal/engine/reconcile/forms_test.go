package reconcile_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// bothForms returns the composite of a request as bytes, and as protobuf decodes it.
func bothForms(t *testing.T, req *fnv1.RunFunctionRequest) map[string]wire.Struct {
	t.Helper()
	in, err := wire.Encode(req)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]wire.Struct{
		"bytes": in.Observed.Composite.Object, "decoded": wire.Of(req.GetObserved().GetComposite().GetResource()),
	}
}

// Repeated reads of the bytes of a request are nearly as fast as reads of the decoded request. Both
// use the same fuel and have the same result, and no evaluation is stopped by its time limit. On a
// busy machine an attempt may still be stopped.
func TestReadAgainInBothForms(t *testing.T) {
	const (
		tries = 10
		input = `
configMaps: [{name: own, metadata: {name: own}, data: [{key: k, value: OWN}, {key: l, value: OWN}]}]
fromComposite: {fieldPath: spec.operatorSpec}`
		requested = `{configMapExpressions: [{name: a, key: k, value: VALUE}, {name: a, key: l, value: VALUE}, {name: b, key: k, value: VALUE}]}`
	)
	want := []string{
		"Available ConfigMap team/own {data: {k: true, l: true}}",
		"Available ConfigMap team/a {data: {k: true, l: true}}", "Available ConfigMap team/b {data: {k: true}}",
	}
	base := newScene(t, plantest.Exports("configMaps: []")).req.Observation.Composite.Object.Proto()
	spec := base.GetFields()["spec"].GetStructValue().GetFields()
	spec["big"] = structpb.NewStringValue(strings.Repeat("y", 3<<20))
	many, list := &structpb.Struct{Fields: map[string]*structpb.Value{}}, &structpb.ListValue{}
	for i := range 20_000 {
		many.Fields[fmt.Sprint("x", i)] = structpb.NewStringValue("")
		list.Values = append(list.Values, structpb.NewStringValue(""))
	}
	spec["many"], spec["list"] = structpb.NewStructValue(many), structpb.NewListValue(list)
	for name, c := range map[string]struct{ reason, reads string }{
		"Presence": {"of 3 MiB it is only asked whether they are there", "has(SPEC.big)"},
		"Optional": {"as well by another way", "SPEC[?'big'].hasValue()"},
		"Start":    {"a letter of them is looked at", "SPEC.big.startsWith('y')"},
		"Name":     {"all other names may be before one that is computed", "SPEC.many['x' + string(19999 - i)] == ''"},
		"Index":    {"all other elements are before the last one", "SPEC.list[19999] == ''"},
	} {
		t.Run(name, func(t *testing.T) {
			loop := func(n int, spec string) string {
				return fmt.Sprintf("string(lists.range(%d).all(i, %s))", n, strings.ReplaceAll(c.reads, "SPEC", spec))
			}
			spec["operatorSpec"] = structpb.NewStructValue(plantest.Parse(t, strings.ReplaceAll(requested, "VALUE", strconv.Quote(loop(2500, "self.spec")))))
			req := &fnv1.RunFunctionRequest{Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: base}}}
			for form, composite := range bothForms(t, req) {
				diff := "not tried"
				for try := 0; diff != "" && try < tries; try++ {
					s := newScene(t, plantest.Exports(strings.ReplaceAll(input, "OWN", strconv.Quote(loop(10_000, "composite.spec")))))
					s.req.Observation.Composite.Object = composite
					got, err := s.call(t)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range got.Requirements {
						s.req.Found[r.Key()] = nil
					}
					if got, err = s.call(t); err != nil {
						t.Fatal(err)
					}
					diff = cmp.Diff(want, show(got))
				}
				if diff != "" {
					t.Errorf("%s: %s: -want, +got:\n%s", c.reason, form, diff)
				}
			}
		})
	}
}
