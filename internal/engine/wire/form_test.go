package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
