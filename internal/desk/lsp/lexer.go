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
		if opening := textStart().FindString(rest); opening != "" {
			t.kind, t.end = tokenText, at+textEnd(rest, opening)
		} else if m := tokenForm().FindStringSubmatchIndex(rest); m != nil {
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

// textEnd returns the length of a text that begins with its prefix and quotes. A text that has one quote at its start
// ends with its line.
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
	opening := textStart().FindString(t.text)
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

// operandBefore returns the index of the first token of the operand that ends before an index: names, calls, brackets
// and texts that dots join. If it is a path, which is a variable and what literal names select from it, it returns the
// names.
func operandBefore(tokens []token, end int) (start int, path []string, isPath bool) {
	isPath = true
	for i := end - 1; i >= 0; i -= 2 {
		switch t := tokens[i]; {
		case t.is(")", "]", "}"):
			open := openingOf(tokens, i)
			isPath = isPath && open == i-2 && t.is("]") && tokens[i-1].kind == tokenText
			if open < 0 {
				return end, nil, false
			}
			key, _ := tokens[i-1].textValue()
			path = append(path, key)
			if i = open; i > 0 && (tokens[i-1].isName() || tokens[i-1].is(")", "]")) {
				i++ // the loop goes on with the operand of the bracket
				continue
			}
			isPath = false
		case t.isName():
			path = append(path, strings.Trim(t.text, "`"))
		case t.kind == tokenOperator:
			return i + 1, nil, false
		default:
			isPath = false
		}
		if i == 0 || !tokens[i-1].is(".", ".?") {
			slices.Reverse(path)
			return i, path, isPath
		}
	}
	return 0, nil, false
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
