package document

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// What to write instead of a mistake.
const (
	notYAML  = "not valid YAML: "
	tooLarge = "aliases repeat too much: write the values that they repeat, or split the document"
	unknown  = notYAML + "compare the indentation, the quotes and the colons of this line with the lines above it"

	instead        = "write `|-` after the key, and the value indented in the next line"
	inQuotes       = "put the whole value in quotes"
	colonInPlain   = "a plain value cannot contain a colon and a space: " + instead
	noColon        = "no colon after the key: write a colon and a space, or indent the line more if it continues the value above it"
	noSpace        = "no space after the colon: write one if this is a key"
	spaceAfterDash = "no space after the dash: write one if this is an item of a list"
	conflict       = "a marker of a merge conflict: resolve the conflict, and remove its markers"
	template       = "a template: render the file first, for example with `helm template`, or put the value in quotes if it is text"
	unclosedQuote  = "a quote that is not closed: write the same quote where the value ends"
	afterEnd       = "text after a closing quote or bracket: write a comma if it is another value, or " + inQuotes
	tooEarly       = "a comment ends a plain value, and text follows it: remove the comment, or " + instead
	noComma        = "no comma before this: write one after the value or the item above"
	tabIndents     = "a tab in the indentation: replace it with spaces"

	inBrackets = "expected ',' or" // what the parser says about a value in brackets

	cannotBegin = "a plain value cannot begin with %s: "
)

// A rule tells a common mistake by what the parser says, by its line, and by the last line with text above it. In the
// pattern of its line, ¦ is where the parser gave up. The mistake is at the first group of the patterns, or
// otherwise where the parser gave up. In why, %s is the text of the group.
type rule struct{ says, here, above, why string }

// rules are in their order: the first one that fits is taken.
var rules = []rule{
	{"", `^¦?([<>|=]{7})(?:\s|¦|$)`, "", conflict},
	{"", "", `^([<>|=]{7})(?:\s|$)`, conflict},
	{"", `^[^'"]*(?P<at>\{)¦?[{%]`, "", template},
	{"", `^[^'"]*¦(?P<at>\{)[{%]`, "", template},
	{"", "", `^\s*(\{)[{%]`, template},
	{"", `[:-] +(?P<at>!)[^\s!].*¦`, "", cannotBegin + instead},
	{"only the other", `^¦\s*(?P<at>//|/\*)`, "", "a comment of another language: a comment in YAML begins with #, and JSON has none"},
	{"only the other", `[{\[].*\w\.?(?P<at>\?)\w`, "", "a question mark cannot be in a plain value in brackets: " + inQuotes},

	{"tab character", `-¦\t`, "", "a tab after a dash: replace it with a space"},
	{"tab character|start any token", `¦\t`, "", tabIndents},
	{"incompatible", "", "", "another version of YAML than 1.1, which Kubernetes reads: remove the line"},
	{"escape|hexdecimal", "", "", "a backslash that is not part of an escape: write two backslashes, or put the value in single quotes"},
	{"block scalar.*comment", `([|>])[-+\d]*[ \t]*¦`, "", "text after %s, which begins a text block: put the text in the next line, indented"},
	{"unknown anchor", `¦\*[-\w]+(?:[\s,\]}]|$)`, "", "an alias of an anchor that is not above it: define the anchor with &, or put the value in quotes if it is text"},
	{"start any token", "^[ -]*¦([`@%])", "", "a key cannot begin with %s: put it in quotes, or remove the line if it is not a key"},
	{"anchor|alphabetic|start any token|mapping keys", "[{\\[].*¦([*&@%?`])", "", cannotBegin + inQuotes},
	{"anchor|alphabetic|start any token|mapping keys", "¦([*&@%?`])", "", cannotBegin + instead},
	{"sequence entries", `: +¦-`, "", "a list item after a key: put it in the next line"},

	// In brackets.
	{"quoted scalar", `[{\[].*[\])}'"](?P<at>[^\s,:\]})'"]).*¦`, "", afterEnd},
	{"quoted scalar", "", "", unclosedQuote},
	{"node content", `¦,`, "", "a comma with no value before it: remove it"},
	{inBrackets, `["'\w](?P<at>:)¦?["'\w\[{]`, "", noSpace},
	{inBrackets, `(?P<at>\w+)¦:`, "", noComma + "; or " + inQuotes},
	{inBrackets, `¦:`, "", "a plain value in brackets cannot contain a colon and a space: " + inQuotes},
	{inBrackets, `["'\])}]¦\S|["'\])}] +¦[^"'\w]`, "", afterEnd},
	{inBrackets, "", "", noComma},

	// A key or an item where none can be.
	{"mapping values|':'", "", `^\s*(-)[^\s-]`, spaceAfterDash},
	{"mapping values|':'", `^[ -]*¦-+\s*$`, "", "a line of dashes: write exactly `---`, without indentation, to begin another document"},
	{"mapping values|':'", `^\s*¦-\S`, "", spaceAfterDash},
	{"mapping values", `: .*¦:`, "", colonInPlain},
	{"mapping values", "", `^[ -]*["'\w./-]+(:)[^\s/]`, noSpace},
	{"mapping values", "", `^[ -]*([^\s:-][^:]*)$`, noColon},
	{"':'", `¦["'\w./-]+(?P<at>:)\S`, "", noSpace},
	{"':'", "", `[|>][-+\d]*\s*$`, "a line of a text block must be indented more than its key: indent it by two more spaces"},
	{"':'", "", "", noColon},
	{"expected", `["'] *¦\S`, "", "text after the closing quote: " + instead},
	{"expected", `([\])}]) *¦\S`, "", "text after the closing %s: " + instead},
	{"expected", `(?P<at>\*)[-\w]+ +¦`, "", cannotBegin + instead},
	{"expected", `^\s*¦[?:]`, "", colonInPlain},
	{"document start", `^¦`, "", "text after the end of the document: put a line `---` above it if it is another document"},
}

