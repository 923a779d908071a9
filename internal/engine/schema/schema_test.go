package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

func TestOfKind(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		schema string
		path   string
		want   string
	}{
		"Nil":          {"A kind that is not known.", "", "a", "no object before a"},
		"Empty":        {"One of which the schema says nothing.", "{}", "metadata", "no object before metadata"},
		"APIVersion":   {"Each object has one.", "{type: object}", "apiVersion", "string"},
		"Kind":         {"And a kind.", "{type: object}", "kind", "string"},
		"Name":         {"And a name.", "{type: object}", "metadata name", "string"},
		"Labels":       {"Labels are texts by texts.", "{type: object}", "metadata labels", "map of string"},
		"Annotations":  {"And so are annotations.", "{type: object}", "metadata annotations", "map of string"},
		"Finalizers":   {"Finalizers are texts.", "{type: object}", "metadata finalizers", "list of string"},
		"Generation":   {"A generation is counted.", "{type: object}", "metadata generation", "int"},
		"GracePeriod":  {"Seconds are.", "{type: object}", "metadata deletionGracePeriodSeconds", "int"},
		"Owner":        {"An owner has a name.", "{type: object}", "metadata ownerReferences [] name", "string"},
		"Controller":   {"And is the controller, or not.", "{type: object}", "metadata ownerReferences [] controller", "bool"},
		"Block":        {"And holds its deletion back, or not.", "{type: object}", "metadata ownerReferences [] blockOwnerDeletion", "bool"},
		"Managed":      {"Managed fields are of any form.", "{type: object}", "metadata managedFields [] fieldsV1", "dyn"},
		"Other":        {"Nothing else is in metadata.", "{type: object}", "metadata nmae", "x has no field metadata.nmae: did you mean name?"},
		"Own":          {"The fields of the schema stay.", "{type: object, properties: {spec: {type: integer}}}", "spec", "int"},
		"OwnMetadata":  {"Also those that it has for metadata.", "{type: object, properties: {metadata: {type: object, properties: {name: {type: integer}}}}}", "metadata name", "int"},
		"BesideOwn":    {"Beside the others.", "{type: object, properties: {metadata: {type: object, properties: {name: {type: integer}}}}}", "metadata uid", "string"},
		"OtherKeyword": {"All else that it says stays as well.", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "something", "dyn"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, c.schema)
			before := proto.Clone(s)
			all := NewTypes()
			if got := all.walk(all.Of("x", OfKind(s)), c.path); got != c.want {
				t.Errorf("%s: %s: want %q, got %q", c.reason, c.path, c.want, got)
			}
			if diff := cmp.Diff(before, proto.Message(s), protocmp.Transform()); diff != "" {
				t.Errorf("OfKind(...) has changed what it was given: -want, +got:\n%s", diff)
			}
		})
	}
	if OfKind(parsed(t, "{description: none}")) == nil || OfKind(nil) != nil || OfKind(parsed(t, "{}")) != nil {
		t.Error("OfKind(...): want nil for what is not known, and for nothing else")
	}
}

// The result of OfKind can be changed without an effect on later results.
func TestOfKindIsNew(t *testing.T) {
	s := parsed(t, "{type: object}")
	OfKind(s).Fields["properties"].GetStructValue().Fields["metadata"].GetStructValue().Fields["properties"] = nil
	all := NewTypes()
	if got := all.walk(all.Of("x", OfKind(s)), "metadata name"); got != "string" {
		t.Errorf("want a string, got %q", got)
	}
}

func TestLike(t *testing.T) {
	const example = "{text: a, whole: 1, broken: 1.5, enabled: true, nothing: null, list: [{a: 1}], in: {text: a}, empty: {}}"
	for path, want := range map[string]string{
		"":        "object",
		"text":    "string",
		"whole":   "int",
		"broken":  "dyn",
		"enabled": "bool",
		"nothing": "dyn",
		"list":    "list of dyn",
		"in text": "string",
		"in txet": "x has no field in.txet: did you mean text?",
		"empty":   "dyn",
		"q1z":     "x has no field q1z: there are broken, empty, enabled, in, list, nothing, text, whole",
	} {
		all := NewTypes()
		if got := all.walk(all.Of("x", Like(parsed(t, example))), path); got != want {
			t.Errorf("%q: want %q, got %q", path, want, got)
		}
	}
}
