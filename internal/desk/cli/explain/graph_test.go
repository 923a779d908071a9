package explain

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// A parsedGraph is what a reader of a printed graph sees.
type parsedGraph struct {
	nodes map[string]string // label by identifier
	edges []graphEdge
}

// check that each edge is one between nodes.
func (g parsedGraph) check() error {
	for _, e := range g.edges {
		if g.nodes[e.from] == "" || g.nodes[e.to] == "" {
			return fmt.Errorf("an edge from %s to %s, which are not both there", e.from, e.to)
		}
	}
	return nil
}

// The lines that a flowchart has. A text has no quote, so that it ends where it ends.
var (
	mermaidBegin = regexp.MustCompile(`^flowchart LR$|^  subgraph g\d+\["[^"<>` + "`" + `]+"\]$|^  end$|^  linkStyle \d+(,\d+)* stroke:#c00,color:#c00$|^  classDef [a-z]+ [a-z0-9:#-]+$`)
	mermaidNode  = regexp.MustCompile(`^    (g\d+n\d+)(\[|\[\[|\(\[|\(|\[\()"([^"<>` + "`" + `]+)"(\]|\]\]|\]\)|\)|\)\]):::[a-z]+$`)
	mermaidEdge  = regexp.MustCompile(`^  (g\d+n\d+) (-->|-\.->)(\|secret\|)? (g\d+n\d+)$`)
	mermaidCode  = regexp.MustCompile(`#\d+;`)
)

// unMermaid is what Mermaid shows of a text.
func unMermaid(s string) string {
	return mermaidCode.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(m[1 : len(m)-1])
		return string(rune(n))
	})
}

func parseMermaid(text string) (parsedGraph, error) {
	g := parsedGraph{nodes: map[string]string{}}
	closing := map[string]string{"[": "]", "[[": "]]", "([": "])", "(": ")", "[(": ")]"}
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if m := mermaidNode.FindStringSubmatch(l); m != nil && closing[m[2]] == m[4] {
			g.nodes[m[1]] = unMermaid(m[3])
			continue
		}
		if m := mermaidEdge.FindStringSubmatch(l); m != nil {
			g.edges = append(g.edges, graphEdge{m[1], m[4], m[3] != "", m[2] == "-.->"})
			continue
		}
		if !mermaidBegin.MatchString(l) {
			return g, fmt.Errorf("no line of a flowchart: %q", l)
		}
	}
	return g, g.check()
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
		if strings.ContainsAny(got, "\"`<>[](){}|\\&%\n\r;") && mermaidCode.ReplaceAllString(got, "") != strings.Map(func(r rune) rune {
			if strings.ContainsRune("\"`<>[](){}|\\&%\n\r;", r) {
				return -1
			}
			return r
		}, mermaidCode.ReplaceAllString(got, "")) {
			t.Errorf("%q is printed as %q", s, got)
		}
		if shown := unMermaid(got); shown != seen(s) {
			t.Errorf("%q is printed as %q, and shown as %q", s, got, shown)
		}
		g, err := parseMermaid("flowchart LR\n    g0n0[\"x" + got + "\"]:::key\n")
		if err != nil || len(g.nodes) != 1 {
			t.Errorf("%q: %v", got, err)
		}
	})
}