// A pattern is the compiled rule.
type pattern struct{ says, here, above lazy.Pattern }

// patterns are compiled when the first file cannot be read.
var patterns = sync.OnceValue(func() (out []pattern) {
	for _, r := range rules {
		out = append(out, pattern{lazy.MustCompile(r.says), lazy.MustCompile(r.here), lazy.MustCompile(r.above)})
	}
	return out
})

// fromParser returns the mistake at which the parser gave up.
func (p part) fromParser(e *yaml.LoadError) *Diagnostic {
	at, opened := p.offsetOf(e.Mark.Line, e.Mark.Column), p.offsetOf(e.ContextMark.Line, e.ContextMark.Column)
	says := e.ContextMsg + ": " + e.Message
	if strings.Contains(says, "simple key") || strings.Contains(says, "quoted scalar") && !strings.Contains(says, "escape") {
		at = opened // where the key or the quote begins, not where the parser missed its end
	}
	if d := p.oddSpace(at); d != nil {
		return d
	}
	if d := p.open(at); d != nil {
		return d
	}
	if strings.Contains(says, inBrackets) {
		if d := p.bracket(at, opened); d != nil {
			return d
		}
	}
	if d := p.byRules(says, at); d != nil {
		return d
	}
	return p.indentation(at)
}

// byRules returns the mistake of the first rule that fits, or nil.
func (p part) byRules(says string, at int) *Diagnostic {
	begin, end := p.lineOf(at)
	here, above, aboveBegin := p.file.text[begin:at]+"¦"+p.file.text[at:end], "", 0
	if text := strings.TrimRight(p.file.text[p.start:begin], " \t\r\n"); text != "" {
		aboveBegin, _ = p.lineOf(p.start + len(text))
		above = p.file.text[aboveBegin : p.start+len(text)]
	}
	for i, r := range patterns() {
		h, a := r.here.FindStringSubmatchIndex(here), r.above.FindStringSubmatchIndex(above)
		if h == nil || a == nil || !r.says.MatchString(says) {
			continue
		}
		why, named := rules[i].why, r.here.SubexpIndex("at")
		if strings.Contains(why, "%s") {
			why = fmt.Sprintf(why, here[h[2]:h[3]])
		}
		switch {
		case named > 0:
			at = begin + len(strings.Replace(here[:h[2*named]], "¦", "", 1))
		case len(a) > 2:
			at = aboveBegin + a[2]
		}
		return p.at(at, why)
	}
	return nil
}

