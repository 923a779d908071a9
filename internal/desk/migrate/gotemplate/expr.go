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
	Bool                // true or false
	Bytes               // bytes, which the template uses as text
	Encoded             // a string, which the template has in Base64
)

// An Expr is what a template produces: literal text and values, in their order.
type Expr struct {
	parts    []part
	unquoted *Expr   // the value without quotes, if these are quotes of YAML
	choice   *choice // if the only part depends on a condition
	optional string  // the same value in CEL, of an optional type, if the template writes nothing without it
}

type part struct {
	text string // if there is no CEL
	cel  string
	kind Kind
}

// A choice is one of two expressions.
type choice struct {
	condition string
	yes, no   Expr
}

// Of returns a value.
func Of(cel string, kind Kind) Expr { return Expr{parts: []part{{cel: cel, kind: kind}}} }

// Literal returns a literal text.
func Literal(text string) Expr { return Expr{parts: []part{{text: text}}} }

// If returns one of two expressions.
func If(condition string, yes, no Expr) Expr {
	if text, ok := yes.Constant(); ok {
		if other, ok := no.Constant(); ok && text == other {
			return yes
		}
	}
	e := Of("("+condition+" ? "+yes.Text()+" : "+no.Text()+")", Text)
	e.choice = &choice{condition, yes, no}
	if yes, no := yes.withoutQuotes(), no.withoutQuotes(); yes != nil && no != nil {
		return e.quoting(If(condition, *yes, *no))
	}
	return e
}

// quoting says that an expression is a text in quotes.
func (e Expr) quoting(text Expr) Expr {
	e.unquoted = &text
	return e
}

// withoutQuotes returns a text that is in quotes of YAML, or nil.
func (e Expr) withoutQuotes() *Expr {
	text, constant := e.Constant()
	switch {
	case e.unquoted != nil || !constant:
		return e.unquoted
	case text == "":
		return &e
	case len(text) > 1 && strings.ContainsAny(text[:1], `"'`) && text[len(text)-1] == text[0] &&
		!strings.Contains(text[1:len(text)-1], text[:1]):
		inner := Literal(text[1 : len(text)-1])
		return &inner
	}
	return nil
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
		if p.kind == Any || p.kind == Bool {
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

// Values returns the CEL of each value that the expression inserts, as texts.
func (e Expr) Values() []string {
	var out []string
	for _, p := range e.parts {
		if p.cel != "" {
			out = append(out, Expr{parts: []part{p}}.Text())
		}
	}
	return out
}

// IsOptional reports whether the template writes nothing if the value is missing.
func (e Expr) IsOptional() bool { return e.optional != "" }

// IsRandom reports whether a generator makes a part of the expression.
func (e Expr) IsRandom() bool { return generatorMark.MatchString(e.Text()) }

// typed returns the value as it is, without a conversion to text.
func (e Expr) typed() string {
	if p, ok := e.single(); ok && (p.kind == Any || p.kind == Bool) {
		return p.cel
	}
	return e.Text()
}

// Value returns the CEL of the value of a key: of type string or bytes, or optional of it if a condition leaves the key
// out. In data, the template has the value in Base64. It returns nothing if the value is empty.
func (e Expr) Value(inData bool) string {
	cel, _, _ := e.value(inData)
	if strings.HasPrefix(cel, "(") && e.choice != nil {
		return cel[1 : len(cel)-1]
	}
	return cel
}

func (e Expr) value(inData bool) (cel string, kind Kind, optional bool) {
	switch p, single := e.single(); {
	case e.choice != nil:
		return e.choice.value(inData)
	case e.optional != "":
		v := Of("v", p.kind)
		cel, kind, _ := v.value(inData)
		if cel == "v" {
			return e.optional, kind, true
		}
		return e.optional + ".optMap(v, " + cel + ")", kind, true
	case e.Empty():
		return "", Text, false
	case inData:
		d := e.decoded()
		return d.parts[0].celOrText(), d.parts[0].kind, false
	case single && p.kind == Bytes:
		return p.cel, Bytes, false
	}
	return e.Text(), Text, false
}

func (c *choice) value(inData bool) (cel string, kind Kind, optional bool) {
	yes, kind, maybe := c.yes.value(inData)
	no, other, maybeNo := c.no.value(inData)
	optional = maybe || maybeNo || yes == "" || no == ""
	wrapped := func(cel string, maybe bool) string {
		switch {
		case cel == "":
			return "optional.none()"
		case kind != other && yes != "" && no != "" && !maybe:
			cel = "dyn(" + cel + ")"
		}
		if optional && !maybe {
			return "optional.of(" + cel + ")"
		}
		return cel
	}
	if yes == "" && no == "" {
		return "", Text, false
	}
	if yes == "" {
		kind = other
	}
	return "(" + c.condition + " ? " + wrapped(yes, maybe) + " : " + wrapped(no, maybeNo) + ")", kind, optional
}

func (p part) celOrText() string {
	if p.cel == "" {
		return celtext.Literal(p.text)
	}
	return p.cel
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
	if e.choice != nil { // so that a value that is left out stays one
		c := e.choice
		return If(c.condition, c.yes.encoded(), c.no.encoded())
	}
	cel, _, _ := e.value(false)
	if cel == "" {
		return Expr{}
	}
	out := Of(cel, Encoded)
	if e.optional != "" {
		out = Of(e.Text(), Encoded)
	}
	return out
}
