package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// A value of another kind, and a missing value, read as empty in each way.
func TestNone(t *testing.T) {
	sent := sentStruct(t, message(fieldOf("text", textOf("a")), fieldOf("null", varint(1, 0)), fieldOf("list", listOf())))
	cases := map[string]struct {
		reason string
		s      Struct
	}{
		"Zero":            {"the zero Struct is none", Struct{}},
		"Nil":             {"nor is protobuf's nil", Of(nil)},
		"Text":            {"a string is no object", sent.Get("text").Struct()},
		"Null":            {"nor is null", sent.Get("null").Struct()},
		"List":            {"nor is a list", sent.Get("list").Struct()},
		"Absent":          {"nor is what is not there", sent.Get("b").Struct()},
		"Absent composed": {"nor is what is not there", Compose(nil).Get("b").Struct()},
		"Null of none":    {"nor is protobuf's Value without a kind", OfValue(nil).Struct()},
		"In a request":    {"nor is what was not sent", lazily(t, nil).Input},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.s.Exists() || tc.s.Len() != 0 || len(tc.s.Keys()) != 0 || tc.s.Proto() != nil {
				t.Errorf("%s: it exists, or has fields", tc.reason)
			}
			for k := range tc.s.All() {
				t.Errorf("%s: All has %q", tc.reason, k)
			}
			for _, v := range []Value{tc.s.Get("a"), tc.s.At("a", "b")} {
				if v.Exists() || !v.IsNull() || v.Kind() != Absent || v.Proto() != nil {
					t.Errorf("%s: it has a field", tc.reason)
				}
				if v.Text() != "" || v.Is("") || v.Number() != 0 || v.Bool() || v.Struct().Exists() || v.List().Len() != 0 {
					t.Errorf("%s: what is not there reads as something", tc.reason)
				}
				for range v.List().All() {
					t.Errorf("%s: what is not there has elements", tc.reason)
				}
			}
		})
	}
}

// An empty one is there, which is not the same as none.
func TestEmptyExists(t *testing.T) {
	for name, s := range map[string]Struct{
		"sent":                   sentStruct(t, nil),
		"made":                   Of(&structpb.Struct{}),
		"composed of nothing":    Compose(nil),
		"composed of no fields":  Compose(map[string]Value{}),
		"in a Value, sent":       sentStruct(t, fieldOf("a", objectOf())).Get("a").Struct(),
		"in a Value, made":       OfValue(&structpb.Value{Kind: &structpb.Value_StructValue{}}).Struct(),
		"Value of none":          OfStruct(Struct{}).Struct(),
		"Value of protobuf's":    OfStruct(Of(nil)).Struct(),
		"element of composed":    ComposeList([]Struct{{}}).At(0).Struct(),
		"zero bytes in its list": sentStruct(t, fieldOf("a", listOf(objectOf()))).Get("a").List().At(0).Struct(),
	} {
		if !s.Exists() || s.Len() != 0 || s.Proto() == nil {
			t.Errorf("%s: got none, or fields, want an empty Struct", name)
		}
	}
}

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
	l := ComposeList([]Struct{sent, made, s})
	for _, all := range []bool{true, false} {
		got := readList(t, l, readGet, all)
		if len(got.GetValues()) != 3 || !proto.Equal(want, got.GetValues()[2].GetStructValue()) {
			t.Errorf("ComposeList: got %v", got)
		}
	}
}

// The size is that of the protobuf that is decoded, whether it was sent or not. What was decoded already costs the same.
func TestSize(t *testing.T) {
	body := message(fieldOf("text", textOf("abc")), fieldOf("object", objectOf(fieldOf("b", varint(4, 1)))))
	sent := sentStruct(t, body)
	made := Of(sent.Proto())
	object, text := len(objectOf(fieldOf("b", varint(4, 1)))), len(textOf("abc"))
	for name, tc := range map[string]struct{ got, want int }{
		"sent":          {sent.Size(), len(body)},
		"made":          {made.Size(), len(body)},
		"none":          {Struct{}.Size(), 0},
		"sent value":    {sent.Get("text").Size(), text},
		"made value":    {made.Get("text").Size(), text},
		"made object":   {made.Get("object").Size(), object},
		"no value":      {Value{}.Size(), 0},
		"composed":      {Compose(map[string]Value{"1": sent.Get("text"), "23": made.Get("object")}).Size(), 1 + text + 2 + object},
		"composed in a": {OfStruct(Compose(map[string]Value{"1": sent.Get("text")})).Size(), 1 + text},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: want %d bytes, got %d", name, tc.want, tc.got)
		}
	}
}
