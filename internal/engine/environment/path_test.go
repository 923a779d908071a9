package environment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestParsePath(t *testing.T) {
	cases := map[string]struct {
		reason string
		path   string
		want   string
		err    string
	}{
		"Fields":        {"names and indices", "a.b[0][1].c", "a.b[0][1].c", ""},
		"Quoted":        {"names with dots stand in brackets", "metadata.labels['a.b/c']", "metadata.labels[a.b/c]", ""},
		"Digits":        {"digits are an index only in brackets", "a.0", "a.0", ""},
		"QuotedDigits":  {"and there only without quotes", "a['0']", "a.0", ""},
		"Longest":       {"512 characters, not bytes", strings.Repeat("ä", 512), strings.Repeat("ä", 512), ""},
		"TooLong":       {"no field lies that deep", strings.Repeat("a", 513), "", "has 513 characters, over the limit of 512"},
		"Empty":         {"there is no field to write", "", "", "must begin with the name of a field"},
		"Index":         {"the environment is an object", "[0].a", "", "must begin with the name of a field"},
		"Wildcard":      {"it is one field", "a[*].b", "", "must not have a wildcard: name the field"},
		"WildcardField": {"it is one field", "*", "", "must not have a wildcard: name the field"},
		"EmptyName":     {"nobody means it", "a['']", "", "must not have an empty name"},
		"Unparsable":    {"as field paths are everywhere", "a..b", "", "cannot be parsed as a field path: unexpected '.' at position 2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePath(tc.path)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.err}, []string{p.String(), text}); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if again, err := ParsePath(p.String()); tc.err == "" && (err != nil || !p.Covers(again) || !again.Covers(p)) {
				t.Errorf("%s: %q is parsed as %q, %v", tc.reason, p, again, err)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		reason, p, other string
		want             bool
	}{
		{"the same", "a.b", "a.b", true},
		{"above", "a", "a.b[0]", true},
		{"below", "a.b[0]", "a.b", false},
		{"beside", "a.b", "a.c.d", false},
		{"a name that begins alike", "a.b", "a.bc", false},
		{"another way to write it", "a['b']", "a.b.c", true},
		{"another index", "a[1]", "a[10]", false},
		{"an index is no name", "a[0]", "a.0", false},
	} {
		if got := mustParse(tc.p).Covers(mustParse(tc.other)); got != tc.want {
			t.Errorf("%s: %q covers %q: %v", tc.reason, tc.p, tc.other, got)
		}
	}
}

func TestSet(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    string
		path   string
		want   string
		err    string
	}{
		"Field":         {"a field is replaced", "{a: 1, b: 2}", "a", "{a: new, b: 2}", ""},
		"Object":        {"whatever it was", "{a: {b: 1}}", "a", "{a: new}", ""},
		"Below":         {"its neighbours stay", "{a: {b: 1, c: 2}}", "a.b", "{a: {b: new, c: 2}}", ""},
		"Made":          {"objects on the way are made", "{x: 1}", "a.b.c", "{x: 1, a: {b: {c: new}}}", ""},
		"MadeOfNull":    {"null is nothing yet", "{a: null, l: [null]}", "a.b", "{a: {b: new}, l: [null]}", ""},
		"MadeOfElement": {"in a list, too", "{l: [null]}", "l[0].b", "{l: [{b: new}]}", ""},
		"Element":       {"an element is replaced", "{l: [1, 2, 3]}", "l[1]", "{l: [1, new, 3]}", ""},
		"BehindLast":    {"a list grows by one", "{l: [1]}", "l[1].x", "{l: [1, {x: new}]}", ""},
		"MadeList":      {"a list is made for its first", "{}", "l[0][0].x", "{l: [[{x: new}]]}", ""},
		"Gap":           {"a list has no gaps", "{l: [1]}", "l[2]", "", `cannot set "l[2]": "l" has fewer than 2 items, and nothing may be left out`},
		"GapInNothing":  {"nor at its beginning", "{}", "l.m[1].x", "", `cannot set "l.m[1].x": "l.m" has fewer than 1 items, and nothing may be left out`},
		"Text":          {"a text has no fields", "{a: {b: hush}}", "a.b.c", "", `cannot set "a.b.c": "a.b" is not an object`},
		"ListName":      {"a list has no names", "{a: [hush]}", "a.b", "", `cannot set "a.b": "a" is not an object`},
		"ObjectIndex":   {"an object has no index", `{a: {"": 1, "0": hush}}`, "a[0].c", "", `cannot set "a[0].c": "a" is not a list`},
		"NumberIndex":   {"nor has a number", "{a: 5}", "a[0]", "", `cannot set "a[0]": "a" is not a list`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := fields(t, tc.env)
			before := proto.CloneOf(env)
			got, err := Set(env, mustParse(tc.path), structpb.NewStringValue("new"))
			if fmt.Sprint(err) != tc.err && (err != nil || tc.err != "") {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.err, err)
			}
			var want *structpb.Struct
			if tc.want != "" {
				want = fields(t, tc.want)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if !proto.Equal(before, env) {
				t.Errorf("%s: the environment was written to: %v", tc.reason, env)
			}
		})
	}
}

func TestSetNothing(t *testing.T) {
	for path, want := range map[string]string{"a": "{a: null}", "a.b": "{a: {b: null}}", "a[0]": "{a: [null]}"} {
		got, err := Set(nil, mustParse(path), nil)
		if diff := cmp.Diff(fields(t, want), got, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("%v, -want, +got:\n%s", err, diff)
		}
	}
}
