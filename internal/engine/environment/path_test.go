package environment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/engine/wire/wiretest"
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

func TestGet(t *testing.T) {
	env := fields(t, `{a: {b: [1, {c: x}, null]}, d: null, "": e}`)
	for path, want := range map[string]any{
		"a.b[0]": 1.0, "a.b[1].c": "x", "a.b[2]": nil, "d": nil, "a.b": []any{1.0, map[string]any{"c": "x"}, nil},
		"x": "absent", "a.x": "absent", "a.b[3]": "absent", "a.b[4294967295]": "absent", "a.b.c": "absent", "a[0]": "absent", "d.e": "absent",
		"a.b[0].c": "absent", "d[0]": "absent",
	} {
		for as, read := range wiretest.Readings {
			var got any = "absent"
			if v, ok := Get(read(t, env), mustParse(path)); ok {
				got = v.Proto().AsInterface()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s over %s: -want, +got:\n%s", path, as, diff)
			}
		}
	}
	if v, ok := Get(wire.Struct{}, mustParse("a")); ok {
		t.Errorf("nothing has %v", v.Proto())
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

func TestRemove(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    string
		path   string
		want   string // empty if it is the same one
	}{
		"Field":        {"a field goes", "{a: 1, b: 2}", "a", "{b: 2}"},
		"Object":       {"with all below", "{a: {b: 1}}", "a", "{}"},
		"Below":        {"what held it stays", "{a: {b: 1}, c: 2}", "a.b", "{a: {}, c: 2}"},
		"Null":         {"null is a value", "{a: null}", "a", "{}"},
		"Element":      {"the others keep their index", "{l: [1, 2, 3]}", "l[1]", "{l: [1, null, 3]}"},
		"Last":         {"so does the last", "{l: [1]}", "l[0]", "{l: [null]}"},
		"BelowElement": {"an element is on the way", "{l: [{a: 1, b: 2}]}", "l[0].a", "{l: [{b: 2}]}"},
		"Absent":       {"there is nothing to remove", "{a: {b: 1}}", "a.c", ""},
		"AbsentTop":    {"there is nothing to remove", "{a: 1}", "b.c", ""},
		"BehindLast":   {"there is nothing to remove", "{l: [1]}", "l[1]", ""},
		"Scalar":       {"there is nothing below", "{a: 1}", "a.b", ""},
		"NoList":       {"an object has no index", `{a: {"": {c: 1}, "0": 1}}`, "a[0].c", ""},
		"NoObject":     {"a list has no names", "{a: [1]}", "a.0", ""},
		"BelowNull":    {"there is nothing below", "{a: null}", "a.b", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := fields(t, tc.env)
			before := proto.CloneOf(env)
			got := Remove(env, mustParse(tc.path))
			want := before
			if tc.want != "" {
				want = fields(t, tc.want)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || (got == env) != (tc.want == "") {
				t.Errorf("%s: the same one: %v, -want, +got:\n%s", tc.reason, got == env, diff)
			}
			if !proto.Equal(before, env) {
				t.Errorf("%s: the environment was written to: %v", tc.reason, env)
			}
		})
	}
	if got := Remove(nil, mustParse("a")); got != nil {
		t.Errorf("nothing without a is %v", got)
	}
}

// Only what is on the way is copied.
func TestSetAndRemoveShare(t *testing.T) {
	env := fields(t, "{a: {b: 1, c: {d: 1}}, l: [{x: 1}, {w: 1}], e: {f: 1}}")
	set, err := Set(env, mustParse("a.b"), structpb.NewNumberValue(2))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		got  *structpb.Struct
		same []string
	}{
		"Set":    {set, []string{"a.c", "l", "e"}},
		"Remove": {Remove(env, mustParse("l[0].x")), []string{"a", "l[1]", "e"}},
	} {
		for _, p := range tc.same {
			was, _ := Get(wire.Of(env), mustParse(p))
			if is, _ := Get(wire.Of(tc.got), mustParse(p)); was.Proto() != is.Proto() {
				t.Errorf("%s: %s was copied", name, p)
			}
		}
	}
}
