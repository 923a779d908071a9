package plan

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// FuzzDigestTellsInputsApart compares two inputs. Equal inputs have the same digest, also as bytes,
// and different inputs have different ones. Otherwise a plan could run for another input.
func FuzzDigestTellsInputsApart(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a": "b"}`, `{"a": "b"}`},
		{`{"a": "b", "c": "d"}`, `{"a": "bc", "": "d"}`},
		{`{"a": ["b", "c"]}`, `{"a": ["bc"]}`},
		{`{"a": [["b"], "c"]}`, `{"a": [["b", "c"]]}`},
		{`{"a": {"b": "c"}, "d": null}`, `{"a": {"b": "c", "d": null}}`},
		{`{"a": "1"}`, `{"a": 1}`},
		{`{"a": true}`, `{"a": false}`},
		{`{"a": 0}`, `{"a": null}`},
		{`{"a": {}}`, `{"a": []}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, y := &structpb.Struct{}, &structpb.Struct{}
		if protojson.Unmarshal(a, x) != nil || protojson.Unmarshal(b, y) != nil {
			return
		}
		dx, _ := DigestOf(wire.Of(x))
		dy, _ := DigestOf(wire.Of(y))
		if equal := proto.Equal(x, y); equal != (dx == dy) {
			t.Errorf("equal inputs: %v, equal digests: %v", equal, dx == dy)
		}
		if again, _ := DigestOf(wire.Of(proto.CloneOf(x))); again != dx {
			t.Error("two digests of one input differ")
		}
		sent, err := wire.Encode(&fnv1.RunFunctionRequest{Input: x})
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := DigestOf(sent.Input); again != dx {
			t.Error("the digest of bytes is another")
		}
	})
}
