package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzSetText: an edit sets the text at a path, and nothing else.
func FuzzSetText(f *testing.F) {
	for _, file := range []string{
		"a: b # c\nd: e\n", "{a: [{b: 'it''s'}], c: d}", "a: \"x\\ty\"\n", "a: |\n  b\n\n   c\nd: e\n", "a: >-\n  " +
			"b\n  c\n", "- a\n- b: c\n",
		"a: b\r\nc: d\r\n", "a: &x b\nc: *x\n", "\ufeffa: b\n---\na:\n- b: c\n", "a: !!str 5\n", "a: b\n  c\n",
		"{\"a\": \"b\"}",
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
