package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

// What is composed of Values of either form, and of composed ones, reads as one.
func TestCompose(t *testing.T) {
	sent := sentStruct(t, message(fieldOf("text", textOf("a")), fieldOf("object", objectOf(fieldOf("b", varint(4, 1))))))
	made := Of(structOf(t, map[string]any{"number": 1.5, "list": []any{nil, "c"}}))
	s := Compose(map[string]Value{
		"sent": sent.Get("text"), "sent object": sent.Get("object"), "sent whole": OfStruct(sent),
		"made": made.Get("number"), "made list": made.Get("list"), "made whole": OfStruct(made),
		"composed": OfStruct(Compose(map[string]Value{"in": sent.Get("text")})), "none": OfStruct(Struct{}),
	})
	want := structOf(t, map[string]any{
		"sent": "a", "sent object": map[string]any{"b": true}, "sent whole": map[string]any{"text": "a", "object": map[string]any{"b": true}},
		"made": 1.5, "made list": []any{nil, "c"}, "made whole": map[string]any{"number": 1.5, "list": []any{nil, "c"}},
		"composed": map[string]any{"in": "a"}, "none": map[string]any{},
	})
	for way, reading := range readings {
		if diff := cmp.Diff(want, reading(t, s), protocmp.Transform()); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", way, diff)
		}
	}
}
