package wire

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
)

// The messages that are counted field by field have no other fields. A new field must be counted.
func TestSizeHasAllFields(t *testing.T) {
	for m, want := range map[proto.Message]int{&fnv1.State{}: 2, &fnv1.Resource{}: 3} {
		if d := m.ProtoReflect().Descriptor(); d.Fields().Len() != want {
			t.Errorf("%s: want %d fields, got %d: count the others in its size", d.FullName(), want, d.Fields().Len())
		}
	}
}
