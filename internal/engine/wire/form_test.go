package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Messages from protobuf's encoder are read without protobuf. Otherwise this package would have no
// benefit, and no other test would fail.
func TestDecodeLeavesNothingRealToProtobuf(t *testing.T) {
	encoders := map[string]proto.MarshalOptions{
		"deterministic": {Deterministic: true},
		"any order":     {},
	}
	for name, text := range requests {
		for encoder, options := range encoders {
			t.Run(name+"/"+encoder, func(t *testing.T) {
				for range 8 { // orders of maps
					req := request(t, text)
					sent, err := options.Marshal(req)
					if err != nil {
						t.Fatal(err)
					}
					lazily(t, sent)
					obeys(t, sent)
				}
			})
		}
	}
}

// The same of any Struct that protobuf can encode.
func TestEveryEncodedStructIsReadWhereItLies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		req := &fnv1.RunFunctionRequest{Input: anyStruct(random, 0)}
		sent := marshal(t, req)
		lazily(t, sent)
		readsAs(t, "sent", func() *Request { return lazily(t, sent) }, plainRequest(req))
	}
}

func anyStruct(random *rand.Rand, depth int) *structpb.Struct {
	names := []string{"", "a", "apiVersion", "ä/世界", "\x00", "a.rather.long/name-that-goes-on"}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for range random.IntN(6) {
		out.Fields[names[random.IntN(len(names))]] = anyValue(random, depth+1)
	}
	return out
}

func anyValue(random *rand.Rand, depth int) *structpb.Value {
	kinds := 6
	if depth > 8 {
		kinds = 4
	}
	switch random.IntN(kinds) {
	case 0:
		return structpb.NewNumberValue(random.NormFloat64())
	case 1:
		return structpb.NewBoolValue(random.IntN(2) == 1)
	case 2:
		return structpb.NewStringValue(string(bytes.Repeat([]byte("é"), random.IntN(200))))
	case 3:
		return structpb.NewNullValue()
	case 4:
		return structpb.NewStructValue(anyStruct(random, depth))
	}
	out := &structpb.ListValue{}
	for range random.IntN(12) {
		out.Values = append(out.Values, anyValue(random, depth+1))
	}
	return structpb.NewListValue(out)
}

// Texts and names outlive the bytes that they were read of; nothing is read of them twice.
func TestTextsAreCopies(t *testing.T) {
	sent := message(
		sub(2, keyedBy(2, "db", sub(1, fieldOf("kind", textOf("DB")), fieldOf("list", listOf(textOf("element")))))),
		keyedBy(8, "ca"), keyedBy(9, "app"), sub(1, str(1, "tag")))
	r := lazily(t, sent)
	object := r.Observed.Resources["db"].Object
	got := append(object.Keys(), object.Get("kind").Text(), object.Get("list").List().At(0).Text(), r.Meta.GetTag())
	for name := range object.All() {
		got = append(got, name)
	}
	whole := object.Proto()
	clear(sent)
	for name := range r.Observed.Resources {
		got = append(got, name)
	}
	for name := range r.RequiredResources {
		got = append(got, name)
	}
	for name := range r.RequiredSchemas {
		got = append(got, name)
	}
	want := []string{"kind", "list", "DB", "element", "tag", "kind", "list", "db", "ca", "app"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if whole.GetFields()["kind"].GetStringValue() != "DB" {
		t.Error("what protobuf decoded has changed with the bytes")
	}
}

func TestTakeOfAnotherTag(t *testing.T) {
	if field, rest := take([]byte{tagKey, 1, 'a'}, tagValue); field != nil || rest != nil {
		t.Errorf("took %q and left %q, want nothing", field, rest)
	}
}

// A field that ends after the field around it is not read.
func TestFieldsThatEndTooLate(t *testing.T) {
	for name, sent := range map[string][]byte{
		"ElementAfterTheEnd": {tagInput, 10, tagEntry, 8, tagKey, 0, tagValue, 4, tagList, 2, tagEntry, 5},
		"ElementInTheNext":   {tagInput, 10, tagEntry, 8, tagKey, 0, tagValue, 4, tagList, 2, tagEntry, 2, tagContext, 0},
		"DetailsAfterTheEnd": {tagRequiredResources, 8, tagKey, 0, tagValue, 4, tagItems, 2, tagDetails, 5},
	} {
		t.Run(name, func(t *testing.T) { obeys(t, sent) })
	}
}
