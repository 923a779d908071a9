package expression

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
)

// syntaxFault says in words what CEL's parser says in those of its grammar. It is
// about the first error alone: those behind it are of the same mistake.
func syntaxFault(s Source, err *cel.Error) Fault {
	c := newScript(s.Text)
	at := c.offset(err.Location.Line(), err.Location.Column())
	message, at := c.explain(strings.Join(strings.Fields(err.Message), " "), at)
	if err.Location.Line() < 1 {
		return Fault{Path: s.Path, Message: message}
	}
	line, column := c.position(at)
	return Fault{Path: fmt.Sprintf("%s:%d:%d", s.Path, line, column), Message: message}
}

// A script is a source in tokens.
type script struct {
	runes  []rune
	tokens []token
}

type token struct {
	text string
	at   int // in code points
	kind tokenKind
}

type tokenKind int

const (
	symbol tokenKind = iota
	word
	number
	quoted
	unclosed // a text without its second quote
)

func (t token) end() int { return t.at + len([]rune(t.text)) }

// isValue reports whether a value can end, or begin, with the token.
func (t token) isValue(end bool) bool {
	if t.kind != symbol || t.text == "" {
		return t.kind != unclosed && t.text != ""
	}
	if end {
		return strings.Contains(")]}", t.text)
	}
	return strings.Contains("([{", t.text)
}

