package environment

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func fields(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	return fromYAML[*structpb.Struct](t, text)
}

func found(t testing.TB, text string) [][]*structpb.Struct {
	t.Helper()
	return fromYAML[[][]*structpb.Struct](t, text)
}

// merging is a lookup of n references, and its selectors.
func merging(t testing.TB, n int, defaults string) (*Lookup, []*Selector) {
	t.Helper()
	in := fromYAML[*v1beta1.Environment](t, "{defaultData: "+defaults+"}")
	for range n {
		in.EnvironmentConfigs = append(
			in.EnvironmentConfigs,
			v1beta1.EnvironmentSource{Ref: &v1beta1.EnvironmentRef{Name: "one"}},
		)
	}
	l := compiled(t, in)
	selectors, _ := l.Selectors(wire.Struct{}, wire.Struct{})
	return l, selectors
}

// The default data is the lookup's own, and must be the same for the next one.
func TestMergeKeepsDefaults(t *testing.T) {
	l, selectors := merging(t, 1, "{a: {b: 1}}")
	for _, config := range []string{"{c: 1}", "{a: {d: 1}}", "{a: 5}"} {
		if _, faults := l.Merge(budget.New(context.Background()), fields(t, "{a: {e: "+
			"1}}"), selectors, readAll(t, found(t, "[[{data: "+config+"}]]"))); len(faults) > 0 {
			t.Error(faults)
		}
	}
	got, _ := l.Merge(budget.New(context.Background()), nil, selectors, readAll(t, found(t, "[[{}]]")))
	want := fields(t, "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, a: {b: 1}}")
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
