package gotemplate

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
)

// A Kind says what the CEL of a value is.
type Kind int

// The kinds of values.
const (
	Any     Kind = iota // of unknown type
	Text                // a string
	Bytes               // bytes, which the template uses as text
	Encoded             // a string, which the template has in Base64
)

// An Expr is what a template produces: literal text and values, in their order.
type Expr struct {
	parts    []part
	unquoted *Expr // the value without quotes, if these are quotes of YAML
}

type part struct {
	text string // if there is no CEL
	cel  string
	kind Kind
}

// Of returns a value.
func Of(cel string, kind Kind) Expr { return Expr{parts: []part{{cel: cel, kind: kind}}} }

// Literal returns a literal text.
func Literal(text string) Expr { return Expr{parts: []part{{text: text}}} }

// quoting says that an expression is a text in quotes.
func (e Expr) quoting(text Expr) Expr {
	e.unquoted = &text
	return e
}

// Join returns the expressions one after the other. Literal texts next to each other are one.
func Join(list ...Expr) Expr {
	var out []part
	for _, e := range list {
		for _, p := range e.parts {
			switch last := len(out) - 1; {
			case p.cel == "" && last >= 0 && out[last].cel == "":
				out[last].text += p.text
			case p.cel != "" || p.text != "":
				out = append(out, p)
			}
		}
	}
	return Expr{parts: out}
}

// Constant returns the text of an expression without values.
func (e Expr) Constant() (string, bool) {
	switch {
	case len(e.parts) == 0:
		return "", true
	case len(e.parts) == 1 && e.parts[0].cel == "":
		return e.parts[0].text, true
	}
	return "", false
}

// single returns the only value of an expression.
func (e Expr) single() (part, bool) {
	if len(e.parts) == 1 && e.parts[0].cel != "" {
		return e.parts[0], true
	}
	return part{}, false
}

// CEL returns the expression, of type string or bytes.
func (e Expr) CEL() string {
	if p, ok := e.single(); ok && p.kind == Bytes {
		return p.cel
	}
	return e.Text()
}

// Text returns the expression, of type string.
func (e Expr) Text() string {
	if text, ok := e.Constant(); ok {
		return celtext.Literal(text)
	}
	if p, ok := e.single(); ok {
		if p.kind == Any {
			return "string(" + p.cel + ")"
		}
		return p.formatted()
	}
	var format strings.Builder
	var values []string
	for _, p := range e.parts {
		if p.cel == "" {
			format.WriteString(strings.ReplaceAll(p.text, "%", "%%"))
			continue
		}
		format.WriteString("%s")
		values = append(values, p.formatted())
	}
	return celtext.Format(format.String(), values)
}

// Decoded returns what the text of the expression is in Base64.
func (e Expr) Decoded() string {
	if p, ok := e.single(); ok && p.kind == Encoded {
		return p.cel
	}
	if text, ok := e.Constant(); ok {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err == nil && utf8.Valid(b) {
			return celtext.Literal(string(b))
		}
	}
	return decode(e)
}

// Encode returns the Base64 of an expression.
func (e Expr) Encode() Expr { return Of(e.CEL(), Encoded) }

// Empty reports whether the template produces nothing.
func (e Expr) Empty() bool {
	text, ok := e.Constant()
	return ok && text == ""
}

// decode decodes Base64. The type is dyn, because connection details are usually decoded already, and
// a warning says so.
func decode(e Expr) string {
	text := e.Text()
	if strings.HasPrefix(text, "secrets") || strings.HasPrefix(text, "generated") {
		text = "dyn(" + text + ")"
	}
	return "base64.decode(" + text + ")"
}

// formatted returns the value for a format, which converts values of any type.
func (p part) formatted() string {
	if p.kind == Bytes {
		return "string(" + p.cel + ")"
	}
	if p.kind == Encoded {
		return "base64.encode(bytes(" + p.cel + "))"
	}
	return p.cel
}
