package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
)

// syntaxDiagnostic returns a plain message for an error of CEL's parser, which reports errors in terms
// of its grammar. It reports only the first error, because later ones follow from the same mistake.
func syntaxDiagnostic(s Source, err *cel.Error) *diagnostic.Diagnostic {
	c := newScript(s.Text)
	at := c.offset(err.Location.Line(), err.Location.Column())
	message, at := c.explain(explainCEL(err.Message), at)
	if err.Location.Line() < 1 {
		return s.wrong("%s", message)
	}
	line, column := c.position(at)
	return s.wrongAt(line, column, message)
}

// A script is a source split into tokens.
type script struct {
	text   string
	tokens []token
}

type token struct {
	text string
	at   int // in bytes
	kind tokenKind
}

type tokenKind int

const (
	symbol tokenKind = iota
	word
	number
	quoted
	unclosed // a text without its closing quote
)

// Brackets, in the same order.
const (
	opening = "([{"
	closing = ")]}"
)

func (t token) end() int { return t.at + len(t.text) }

// is reports whether a token is one of the brackets.
func (t token) is(brackets string) bool {
	return t.text != "" && strings.Contains(brackets, t.text)
}

// closedBy returns the bracket that closes t, or an empty text if t is empty.
func (t token) closedBy() string {
	i := strings.Index(opening, t.text)
	return closing[i : i+len(t.text)]
}

// isValue reports whether a value can end or begin with the token. brackets are the brackets that can
// end or begin a value.
func (t token) isValue(brackets string) bool {
	return t.kind == word || t.kind == number || t.kind == quoted || t.is(brackets)
}

