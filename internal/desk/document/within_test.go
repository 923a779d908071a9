package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestWithin: each letter of a value, and the place after it, as file positions.
func TestWithin(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []Position
	}{
		"Plain":          {text: "a: b\n", want: []Position{{1, 4}, {1, 5}}},
		"PlainFolded":    {text: "a: b\n\n  c  \n  d # e\n", want: []Position{{1, 4}, {2, 1}, {3, 3}, {3, 4 + 2}, {4, 3}, {4, 4}}},
		"PlainInFlow":    {text: "{a: b\n c, d: e}", want: []Position{{1, 5}, {1, 6}, {2, 2}, {2, 3}}},
		"Single":         {text: "a: 'b''c'\n", want: []Position{{1, 5}, {1, 6}, {1, 8}, {1, 9}}},
		"Double":         {text: `a: "\tä\x41𝄞\U0001D11E\\"`, want: []Position{{1, 5}, {1, 7}, {1, 8}, {1, 12}, {1, 13}, {1, 23}, {1, 25}}},
		"DoubleContinue": {text: "a: \"b \\\n  \\ c\\\n\n  d\"", want: []Position{{1, 5}, {1, 6}, {2, 3}, {2, 5}, {3, 1}, {4, 3}, {4, 4}}},
		"EmptyDouble":    {text: `a: ""`, want: []Position{{1, 5}}},
		"EmptyBlock":     {text: "a: |-\nb: c\n", want: []Position{{1, 4}}},
		"Literal":        {text: "a: |\n  b\n\n   c\n", want: []Position{{2, 3}, {2, 4}, {3, 1}, {4, 3}, {4, 4}, {4, 5}, {4, 5}}},
		"LiteralAtEnd":   {text: "a: |\n  b", want: []Position{{2, 3}, {2, 4}}},
		"LiteralKeep":    {text: "a: |+1 # c\n  b\n  \nd: e", want: []Position{{2, 2}, {2, 3}, {2, 4}, {3, 2}, {3, 3}, {3, 3}}},
		"Folded":         {text: "a: >-\n  b\n  c\n\n  d\n   e\n  f\n", want: []Position{{2, 3}, {2, 4}, {3, 3}, {4, 1}, {5, 3}, {5, 4}, {6, 3}, {6, 4}, {6, 5}, {7, 3}, {7, 4}}},
		"FoldedEmpties":  {text: "a: >\n\n  b\n\n\nc: d", want: []Position{{2, 1}, {3, 3}, {3, 4}, {3, 4}}},
		"WindowsLines":   {text: "a: |\r\n  b\r\n  c\r\n", want: []Position{{2, 3}, {2, 4}, {3, 3}, {3, 4}, {3, 4}}},
		"OtherBreaks":    {reason: "YAML 1.1 keeps these two, and an editor shows no line", text: "a: 'b\u2028  c\u2029 d'", want: []Position{{1, 5}, {1, 6}, {1, 9}, {1, 10}, {1, 12}, {1, 13}}},
		"OtherInLiteral": {text: "a: |-\n  b\u2028  c\u0085  d\n", want: []Position{{2, 3}, {2, 4}, {2, 7}, {2, 8}, {2, 11}, {2, 12}}},
		"Properties":     {text: "a: &x !!str # why\n  b\n", want: []Position{{2, 3}, {2, 4}}},
		"NumberAsString": {text: "a: !!str 10\n", want: []Position{{1, 10}, {1, 11}, {1, 12}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			docs, err := Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, within(t, docs[0], "a")); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// within returns the position of each code point of a string, and of its end.
func within(t *testing.T, d *Document, path ...any) []Position {
	t.Helper()
	text, ok := d.At(path...).(string)
	if !ok {
		t.Fatalf("no string at %v", path)
	}
	var out []Position
	line, column := 1, 1
	for _, r := range text + " " {
		p, exact := d.Within(line, column, path...)
		if !exact {
			t.Fatalf("%d:%d of %q is not found in %q", line, column, text, d.text())
		}
		out = append(out, p)
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return out
}

// TestWithinIsNotExact: then it is where the value, or what is there of the path, begins.
func TestWithinIsNotExact(t *testing.T) {
	docs, err := Parse("a: |\n  b\nc: 5\nd: [e]\nf: !!binary gIGC\n")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		line, column int
		path         []any
		want         Position
	}{
		"NoLine":       {3, 1, []any{"a"}, Position{1, 4}},
		"LineZero":     {0, 1, []any{"a"}, Position{1, 4}},
		"ColumnZero":   {1, 0, []any{"a"}, Position{1, 4}},
		"ColumnBehind": {1, 3, []any{"a"}, Position{1, 4}},
		"NoString":     {1, 1, []any{"c"}, Position{3, 4}},
		"List":         {1, 1, []any{"d"}, Position{4, 4}},
		"NoSuchItem":   {1, 1, []any{"d", 1}, Position{4, 4}},
		"NoSuchKey":    {1, 1, []any{"x"}, Position{1, 1}},
		"BelowString":  {1, 1, []any{"a", "x"}, Position{1, 4}},
		"NoStep":       {1, 1, []any{1.5}, Position{1, 1}},
		"NotItsText":   {1, 1, []any{"f"}, Position{5, 13}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, exact := docs[0].Within(tc.line, tc.column, tc.path...)
			if exact || got != tc.want {
				t.Errorf("got %v, %t; want %v", got, exact, tc.want)
			}
		})
	}
}

// A place of a scalar: parent is its depth, and block reports whether a block scalar is possible.
var sites = []struct {
	before, after string
	parent        int
	block         bool
	path          []any
}{
	{"--- ", "", -1, true, nil},
	{"a: ", "z: y\n", 0, true, []any{"a"}},
	{"a:\n- b\n-   ", "- c\n", 0, true, []any{"a", 1}},
	{"a:\n  b: c\n  d: &x !!str ", "  z: *x\n", 2, true, []any{"a", "d"}},
	{"- - x\n  - ", "  - y\n- z\n", 2, true, []any{0, 1}},
	{"? a\n: ", "z: y\n", 0, true, []any{"a"}},
	{"{k: [1, ", ", 2]}\n", 0, false, []any{"k", 1}},
	{"a: &x ", "b: *x\n", 0, true, []any{"b"}},
}

// TestWithinEachStyle runs the law of the fuzz target over what expressions are like.
func TestWithinEachStyle(t *testing.T) {
	texts := []string{
		"", "a", "composite.spec.name + '-ca'", "'%s:%d'.format([resource.spec.host, 5432])", "a ? b : c", `"\n" + "\\" # c`, "a &&\nb", "a &&\n  b ||\n  c\n",
		"\n\na\n\n\nb c d\n\n", " a\nb", "  a\n\n b\nc d\n\te\nf\n\n\n", "\n", "\n\n\n", " ", " \n ", "\t", "ä𝄞 \u2028\u0085\u00a0 \x00\x7f", "a b  c\td e f", "---\n...\n%a",
		"{'a': [1, 2]}", "a: b", "#", "yes", "\ufeffa", "a\r\nb", "*x", "a \nb", "''\"\"''",
	}
	written := map[uint8]int{}
	for _, text := range texts {
		for style := range uint8(styles) {
			for site := range sites {
				for seed := range 4 {
					choices := make([]byte, 100)
					for i := range choices {
						choices[i] = byte((i + 1) * seed * 37 / 5)
					}
					if lawWithin(t, text, style, uint8(site), choices) {
						written[style]++
					}
				}
			}
		}
	}
	for style, n := range written {
		if n < 120 {
			t.Errorf("style %d wrote %d only", style, n)
		}
	}
	if len(written) != styles {
		t.Errorf("%d of %d styles were written", len(written), styles)
	}
}

const styles = 6

// lawWithin writes a string in a style and looks whether each code point of it is found
// where it was written. It returns false if the style cannot say it.
func lawWithin(t *testing.T, s string, style, site uint8, choices []byte) bool {
	t.Helper()
	at := sites[int(site)%len(sites)]
	e := &encoder{choices: choices, indent: max(0, at.parent) + 1}
	e.nl = []string{"\n", "\r\n", "\r"}[e.choose(3)]
	above := []string{"", "x: y\n---\n", "\ufeff# ä\n"}[e.choose(3)]
	block := style%styles >= 4
	if block && !at.block || strings.ContainsRune(s, utf8.RuneError) {
		return false
	}
	switch style % styles {
	case 0:
		e.plain(s)
	case 1:
		e.single(s)
	case 2:
		e.double(s)
	case 3:
		e.folding(s)
	case 4, 5:
		e.block(s, style%styles == 5, at.parent)
	}
	if e.cannot {
		return false
	}
	after := at.after
	if !block && at.block {
		after = "\n" + after
	}
	head := strings.ReplaceAll(above+at.before, "\n", e.nl)
	text := head + e.out.String() + strings.ReplaceAll(after, "\n", e.nl)
	docs, err := Parse(text)
	if style%styles == 0 && (err != nil || len(docs) == 0 || docs[len(docs)-1].At(at.path...) != s) {
		return false // A plain scalar cannot contain many characters.
	}
	if err != nil {
		t.Fatalf("%q in style %d: %q: %v", s, style%styles, text, err)
	}
	d := docs[len(docs)-1]
	if got := d.At(at.path...); got != s {
		t.Fatalf("%q in style %d: %q is %q", s, style%styles, text, got)
	}
	var want []Position
	for _, place := range e.places {
		want = append(want, positionIn(text, len(head)+place))
	}
	got := within(t, d, at.path...)
	if diff := cmp.Diff(want, got[:len(got)-1], cmp.Transformer("", func(p []Position) []Position { return append([]Position{}, p...) })); len(want)+len(got) > 1 && diff != "" {
		t.Fatalf("%q in style %d: %q\n%s", s, style%styles, text, diff)
	}
	return true
}

// positionIn counts lines and columns as plainly as it can be done.
func positionIn(text string, offset int) Position {
	offset -= len(text) - len(strings.TrimLeft(text, byteOrderMark))
	text = strings.TrimLeft(text, byteOrderMark)
	p := Position{1, 1}
	for i, r := range text[:offset] {
		if p.Column++; r == '\n' || r == '\r' && !strings.HasPrefix(text[i:], "\r\n") {
			p = Position{p.Line + 1, 1}
		}
	}
	return p
}
