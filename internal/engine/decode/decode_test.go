package decode_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

func TestReports(t *testing.T) {
	object := map[string]any{
		"text": "a", "number": 1.0, "null": nil, "list": []any{"a", 2.0, nil, map[string]any{"yes": true}},
		"map": map[string]any{"a.b": "c", "d": 1.0},
	}
	for name, tc := range map[string]struct {
		reason string
		read   func(v decode.Value) any
		value  any
		want   []string
	}{
		"Text": {"a field is read", func(v decode.Value) any { return v.Get("text").Text() }, "a", nil},
		"Absent": {"nothing is absent below nothing", func(v decode.Value) any { return v.Get("x", "y").List() },
			[]decode.Value{}, nil},
		"Null": {"null is absent", func(v decode.Value) any { return v.Get("null").Required().Bool() }, false,
			[]string{"null: must be set"}},
		"Type": {"the value is not shown", func(v decode.Value) any { return v.Get("number").Text() }, "",
			[]string{"number: must be a string"}},
		"Below": {"one report is enough", func(v decode.Value) any {
			return v.Get("text",
				"y").Required().Text()
		}, "", []string{"text: must be an object"}},
		"NoList": {"a list is no object", func(v decode.Value) any { return v.Get("map").List() },
			[]decode.Value{}, []string{"map: must be a list"}},
		"Item": {"an item has its index", func(v decode.Value) any { return v.Get("list").List()[1].Text() }, "",
			[]string{"list[1]: must be a string"}},
		"NullItem": {"an item can be missing",
			func(v decode.Value) any { return v.Get("list").List()[2].Required().Text() }, "",
			[]string{"list[2]: must be set"}},
		"Bool": {"an item has fields",
			func(v decode.Value) any { return v.Get("list").List()[3].Get("yes").Bool() }, true, nil},
		"Field": {"a field with dots is quoted", func(v decode.Value) any { return v.Get("map", "a.b").Bool() },
			false, []string{`map["a.b"]: must be true or false`}},
		"Keys": {"keys are sorted", func(v decode.Value) any { return v.Get("map").Keys() }, []string{"a.b",
			"d"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			v := decode.Value{Raw: object, Report: func(at decode.Path, message string) {
				got = append(got,
					fmt.Sprintf("%s: %s", at, message))
			}}
			if diff := cmp.Diff(tc.value, tc.read(v)); diff != "" {
				t.Errorf("%s: value: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: reports: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFirst(t *testing.T) {
	var first decode.First
	v := decode.Value{Raw: map[string]any{"a": 1.0, "b": 2.0}, Report: first.Report}
	v.Get("a").Text()
	v.Get("b").Text()
	if got := fmt.Sprint(first.Err); got != "cannot read a: must be a string" {
		t.Errorf("want the first of both, got %q", got)
	}
}