// String returns the token for messages.
func (t token) String() string {
	const most = 32
	if r := []rune(t.text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return t.text
}

// Texts in double quotes. A group of each is the closing quote. As in CEL, a text in single quote
// characters ends with its line.
const (
	rawText     = `(?:[rR][rRbB]?|[bB][rR])(?:"{3}.*?(?:("{3})|\z)|"[^\n"]*(")?)`
	escapedText = `[bB]{0,2}(?:"{3}(?:\\.|[^\\])*?(?:("{3})|\\?\z)|"(?:\\.|[^\\\n"])*(?:(")|\\\z)?)`
)

// lexer matches a token: a blank or comment (group 1), a text (group 2, with a group for each
// closing quote), a word, a number, or a symbol. A no-break space is a symbol.
var lexer = func() *regexp.Regexp {
	texts := rawText + "|" + escapedText
	texts += "|" + strings.ReplaceAll(texts, `"`, `'`)
	return regexp.MustCompile(`(?s)\x{a0}|([\s\v\x{85}\pZ]|//[^\n]*)|(` + texts +
		`)|([a-zA-Z_]\w*)|([0-9][\w.]*|\.[0-9][\w.]*)|&&|\|\||[=!<>]=|.`)
}()

func newScript(text string) *script {
	c := &script{text: text}
	for _, m := range lexer.FindAllStringSubmatchIndex(text, -1) {
		t := token{text: text[m[0]:m[1]], at: m[0]}
		groups := m[2:]
		last := len(groups) - 4 // of word and number
		switch {
		case groups[0] >= 0:
			continue
		case groups[2] >= 0 && slices.Max(groups[4:last]) < 0:
			t.kind = unclosed
		case groups[2] >= 0:
			t.kind = quoted
		case groups[last] >= 0:
			t.kind = word
		case groups[last+2] >= 0:
			t.kind = number
		}
		c.tokens = append(c.tokens, t)
	}
	return c
}

// offset returns the offset in bytes of a line, from 1, and a column in characters, from 0.
func (c *script) offset(line, column int) (at int) {
	for ; line > 1; line-- {
		at += strings.IndexByte(c.text[at:], '\n') + 1
	}
	for ; column > 0 && at < len(c.text); column-- {
		_, width := utf8.DecodeRuneInString(c.text[at:])
		at += width
	}
	return at
}

// position returns the line and column of an offset, from 1.
func (c *script) position(at int) (line, column int) {
	before := c.text[:at]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

var lastWord = regexp.MustCompile(`\w*$`)

// nameBefore returns the offset of the function name before the bracket at an offset.
func (c *script) nameBefore(at int) int {
	if !strings.HasPrefix(c.text[at:], "(") {
		return at
	}
	return lastWord.FindStringIndex(c.text[:at])[0]
}

// explain returns a message for an error of CEL at an offset. The mistake may be at another offset.
func (c *script) explain(said string, at int) (message string, where int) {
	if !strings.HasPrefix(said, grammarMessage) {
		return said, at
	}
	i := slices.IndexFunc(c.tokens, func(t token) bool { return t.end() > at })
	if i < 0 {
		i = len(c.tokens)
	}
	if message, j := c.foreign(min(i+1, len(c.tokens))); message != "" {
		return message, c.tokens[j].at
	}
	if i == len(c.tokens) {
		return c.endsEarly(strings.HasSuffix(said, noColonMessage)), len(c.text)
	}
	if i > 0 && c.tokens[i-1].text == "not" {
		return "there is no operator not: write ! before the value", c.tokens[i-1].at
	}
	return c.unexpected(i), c.tokens[i].at
}

// foreignOperators are two consecutive tokens that are an operator in other languages.
var foreignOperators = map[string]string{ //nolint:gochecknoglobals // a table
	"{{": "{{ }} belongs to Go templates, but this is CEL: write its content as an expression, " +
		"for example resources.db.status.host",
	"${":  "${ belongs to other template languages, but this is CEL: write 'text' + value, or 'text %s'.format([value])",
	"$(":  "$( belongs to other template languages, but this is CEL: write 'text' + value, or 'text %s'.format([value])",
	"??":  "there is no operator ??: for a default write for example resource.?status.?host.orValue('none')",
	"?.":  "there is no operator ?.: write the dot first, as in resource.?status.?host",
	"===": "there is no operator ===: write ==",
	"!==": "there is no operator !==: write !=",
	"=>":  "there is no =>: write list.map(x, x.name)",
}

// foreign finds the syntax of other languages in the first n tokens.
func (c *script) foreign(n int) (message string, at int) {
	for i, t := range c.tokens[:n] {
		if i+1 < len(c.tokens) && c.tokens[i+1].at == t.end() {
			if text, ok := foreignOperators[t.text+c.tokens[i+1].text]; ok {
				return text, i
			}
		}
		if t.kind == unclosed {
			return "the text that begins here does not end: close it with " + strings.TrimLeft(t.text, "rRbB")[:1], i
		}
		if bad := badEscape(t.text); t.kind == quoted && bad != "" {
			return bad + ` is not a valid escape in a text: write \` + bad + " for a backslash, or r before the text", i
		}
	}
	return "", 0
}

// escape matches a backslash with the character that it escapes.
var escape = regexp.MustCompile(`(?s)\\.`)

// badEscape returns the first invalid escape in a text.
func badEscape(text string) string {
	if prefix, _, _ := strings.Cut(strings.ReplaceAll(text, `"`, `'`), `'`); strings.ContainsAny(prefix, "rR") {
		return ""
	}
	for _, e := range escape.FindAllString(text, -1) {
		if !strings.ContainsAny(e[1:], "abfnrtv\\?\"'`xXuU01234567") {
			return e
		}
	}
	return ""
}

// open returns the innermost bracket that is open before a token. Its text is empty if there is none.
func (c *script) open(i int) token {
	open := []token{{}}
	for _, t := range c.tokens[:i] {
		switch {
		case t.is(opening):
			open = append(open, t)
		case t.is(closing) && len(open) > 1:
			open = open[:len(open)-1]
		}
	}
	return open[len(open)-1]
}

func (c *script) notClosed(t token) string {
	line, column := c.position(t.at)
	return fmt.Sprintf("the %s at %d:%d is not closed", t.text, line, column)
}

// endsEarly returns a message about the missing end.
func (c *script) endsEarly(noColon bool) string {
	if len(c.tokens) == 0 {
		return "contains no expression: write one, or leave the field out"
	}
	last, open := c.tokens[len(c.tokens)-1], c.open(len(c.tokens))
	switch {
	case !last.isValue(closing) && !last.is(opening):
		return fmt.Sprintf("ends too early: a value is missing after %s", last)
	case open.text != "":
		return fmt.Sprintf("ends too early: %s: write %s", c.notClosed(open), open.closedBy())
	case noColon:
		return "ends too early: write condition ? one : other"
	}
	return "ends too early: something is missing at its end"
}

// Operators of other languages, and single characters that are not part of CEL.
var instead = map[string]string{ //nolint:gochecknoglobals // a table
	"&": "there is no operator &: write &&", "and": "there is no operator and: write &&",
	"|":  "there is no operator |: write || for or, or name(value) for a function",
	"or": "there is no operator or: write ||", "=": "there is no operator =: write ==", "is": "there is no operator is: write ==",
	"for": "there is no for: write list.map(x, x.name) or list.filter(x, x.ready)",
	"#":   "# does not begin a comment: write //", ";": "there is no ; in an expression: leave it out",
	"$": "$ cannot be part of a name: leave it out", "`": "` cannot quote a text: write '",
	"‘": "‘ cannot quote a text: write '", "’": "’ cannot quote a text: write '",
	"“": "“ cannot quote a text: write \"", "”": "” cannot quote a text: write \"",
	"\u00a0": "this is a no-break space (U+00A0): write a plain space",
}

// textInQuotes is the hint for text that is not in quotes.
const textInQuotes = "text in its own quotes, as in "

// unexpected returns a message about a token in a wrong place, or about a missing token before it.
func (c *script) unexpected(i int) string {
	t, before, open := c.tokens[i], token{}, c.open(i)
	if i > 0 {
		before = c.tokens[i-1]
	}
	switch text, ok := instead[t.text]; {
	case ok:
		return text
	case !t.is(closing) || open.closedBy() == t.text:
		return c.misplaced(t, before, open)
	case open.text == "":
		return fmt.Sprintf("there is one %s too many: leave it out", t)
	}
	return fmt.Sprintf("%s: write %s before %s", c.notClosed(open), open.closedBy(), t)
}

// misplaced returns a message about a token that does not fit the token before it or the open bracket.
func (c *script) misplaced(t, before, open token) string {
	afterValue, beginsValue := before.isValue(closing), t.isValue(opening)
	switch {
	case afterValue && t.kind == number && t.text[0] == '.':
		return fmt.Sprintf("%s does not select anything: write [%s] for an element of a list", t, t.text[1:])
	case t.text == "," && open.text == "":
		return "returns more than one value: join them with +, or write [ ] around a list"
	case t.text == ":" && open.text == "":
		return "unexpected : in an expression: write " + textInQuotes + "\"'https://host:443'\""
	case afterValue && beginsValue:
		return fmt.Sprintf("unexpected %s after %s: write an operator between them, such as +, and %s\"'some text'\"",
			t, before, textInQuotes)
	}
	if !beginsValue && !afterValue {
		return fmt.Sprintf("a value is missing before %s", t)
	}
	if open.text != "" {
		return fmt.Sprintf("unexpected %s: %s: write %s before it, or a comma", t, c.notClosed(open), open.closedBy())
	}
	return fmt.Sprintf("unexpected %s: leave it out, or write %s\"'some text'\"", t, textInQuotes)
}
