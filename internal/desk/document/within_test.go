package document

import (
	"strings"
	"testing"

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
		"PlainFolded":    {text: "a: b\n\n  c  \n  d # e\n", want: []Position{{1, 4}, {3, 3}, {4, 3}, {4, 4}}},
		"PlainInFlow":    {text: "{a: b\n c, d: e}", want: []Position{{1, 5}, {2, 2}, {2, 3}}},
		"Single":         {text: "a: 'b''c'\n", want: []Position{{1, 5}, {1, 6}, {1, 8}, {1, 9}}},
		"Double":         {text: `a: "\tä\x41𝄞\U0001D11E\\"`, want: []Position{{1, 7}, {1, 8}, {1, 12}, {1, 13}, {1, 23}, {1, 25}}},
		"DoubleContinue": {text: "a: \"b \\\n  \\ c\\\n\n  d\"", want: []Position{{1, 5}, {2, 5}, {4, 3}, {4, 4}}},
		"EmptyDouble":    {text: `a: ""`, want: []Position{{1, 5}}},
		"EmptyBlock":     {text: "a: |-\nb: c\n", want: []Position{{1, 4}}},
		"Literal":        {text: "a: |\n  b\n\n   c\n", want: []Position{{2, 3}, {4, 4}, {4, 5}}},
		"LiteralAtEnd":   {text: "a: |\n  b", want: []Position{{2, 3}, {2, 4}}},
		"Folded":         {text: "a: >-\n  b\n  c\n\n  d\n   e\n  f\n", want: []Position{{2, 3}, {3, 3}, {5, 3}, {6, 4}, {7, 3}, {7, 4}}},
		"FoldedEmpties":  {text: "a: >\n\n  b\n\n\nc: d", want: []Position{{3, 3}, {3, 4}}},
		"WindowsLines":   {text: "a: |\r\n  b\r\n  c\r\n", want: []Position{{2, 3}, {3, 3}, {3, 4}}},
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

// end is a letter after a string.
const end = "$"

// within returns the position of each letter of a string, and of its end.
func within(t *testing.T, d *Document, path ...any) []Position {
	t.Helper()
	text, ok := d.At(path...).(string)
	if !ok {
		t.Fatalf("no string at %v", path)
	}
	var out []Position
	line, column := 1, 1
	for _, r := range text + end {
		p, exact := d.Within(line, column, path...)
		if !exact {
			t.Fatalf("%d:%d of %q is not found in %q", line, column, text, d.text())
		}
		if !strings.ContainsRune(" \t\n", r) {
			out = append(out, p)
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return out
}
