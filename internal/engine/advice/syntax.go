package advice

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// syntax returns a plain message for an error of CEL's parser, which reports errors in terms of its grammar.
func (m *explainer) syntax(err *expression.Error) *diagnostic.Diagnostic {
	message, at := m.script().explain(explainCEL(err.Text), m.at(err))
	m.script().correctToken(at, message)
	if m.Source.Want.IsMap() && strings.HasPrefix(message, unexpectedColon) {
		message = unexpectedColon + ": write { } around the entries, and quotes around the keys, {'key': value}"
	}
	if err.Line < 1 {
		return m.Source.At(0, 0, message)
	}
	return m.wrong(at, message)
}

// A script is a source split into tokens.
type script struct {
	text        string
	tokens      []token
	corrections []correction // of the mistake that is explained
}

type token struct {
	text string
	at   int // in bytes
	kind tokenKind
}

type tokenKind int

const (
	symbol tokenKind = iota
	blank            // or a comment; no token is one
	word
	number
	quoted
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

// lexer matches a token: a blank or comment, a text, a word, a number, or a symbol. A no-break space is a symbol, and
// also the quote of a text that does not end.
var lexer = func() *regexp.Regexp {
	texts := `[rRbB]{0,2}"{3}.*?"{3}|[bB]?[rR][bB]?"[^\n"]*"|[bB]?"(?:\\.|[^\\\n"])*"`
	texts += "|" + strings.ReplaceAll(texts, `"`, `'`)
	return regexp.MustCompile(`(?s)\x{a0}|([\s\v\x{85}\pZ]|//[^\n]*)|(` + texts +
		`)|([a-zA-Z_]\w*)|([0-9][\w.]*|\.[0-9][\w.]*)|&&|\|\||[=!<>]=|.`)
}()

func newScript(text string) *script {
	c := &script{text: text}
	for _, m := range lexer.FindAllStringSubmatchIndex(text, -1) {
		t := token{text: text[m[0]:m[1]], at: m[0]}
		for group, kind := range []tokenKind{blank, quoted, word, number} {
			if m[2+2*group] >= 0 {
				t.kind = kind
			}
		}
		if t.kind != blank {
			c.tokens = append(c.tokens, t)
		}
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

var lastWord = lazy.MustCompile(`\w*$`)

// nameBefore returns the offset of the function name before the bracket at an offset.
func (c *script) nameBefore(at int) int {
	if !strings.HasPrefix(c.text[at:], "(") {
		return at
	}
	return lastWord().FindStringIndex(c.text[:at])[0]
}

// explain returns a message for an error of CEL at an offset. The mistake may be at another offset.
func (c *script) explain(said string, at int) (message string, where int) {
	if said == explainedHas {
		return c.fieldOfHas(at), at
	}
	if !strings.HasPrefix(said, grammarMessage) {
		return said, at
	}
	if m := template().FindStringSubmatchIndex(c.text); m != nil {
		return c.inserted(c.text[m[2]:m[3]]), m[2]
	}
	i := slices.IndexFunc(c.tokens, func(t token) bool { return t.end() > at })
	if i < 0 {
		i = len(c.tokens)
	}
	if message, j := c.foreign(min(i+2, len(c.tokens)), i); message != "" {
		return message, c.tokens[j].at
	}
	if i == len(c.tokens) {
		return c.endsEarly(strings.HasSuffix(said, noColonMessage)), len(c.text)
	}
	if message, ok := insteadBefore[c.token(i-1).text]; ok && c.tokens[i].isValue(opening) {
		return message, c.tokens[i-1].at
	}
	return c.unexpected(i), c.tokens[i].at
}

// hasPatterns are arguments of has that are no fields.
var hasPatterns = patterns([][2]string{ //nolint:gochecknoglobals // a table
	{`^(` + strings.Join(inputs, "|") + `)$`, "has takes a field, and $1 always exists: " +
		"write for example has(resources.db), or has(resource.status.host)"},
	{`^([\w.\[\]'"]*\?[\w.?\[\]'"]*)$`, "has takes a field without ?: write $1.hasValue()"},
	{`^([A-Za-z_][\w.\[\]'"]*)\[['"]([A-Za-z_]\w*)['"]\]$`, "has takes a field: write has($1.$2)"},
	{`^([A-Za-z_][\w.\[\]'"]*)\[([0-9]+)\]$`, "has takes a field, not an element: write size($1) > $2"},
	{`^([A-Za-z_][\w.\[\]'"]*)\[([^\[\]]*)\]$`, "has takes a field: write $2 in $1"},
})

// fieldOfHas returns the message for has() whose argument at an offset is not a field.
func (c *script) fieldOfHas(at int) string {
	begin := max(strings.LastIndex(c.text[:at], "has("), 0) + len("has(")
	brackets := c.bracket(begin - 1)
	message := messageFor(hasPatterns, strings.TrimSuffix(strings.TrimPrefix(brackets, "("), ")"))
	if _, test, ok := strings.Cut(message, ": write "); ok && !strings.HasPrefix(test, "for example") {
		from := begin - len("has(")
		if strings.HasSuffix(c.text[:from], "!") && !strings.HasSuffix(test, ")") {
			test = "(" + test + ")"
		}
		c.replace(from, begin-1+len(brackets), test, message)
	}
	return cmp.Or(message, explainedHas)
}

// escape matches a backslash with the character that it escapes.
var escape = lazy.MustCompile(`(?s)\\.`)

// badEscape returns the first invalid escape in a text.
func badEscape(text string) string {
	if prefix, _, _ := strings.Cut(strings.ReplaceAll(text, `"`, `'`), `'`); strings.ContainsAny(prefix, "rR") {
		return ""
	}
	for _, e := range escape().FindAllString(text, -1) {
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
	open := c.open(len(c.tokens))
	switch {
	case noColon && open.text == "":
		return "ends too early: write condition ? one : other"
	case open.text != "" && c.tokens[len(c.tokens)-1].isValue(opening+closing):
		return fmt.Sprintf("ends too early: %s: write %s", c.notClosed(open), open.closedBy())
	}
	return fmt.Sprintf("ends too early: a value is missing after %s", c.tokens[len(c.tokens)-1])
}

// textInQuotes is the hint for text that is not in quotes.
const textInQuotes = "text in its own quotes, as in "

const unexpectedColon = "unexpected : in an expression"

// unexpected returns a message about a token in a wrong place, or about a missing token before it.
func (c *script) unexpected(i int) string {
	t, before, open := c.tokens[i], c.token(i-1), c.open(i)
	switch text := cmp.Or(messageFor(misplaced, c.place(i)), c.insteadOf(i)); {
	case text != "":
		return text
	case before.kind == quoted && before.end() == t.at && (t.kind == word || t.kind == quoted):
		quote := before.text[len(before.text)-1:]
		return fmt.Sprintf(`the text ends before %s: write \%s for a %s inside a text%s`, t, quote, quote, inYAML[quote])
	case t.text == "," && open.text == "(" && strings.HasSuffix(strings.TrimSpace(c.text[:open.at]), "%"):
		return "% divides numbers: write '%s'.format([...]) to put values into a text"
	}
	return strings.NewReplacer("{token}", t.String(), "{before}", before.String(), "{open}", c.notClosed(open), "{close}",
		open.closedBy()).Replace(messageFor(unexpectedTokens, c.place(i)))
}

// insteadOf returns a message about a token that is an operator in other languages.
func (c *script) insteadOf(i int) string {
	t := c.tokens[i]
	switch path := translated(c.text[t.end():]); {
	case t.text == "$" && path != "":
		return "$ cannot be part of a name" + c.replace(t.at, len(c.text), path, suggest.DidYouMean(path))
	case t.text == "|":
		return c.insteadOfPipe(i)
	case t.text == "or":
		return instead["or"] + c.withDefaultBefore(t.at, c.literalAt(i+1))
	}
	return instead[t.text]
}

// insteadOfPipe returns a message about a pipe to a function of another language.
func (c *script) insteadOfPipe(i int) string {
	const what = "there is no operator |: "
	at, next := c.tokens[i].at, c.token(i+1).text
	switch {
	case next == "default":
		return what + "for a default write " + c.withDefaultBefore(at, c.literalAt(i+2))
	case isDecoding(next) && isSecret(pathBefore(c.text[:at])):
		return c.replace(len(strings.TrimRight(c.text[:at], " \n")), c.token(i+1).end(), "",
			fmt.Sprintf("%sleave | %s out: %s", what, next, alreadyDecoded))
	case foreignHint(next) != "":
		return what + foreignHint(next)
	}
	return instead["|"]
}

// token returns a token, or an empty one before the first and after the last.
func (c *script) token(i int) token {
	if i < 0 || i >= len(c.tokens) {
		return token{}
	}
	return c.tokens[i]
}

// place describes the place of a token for patterns: the bracket that is open, the token before it, and the token, each
// with a space after it. A text is ”, and ∅ means that there is none.
func (c *script) place(i int) (place string) {
	for _, t := range []token{c.open(i), c.token(i - 1), c.tokens[i]} {
		if t.kind == quoted {
			t.text = "''"
		}
		place += cmp.Or(t.text, "∅") + " "
	}
	return place
}

// misplaced are the messages about the place of a token.
var misplaced = patterns([][2]string{ //nolint:gochecknoglobals // a table
	{`^∅ ((?i)cel|expr|expression) : $`, "the field is already CEL: leave the prefix $1: out"},
	{`^\S+ [\w')}\]]\S* \.(\d\w*) $`,
		".$1 does not select anything: write ['$1'] for a key, or [$1] for an element of a list"},
	{`^\S+ \S+ ([0-9]+[A-Za-z_.][\w.]{0,31}) $`, "$1 is not a number: write it in quotes, '$1'"},
	{`^\S+ (string|int|double|bool|bytes|size|has) [A-Za-z_]\w* $`, "$1 is a function: write $1(...) around the value"},
	{`^\S+ [^\w')}\]]\S* / $`, "a value is missing before /: write a regular expression as a text, and a " +
		"comment after //"},
	{`^∅ \S+ , $`, "returns more than one value: join them with +, or write [ ] around a list"},
	{`^∅ \S+ : $`, unexpectedColon + ": write " + textInQuotes + "\"'https://host:443'\"" +
		", or with values \"'https://%s:443'.format([value])\""},
	{`^\{ \S+ = $`, "there is no = in a map: write : between a key and its value"},
	{`^\{ \S+ ; $`, "there is no ; in a map: write a comma between two entries"},
	{`^\[ \S+ : $`, "there is no slice [a:b]: write text.substring(0, 3) or list.slice(0, 3)"},
})

// unexpectedTokens are the messages about any other token, the token before it, and the bracket that is open.
var unexpectedTokens = patterns([][2]string{ //nolint:gochecknoglobals // a table
	{`^∅ \S+ [)\]}] $`, "there is one {token} too many: leave it out"},
	{`^(\( \S+ [\]}]|\[ \S+ [)}]|\{ \S+ [)\]]) $`, "{open}: write {close} before {token}"},
	{`^\S+ [\w')}\]]\S* ([\w'(\[{]|\.\d)\S* $`, "unexpected {token} after {before}: write an operator between them, " +
		"such as +, and " + textInQuotes + "\"'some text'\""},
	{`^\S+ [^\w')}\]]\S* ([^\w'(\[{.]\S*|\.) $`, "a value is missing before {token}"},
	{`^\S+ \S+ } $`, "{ } is a map here: leave { and } out, or write {'key': value}, or for a text " + exampleText},
	{`^[(\[{] `, "unexpected {token}: {open}: write {close} before it, or a comma"},
	{``, "unexpected {token}: leave it out, or write " + textInQuotes + "\"'some text'\""},
})

// inYAML is how a quote is escaped in YAML.
var inYAML = map[string]string{ //nolint:gochecknoglobals // a table
	"'": `, and \\' if YAML has the expression in double quotes`,
}
