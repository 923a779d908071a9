package document

import (
	"errors"
	"io"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

var seeds = []string{
	"", "\n", "\x00", "\xff", "\ufeff", "\xff\xfea\x00", "a: b", "--- {a: [b, 'c']}\n...\n# x\n%YAML 1.1\n---\n- |\n  a\n  ---\n",
	"a: &x {b: c}\nd: {<<: *x, e: *x}\n", "a: >-\r\n  b\r\n\r\n   c\r\n  d\r\n", "? |\n  a\n: \"b\\\n  c\\u00e4\"\n1: yes\non: ~\n", "[&a [*a]]", "{a: 1, a: 2}",
	"!!str a: !<tag:yaml.org,2002:int> 1\n'<<': x\n", "a:\tb\u2028 c\u0085d: e\n", "- - |2+\n    x\n\n- ? a\n", "# a\na:\n# b\n- b # c\n\n# d\n", "a: 'b' 'c'", "{a: b}\n{c: d}",
	"a: !!binary gIGC\nb: ! 12\nc: 0o7\n", "%TAG ! !x\n---\n!y a\n", "{a: b, # c\n d: e}\n# f", "a: # b\n  # c\n  - d\n  #e\n", "a: \"\\x41\\/\"\n",
	"a: x ? 'b' : 'c'\n", "a: {{ .Values.b }}\n{{- if c }}\n", "a:\n  -b: c\n   d: e\n", "a:\n\t- b\n", "a: [b, {c: d}\n e: 'f\n", "<<<<<<< a\n", "a: |\n    b\n  c\n d: !e:f *g\n",
}

// FuzzParseNeverPanics: any text is read or refused. A document that is read has the value that
// kubectl reads, and each part of it has a place inside the file. An error names a place in the
// file, and does not quote the file.
func FuzzParseNeverPanics(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, diagnostics := Parse(text)
		all := newFile(text)
		for _, p := range all.parts() {
			if f := p.mistake(); f != nil && (f.at < p.start || f.at > p.end) {
				t.Errorf("%s: %d is outside of the document", f.why, f.at)
			}
		}
		for _, f := range diagnostics {
			if f.Line < 1 || f.Line > len(all.starts()) || f.Column < 1 || f.Column > 1+utf8.RuneCountInString(all.line(f.Line)) {
				t.Errorf("%v: %v is outside of the file", f, f.Position)
			}
		}
		for _, d := range docs {
			var want any
			if err := k8syaml.UnmarshalStrict([]byte(d.text()), &want); err != nil || !reflect.DeepEqual(d.Value(), want) {
				var again any
				if _ = k8syaml.UnmarshalStrict([]byte(d.text()), &again); reflect.DeepEqual(want, again) {
					t.Errorf("got %v, want %v, %v", d.Value(), want, err)
				}
			}
			if d.tree().root != nil {
				findAll(t, d, d.value, nil)
			}
			d.Within(1, 2, "a", 0, 1.5)
		}
	})
}

// A tag without a name makes a string of anything, in one of the two parsers.
var hasBareTag = regexp.MustCompile(`!(\s|$)`)

// findAll looks for each value of a document, and into each string.
func findAll(t *testing.T, d *Document, v any, path []any) {
	t.Helper()
	if len(path) > 50 {
		return
	}
	p, exact := d.Find(path...)
	for _, p := range []Position{p.Key, p.Value} {
		if p.Line < 1 || p.Column < 1 || p.Column > 1+utf8.RuneCountInString(d.Line(p.Line)) {
			t.Fatalf("%v: %v is outside of the file", path, p)
		}
	}
	if !exact && hasBareTag.MatchString(d.text()) {
		return
	}
	if !exact {
		t.Fatalf("%v is not found", path)
	}
	switch v := v.(type) {
	case map[string]any:
		for key := range maps.Keys(v) {
			findAll(t, d, v[key], append(path[:len(path):len(path)], key))
		}
	case []any:
		for i := range v {
			findAll(t, d, v[i], append(path[:len(path):len(path)], i))
		}
	case string:
		if _, exact := d.Within(1, 1, path...); !exact && !strings.Contains(d.text(), "binary") && !hasBareTag.MatchString(d.text()) {
			t.Fatalf("%v: its text is not found", path)
		}
	}
}

// FuzzDocumentsAreApart: the documents are those of a reader of whole streams, and
// begin where that says.
func FuzzDocumentsAreApart(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
		f.Add(s + "\n---\n" + s)
		f.Add(s + "\n...\n" + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := Parse(text)
		text = newFile(text).text
		if err != nil || strings.Contains(text, byteOrderMark) {
			return
		}
		starts := part{&file{text: text}, 0, len(text)}.lines()
		d := yaml.NewDecoder(strings.NewReader(text))
		for {
			var n yaml.Node
			if err := decode(d, &n); err != nil {
				if errors.Is(err, io.EOF) && len(docs) > 0 {
					t.Errorf("%d documents too many, at %v", len(docs), docs[0].Start())
				}
				return
			}
			tr := &tree{part: part{&file{text: text}, 0, len(text)}, starts: starts}
			root := n.Content[0]
			if aliased(root).Value == "" && aliased(root).Kind == yaml.ScalarNode {
				return // Where is nothing?
			}
			if aliased(root).Tag == "!!null" && (len(docs) == 0 || docs[0].Start() != tr.position(root)) {
				continue
			}
			if len(docs) == 0 {
				t.Fatalf("nothing at %v", tr.position(root))
			}
			if got, want := docs[0].Start(), tr.position(root); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			docs = docs[1:]
		}
	})
}

// FuzzWithinFindsEachLetter: a string written in any style, anywhere in a file, is
// found again letter by letter.
func FuzzWithinFindsEachLetter(f *testing.F) {
	for style := range uint8(styles) {
		f.Add("a ? b :\n c && 'ä' + \"\\n\"\n\n d 𝄞\n", style, uint8(1), []byte("choices"))
		f.Add(" a\n\n", style, uint8(2), []byte{1, 1, 1, 1, 1, 1, 1, 1, 1})
		f.Add("a b c\td", style, uint8(6), []byte{2, 1, 0, 5, 1, 1, 1, 3, 1})
	}
	f.Fuzz(func(t *testing.T, s string, style, site uint8, choices []byte) {
		if utf8.ValidString(s) && len(s) < 500 {
			lawWithin(t, s, style, site, choices)
		}
	})
}
