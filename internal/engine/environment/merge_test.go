package environment

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
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
		in.EnvironmentConfigs = append(in.EnvironmentConfigs, v1beta1.EnvironmentSource{Ref: &v1beta1.EnvironmentRef{Name: "one"}})
	}
	l := compiled(t, in)
	selectors, _ := l.Selectors(wire.Struct{}, wire.Struct{})
	return l, selectors
}

// Merging many into one copies that once, not once for each of them.
func TestMergerCopiesOnce(t *testing.T) {
	m := &merger{own: map[*structpb.Struct]bool{}, budget: budget.New(context.Background())}
	under := fields(t, "{a: {b: 1}}")
	once := m.merge(under, fields(t, "{a: {c: 1}}"))
	a := once.GetFields()["a"].GetStructValue()
	over := fields(t, "{a: {d: 1}, e: {}}")
	twice := m.merge(once, over)
	if twice.GetFields()["e"] != over.GetFields()["e"] {
		t.Error("what is new was copied")
	}
	if once == under || twice != once || twice.GetFields()["a"].GetStructValue() != a {
		t.Errorf("under %p, once %p, twice %p; a %p, %p", under, once, twice, a, twice.GetFields()["a"].GetStructValue())
	}
}

// Several goroutines may use a lookup, and the data that it merges, at the same time.
func TestMergeAtOnce(t *testing.T) {
	l, selectors := merging(t, 2, "{a: {b: {c: 1}}, z: 1}")
	before := fields(t, "{a: {b: {d: 1}}}")
	configs := readAll(t, found(t, "[[{data: {a: {b: {e: 1}}}}], [{data: {a: {b: {f: 1}}}}]]"))
	want := fields(t, "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, z: 1, a: {b: {c: 1, d: 1, e: 1, f: 1}}}")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, _ := l.Merge(budget.New(context.Background()), before, selectors, configs); !proto.Equal(want, got) {
				t.Errorf("got %v", got)
			}
		})
	}
	all.Wait()
}

// The default data is the lookup's own, and must be the same for the next one.
func TestMergeKeepsDefaults(t *testing.T) {
	l, selectors := merging(t, 1, "{a: {b: 1}}")
	for _, config := range []string{"{c: 1}", "{a: {d: 1}}", "{a: 5}"} {
		if _, faults := l.Merge(budget.New(context.Background()), fields(t, "{a: {e: 1}}"), selectors, readAll(t, found(t, "[[{data: "+config+"}]]"))); len(faults) > 0 {
			t.Error(faults)
		}
	}
	got, _ := l.Merge(budget.New(context.Background()), nil, selectors, readAll(t, found(t, "[[{}]]")))
	want := fields(t, "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment, a: {b: 1}}")
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
