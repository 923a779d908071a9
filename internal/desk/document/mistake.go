package document

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// This file says why a document cannot be read. The parser of values knows at most the line of a mistake, so the other
// parser reads the document again. It says at which character it gave up, and what it was reading. A table of the
// frequent habits turns that into help.

// What to write instead of a mistake.
const (
	notYAML  = "not valid YAML: "
	tooLarge = "aliases repeat too much: write the values that they repeat, or split the document"
	unknown  = "compare the indentation, the quotes and the colons of this line with the lines above it"

	instead      = "write `|-` after the key, and the value indented in the next line"
	inQuotes     = "put the whole value in quotes"
	colonInPlain = "a plain value cannot contain a colon and a space: " + instead
	noColon      = "no colon after the key: write a colon and a space, or indent the line more if it continues the " +
		"value above it"
	noSpace     = "no space after the colon: write one if this is a key"
	noSpaceDash = "no space after the dash: write one if this is an item of a list"
	conflict    = "a marker of a merge conflict: resolve the conflict, and remove its markers"
	template    = "a template: render the file first, for example with `helm template`, or put the value in quotes " +
		"if it is text"
	unclosedQuote = "a quote that is not closed: write the same quote where the value ends"
	wrongIndent   = "wrong indentation here or above: begin it in the column of the other keys of its object, or of " +
		"the other items of its list"

	inBrackets  = "expected ',' or"       // what the parser says about a value in brackets
	otherParser = "only the other parser" // refuses it
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

	{otherParser, `[{\[].*\w\.?(?P<at>\?)\w`, "", "a question mark cannot be in a plain value in brackets: " + inQuotes},
	{"tab character|start any token", `¦\t`, "", "a tab in the indentation: replace it with spaces"},
	{"escape|hexdecimal", "", "", "a backslash that is not part of an escape: write two backslashes, or put the " +
		"value in single quotes"},
	{"block scalar.*comment", `([|>])[-+\d]*[ \t]*¦`, "", "text after %s, which begins a text block: put the text in " +
		"the next line, indented"},
	{"unknown anchor", `¦\*[-\w]+(?:[\s,\]}]|$)`, "", "an alias of an anchor that is not above it: define the anchor " +
		"with &, or put the value in quotes if it is text"},
	{"anchor|alphabetic|start any token|mapping keys", "[{\\[].*¦([*&@%?`])", "", cannotBegin + inQuotes},
	{"anchor|alphabetic|start any token|mapping keys", "¦([*&@%?`])", "", cannotBegin + instead},

	// In brackets.
	{"quoted scalar", `[{\[].*[\])}'"](?P<at>[^\s,:\]})'"]).*¦`, "", "text after a closing quote or bracket: write a " +
		"comma if it is another value, or " + inQuotes},
	{"quoted scalar", "", "", unclosedQuote},
	{inBrackets, `["'\w](?P<at>:)¦?["'\w\[{]`, "", noSpace},
	{inBrackets, `¦:`, "", "a plain value in brackets cannot contain a colon and a space: " + inQuotes},
	{inBrackets, "", "", "no comma before this: write one after the value or the item above, close the bracket " +
		"above, or " + inQuotes},

	// A key or an item where none can be.
	{"mapping values|':'", "", `^\s*(-)[^\s-]`, noSpaceDash},
	{"mapping values|':'", `^\s*¦-\S`, "", noSpaceDash},
	{"mapping values", `: .*¦:`, "", colonInPlain},
	{"mapping values", "", `^[ -]*["'\w./-]+(:)[^\s/]`, noSpace},
	{"mapping values", "", `^[ -]*([^\s:-][^:]*)$`, noColon},
	{"':'", `¦["'\w./-]+(?P<at>:)\S`, "", noSpace},
	{"':'", "", `[|>][-+\d]*\s*$`, "a line of a text block must be indented more than its key: indent it by two more " +
		"spaces"},
	{"':'", "", "", noColon},
	{"expected", `["'] *¦\S`, "", "text after the closing quote: " + instead},
	{"expected", `([\])}]) *¦\S`, "", "text after the closing %s: " + instead},
	{"expected", `(?P<at>\*)[-\w]+ +¦`, "", cannotBegin + instead},
	{"expected", `^\s*¦[?:]`, "", colonInPlain},
	{"document start", `^¦`, "", "text after the end of the document: put a line `---` above it if it is another " +
		"document"},
}

// A pattern is the compiled rule.
type pattern struct{ says, here, above *regexp.Regexp }

// patterns are compiled when the first file cannot be read.
var patterns = sync.OnceValue(func() (out []pattern) {
	for _, r := range rules {
		out = append(out, pattern{regexp.MustCompile(r.says), regexp.MustCompile(r.here), regexp.MustCompile(r.above)})
	}
	return out
})

