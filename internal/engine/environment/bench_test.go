package environment

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/engine/wire/wiretest"
)

// large is an environment of some 500 KiB, and two EnvironmentConfigs that change a
// little of it.
func large(t testing.TB) (before *structpb.Struct, configs [][]*structpb.Struct) {
	t.Helper()
	before = fields(t, "{apiVersion: internal.crossplane.io/v1alpha1, kind: Environment}")
	for i := range 100 {
		group := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for j := range 50 {
			group.Fields[fmt.Sprintf("key%02d", j)] = structpb.NewStringValue(strings.Repeat("x", 90))
		}
		before.Fields[fmt.Sprintf("group%02d", i)] = structpb.NewStructValue(group)
	}
	if n := proto.Size(before); n < 500<<10 || n > 600<<10 {
		t.Fatalf("the environment has %d bytes", n)
	}
	return before, found(t, "[[{data: {group07: {key03: one, more: one}}}], [{data: {group07: {key04: two}, group99: {key00: {a: two}}}}]]")
}

// throughMaps merges as it is usually done: into maps, and back.
func throughMaps(before *structpb.Struct, configs [][]*structpb.Struct) (*structpb.Struct, error) {
	var merged map[string]any
	for _, found := range configs {
		merged = mergedMaps(merged, found[0].GetFields()["data"].GetStructValue().AsMap())
	}
	return structpb.NewStruct(identified(mergedMaps(before.AsMap(), merged)))
}

func TestBaselineMergesTheSame(t *testing.T) {
	before, configs := large(t)
	l, selectors := merging(t, 2, "{}")
	want, err := throughMaps(before, configs)
	got, faults := l.Merge(budget.New(context.Background()), before, selectors, readAll(t, wiretest.Decoded, configs))
	if diff := cmp.Diff(want.AsMap(), got.AsMap()); diff != "" || err != nil || len(faults) > 0 {
		t.Errorf("%v, %v, -want, +got:\n%s", err, faults, diff)
	}
}

func BenchmarkMerge500KiB(b *testing.B) {
	before, configs := large(b)
	l, selectors := merging(b, 2, "{}")
	b.Run("InPlace", func(b *testing.B) {
		read := readAll(b, wiretest.Decoded, configs)
		b.ReportAllocs()
		for b.Loop() {
			if _, faults := l.Merge(budget.New(context.Background()), before, selectors, read); len(faults) > 0 {
				b.Fatal(faults)
			}
		}
	})
	b.Run("ThroughMaps", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := throughMaps(before, configs); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// As many EnvironmentConfigs as fit into a message, none of which is copied twice.
func BenchmarkMergeMany(b *testing.B) {
	l, selectors := merging(b, 1, "{}")
	l.sources[0].by = chosen{many: true, max: 1 << 20, sortBy: mustParse("metadata.name")}
	var configs []wire.Struct
	for i := range 4000 {
		configs = append(configs, wire.Of(fields(b, fmt.Sprintf("{metadata: {name: c%04d}, data: {all: {k%d: 1, l%d: {m: 2}}, n%d: 3}}", i, i, i, i))))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := l.Merge(budget.New(context.Background()), nil, selectors, [][]wire.Struct{configs}); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}
