package reconcile

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// TestRevisionLaw holds the law of the counter over random histories: it goes up by one for each change of our keys in
// the data that the API server has, and never otherwise.
func TestRevisionLaw(t *testing.T) {
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, 0))
			stored, want := map[string]string{}, int64(0)
			at := &placement{Export: generations.Export{Export: plan.Export{Kind: kind, Name: "db"}}}
			for step := range 30 {
				data, changed := map[string]sensitive.Bytes{}, step == 0
				for _, key := range []string{"a", "b", "c"} {
					value := []string{"0", "1", "\xff", "\xfe"}[random.IntN(4)]
					if random.IntN(3) == 0 {
						value = stored[key] // the same again, or absent
					}
					if value != "" {
						data[key] = sensitive.FromString(value)
					}
					changed = changed || value != stored[key]
					stored[key] = value
				}
				if changed {
					want++
				}
				got := nextRevision(at, data)
				if got != want {
					t.Fatalf("%s, seed %d, step %d: revision %d, want %d", kind, seed, step, got, want)
				}
				at.Observed = storedByServer(kind, got, data)
			}
		}
	}
}

// storedByServer returns the object that an API server has: with a key that another manager has added.
func storedByServer(kind object.Kind, revision int64, data map[string]sensitive.Bytes) wire.Struct {
	o := &object.Object{
		Kind: kind, Namespace: "team", Name: "xr-db",
		State: map[string]string{object.AnnotationRevision: strconv.FormatInt(revision, 10)},
		Data:  map[string]sensitive.Bytes{"others": sensitive.FromString("of another manager")},
	}
	applied := map[string]any{"f:data": map[string]any{}, "f:binaryData": map[string]any{}}
	for key, value := range data {
		o.Data[key] = value
		field := "f:data"
		if kind == object.ConfigMap && !utf8.Valid(value.Reveal()) {
			field = "f:binaryData"
		}
		applied[field].(map[string]any)["f:"+key] = map[string]any{}
	}
	s := o.Struct()
	managed, err := structpb.NewList([]any{map[string]any{
		"manager": "apiextensions.crossplane.io/composed/x", "operation": "Apply", "fieldsV1": applied,
	}})
	if err != nil {
		panic(err)
	}
	s.GetFields()["metadata"].GetStructValue().Fields["managedFields"] = structpb.NewListValue(managed)
	return wire.Of(s)
}
