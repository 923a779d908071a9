package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse: what is a document, what its value is, and where it begins.
func TestParse(t *testing.T) {
	type doc struct {
		Value any
		Start Position
	}
	ab := map[string]any{"a": "b"}
	cd := map[string]any{"c": "d"}
	cases := map[string]struct {
		reason string
		text   string
		want   []doc
	}{
		"Nothing":           {text: ""},
		"ByteOrderMark":     {text: "\ufeff"},
		"Null":              {text: "~\n---\nnull\n"},
		"JSON":              {text: `{"a": "b"}`, want: []doc{{ab, Position{1, 1}}}},
		"Scalar":            {text: "  b\n", want: []doc{{"b", Position{1, 3}}}},
		"Two":               {text: "a: b\n---\nc: d\n", want: []doc{{ab, Position{1, 1}}, {cd, Position{3, 1}}}},
		"MarkerFirst":       {text: "---\na: b\n---\n", want: []doc{{ab, Position{2, 1}}}},
		"CommentFirst":      {text: "# a\n\n---\na: b\n", want: []doc{{ab, Position{4, 1}}}},
		"ValueBehind":       {text: "--- {a: b}\n---\t'x'\n", want: []doc{{ab, Position{1, 5}}, {"x", Position{2, 5}}}},
		"BlockBehind":       {text: "--- |\n a\n---\na: b", want: []doc{{"a\n", Position{1, 5}}, {ab, Position{4, 1}}}},
		"WindowsLines":      {text: "\r\na: b\r\n---\r\nc: d\r\n", want: []doc{{ab, Position{2, 1}}, {cd, Position{4, 1}}}},
		"UTF16":             {text: "\xff\xfea\x00:\x00 \x00b\x00\n\x00-\x00-\x00-\x00\n\x00c\x00:\x00 \x00d\x00", want: []doc{{ab, Position{1, 1}}, {cd, Position{3, 1}}}},
		"Dots":              {text: "a: b\n...\nc: d\n... # end\n", want: []doc{{ab, Position{1, 1}}, {cd, Position{3, 1}}}},
		"Directives":        {text: "# x\n%YAML 1.1\n# y\n%TAG !e! tag:e,2000:\n---\na: b\n...\n%YAML 1.1\n--- # z\nc: d\n", want: []doc{{ab, Position{6, 1}}, {cd, Position{10, 1}}}},
		"MarkerInBlock":     {text: "a: |\n ---\n ...\nb: c", want: []doc{{map[string]any{"a": "---\n...\n", "b": "c"}, Position{1, 1}}}},
		"Booleans":          {reason: "YAML 1.1, as kubectl", text: "[yes, off, 010, 1.5, 'no']", want: []doc{{[]any{true, false, 8.0, 1.5, "no"}, Position{1, 1}}}},
		"KeysNotStrings":    {text: "1: a\non: b\n1.5: c\n0x10: d\n", want: []doc{{map[string]any{"1": "a", "true": "b", "1.5": "c", "16": "d"}, Position{1, 1}}}},
		"Merge":             {text: "a: &a {b: c}\nd:\n  <<: *a\n", want: []doc{{map[string]any{"a": map[string]any{"b": "c"}, "d": map[string]any{"b": "c"}}, Position{1, 1}}}},
		"Anchor":            {text: "--- &a !!map # x\na: b\n", want: []doc{{ab, Position{2, 1}}}},
		"ManyStars":         {text: "a: &x b\nc: [*x, *x, *x, *x, *x, *x, *x, *x]\n", want: []doc{{map[string]any{"a": "b", "c": []any{"b", "b", "b", "b", "b", "b", "b", "b"}}, Position{1, 1}}}},
		"SpacesAndComments": {reason: "only space and a comment follow the value", text: "{a: b}\n\n # c\n", want: []doc{{ab, Position{1, 1}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			docs, err := Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []doc
			for _, d := range docs {
				got = append(got, doc{d.Value(), d.Start()})
				if p, exact := d.Find(); !exact || p.Value.Position != d.Start() || p.Key.Position != d.Start() {
					t.Errorf("%s: starts at %v, but is found at %v", tc.reason, d.Start(), p)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLine(t *testing.T) {
	docs, err := Parse("\ufeffa: b\r\n# ä\n\n---\rc: d")
	if err != nil || len(docs) != 2 {
		t.Fatalf("got %d documents, %v", len(docs), err)
	}
	var got []string
	for n := range 8 {
		got = append(got, docs[1].Line(n))
	}
	if diff := cmp.Diff([]string{"", "a: b", "# ä", "", "---", "c: d", "", ""}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDiagnostics: one for each document that cannot be read, with the line and column in
// the file, and without a word of it.
func TestDiagnostics(t *testing.T) {
	const secret = "hunter2"
	cases := map[string]struct {
		reason string
		text   string
		want   string
		at     Position
	}{
		"Scanner":         {text: "a: b\n  hunter2: c\n", want: "not valid YAML: wrong indentation here or above: begin it in column 1, like the key in line 1", at: Position{2, 3}},
		"Grammar":         {reason: "The parser says line 1.", text: "- a\nhunter2: c\n", want: "not valid YAML: a key where an item of a list must be: begin the line with `- `", at: Position{2, 1}},
		"SecondDocument":  {text: "a: b\n---\n\nc: [hunter2\nd: e\n", want: "not valid YAML: a [ that is not closed: write ] where the value ends; if the value is an expression, write `|-` after the key, and the value indented in the next line", at: Position{4, 4}},
		"EndOfDocument":   {text: "a: b\nc: {hunter2\n\n---\nd: e\n", want: "not valid YAML: a { that is not closed: write } where the value ends; if the value is an expression, write `|-` after the key, and the value indented in the next line", at: Position{2, 4}},
		"LineInAMessage":  {reason: "The message is: cannot decode !!str `yaml: line 7: hunter2` as a !!int", text: "a: b\nb: !!int 'yaml: line 7: hunter2'\n", want: "not valid YAML: compare the indentation, the quotes and the colons of this line with the lines above it", at: Position{1, 1}},
		"Version":         {text: "a: b\n...\n%YAML 1.2\n---\nb: hunter2", want: "not valid YAML: another version of YAML than 1.1, which Kubernetes reads: remove the line", at: Position{3, 1}},
		"Tab":             {text: "a:\n\thunter2: c\n", want: "not valid YAML: a tab in the indentation: replace it with spaces", at: Position{2, 1}},
		"NUL":             {text: "a: b\nhunter2\x00: c\n", want: "not valid YAML: a NUL character: save the file as UTF-8, not as UTF-16", at: Position{2, 8}},
		"NotUTF8":         {text: "---\n---\na: ä\xff hunter2\n", want: "not valid YAML: a character that is not in UTF-8: save the file as UTF-8", at: Position{3, 5}},
		"DeleteCharacter": {text: "a: b\nb: hunter2\x7f", want: "not valid YAML: the control character U+007F: remove it", at: Position{2, 11}},
		"NotANumber":      {text: "hunter2: .nan", want: "not valid YAML: not a number in JSON: put it in quotes if it is text", at: Position{1, 10}},
		"NullKey":         {text: "~: hunter2", want: "not valid YAML: null cannot be a key: put it in quotes", at: Position{1, 1}},
		"ListKey":         {text: "? [hunter2]\n: a", want: "not valid YAML: a list or a mapping cannot be a key: put it in quotes if it is text", at: Position{1, 3}},
		"TwoJSON":         {reason: "Else the second would be lost.", text: "{\"a\": \"b\"}\n{\"c\": \"hunter2\"}\n", want: "not valid YAML: text after the end of the document: put a line `---` above it if it is another document", at: Position{2, 1}},
		"TwoStrings":      {text: "'a' 'hunter2'", want: "not valid YAML: text after the closing quote: write `|-` after the key, and the value indented in the next line", at: Position{1, 5}},
		"SameKey":         {text: "a: b\n\"c\": {hunter2: 1,\n  hunter2: 2}\n", want: "the same key as in line 2: remove one of them, or move what it contains to the other", at: Position{3, 3}},
		"SameKeyAboveIt":  {reason: "The parser says the line of the value.", text: "a:\n  hunter2: 1\nb: c\na:\n\n  hunter2: 2\n", want: "the same key as in line 1: remove one of them, or move what it contains to the other", at: Position{4, 1}},
		"SameKeyInList":   {text: "x: y\n---\n- [a, {b: 1, 'b': hunter2}]\n", want: "the same key as in line 3: remove one of them, or move what it contains to the other", at: Position{3, 14}},
		"SameBoolean":     {text: "on: 1\nyes: 2\n", want: "the same key as in line 1: remove one of them, or move what it contains to the other", at: Position{2, 1}},
		"SameAsMerged":    {text: "a: &a {hunter2: 1}\nb:\n  <<: *a\n  hunter2: 2\n", want: "the same key as in line 3: remove one of them, or move what it contains to the other", at: Position{4, 3}},
		"MergeOfScalar":   {text: "a: {<<: hunter2}", want: "not valid YAML: << merges mappings, and its value is not a mapping: put the key in quotes if it is text", at: Position{1, 5}},
		"AliasBomb":       {text: aliasBomb(9), want: "aliases repeat too much: write the values that they repeat, or split the document", at: Position{1, 1}},
		"LongAliases":     {text: "x: y\n---\na: &a " + strings.Repeat("hunter2", 10000) + "\nb:\n" + strings.Repeat("- *a\n", 1000), want: "aliases repeat too much: write the values that they repeat, or split the document", at: Position{2, 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, diagnostics := Parse(tc.text)
			if len(diagnostics) == 0 {
				t.Fatalf("%s: no diagnostic", tc.reason)
			}
			f := diagnostics[0]
			if diff := cmp.Diff(tc.want, f.Message); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.at, f.Position); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if strings.Contains(f.Message, secret) {
				t.Errorf("quotes the file: %v", f.Message)
			}
		})
	}
}

// aliasBomb repeats a by 9 to the power of n.
func aliasBomb(n int) string {
	text := "a0: &a0 [" + strings.Repeat("*a, ", 9) + "]\n"
	if n > 3 {
		text = "a0: &a0 [" + strings.Repeat("x, ", 9) + "]\n"
	}
	for i := range n {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		text += "a" + to + ": &a" + to + " [" + strings.Repeat("*a"+from+", ", 9) + "]\n"
	}
	return text
}

func TestParseGoesOn(t *testing.T) {
	docs, diagnostics := Parse("a: b\n---\na: b: c\n---\n# nothing\n---\nc: d\n---\ne: 1\ne: 2\n")
	var values []any
	for _, d := range docs {
		values = append(values, d.Value())
	}
	if diff := cmp.Diff([]any{map[string]any{"a": "b"}, map[string]any{"c": "d"}}, values); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, f := range diagnostics {
		got = append(got, f.Error())
	}
	if diff := cmp.Diff([]string{"3:5: " + notYAML + colonInPlain, "10:1: the same key as in line 9: remove one of them, or move what it contains to the other"}, got); diff != "" {
		t.Error(diff)
	}
}

// A column of an editor counts UTF-16 units.
func TestUTF16(t *testing.T) {
	for column, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 3, 4: 4, 9: 4} {
		if got := UTF16("ä𝄞b", column); got != want {
			t.Errorf("column %d: want %d, got %d", column, want, got)
		}
	}
}

// Fixes that touch are not applied together, and a fix is applied as a whole.
func TestApply(t *testing.T) {
	edit := func(line, from, to int, text string) Edit {
		return Edit{Range{Position{line, from}, Position{line, to}}, text}
	}
	for name, c := range map[string]struct {
		fixes   [][]Edit
		want    string
		applied int
	}{
		"Order":    {[][]Edit{{edit(2, 1, 2, "X")}, {edit(1, 1, 2, "Y")}}, "Yb\nXd\n", 2},
		"Touches":  {[][]Edit{{edit(1, 1, 2, "X")}, {edit(1, 2, 2, "Y")}}, "Xb\ncd\n", 1},
		"Twice":    {[][]Edit{{edit(1, 2, 2, "X")}, {edit(1, 2, 2, "X")}}, "aXb\ncd\n", 1},
		"Whole":    {[][]Edit{{edit(2, 1, 2, "X")}, {edit(1, 1, 2, "Y"), edit(2, 2, 2, "Z")}}, "ab\nXd\n", 1},
		"Together": {[][]Edit{{edit(2, 1, 2, ""), edit(1, 1, 2, "Y")}}, "Yb\nd\n", 1},
		"None":     {[][]Edit{nil}, "ab\ncd\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got, applied := Apply("ab\ncd\n", c.fixes); got != c.want || applied != c.applied {
				t.Errorf("want %q and %d, got %q and %d", c.want, c.applied, got, applied)
			}
		})
	}
}
