package gotemplate

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// unary are the functions of one text, in CEL. Letters that are not ASCII keep their case.
var unary = map[string]func(e Expr) Expr{
	"upper":     method("upperAscii"),
	"lower":     method("lowerAscii"),
	"trim":      method("trim"),
	"quote":     func(e Expr) Expr { return called("strings.quote")(e).quoting(e) },
	"sha256sum": called("sha256"),
	"urlquery":  called("url.queryEscape"),
	"squote":    func(e Expr) Expr { return Join(Literal("'"), e, Literal("'")).quoting(e) },
	"toString":  func(e Expr) Expr { return Of(e.Text(), Text) },
	"toJson":    func(e Expr) Expr { return Of("json.encode("+e.typed()+")", Text).quoting(e) },
	"b64dec":    func(e Expr) Expr { return e.decoded() },
	"b64enc":    Expr.Encode,
}

func method(name string) func(Expr) Expr {
	return func(e Expr) Expr { return Of(e.Text()+"."+name+"()", Text) }
}

func called(name string) func(Expr) Expr {
	return func(e Expr) Expr { return Of(name+"("+e.Text()+")", Text) }
}

// typed returns the value as it is, without a conversion to text.
func (e Expr) typed() string {
	if p, ok := e.single(); ok && p.kind == Any {
		return p.cel
	}
	return e.Text()
}

// decoded is the inverse of b64enc.
func (e Expr) decoded() Expr {
	if p, ok := e.single(); ok && p.kind == Encoded {
		return Of(p.cel, Text)
	}
	return Of(decode(e), Bytes)
}

// call translates a call of a function. The last argument may be the piped one.
func (t *translation) call(name string, args []value) (value, error) {
	switch name {
	case "index", "get":
		return t.index(args)
	case "printf":
		return t.printf(args)
	case "default":
		return t.orDefault(args)
	case "dig":
		return t.dig(args)
	case "fromJson":
		list, err := t.all(args)
		if err != nil || len(list) != 1 {
			return value{}, cmp.Or(err, unknown(name))
		}
		return value{base: "json.decode(" + list[0].Text() + ")"}, nil
	}
	if v, ok, err := t.object(name, args); ok || err != nil {
		return v, err
	}
	list, err := t.all(args)
	if err != nil {
		return value{}, err
	}
	if e, ok := textCall(name, list); ok {
		return value{expr: e}, nil
	}
	return value{}, unknown(name)
}

// textCall translates a function whose arguments are texts.
func textCall(name string, args []Expr) (Expr, bool) {
	f := unary[name]
	switch {
	case f != nil && len(args) == 1:
		return f(args[0]), true
	case name == "replace" && len(args) == 3:
		return Of(fmt.Sprintf("%s.replace(%s, %s)", args[2].Text(), args[0].Text(), args[1].Text()), Text), true
	}
	return Expr{}, false
}

// all resolves the arguments.
func (t *translation) all(args []value) ([]Expr, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		var err error
		if out[i], err = t.resolve(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// names returns constant arguments: texts, and whole numbers.
func (t *translation) names(args []value) ([]any, error) {
	list, err := t.all(args)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, e := range list {
		p, _ := e.single()
		text, isText := e.Constant()
		number, err := strconv.Atoi(p.cel)
		switch {
		case isText:
			out[i] = text
		case err == nil && number >= 0:
			out[i] = number
		default:
			return nil, errors.New("computes the name of a field")
		}
	}
	return out, nil
}

// index selects fields by name.
func (t *translation) index(args []value) (value, error) {
	if len(args) == 0 {
		return value{}, unknown("index")
	}
	names, err := t.names(args[1:])
	return args[0].below(names), err
}

// object returns the path to an object that a function of the tool returns. Its first argument is the data.
func (t *translation) object(name string, args []value) (value, bool, error) {
	if t.data.Path == nil || len(args) == 0 || !args[0].isPath || len(args[0].path) > 0 {
		return value{}, false, nil
	}
	names, err := t.names(args[1:])
	if err != nil {
		return value{}, false, err
	}
	path := t.data.Path(name, names)
	return value{isPath: true, path: path}, path != nil, nil
}

// printf translates formats that insert values as they are.
func (t *translation) printf(args []value) (value, error) {
	list, err := t.all(args)
	if err != nil || len(list) == 0 {
		return value{}, cmp.Or(err, unknown("printf"))
	}
	format, ok := list[0].Constant()
	if !ok {
		return value{}, errors.New("computes a format")
	}
	out, rest := Expr{}, list[1:]
	for format != "" {
		before, after, found := strings.Cut(format, "%")
		out = Join(out, Literal(before))
		if !found {
			break
		}
		verb, text := after[:min(1, len(after))], after[min(1, len(after)):]
		switch {
		case verb == "%":
			out = Join(out, Literal("%"))
		case (verb == "s" || verb == "v" || verb == "d") && len(rest) > 0:
			out, rest = Join(out, rest[0]), rest[1:]
		default:
			return value{}, errors.New("has a format other than %s, %v or %d")
		}
		format = text
	}
	if len(rest) > 0 {
		return value{}, errors.New("has a format with too many values")
	}
	return value{expr: out}, nil
}

// orDefault chooses a default for a value that is missing or empty. Empty values are never exported, so
// an empty default is none.
func (t *translation) orDefault(args []value) (value, error) {
	if len(args) != 2 {
		return value{}, unknown("default")
	}
	instead, err := t.resolve(args[0])
	if err != nil {
		return value{}, err
	}
	if instead.Empty() {
		return args[1], nil
	}
	e, may, err := t.optional(args[1])
	if err != nil {
		return value{}, err
	}
	p, ok := e.single()
	if !ok || p.kind == Encoded || p.kind == Bytes {
		return value{}, errors.New("chooses a default for a value that is encoded or constant")
	}
	x := "optional.ofNonZeroValue(" + p.cel + ")"
	if may {
		x = p.cel + ".optFlatMap(v, optional.ofNonZeroValue(v))"
	}
	return value{expr: Of(x+".orValue("+instead.typed()+")", p.kind.with(instead))}, nil
}

// with returns the kind of a value that may also be the other one.
func (k Kind) with(other Expr) Kind {
	if p, ok := other.single(); k != Text || ok && p.kind != Text {
		return Any
	}
	return Text
}

// dig looks up a path in its last argument. The argument before is the default.
func (t *translation) dig(args []value) (value, error) {
	if len(args) < 3 {
		return value{}, unknown("dig")
	}
	names, err := t.names(args[:len(args)-2])
	if err != nil {
		return value{}, err
	}
	v := args[len(args)-1].below(names)
	instead, err := t.resolve(args[len(args)-2])
	if err != nil {
		return value{}, err
	}
	if instead.Empty() {
		return v, nil
	}
	e, may, err := t.optional(v)
	p, ok := e.single()
	if err != nil || !ok || !may || p.kind == Encoded {
		return value{}, cmp.Or(err, unknown("dig"))
	}
	return value{expr: Of(p.cel+".orValue("+instead.typed()+")", p.kind.with(instead))}, nil
}
