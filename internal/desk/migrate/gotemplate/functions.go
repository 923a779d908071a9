package gotemplate

import (
	"slices"
	"strconv"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A function translates a call. The last argument may be the piped one.
type function func(t *translation, args []value) value

// An entry of a table of functions.
type entry struct {
	least, most int // the number of arguments
	call        function
}

const many = 99

var argument = lazy.MustCompile(`[$#!@]\d`)

// pattern returns a function that is one expression in CEL. In it, $1 is the first argument as text, #1 as it is, !1 as
// a negated condition, and @1 as a list.
func pattern(arguments int, cel string, kind Kind) entry {
	return entry{arguments, arguments, func(t *translation, args []value) value {
		filled := argument.ReplaceAllStringFunc(cel, func(found string) string {
			v := args[int(found[1]-'1')]
			switch found[0] {
			case '!':
				return not(t.truth(v))
			case '@':
				return t.iterated(v)
			case '#':
				return t.resolve(v).typed()
			}
			return t.resolve(v).Text()
		})
		if kind == Any {
			return value{base: filled}
		}
		return value{expr: Of(filled, kind)}
	}}
}

// text returns a function of one text.
func text(f func(Expr) Expr) entry {
	return entry{1, 1, func(t *translation, args []value) value { return value{expr: f(t.resolve(args[0]))} }}
}

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
		"quote":     text(func(e Expr) Expr { return Of("strings.quote("+e.Text()+")", Text).quoting(e) }),
		"squote":    text(func(e Expr) Expr { return Join(Literal("'"), e, Literal("'")).quoting(e) }),
		"toJson":    text(func(e Expr) Expr { return Of("json.encode("+e.typed()+")", Text).quoting(e) }),
		"b64dec":    text(Expr.decoded),
		"b64enc":    text(Expr.encoded),
		"int":       {1, 1, func(_ *translation, args []value) value { return args[0] }},
		"list":      {0, many, func(_ *translation, args []value) value { return value{list: append([]value{}, args...)} }},
		"dict":      {0, 0, func(*translation, []value) value { return value{} }},
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
		"uuidv4":            {0, 0, random("uuid", "uuid", withoutFields)},
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
func (t *translation) call(name string, args []value) value {
	if v, ok := t.object(name, args); ok {
		return v
	}
	f, ok := t.functions[name]
	if !ok {
		f = t.randoms[name]
	}
	if f.call == nil || len(args) < f.least || len(args) > f.most {
		panic(failed("uses " + name + ", which has no equivalent"))
	}
	v := f.call(t, args)
	for _, a := range args {
		v.random = v.random || a.random // what is made of a random value
	}
	return v
}

// object returns the path to an object that a function of the tool returns. Its first argument is the data.
func (t *translation) object(name string, args []value) (value, bool) {
	if t.data.Path == nil || len(args) == 0 || !args[0].isPath || len(args[0].path) > 0 {
		return value{}, false
	}
	path := t.data.Path(name, t.steps(args[1:]))
	return value{isPath: true, path: path}, path != nil
}

// all resolves the arguments.
func (t *translation) all(args []value) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = t.resolve(a)
	}
	return out
}

// steps returns arguments as steps of a path: texts, whole numbers, and what is computed.
func (t *translation) steps(args []value) []any {
	out := make([]any, len(args))
	for i, e := range t.all(args) {
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
	return out
}

// index selects fields by name.
func index(t *translation, args []value) value { return args[0].below(t.steps(args[1:])) }

// printed is the text of all arguments. Blanks between numbers are not written.
func printed(t *translation, args []value) value { return value{expr: Join(t.all(args)...)} }

var verbs = lazy.MustCompile(`%.?`)

// printf translates formats that insert values as they are.
func printf(t *translation, args []value) value {
	list := t.all(args)
	format, ok := list[0].Constant()
	if !ok {
		panic(failed("computes a format"))
	}
	var out []Expr
	rest, last := list[1:], 0
	for _, at := range verbs.FindAllStringIndex(format, -1) {
		out = append(out, Literal(format[last:at[0]]))
		switch verb := format[at[0]:at[1]]; {
		case verb == "%%":
			out = append(out, Literal("%"))
		case slices.Contains([]string{"%s", "%v", "%d"}, verb) && len(rest) > 0:
			out, rest = append(out, rest[0]), rest[1:]
		default:
			panic(failed("has a format other than %s, %v or %d"))
		}
		last = at[1]
	}
	if len(rest) > 0 {
		panic(failed("has a format with too many values"))
	}
	return value{expr: Join(append(out, Literal(format[last:]))...)}
}

// orDefault chooses a default for a value that is missing or empty.
func orDefault(t *translation, args []value) value {
	return t.or(args[1], args[0], func(cel string, optional bool) string {
		if optional {
			return cel + ".optFlatMap(v, optional.ofNonZeroValue(v))"
		}
		return "optional.ofNonZeroValue(" + cel + ")"
	})
}

// dig looks up a path in its last argument. The argument before is the default for a missing value.
func dig(t *translation, args []value) value {
	last := len(args) - 1
	return t.or(args[last].below(t.steps(args[:last-1])), args[last-1], func(cel string, _ bool) string { return cel })
}

// or returns a value, or another one if it is missing. A random one that is only for the first rendering is a
// generator, which keeps its value. An export waits for a composed resource instead of writing an empty value.
func (t *translation) or(v, instead value, maybe func(cel string, optional bool) string) value {
	observed := t.data.observed(v)
	empty := instead.expr.Empty() && !instead.isPath && instead.base == ""
	switch {
	case observed && instead.random:
		return instead
	case empty && (observed || t.data.Strict || instead.list != nil || !v.isPath):
		return v
	}
	other := t.resolve(instead)
	e, optional := t.optional(v)
	p, ok := e.single()
	if !ok || p.kind == Bytes {
		panic(failed("chooses a default for a value that is decoded or constant"))
	}
	return value{expr: p.or(other, maybe(p.cel, optional))}
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
