package main

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// An object that etcd refuses cannot be a composite, so it is not an attack.
func TestCasesAreComposites(t *testing.T) {
	const most, rest = 1536 << 10, 1 << 10
	cases := attack.Cases(4000)
	for _, name := range proof.Part(slices.Sorted(maps.Keys(cases)), 16) {
		c := cases[name]
		n := rest
		for _, written := range []attack.Maker{c.Composite, c.Exports} {
			if written != nil {
				n += stored(written())
			}
		}
		if n > most {
			t.Errorf("%s: %d KiB are over what etcd takes", name, n>>10)
		}
	}
}

// stored returns the size of a value as JSON without spaces. protojson adds spaces at random.
func stored(v *structpb.Value) int {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		n := 2
		for name, f := range k.StructValue.GetFields() {
			n += quoted(name) + stored(f) + 2
		}
		return n
	case *structpb.Value_ListValue:
		n := 2
		for _, e := range k.ListValue.GetValues() {
			n += stored(e) + 1
		}
		return n
	case *structpb.Value_StringValue:
		return quoted(k.StringValue)
	}
	b, err := v.MarshalJSON()
	if err != nil {
		return 0 // there is no value
	}
	return len(b)
}

func quoted(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return len(b)
}
