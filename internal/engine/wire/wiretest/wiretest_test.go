package wiretest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire/wiretest"
)

// Protobuf decodes nothing of the bytes before it is asked to, and so each time anew.
func TestReadings(t *testing.T) {
	in := &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(1)}}
	for name, read := range wiretest.Readings {
		v := read(t, in).Get("a")
		one, other := v.Proto(), v.Proto()
		if (one == other) != (name == "Decoded") || !proto.Equal(one, in.GetFields()["a"]) {
			t.Errorf("%s: %v, the same value: %t", name, one, one == other)
		}
	}
}
