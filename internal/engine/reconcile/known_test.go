package reconcile

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A schema is as large as a request may be, and asked for by each expression that reads
// its kind.
func TestSchemasAreDecodedOnce(t *testing.T) {
	schema, err := structpb.NewStruct(map[string]any{"type": "object"})
	if err != nil {
		t.Fatal(err)
	}
	sent, err := proto.Marshal(&fnv1.RunFunctionRequest{RequiredSchemas: map[string]*fnv1.Schema{"db": {OpenapiV3: schema}, "none": {}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := wire.Decode(sent)
	if err != nil {
		t.Fatal(err)
	}
	db, none := plan.Kind{APIVersion: "example.org/v1", Kind: "DB"}, plan.Kind{APIVersion: "example.org/v1", Kind: "None"}
	s := &session{budget: budget.New(t.Context()), observed: &observation.Observation{}}
	in := &Request{Schemas: map[plan.Kind]wire.Struct{db: req.RequiredSchemas["db"], none: req.RequiredSchemas["none"]}}
	known := s.known(&plan.Plan{}, &request{Request: in})
	first := known.Schema(db)
	if !proto.Equal(first, schema) {
		t.Errorf("Schema(%v): got %v, want %v", db, first, schema)
	}
	for range 3 {
		if known.Schema(db) != first {
			t.Errorf("Schema(%v): got another one each time, want it decoded once", db)
		}
	}
	for _, k := range []plan.Kind{none, {APIVersion: "example.org/v1", Kind: "Unread"}} {
		for range 2 {
			if got := known.Schema(k); got != nil {
				t.Errorf("Schema(%v): got %v, want none", k, got)
			}
		}
	}
	if got := testing.AllocsPerRun(10, func() { known.Schema(db); known.Schema(none) }); got != 0 {
		t.Errorf("Schema(...): got %v allocations to ask again, want none", got)
	}
}
