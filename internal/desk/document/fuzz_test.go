package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

var seeds = []string{
	"", "\n", "\x00", "\xff", "\ufeff", "\xff\xfea\x00", "a: b", "--- {a: [b, 'c']}\n...\n# x\n%YAML 1.1\n---\n- |\n  a\n  ---\n",
	"a: &x {b: c}\nd: {<<: *x, e: *x}\n", "a: >-\r\n  b\r\n\r\n   c\r\n  d\r\n", "? |\n  a\n: \"b\\\n  c\\u00e4\"\n1: yes\non: ~\n", "[&a [*a]]", "{a: 1, a: 2}",
	"!!str a: !<tag:yaml.org,2002:int> 1\n'<<': x\n", "a:\tb\u2028 c\u0085d: e\n", "- - |2+\n    x\n\n- ? a\n", "a: 'b' 'c'", "{a: b}\n{c: d}",
	"%TAG ! !x\n---\n!y a\n", "{a: b, # c\n d: e}\n# f", "a: x ? 'b' : 'c'\n", "a: {{ .Values.b }}\n{{- if c }}\n", "a:\n  -b: c\n   d: e\n",
	"a:\n\t- b\n", "a: [b, {c: d}\n e: 'f\n", "<<<<<<< a\n", "a: |\n    b\n  c\n d: !e:f *g\n", "a: [\n", " - [\n", "a: 'b\n- c\n",
}

// FuzzParseNeverPanics: any text is read or refused, and each position is in the file.
func FuzzParseNeverPanics(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, diagnostics := Parse(text)
		all := newFile(text)
		inside := func(p Position) {
			t.Helper()
			if p.Line < 1 || p.Line > len(all.lines) || p.Column < 1 || p.Column > 2+utf8.RuneCountInString(all.line(p.Line)) {
				t.Errorf("%v is outside of the file", p)
			}
		}
		for _, f := range diagnostics {
			inside(f.Position)
		}
		for _, d := range docs {
			p, _ := d.Find("a", "b", 0)
			inside(p.Key.Position)
			inside(p.Key.End)
			inside(p.Value.End)
			inside(p.Value.Position)
			p.Value.Position, _ = d.Within(1, 2, "a", 0, 1.5)
			inside(p.Value.Position)
			inside(d.Start())
		}
	})
}

// FuzzWithinFindsEachLetter: each letter of a string is found where it is written, in each style.
func FuzzWithinFindsEachLetter(f *testing.F) {
	styles := []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle}
	for style := range styles {
		f.Add("a ? b :\n c && 'ä' + \"\\n\"\n\n d 𝄞\n", uint8(style))
		f.Add(" a\n\n", uint8(style))
		f.Add(strings.Repeat("a b c\td ", 20), uint8(style))
	}
	f.Fuzz(func(t *testing.T, s string, style uint8) {
		n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: styles[int(style)%len(styles)]}
		text, err := yaml.Dump(map[string]*yaml.Node{"a": &n})
		if err != nil || !utf8.ValidString(s) || strings.ContainsAny(s, "\r\u0085\u2028\u2029\ufeff") {
			return
		}
		docs, _ := Parse(string(text))
		if len(docs) != 1 || docs[0].At("a") != s {
			return
		}
		line, column := 1, 1
		for _, r := range s {
			p, exact := docs[0].Within(line, column, "a")
			found := append([]rune(docs[0].Line(p.Line)), ' ')[p.Column-1]
			if !exact || found != r && found != '\\' && !strings.ContainsRune(" \n\t", r) {
				t.Fatalf("%q: got %q at %v for %q", text, found, p, r)
			}
			if column++; r == '\n' {
				line, column = line+1, 1
			}
		}
	})
}

// FuzzSetText: an edit sets the text at a path, and nothing else.
func FuzzSetText(f *testing.F) {
	for _, file := range []string{
		"a: b # c\nd: e\n", "{a: [{b: 'it''s'}], c: d}", "a: \"x\\ty\"\n", "a: |\n  b\n\n   c\nd: e\n", "a: >-\n  b\n  c\n", "- a\n- b: c\n",
		"a: b\r\nc: d\r\n", "a: &x b\nc: *x\n", "\ufeffa: b\n---\na:\n- b: c\n", "a: !!str 5\n", "a: b\n  c\n", "{\"a\": \"b\"}",
	} {
		for _, text := range []string{"x", "b: c", "it's", "a\"b", "{x}", "ä𝄞", "", "b", "xb", "# x", "null", "b\nc"} {
			f.Add(file, text)
		}
	}
	f.Fuzz(func(t *testing.T, file, text string) {
		docs, wrong := Parse(file)
		if len(wrong) > 0 {
			return
		}
		for i, d := range docs {
			for _, path := range [][]any{{"a"}, {"a", 0, "b"}, {0}} {
				e, ok := d.SetText(text, path...)
				if !ok {
					continue
				}
				next, _ := Apply(file, [][]Edit{{e}})
				after, wrong := Parse(next)
				if len(wrong) > 0 || len(after) != len(docs) || after[i].At(path...) != text {
					t.Fatalf("%q: want %q at %v, got %q: %v", file, text, path, next, wrong)
				}
				back, ok := after[i].SetText(d.At(path...).(string), path...)
				if restored, _ := Apply(next, [][]Edit{{back}}); ok {
					if again, _ := Parse(restored); len(again) != len(docs) || !cmp.Equal(again[i].Value(), d.Value()) {
						t.Fatalf("%q: want the former values, got %q after %q", file, restored, next)
					}
				}
			}
		}
	})
}
