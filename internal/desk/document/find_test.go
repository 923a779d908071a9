package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	path := func(steps ...any) []any { return steps }
	type answer struct {
		Key, Value Position
		Exact      bool
	}
	at := func(keyLine, keyColumn, line, column int) answer {
		return answer{Position{keyLine, keyColumn}, Position{line, column}, true}
	}
	parent := func(a answer) answer { a.Exact = false; return a }
	cases := map[string]struct {
		reason string
		text   string
		path   []any
		want   answer
	}{
		"Key":          {text: "a: b\nc:   d\n", path: path("c"), want: at(2, 1, 2, 6)},
		"Mapping":      {text: "a: # x\n\n  # y\n  b: c\n", path: path("a"), want: at(1, 1, 4, 3)},
		"List":         {text: "a:\n- b\n- c\n", path: path("a"), want: at(1, 1, 2, 1)},
		"Flow":         {text: "{a: [b, {'c': d}]}", path: path("a", 1, "c"), want: at(1, 10, 1, 15)},
		"JSON":         {text: "{\r\n\t\"a\": [\r\n\t\t\"ä\", \"b\"]}", path: path("a", 1), want: at(3, 8, 3, 8)},
		"CodePoints":   {text: "{ä: 𝄞𝄞, b: c}", path: path("b"), want: at(1, 9, 1, 12)},
		"Dots":         {text: "a.b/c: d\na: {b: e}\n", path: path("a.b/c"), want: at(1, 1, 1, 8)},
		"Quoted":       {text: "\"a\\tb\": c", path: path("a\tb"), want: at(1, 1, 1, 9)},
		"BlockScalar":  {text: "a: b\nc: |-\n  d\n", path: path("c"), want: at(2, 1, 2, 4)},
		"Nothing":      {text: "a:\nb: c\n", path: path("a"), want: at(1, 1, 1, 3)},
		"EmptyString":  {text: "a: &x ''\n", path: path("a"), want: at(1, 1, 1, 7)},
		"Properties":   {text: "a: !!str &x # why\n  b\n", path: path("a"), want: at(1, 1, 2, 3)},
		"Alias":        {text: "a: &x\n  b: c\nd: *x\n", path: path("d"), want: at(3, 1, 2, 3)},
		"ThroughAlias": {text: "a: &x\n  b: c\nd: *x\n", path: path("d", "b"), want: at(2, 3, 2, 6)},
		"AliasItem":    {text: "- &x a\n- *x\n", path: path(1), want: at(2, 3, 1, 6)},
		"Merged":       {text: "a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", path: path("d", "b"), want: at(1, 8, 1, 11)},
		"MergedList": {text: "a: &x {b: c}\nd: &y {e: f}\ng: {<<: [*x, *y]}\n", path: path("g", "e"), want: at(2,
			8, 2, 11)},
		"MergeIsNoKey":   {text: "<<: {a: b}", path: path("<<"), want: parent(at(1, 1, 1, 1))},
		"SecondDocument": {text: "a: b\n---\na: b\n", path: path("a"), want: at(3, 1, 3, 4)},
		"BehindMarker":   {text: "x: y\n--- {a: b}\n", path: path("a"), want: at(2, 6, 2, 9)},
		"ByteOrderMark":  {text: "\ufeffa: b\n", path: path("a"), want: at(1, 1, 1, 4)},
		"NoSuchKey":      {text: "a: b\nc:\n  d: e\n", path: path("c", "x", "y"), want: parent(at(2, 1, 3, 3))},
		"KeyOfScalar":    {text: "a: b\n", path: path("a", "b"), want: parent(at(1, 1, 1, 4))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			docs, err := Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			p, exact := docs[len(docs)-1].Find(tc.path...)
			if diff := cmp.Diff(tc.want, answer{p.Key.Position, p.Value.Position, exact}); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFindDeep: as deep as the parser goes.
func TestFindDeep(t *testing.T) {
	const deep = 5000
	docs, err := Parse(strings.Repeat("{a: ", deep) + "b" + strings.Repeat("}", deep))
	if err != nil {
		t.Fatal(err)
	}
	path := make([]any, deep)
	for i := range path {
		path[i] = "a"
	}
	p, exact := docs[0].Find(path...)
	if want := (Position{1, 4*deep + 1}); !exact || p.Value.Position != want {
		t.Errorf("got %v, %t; want %v", p, exact, want)
	}
}
