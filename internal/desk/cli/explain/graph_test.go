package explain

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var mermaidCode = regexp.MustCompile(`#\d+;`)

// unMermaid is what Mermaid shows of a text.
func unMermaid(s string) string {
	return mermaidCode.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(m[1 : len(m)-1])
		return string(rune(n))
	})
}

var hardTexts = []string{
	"", "plain", `a"b`, `a\`, `\"`, "a]b", `"]; x --> y["`, "`markdown`", "<b>", "a\nb", "1. list", "- list", "#35;", "&amp;", "&quot;", `\N`, "übung", "a.b-c/d",
	"secrets.db['ca.crt']", "end", "subgraph", "%%{init}%%", "a;b", "|x|", "𝕏", "\x00\x1f",
}

// seen is a text without what no form can print.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// The law: no text breaks out of its quotes, and Mermaid shows the text unchanged.
func FuzzMermaidTextStaysInItsQuotes(f *testing.F) {
	for _, s := range hardTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("YAML is UTF-8")
		}
		got := mermaidText(s)
		if strings.ContainsAny(mermaidCode.ReplaceAllString(got, ""), "\"`<>[](){}|\\&%\n\r;") {
			t.Errorf("%q is printed as %q", s, got)
		}
		if shown := unMermaid(got); shown != seen(s) {
			t.Errorf("%q is printed as %q, and shown as %q", s, got, shown)
		}
	})
}
