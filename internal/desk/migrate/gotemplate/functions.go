package gotemplate

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

var argument = lazy.MustCompile(`[$#!@]\d`)

// pattern returns a function that is one expression in CEL. In it, $1 is the first argument as text, #1 as it is, !1 as a
// negated condition, and @1 as a list.
func pattern(arguments int, cel string, kind Kind) entry {
	return entry{arguments, arguments, func(t *translation, args []value) (value, error) {
		var failed error
		filled := argument.ReplaceAllStringFunc(cel, func(found string) string {
			text, err := t.argument(found[0], args[int(found[1]-'1')])
			failed = cmp.Or(failed, err)
			return text
		})
		if kind == Any {
			return value{base: filled}, failed
		}
		return value{expr: Of(filled, kind)}, failed
	}}
}

// argument returns an argument in the form that a pattern asks for.
func (t *translation) argument(form byte, v value) (string, error) {
	switch form {
	case '!':
		c, err := t.truth(v)
		return not(c), err
	case '@':
		return t.iterated(v)
	case '#':
		e, err := t.resolve(v)
		return e.typed(), err
	}
	e, err := t.resolve(v)
	return e.Text(), err
}

// A function translates a call. The last argument may be the piped one.
type function func(t *translation, args []value) (value, error)

// An entry of a table of functions.
type entry struct {
	least, most int // the number of arguments
	call        function
}

const many = 99

// table returns the functions of templates that have an equivalent in CEL. Letters that are not ASCII keep their case.
// It is no variable, because its functions look functions up.
func table() map[string]entry {
	return map[string]entry{
		"upper":     pattern(1, "$1.upperAscii()", Text),
		"lower":     pattern(1, "$1.lowerAscii()", Text),
		"trim":      pattern(1, "$1.trim()", Text),
		"sha256sum": pattern(1, "sha256($1)", Text),
		"urlquery":  pattern(1, "url.queryEscape($1)", Text),
		"toString":  pattern(1, "$1", Text),
		"replace":   pattern(3, "$3.replace($1, $2)", Text),
		"join":      pattern(2, "@2.transformList(_, v, string(v)).join($1)", Text),
		"contains":  pattern(2, "$2.contains($1)", Bool),
		"hasPrefix": pattern(2, "$2.startsWith($1)", Bool),
		"hasSuffix": pattern(2, "$2.endsWith($1)", Bool),
		"not":       pattern(1, "!1", Bool),
		"empty":     pattern(1, "!1", Bool),
		"fromJson":  pattern(1, "json.decode($1)", Any),
		"until":     pattern(1, "lists.range(int(#1))", Any),
		"quote":     {1, 1, text(func(e Expr) Expr { return Of("strings.quote("+e.Text()+")", Text).quoting(e) })},
		"squote":    {1, 1, text(func(e Expr) Expr { return Join(Literal("'"), e, Literal("'")).quoting(e) })},
		"toJson":    {1, 1, text(func(e Expr) Expr { return Of("json.encode("+e.typed()+")", Text).quoting(e) })},
		"b64dec":    {1, 1, text(Expr.decoded)},
		"b64enc":    {1, 1, text(Expr.encoded)},
		"int":       {1, 1, func(_ *translation, args []value) (value, error) { return args[0], args[0].err }},
		"list":      {0, many, func(_ *translation, args []value) (value, error) { return value{list: args}, nil }},
		"dict":      {0, 0, func(*translation, []value) (value, error) { return value{}, nil }},
		"printf":    {1, many, printf},
		"print":     {1, many, printed},
		"index":     {1, many, index},
		"get":       {2, 2, index},
		"default":   {2, 2, orDefault},
		"dig":       {3, many, dig},
		"eq":        {2, 2, comparison(" == ")},
		"ne":        {2, 2, comparison(" != ")},
		"and":       {1, many, connective(" && ")},
		"or":        {1, many, connective(" || ")},
		"ternary":   {3, 3, ternary},
		"hasKey":    {2, 2, has},
	}
}

// randoms returns the functions that become generators.
func randoms() map[string]entry {
	return map[string]entry{
		"uuidv4":            {0, 0, random("uuid", "uuid", nil)},
		"bcrypt":            {1, 1, random("bcrypt", "hash", hashed)},
		"htpasswd":          {2, 2, random("htpasswd", "auth", users)},
		"genCA":             {2, 2, certificate},
		"genPrivateKey":     {1, 1, random("sshKey", "privateKey", privateKey)},
		"genSelfSignedCert": {4, 4, certificate},
		"genSignedCert":     {5, 5, certificate},
		"randAlphaNum":      {1, 1, random("password", "password", password("symbols"))},
		"randAlpha":         {1, 1, random("password", "password", password("symbols", "digits"))},
		"randAscii":         {1, 1, random("password", "password", password())},
	}
}

