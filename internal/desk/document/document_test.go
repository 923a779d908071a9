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
		"Nothing":      {text: ""},
		"Null":         {text: "~\n---\nnull\n"},
		"JSON":         {text: `{"a": "b"}`, want: []doc{{ab, Position{1, 1}}}},
		"Two":          {text: "a: b\n---\nc: d\n", want: []doc{{ab, Position{1, 1}}, {cd, Position{3, 1}}}},
		"MarkerFirst":  {text: "---\na: b\n---\n", want: []doc{{ab, Position{2, 1}}}},
		"ValueBehind":  {text: "--- {a: b}\n---\t'x'\n", want: []doc{{ab, Position{1, 5}}, {"x", Position{2, 5}}}},
		"WindowsLines": {text: "\r\na: b\r\n---\r\nc: d\r\n", want: []doc{{ab, Position{2, 1}}, {cd, Position{4, 1}}}},
		"UTF16": {
			text: "\xff\xfea\x00:\x00 \x00b\x00\n\x00-\x00-\x00-\x00\n\x00c\x00:\x00 \x00d\x00",
			want: []doc{{ab, Position{1, 1}}, {cd, Position{3, 1}}},
		},
		"Dots": {text: "a: b\n...\nc: d\n... # end\n", want: []doc{{ab, Position{1, 1}}, {cd, Position{3, 1}}}},
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

// TestDiagnostics: one for each document that cannot be read, with the line and column in
// the file, and without a word of it.
func TestDiagnostics(t *testing.T) {
	const secret = "hunter2"
	cases := map[string]struct {
		text, want string
		at         Position
	}{
		"Indentation":    {"a: b\n  hunter2: c\n", wrongIndent, Position{2, 3}},
		"SecondDocument": {"a: b\n---\n\nc: [hunter2\nd: e\n", "a [ that is not closed", Position{4, 4}},
		"LineInAMessage": {"a: b\nb: !!int 'yaml: line 7: hunter2'\n", unknown, Position{1, 1}},
		"Tab":            {"a:\n\thunter2: c\n", "a tab", Position{2, 1}},
		"NUL":            {"a: b\nhunter2\x00: c\n", "the control character U+0000", Position{2, 8}},
		"NotUTF8":        {"---\n---\na: ä\xff hunter2\n", "the control character U+FFFD", Position{3, 5}},
		"Template":       {"a: {{ .hunter2 }}", template, Position{1, 4}},
		"TwoJSON": {"{\"a\": \"b\"}\n{\"c\": \"hunter2\"}\n", "text after the end of the document",
			Position{2, 1}},
		"TwoStrings":     {"'a' 'hunter2'", "text after the closing quote", Position{1, 5}},
		"SameKey":        {"a: b\n\"c\": {hunter2: 1,\n  hunter2: 2}\n", "the same key as in line 2", Position{3, 3}},
		"SameKeyAboveIt": {"a:\n  hunter2: 1\nb: c\na:\n\n  hunter2: 2\n", "the same key as in line 1", Position{4, 1}},
		"SameAsMerged": {"a: &a {hunter2: 1}\nb:\n  <<: *a\n  hunter2: 2\n", "the same key as in line 3",
			Position{4, 3}},
		"AliasBomb": {aliasBomb(9), tooLarge, Position{1, 1}},
		"LongAliases": {"x: y\n---\na: &a " + strings.Repeat("hunter2", 10000) + "\nb:\n" + strings.Repeat("- *a\n",
			1000),
			tooLarge, Position{2, 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, diagnostics := Parse(tc.text)
			if len(diagnostics) == 0 {
				t.Fatal("no diagnostic")
			}
			f := diagnostics[0]
			if !strings.HasPrefix(strings.TrimPrefix(f.Message, notYAML), tc.want) || f.Position != tc.at {
				t.Errorf("want %v: %s, got %v", tc.at, tc.want, f)
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
