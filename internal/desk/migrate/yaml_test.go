package migrate

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FuzzTextStaysText: a printed text is read as the same text at every place, and a comment does not
// end before its line.
func FuzzTextStaysText(f *testing.F) {
	for _, s := range []string{
		"", " ", "a", "a b", "a  b", "a: b", "a #b", "# a", "- a", "? a", "yes", "No", "null", "~", "1", "1e3", "0x1",
		".5", "2026-11-21", "=", "<<", "y",
		"it's", `"`, `\`, `it's "x"`, `it's \`, "a\nb\n", "\t", "\u0000\u0085\u2028\ufeff\ufffd", "\U0001F600", "{a}",
		"[a, b]", "a, b", "a]", "%a", "@a", "`a`", "!a", "&a", "*a", "|", ">", "a?", "---", "...",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(quote(s)) > 1000 {
			t.Skip("no YAML, or no key in YAML, which has at most 1024 characters")
		}
		n := mapping().with("block", textNode(s)).
			with(s, list(textNode(s), mapping().with(s, textNode(s)), mapping().with(s, textNode(s))))
		n.with("inner", mapping().with("text", textNode(s)).with(s, list(textNode(s), textNode(s))))
		n.field("block").note(s)
		n.with("off", list(mapping().with(s, textNode(s)).note(s).disable(s)))
		want := map[string]any{"block": s, "inner": map[string]any{"text": s, s: []any{s, s}}}
		if _, ok := want[s]; ok || s == "text" {
			t.Skip("the same key twice")
		}
		want[s] = []any{s, map[string]any{s: s}, map[string]any{s: s}}
		var got map[string]any
		text := strings.Join(n.lines(), "\n")
		if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want, +got:\n%s\n%s", diff, text)
		}
	})
}