// call translates a call of a function.
func (t *translation) call(name string, args []value) (value, error) {
	if v, ok, err := t.object(name, args); ok || err != nil {
		return v, err
	}
	f, ok := t.functions[name]
	if !ok {
		f = t.randoms[name]
	}
	if f.call == nil || len(args) < f.least || len(args) > f.most {
		return value{}, fmt.Errorf("uses %s, which has no equivalent", name)
	}
	v, err := f.call(t, args)
	for _, a := range args {
		v.random = v.random || a.random // what is made of a random value
	}
	return v, err
}

// object returns the path to an object that a function of the tool returns. Its first argument is the data.
func (t *translation) object(name string, args []value) (value, bool, error) {
	if t.data.Path == nil || len(args) == 0 || !args[0].isPath || len(args[0].path) > 0 {
		return value{}, false, nil
	}
	list, err := t.steps(args[1:])
	if err != nil {
		return value{}, false, err
	}
	path := t.data.Path(name, list)
	return value{isPath: true, path: path}, path != nil, nil
}

// text returns a function of one text.
func text(f func(Expr) Expr) function {
	return func(t *translation, args []value) (value, error) {
		e, err := t.resolve(args[0])
		if err != nil {
			return value{}, err
		}
		return value{expr: f(e)}, nil
	}
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

// steps returns arguments as steps of a path: texts, whole numbers, and what is computed.
func (t *translation) steps(args []value) ([]any, error) {
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
			out[i] = celtext.Computed(e.typed())
		}
	}
	return out, nil
}

// index selects fields by name.
func index(t *translation, args []value) (value, error) {
	list, err := t.steps(args[1:])
	return args[0].below(list), cmp.Or(args[0].err, err)
}

// printed is the text of all arguments. Blanks between numbers are not written.
func printed(t *translation, args []value) (value, error) {
	list, err := t.all(args)
	return value{expr: Join(list...)}, err
}

// printf translates formats that insert values as they are.
func printf(t *translation, args []value) (value, error) {
	list, err := t.all(args)
	if err != nil {
		return value{}, err
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

// orDefault chooses a default for a value that is missing or empty.
func orDefault(t *translation, args []value) (value, error) {
	return t.or(args[1], args[0], func(cel string, optional bool) string {
		if optional {
			return cel + ".optFlatMap(v, optional.ofNonZeroValue(v))"
		}
		return "optional.ofNonZeroValue(" + cel + ")"
	})
}

// dig looks up a path in its last argument. The argument before is the default for a missing value.
func dig(t *translation, args []value) (value, error) {
	list, err := t.steps(args[:len(args)-2])
	if err != nil {
		return value{}, err
	}
	return t.or(args[len(args)-1].below(list), args[len(args)-2], func(cel string, _ bool) string { return cel })
}

// or returns a value, or another one if it is missing. A random one that is only for the first rendering is a
// generator, which keeps its value. An export waits for a composed resource instead of writing an empty value.
func (t *translation) or(v, instead value, maybe func(cel string, optional bool) string) (value, error) {
	observed := t.data.observed(v)
	empty := instead.expr.Empty() && !instead.isPath && instead.base == ""
	switch {
	case observed && instead.random:
		return instead, instead.err
	case empty && (observed || t.data.Strict || instead.list != nil || !v.isPath):
		return v, v.err
	}
	other, err := t.resolve(instead)
	if err != nil {
		return value{}, err
	}
	e, optional, err := t.optional(v)
	if err != nil {
		return value{}, err
	}
	p, ok := e.single()
	if !ok || p.kind == Bytes {
		return value{}, errors.New("chooses a default for a value that is decoded or constant")
	}
	return value{expr: p.or(other, maybe(p.cel, optional))}, nil
}

// or returns the value with this CEL, or another one. A value without another one is left out, because empty values are
// never exported.
func (p part) or(other Expr, maybe string) Expr {
	switch {
	case other.Empty():
		e := Of(maybe+".orValue('')", p.kind)
		e.optional = maybe
		return e
	case p.kind == Encoded:
		return Of(maybe+".orValue("+other.decoded().parts[0].celOrText()+")", Encoded)
	}
	return Of(maybe+".orValue("+other.typed()+")", p.kind.with(other))
}

// with returns the kind of a value that may also be the other one.
func (k Kind) with(other Expr) Kind {
	if p, ok := other.single(); k != Text || ok && p.kind != Text {
		return Any
	}
	return Text
}