// lineOf returns the offsets of the line with an offset.
func (p part) lineOf(at int) (begin, end int) {
	begin = p.start + strings.LastIndexAny(p.file.text[p.start:at], "\r\n") + 1
	end = p.end
	if i := strings.IndexAny(p.file.text[at:p.end], "\r\n"); i >= 0 {
		end = at + i
	}
	return begin, end
}

// indents matches a character that looks like a space but is none, where it indents a line or follows a colon.
var indents = lazy.MustCompile(`(?m)(?:^[ -]*|^[ -]*[\w.]+:)([\x{a0}\x{ad}\x{1680}\x{2000}-\x{200f}\x{202a}-\x{202f}\x{205f}-\x{2064}\x{3000}\x{feff}])`)

func (p part) oddSpace(at int) *Diagnostic {
	_, end := p.lineOf(at)
	m := indents.FindStringSubmatchIndex(p.file.text[p.start:end])
	if m == nil {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(p.file.text[p.start+m[2]:])
	return p.at(p.start+m[2], fmt.Sprintf("the character %U looks like a space, but is not one: replace it with a space", r))
}

// unclosed matches a line with a quote or a bracket that is not closed, and the start of a next line that begins a key
// or an item.
var unclosed = lazy.MustCompile(`(?m)^([ -]*)(?:[\w./-]+: +)?("(?:[^"\\\n]|\\.)*|'(?:[^'\n]|'')*|[\[{][^\[\]{}\n]*[^\[\]{}\n,])\n( *)(?:- |[\w./-]+:\s)`)

// open returns the first quote or bracket that is not closed before the next key or item. The parser reads on to any
// later quote.
func (p part) open(at int) *Diagnostic {
	for _, m := range unclosed.FindAllStringSubmatchIndex(p.text(), -1) {
		start := p.start + m[4]
		switch c := p.file.text[start]; {
		case start > at || m[7]-m[6] > m[3]-m[2]:
		case c == '"' || c == '\'':
			return p.at(start, unclosedQuote)
		default:
			return p.at(start, openBracket(c))
		}
	}
	return nil
}

// openBracket returns the mistake of a bracket. In ASCII, a closing bracket is two after its opening bracket.
func openBracket(c byte) string {
	return fmt.Sprintf("a %c that is not closed: write %c where the value ends; if the value is an expression, %s", c, c+2, instead)
}

// bracket returns the mistake of a bracket that another one closes, or that is not closed before the next key.
func (p part) bracket(at, opened int) *Diagnostic {
	rest, open := p.file.text[at:p.end], p.file.text[opened]
	begin, end := p.lineOf(at)
	line := p.file.text[begin:end]
	switch {
	case rest != "" && strings.IndexByte("]}", rest[0]) >= 0:
		return p.at(at, fmt.Sprintf("%c, but the %c in line %d is not closed: write %c before or instead of it",
			rest[0], open, p.file.position(opened).Line, open+2))
	case strings.TrimSpace(rest) == "", begin > opened && blockLine.MatchString(line):
		return p.at(opened, openBracket(open))
	}
	return nil
}

// blockLine matches a line that begins with a key without quotes, or with an item.
var blockLine = lazy.MustCompile(`^ *(?:- |[\w./-]+:(?:\s|$))`)

// keyOrItem matches a line that begins with a key or an item.
var keyOrItem = lazy.MustCompile(`^( *)(?:(- )|["'\w./-]+:(?:\s|$))`)
