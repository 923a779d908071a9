package environment

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A reading of a Struct.
type reading func(testing.TB, *structpb.Struct) wire.Struct

// readings are all that a request comes in: decoded by protobuf, and as bytes. What
// holds of one holds of the other.
var readings = map[string]reading{"Decoded": decoded, "Bytes": sent}

func decoded(_ testing.TB, s *structpb.Struct) wire.Struct { return wire.Of(s) }

// all of the EnvironmentConfigs that were found.
func (read reading) all(t testing.TB, found [][]*structpb.Struct) [][]wire.Struct {
	t.Helper()
	var out [][]wire.Struct
	for _, list := range found {
		out = append(out, read.list(t, list))
	}
	return out
}

func (read reading) list(t testing.TB, found []*structpb.Struct) []wire.Struct {
	t.Helper()
	var out []wire.Struct
	for _, s := range found {
		out = append(out, read(t, s))
	}
	return out
}

func sent(t testing.TB, s *structpb.Struct) wire.Struct {
	t.Helper()
	b, err := proto.Marshal(&fnv1.RunFunctionRequest{Input: s})
	if err != nil {
		t.Fatal(err)
	}
	r, err := wire.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return r.Input
}

// Protobuf decodes nothing of the bytes before it is asked to, and so each time anew.
func TestReadings(t *testing.T) {
	in := &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(1)}}
	for name, read := range readings {
		v := read(t, in).Get("a")
		one, other := v.Proto(), v.Proto()
		if (one == other) != (name == "Decoded") || !proto.Equal(one, in.GetFields()["a"]) {
			t.Errorf("%s: %v, the same value: %t", name, one, one == other)
		}
	}
}
