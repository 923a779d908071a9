package lsp

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A tokenKind is a class of words of CEL.
type tokenKind int

const (
	tokenName tokenKind = iota
	tokenNumber
	tokenComment
	tokenOperator // and all other signs
	tokenText
	tokenUnknown
)

// A token is a word of an expression, with its offsets in bytes.
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// tokenForms match the tokens that are no texts. CEL's own lexer stops at the first mistake and drops comments; a text
// that does not end is a token here, because somebody is just typing it.
var tokenForms = []lazy.Pattern{
	tokenName:     lazy.MustCompile("^(?:[A-Za-z_]\\w*|`[^`\n]*`)"),
	tokenNumber:   lazy.MustCompile(`^(?:0x[0-9a-fA-F]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?[uU]?)`),
	tokenComment:  lazy.MustCompile(`^//[^\n]*`),
	tokenOperator: lazy.MustCompile(`^(?:&&|\|\||[<>=!]=|\.\?|\[\?|[-+*/%<>!?:.,()\[\]{}])`),
}

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
		_, size := utf8.DecodeRuneInString(rest)
		t := token{kind: tokenUnknown, start: at, end: at + size}
		if opening := textStart().FindString(rest); opening != "" {
			t.kind, t.end = tokenText, at+textEnd(rest, opening)
		}
		for kind, form := range tokenForms {
			if n := len(form().FindString(rest)); n > 0 && t.kind == tokenUnknown {
				t.kind, t.end = tokenKind(kind), at+n
			}
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

// pathBefore returns the path that ends tokens, and the index of its first token. A path is a variable, and the names
// that dots and brackets select from it. It is nil if the operand is something else, such as a call.
func pathBefore(tokens []token) (start int, path []string) {
	for i := len(tokens) - 1; i >= 0; i-- {
		switch t := tokens[i]; {
		case t.is("]") && i > 2 && tokens[i-1].kind == tokenText && tokens[i-2].is("[", "[?"):
			key, _ := tokens[i-1].textValue()
			path = append(path, key)
			i -= 2
			continue
		case !t.isName():
			return 0, nil
		}
		path = append(path, strings.Trim(tokens[i].text, "`"))
		if i == 0 || !tokens[i-1].is(".", ".?") {
			slices.Reverse(path)
			return i, path
		}
		i--
	}
	return 0, nil
}
