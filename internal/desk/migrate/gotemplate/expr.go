package gotemplate

import (
	"encoding/base64"
	"slices"
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
	list = slices.DeleteFunc(slices.Clone(list), Expr.Empty)
	if len(list) == 1 {
		return list[0]
	}
	var out []part
	for _, e := range list {
		for _, p := range e.parts {
			if last := len(out) - 1; p.cel == "" && last >= 0 && out[last].cel == "" {
				out[last].text += p.text
				continue
			}
			out = append(out, p)
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

// Empty reports whether the template produces nothing.
func (e Expr) Empty() bool {
	text, ok := e.Constant()
	return ok && text == ""
}

// single returns the only value of an expression.
func (e Expr) single() (part, bool) {
	if len(e.parts) == 1 && e.parts[0].cel != "" {
		return e.parts[0], true
	}
	return part{}, false
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

// formatted returns the value for a format, which converts values of any type.
func (p part) formatted() string {
	switch p.kind {
	case Bytes:
		return "string(" + p.cel + ")"
	case Encoded:
		return "base64.encode(bytes(" + p.cel + "))"
	default:
		return p.cel
	}
}

// typed returns the value as it is, without a conversion to text.
func (e Expr) typed() string {
	if p, ok := e.single(); ok && p.kind == Any {
		return p.cel
	}
	return e.Text()
}

// Value returns the CEL of the value of a key, of type string or bytes. In data, the template has the value in Base64.
// It returns nothing if the value is empty.
func (e Expr) Value(inData bool) string {
	if e.Empty() {
		return ""
	}
	if inData {
		e = e.decoded()
	}
	if p, ok := e.single(); ok && p.kind == Bytes {
		return p.cel
	}
	return e.Text()
}

// decoded is the inverse of b64enc. The type of connection details is dyn, because they are usually decoded already,
// and a warning says so.
func (e Expr) decoded() Expr {
	if p, ok := e.single(); ok && p.kind == Encoded {
		return Of(p.cel, Text)
	}
	if text, ok := e.Constant(); ok {
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && utf8.Valid(b) {
			return Literal(string(b))
		}
	}
	text := e.Text()
	if strings.HasPrefix(text, "secrets") || strings.HasPrefix(text, "generated") {
		text = "dyn(" + text + ")"
	}
	return Of("base64.decode("+text+")", Bytes)
}

// encoded returns the Base64 of an expression.
func (e Expr) encoded() Expr {
	if e.Empty() {
		return e
	}
	return Of(e.Value(false), Encoded)
}
