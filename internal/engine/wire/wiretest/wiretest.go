// Package wiretest has what tests read in each form that a request comes in. A Struct of
// protobuf comes in, and a wire.Struct goes out; no program has it.
package wiretest

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Reading of a Struct.
type Reading func(testing.TB, *structpb.Struct) wire.Struct

// Readings are all there are. What holds of one holds of the other.
var Readings = map[string]Reading{"Decoded": Decoded, "Bytes": Sent}

// Decoded by protobuf.
func Decoded(_ testing.TB, s *structpb.Struct) wire.Struct { return wire.Of(s) }

// Sent is the Struct as bytes. The test fails if protobuf cannot marshal it.
func Sent(t testing.TB, s *structpb.Struct) wire.Struct {
	t.Helper()
	b, err := proto.Marshal(&fnv1.RunFunctionRequest{Input: s})
	if err != nil {
		t.Fatal(err)
	}
	r := &wire.Request{}
	if err := r.Unmarshal(b); err != nil {
		t.Fatal(err)
	}
	return r.Input
}
