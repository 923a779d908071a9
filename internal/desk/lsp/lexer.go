package lsp

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A tokenKind is a class of words of CEL.
type tokenKind int

const (
	tokenName tokenKind = iota
	tokenNumber
	tokenText
	tokenComment
	tokenOperator // and all other signs
	tokenUnknown
)

// A token is a word of an expression, with its offsets in bytes.
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// tokenForm matches a token. CEL's own lexer stops at the first mistake and drops comments; a text that does not end is
// a token here, because somebody is just typing it.
var tokenForm = lazy.MustCompile(`(?s)^(?:` +
	`([A-Za-z_]\w*|` + "`[^`\n]*`" + `)|` + // a name
	`(0x[0-9a-fA-F]+[uU]?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[uU]?|\.\d+(?:[eE][-+]?\d+)?)|` + // a number
	`([bB]?[rR]?(?:"""|'''|["']))|` + // the start of a text
	`(//[^\n]*)|` + // a comment
	`(&&|\|\||[<>=!]=|\.\?|\[\?|[-+*/%<>!?:.,()\[\]{}])` + // a sign
	`)`)

// textStart matches the prefix and the quotes of a text, which a name could also begin.
var textStart = lazy.MustCompile(`^(?:[bB][rR]?|[rR][bB]?)?(?:"""|'''|["'])`)

// tokensOf returns the tokens of an expression.
func tokensOf(text string) []token {
	var out []token
	for at := 0; at < len(text); {
		rest := text[at:]
		if blank := len(rest) - len(strings.TrimLeft(rest, " \t\r\n")); blank > 0 {
			at += blank
			continue
		}
		t := token{kind: tokenUnknown, start: at, end: at + 1}
		if opening := textStart.FindString(rest); opening != "" {
			t.kind, t.end = tokenText, at+textEnd(rest, opening)
		} else if m := tokenForm.FindStringSubmatchIndex(rest); m != nil {
			t.end = at + m[1]
			group := slices.IndexFunc([]int{m[2], m[4], m[6], m[8], m[10]}, func(i int) bool { return i >= 0 })
			t.kind = tokenKind(group)
		}
		for t.kind == tokenUnknown && t.end < len(text) && text[t.end]&0xc0 == 0x80 { // a character has several bytes
			t.end++
		}
		t.text = text[t.start:t.end]
		out = append(out, t)
		at = t.end
	}
	return out
}

// textEnd returns the length of a text that begins with its prefix and quotes. A text in single quotes ends with its line.
func textEnd(rest, opening string) int {
	quote := strings.TrimLeft(opening, "bBrR")
	raw := strings.ContainsAny(opening[:len(opening)-len(quote)], "rR")
	for i := len(opening); i < len(rest); i++ {
		switch {
		case strings.HasPrefix(rest[i:], quote):
			return i + len(quote)
		case rest[i] == '\\' && !raw:
			i++
		case rest[i] == '\n' && len(quote) == 1:
			return i
		}
	}
	return len(rest)
}

// textValue returns the content of a text without escapes, and whether its quotes are closed.
func (t token) textValue() (value string, closed bool) {
	opening := textStart.FindString(t.text)
	quote := strings.TrimLeft(opening, "bBrR")
	value, closed = strings.CutSuffix(t.text[len(opening):], quote)
	return value, closed
}

// isName reports whether a token is a name that can be one of a variable or a field.
func (t token) isName() bool { return t.kind == tokenName }

func (t token) is(signs ...string) bool {
	return t.kind == tokenOperator && slices.Contains(signs, t.text)
}

// closersOf returns the brackets that close those that are open after tokens.
func closersOf(tokens []token) string {
	out := ""
	for _, t := range tokens {
		switch {
		case t.is("("):
			out = ")" + out
		case t.is("[", "[?"):
			out = "]" + out
		case t.is("{"):
			out = "}" + out
		case t.is(")", "]", "}") && out != "" && out[0] == t.text[0]:
			out = out[1:]
		}
	}
	return out
}

// A chain is a path that an expression selects: a name, and what is selected from it. A part that is not a literal name
// is empty.
type chain struct {
	tokens []token  // of the names
	names  []string // the first one is the variable
	start  int      // offset of the first one
}

// chainBefore returns the chain that ends with the token before an index, or false if a call, a bracket or an operator
// is there. With part of it, as in a.b('x').c, names has an empty name for what is not literal.
func chainBefore(tokens []token, end int) (chain, bool) {
	c := chain{}
	i := end - 1
	for i >= 0 {
		t := tokens[i]
		switch {
		case t.is("]"):
			open := openingOf(tokens, i)
			if open <= 0 {
				return c, false
			}
			part, name := token{}, ""
			if open == i-2 && tokens[i-1].kind == tokenText {
				part = tokens[i-1]
				name, _ = part.textValue()
			}
			c.add(part, name)
			i = open - 1
			continue
		case t.isName():
			c.add(t, strings.Trim(t.text, "`"))
			c.start = t.start
		default:
			return c, false
		}
		if i == 0 || !tokens[i-1].is(".", ".?") {
			return c, true
		}
		if i -= 2; i < 0 {
			return c, false
		}
	}
	return c, false
}

func (c *chain) add(t token, name string) {
	c.tokens, c.names = slices.Insert(c.tokens, 0, t), slices.Insert(c.names, 0, name)
}

// openingOf returns the index of the bracket that a closing one closes, or -1.
func openingOf(tokens []token, closing int) int {
	depth := 0
	for i := closing; i >= 0; i-- {
		switch {
		case tokens[i].is(")", "]", "}"):
			depth++
		case tokens[i].is("(", "[", "[?", "{"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// receiverStart returns the index of the first token of the operand that ends before an index: names, calls, brackets
// and texts that dots join.
func receiverStart(tokens []token, end int) int {
	i := end - 1
	for i >= 0 {
		t := tokens[i]
		if t.is(")", "]", "}") {
			if i = openingOf(tokens, i); i < 0 {
				return end
			}
			if i > 0 && (tokens[i-1].isName() || tokens[i-1].is(")", "]")) {
				i--
				continue
			}
		} else if !t.isName() && t.kind != tokenText && t.kind != tokenNumber {
			return i + 1
		}
		if i == 0 || !tokens[i-1].is(".", ".?") {
			return i
		}
		i -= 2
	}
	return max(i, 0)
}