// diagnose returns the mistake because of which the parser of values refused a document.
func (p part) diagnose(err error) *Diagnostic {
	for i, r := range p.text() {
		if _, size := utf8.DecodeRuneInString(p.text()[i:]); !isYAML(r) || r == utf8.RuneError && size == 1 {
			return p.at(p.start+i, fmt.Sprintf("the control character %U, or another encoding: save the file as "+
				"UTF-8", r))
		}
	}
	t := p.parse()
	if found := (*yaml.LoadError)(nil); errors.As(t.err, &found) {
		return p.fromParser(found)
	}
	if t.root != nil {
		if d := t.sameKey(t.root); d != nil {
			return d
		}
	}
	at := p.content(p.start)
	if i := strings.Index(p.text(), "{{"); i >= 0 {
		return p.at(p.start+i, template)
	}
	if m := parserLine().FindStringSubmatch(err.Error()); m != nil { // the rest of the message may quote the file
		n, _ := strconv.Atoi(m[1])
		if d := p.byRules(otherParser, p.offsetOf(n+1, 1)); d != nil {
			return d
		}
		at = p.offsetOf(n, 1)
	}
	return p.at(at, unknown)
}

// parserLine matches the line in a message of the parser of values.
var parserLine = lazy.MustCompile(`^(?:error converting YAML to JSON: )?yaml: line (\d+): `)

// at returns the diagnostic of a mistake at an offset in the file.
func (p part) at(offset int, why string) *Diagnostic {
	return &Diagnostic{p.file.position(offset), notYAML + why}
}

// sameKey finds a key that its mapping already has, directly or by a merge, and says where.
func (t *tree) sameKey(n *yaml.Node) *Diagnostic {
	seen := map[string]*yaml.Node{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			for _, name := range namesOf(child, n.Content[i+1]) {
				if seen[name] != nil {
					return t.again(child, seen[name])
				}
				seen[name] = child
			}
		}
		if d := t.sameKey(child); d != nil {
			return d
		}
	}
	return nil
}

func (t *tree) again(key, before *yaml.Node) *Diagnostic {
	at := t.position(key)
	where := fmt.Sprintf("the same key as in line %d: ", t.position(before).Line)
	if at.Column == 1 && (key.Value == "apiVersion" || key.Value == "kind") {
		return &Diagnostic{at, where + "put a line `---` between the two objects"}
	}
	return &Diagnostic{at, where + "remove one of them, or move what it contains to the other"}
}

// namesOf returns the names of a key: its own name, or those of the mappings that it merges.
func namesOf(key, value *yaml.Node) []string {
	if !isMerge(key) {
		return []string{aliased(key).Value}
	}
	var out []string
	for _, from := range merged(value) {
		for k := range pairs(from) {
			if !isMerge(k) {
				out = append(out, aliased(k).Value)
			}
		}
	}
	return out
}

// fromParser returns the mistake at which the parser gave up.
func (p part) fromParser(e *yaml.LoadError) *Diagnostic {
	at, opened := p.offsetOf(e.Mark.Line, e.Mark.Column), p.offsetOf(e.ContextMark.Line, e.ContextMark.Column)
	says := e.ContextMsg + ": " + e.Message
	if strings.Contains(says, "simple key") || strings.Contains(says, "quoted scalar") && !strings.Contains(says,
		"escape") {
		at = opened // where the key or the quote begins, not where the parser missed its end
	}
	begin, end := p.lineOf(at)
	if m := oddSpace().FindStringSubmatchIndex(p.file.text[p.start:end]); m != nil {
		r, _ := utf8.DecodeRuneInString(p.file.text[p.start+m[2]:])
		return p.at(p.start+m[2], fmt.Sprintf("the character %U looks like a space, but is not one: replace it with "+
			"a space", r))
	}
	if d := p.open(at); d != nil {
		return d
	}
	if d := p.byRules(says, at); d != nil {
		return d
	}
	if m := keyOrItem().FindStringSubmatch(p.file.text[begin:end]); m != nil {
		return p.at(begin+len(m[1]), wrongIndent)
	}
	return p.at(at, unknown)
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

// oddSpace matches a character that looks like a space but is none, where it indents a line or follows a colon.
var oddSpace = lazy.MustCompile(`(?m)(?:^[ -]*|^[ -]*[\w.]+:)([\x{a0}\x{ad}\x{1680}\x{2000}-\x{200f}` +
	`\x{202a}-\x{202f}\x{205f}-\x{2064}\x{3000}\x{feff}])`)

// unclosed matches a line with a quote or a bracket that is not closed, and the start of a next line that begins a key
// or an item.
var unclosed = lazy.MustCompile(`(?m)^([ -]*)(?:[\w./-]+: +)?("(?:[^"\\\n]|\\.)*|'(?:[^'\n]|'')*|` +
	`[\[{][^\[\]{}\n]*[^\[\]{}\n,])\n( *)(?:- |[\w./-]+:\s)`)

// open returns the first quote or bracket that is not closed before the next key or item. The parser reads on to any
// later quote.
func (p part) open(at int) *Diagnostic {
	for _, m := range unclosed().FindAllStringSubmatchIndex(p.text(), -1) {
		start := p.start + m[4]
		switch c := p.file.text[start]; {
		case start > at || m[7]-m[6] > m[3]-m[2]:
		case c == '"' || c == '\'':
			return p.at(start, unclosedQuote)
		default: // in ASCII, a closing bracket is two after its opening bracket
			return p.at(start, fmt.Sprintf("a %c that is not closed: write %c where the value ends; if the value is "+
				"an expression, %s", c, c+2, instead))
		}
	}
	return nil
}

// keyOrItem matches a line that begins with a key or an item.
var keyOrItem = lazy.MustCompile(`^( *)(?:- |["'\w./-]+:(?:\s|$))`)
