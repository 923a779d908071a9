package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
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