// String is the token in texts.
func (t token) String() string {
	const most = 32
	if r := []rune(t.text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return t.text
}

func newScript(text string) *script {
	c := &script{runes: []rune(text)}
	for at := 0; at < len(c.runes); {
		r := c.runes[at]
		switch {
		case unicode.IsSpace(r) && r != '\u00a0':
			at++
			continue
		case strings.HasPrefix(string(c.runes[at:min(len(c.runes), at+2)]), "//"):
			for at < len(c.runes) && c.runes[at] != '\n' {
				at++
			}
			continue
		}
		t := c.token(at)
		c.tokens = append(c.tokens, t)
		at = t.end()
	}
	return c
}

func isWord(r rune) bool {
	return r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func (c *script) token(at int) token {
	if end, closed := c.quotedText(at); end > 0 {
		kind := quoted
		if !closed {
			kind = unclosed
		}
		return token{string(c.runes[at:end]), at, kind}
	}
	end := at + 1
	first := c.runes[at]
	next := rune(0)
	if end < len(c.runes) {
		next = c.runes[end]
	}
	kind := symbol
	switch {
	case isWord(first), first == '.' && unicode.IsDigit(next):
		kind = word
		if unicode.IsDigit(first) || first == '.' {
			kind = number
		}
		for end < len(c.runes) && (isWord(c.runes[end]) || kind == number && c.runes[end] == '.') {
			end++
		}
	case slices.Contains([]string{"&&", "||", "==", "!=", "<=", ">="}, string([]rune{first, next})):
		end++
	}
	return token{string(c.runes[at:end]), at, kind}
}

// quotedText is where a text ends that begins here, and whether it is closed; 0 if
// none begins. Like CEL's, one in single quotes ends with its line.
func (c *script) quotedText(at int) (end int, closed bool) {
	i, raw := at, false
	for i < len(c.runes) && i < at+2 && strings.ContainsRune("rRbB", c.runes[i]) {
		raw = raw || c.runes[i] == 'r' || c.runes[i] == 'R'
		i++
	}
	if i >= len(c.runes) || c.runes[i] != '\'' && c.runes[i] != '"' {
		return 0, false
	}
	quote := string(c.runes[i])
	if strings.HasPrefix(string(c.runes[i:min(len(c.runes), i+3)]), strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for i += len(quote); i < len(c.runes); i++ {
		switch {
		case strings.HasPrefix(string(c.runes[i:min(len(c.runes), i+len(quote))]), quote):
			return i + len(quote), true
		case c.runes[i] == '\n' && len(quote) == 1:
			return i, false
		case c.runes[i] == '\\' && !raw:
			i++
		}
	}
	return len(c.runes), false
}

// offset of a line, from 1, and a column, from 0.
func (c *script) offset(line, column int) int {
	at := 0
	for ; line > 1 && at < len(c.runes); at++ {
		if c.runes[at] == '\n' {
			line--
		}
	}
	return min(at+column, len(c.runes))
}

// position of an offset: its line and column, from 1.
func (c *script) position(at int) (line, column int) {
	before := string(c.runes[:at])
	return 1 + strings.Count(before, "\n"), at - len([]rune(before[:strings.LastIndexByte(before, '\n')+1])) + 1
}

// explain an error at an offset. The mistake may stand elsewhere.
func (c *script) explain(said string, at int) (message string, where int) {
	i := slices.IndexFunc(c.tokens, func(t token) bool { return t.end() > at })
	if i < 0 {
		i = len(c.tokens)
	}
	if reserved, ok := strings.CutPrefix(said, "reserved identifier: "); ok {
		return explainReserved(reserved), at
	}
	if grammar, ok := strings.CutPrefix(said, "Syntax error: "); !ok || strings.Contains(grammar, "limit") {
		return explainParser(said), at
	}
	if message, j := c.foreign(min(i+1, len(c.tokens))); message != "" {
		return message, c.tokens[j].at
	}
	if i == len(c.tokens) {
		return c.endsEarly(said), len(c.runes)
	}
	if i > 0 && c.tokens[i-1].text == "not" {
		return "not is no operator: write ! in front of the value", c.tokens[i-1].at
	}
	return c.unexpected(i), c.tokens[i].at
}

// explainParser explains what is not of grammar.
func explainParser(said string) string {
	switch {
	case strings.Contains(said, "invalid argument to has()"):
		return "has() takes a field: write for example has(resource.status.host)"
	case strings.Contains(said, "argument must be a simple name"), strings.Contains(said, "must be an identifier"), strings.Contains(said, "must be a simple name"):
		return said + ": a name for each element comes first, as in list.map(x, x.name)"
	case strings.Contains(said, "limit"), strings.Contains(said, "recursion"):
		return "is nested too deep: split it into variables"
	case strings.HasPrefix(said, "invalid ") && strings.HasSuffix(said, " literal"):
		return said + ": it does not fit into 64 bits"
	}
	return said
}

func explainReserved(name string) string {
	switch name {
	case "if":
		return "there is no if: write condition ? one : other"
	case "let", "var", "const":
		return fmt.Sprintf("there is no %s: an expression is one value; put parts of it under variables", name)
	case "for", "while", "loop":
		return fmt.Sprintf("there is no %s: write list.map(x, x.name) or list.filter(x, x.ready)", name)
	case "return":
		return "there is no return: leave it out"
	}
	return fmt.Sprintf("%s is a reserved word, which no variable is called: write what it is a field of, for example composite.metadata.%s", name, name)
}

// foreign finds what other languages have among the first n tokens.
func (c *script) foreign(n int) (message string, at int) {
	for i, t := range c.tokens[:n] {
		next := token{}
		if i+1 < len(c.tokens) && c.tokens[i+1].at == t.end() {
			next = c.tokens[i+1]
		}
		switch t.text + next.text {
		case "{{":
			return "{{ }} is of Go templates, and this is CEL: write what is inside as an expression, for example resources.db.status.host", i
		case "${", "$(":
			return fmt.Sprintf("%s is of other templates, and this is CEL: write 'text' + value, or 'text %%s'.format([value])", t.text+next.text), i
		case "??":
			return "?? is no operator: for a default write for example resource.?status.?host.orValue('none')", i
		case "?.":
			return "?. is no operator: write the dot first, as in resource.?status.?host", i
		case "===", "!==":
			return t.text + "= is no operator: write " + t.text, i
		case "=>":
			return "there is no =>: write list.map(x, x.name)", i
		}
		if t.kind == unclosed {
			return fmt.Sprintf("a text begins here, and does not end: close it with %s", strings.TrimLeft(t.text, "rRbB")[:1]), i
		}
		if t.kind == quoted {
			if bad := badEscape(t.text); bad != "" {
				return fmt.Sprintf("%s means nothing in a text: write %s for a backslash, or r in front of the text", bad, `\`+bad), i
			}
		}
	}
	return "", 0
}

// badEscape is the first backslash, and what is behind it, that no text can have.
func badEscape(text string) string {
	if strings.ContainsAny(text[:1], "rR") || strings.ContainsAny(text[:min(2, len(text))], "rR") && text[0] != '\'' && text[0] != '"' {
		return ""
	}
	runes := []rune(text)
	for i := 0; i+1 < len(runes); i++ {
		if runes[i] != '\\' {
			continue
		}
		if !strings.ContainsRune("abfnrtv\\?\"'`xXuU01234567", runes[i+1]) {
			return string(runes[i : i+2])
		}
		i++
	}
	return ""
}

// open brackets in front of a token.
func (c *script) open(i int) []token {
	var out []token
	for _, t := range c.tokens[:i] {
		switch {
		case t.kind != symbol:
		case strings.Contains("([{", t.text):
			out = append(out, t)
		case strings.Contains(")]}", t.text) && len(out) > 0:
			out = out[:len(out)-1]
		}
	}
	return out
}

// closing are the brackets that close others.
var closing = map[string]string{"(": ")", "[": "]", "{": "}"} //nolint:gochecknoglobals // a table

func (c *script) notClosed(t token) string {
	line, column := c.position(t.at)
	return fmt.Sprintf("the %s at %d:%d is not closed", t.text, line, column)
}

// endsEarly says what is missing at the end.
func (c *script) endsEarly(said string) string {
	if len(c.tokens) == 0 {
		return "holds no expression: write one, or leave the field out"
	}
	last := c.tokens[len(c.tokens)-1]
	open := c.open(len(c.tokens))
	switch {
	case !last.isValue(true) && !strings.Contains("([{", last.text):
		return fmt.Sprintf("ends too early: a value is missing behind %s", last)
	case len(open) > 0:
		t := open[len(open)-1]
		return fmt.Sprintf("ends too early: %s: write %s", c.notClosed(t), closing[t.text])
	case strings.HasSuffix(said, "expecting ':'"):
		return "ends too early: behind condition ? one comes : other"
	}
	return "ends too early: something is missing at its end"
}

// What other languages have for an operator, and single characters that CEL does not
// know.
var instead = map[string]string{ //nolint:gochecknoglobals // a table
	"&": "& is no operator: write &&", "and": "and is no operator: write &&", "or": "or is no operator: write ||",
	"=": "= is no operator: write ==", "is": "is is no operator: write ==", "|": "| is no operator: write || for or, and name(value) for a function",
	"for": "there is no for: write list.map(x, x.name) or list.filter(x, x.ready)",
	"#":   "# begins no comment: write //", ";": "; ends nothing: leave it out", "$": "$ is part of no name: leave it out",
	"`": "` quotes no text: write '", "‘": "‘ is no quote: write '", "’": "’ is no quote: write '", "“": "“ is no quote: write \"", "”": "” is no quote: write \"",
	"\u00a0": "a blank that is none (U+00A0, no-break space) stands here: write a plain one",
}

// unexpected says what a token is, that cannot stand where it does, or what is missing
// in front of it.
func (c *script) unexpected(i int) string {
	t := c.tokens[i]
	before := token{}
	if i > 0 {
		before = c.tokens[i-1]
	}
	open := c.open(i)
	if text, ok := instead[t.text]; ok && t.kind != quoted {
		return text
	}
	switch {
	case t.kind == symbol && strings.Contains(")]}", t.text) && len(open) == 0:
		return fmt.Sprintf("there is one %s too many: leave it out", t)
	case t.kind == symbol && strings.Contains(")]}", t.text) && closing[open[len(open)-1].text] != t.text:
		last := open[len(open)-1]
		return fmt.Sprintf("%s: write %s in front of %s", c.notClosed(last), closing[last.text], t)
	case t.kind == number && strings.HasPrefix(t.text, ".") && before.isValue(true):
		return fmt.Sprintf("%s selects nothing: write [%s] for an element of a list", t, t.text[1:])
	case t.text == "," && len(open) == 0:
		return "gives more than one value: join them with +, or write [ ] around a list"
	case t.text == ":" && len(open) == 0:
		return "unexpected : in an expression: write text in quotes of its own, as in \"'https://host:443'\""
	case i > 0 && before.isValue(true) && t.isValue(false):
		return fmt.Sprintf("unexpected %s behind %s: write an operator between them, such as +, and text in quotes of its own, as in \"'some text'\"", t, before)
	case !t.isValue(false) && !before.isValue(true):
		return fmt.Sprintf("a value is missing in front of %s", t)
	case len(open) > 0:
		last := open[len(open)-1]
		return fmt.Sprintf("unexpected %s: %s: write %s in front of it, or a comma", t, c.notClosed(last), closing[last.text])
	}
	return fmt.Sprintf("unexpected %s: leave it out, or write text in quotes of its own, as in \"'some text'\"", t)
}
