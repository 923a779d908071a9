package gotemplate

import (
	"slices"
	"strconv"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A value is the result of a pipeline: a field of something, a text, or a list.
type value struct {
	lookup    func(path []any, optional bool) (Expr, error) // nil without fields
	path      []any
	inData    bool // the fields are those of the data
	expr      Expr
	list      []value
	generator string // the generator that makes it
	err       error  // why a variable has no equivalent
}

// isObserved reports whether a value is a part of the observed composed resources. An export waits for it.
func (v value) isObserved() bool {
	return v.inData && len(v.path) > 1 && v.path[0] == any("observed") && v.path[1] == any("resources")
}

// below returns the value at a path below a value.
func (v value) below(path []any) value {
	check(v.err)
	if v.lookup == nil && len(path) > 0 {
		panic(failed("selects a field of a text"))
	}
	v.path = slices.Concat(v.path, path)
	return v
}

// resolve returns the expression of a value.
func (v value) resolve() Expr {
	check(v.err)
	switch {
	case v.lookup != nil:
		e, err := v.lookup(v.path, false)
		check(err)
		return e
	case v.list != nil:
		panic(failed("writes a list as text"))
	}
	return v.expr
}

// pipe translates commands of which each one receives the result of the former one.
func (t *translation) pipe(p *parse.PipeNode) value {
	var piped []value
	for _, c := range p.Cmds {
		piped = []value{t.command(c, piped)}
	}
	return piped[0]
}

func (t *translation) command(c *parse.CommandNode, piped []value) value {
	id, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(c.Args) > 1 || len(piped) > 0 {
			panic(failed("passes arguments to something that is not a function"))
		}
		return t.operand(c.Args[0])
	}
	args := make([]value, 0, len(c.Args))
	for _, a := range c.Args[1:] {
		args = append(args, t.operand(a))
	}
	return t.call(id.Ident, append(args, piped...))
}

func (t *translation) operand(n parse.Node) value {
	switch n := n.(type) {
	case *parse.DotNode:
		return t.dot.below(nil)
	case *parse.FieldNode:
		return t.dot.below(names(n.Ident))
	case *parse.VariableNode:
		v, ok := t.vars[n.Ident[0]]
		if !ok {
			panic(failed("uses a variable that a branch or a loop sets"))
		}
		return v.below(names(n.Ident[1:]))
	case *parse.ChainNode:
		return t.operand(n.Node).below(names(n.Field))
	case *parse.PipeNode:
		return t.pipe(n)
	case *parse.StringNode:
		return value{expr: Literal(n.Text)}
	case *parse.NumberNode, *parse.BoolNode:
		return value{expr: Of(n.String(), Any)}
	case *parse.NilNode:
		return value{list: []value{}}
	case *parse.IdentifierNode:
		return t.call(n.Ident, nil)
	}
	panic(failed("has a value that has no equivalent"))
}

func names(fields []string) []any {
	out := make([]any, len(fields))
	for i, name := range fields {
		out[i] = name
	}
	return out
}

// A function translates a call. The last argument may be the piped one.
type function struct {
	least, most int // the number of arguments
	call        func(t *translation, args []value) value
}

const many = 99

var argument = lazy.MustCompile(`[$#]\d`)

// pattern returns a function that is one expression in CEL. In it, $1 is the first argument as text, and #1 as it is.
func pattern(arguments int, cel string, kind Kind) function {
	return function{arguments, arguments, func(_ *translation, args []value) value {
		filled := argument().ReplaceAllStringFunc(cel, func(found string) string {
			e := args[int(found[1]-'1')].resolve()
			if found[0] == '#' {
				return e.typed()
			}
			return e.Text()
		})
		return value{expr: Of(filled, kind)}
	}}
}

// text returns a function of one text.
func text(f func(Expr) Expr) function {
	return function{1, 1, func(_ *translation, args []value) value { return value{expr: f(args[0].resolve())} }}
}

// functions returns the functions of templates that have an equivalent in CEL. Letters that are not ASCII keep their
// case.
func functions() map[string]function {
	return map[string]function{
		"upper":     pattern(1, "$1.upperAscii()", Text),
		"lower":     pattern(1, "$1.lowerAscii()", Text),
		"trim":      pattern(1, "$1.trim()", Text),
		"sha256sum": pattern(1, "sha256($1)", Text),
		"urlquery":  pattern(1, "url.queryEscape($1)", Text),
		"toString":  pattern(1, "$1", Text),
		"int":       pattern(1, "#1", Any),
		"replace":   pattern(3, "$3.replace($1, $2)", Text),
		"join":      pattern(2, "#2.map(v, string(v)).join($1)", Text),
		"quote":     text(func(e Expr) Expr { return Of("strings.quote("+e.Text()+")", Text).quoting(e) }),
		"squote":    text(func(e Expr) Expr { return Join(Literal("'"), e, Literal("'")).quoting(e) }),
		"toJson":    text(func(e Expr) Expr { return Of("json.encode("+e.typed()+")", Text).quoting(e) }),
		"b64dec":    text(Expr.decoded),
		"b64enc":    text(Expr.encoded),
		"fromJson":  {1, 1, fromJSON},
		"list": {0, many, func(_ *translation, args []value) value {
			return value{list: append([]value{}, args...)}
		}},
		"dict":    {0, 0, func(*translation, []value) value { return value{list: []value{}} }},
		"printf":  {1, many, printf},
		"print":   {1, many, func(_ *translation, args []value) value { return value{expr: Join(all(args)...)} }},
		"index":   {1, many, index},
		"get":     {2, 2, index},
		"default": {2, 2, orDefault},
		"dig":     {3, many, dig},
	}
}

// call translates a call of a function.
func (t *translation) call(name string, args []value) value {
	if path := pathOf(name, args); path != nil {
		return value{lookup: t.data.Lookup, inData: true, path: path}
	}
	f, ok := functions()[name]
	if !ok {
		f = randoms()[name]
	}
	if f.call == nil || len(args) < f.least || len(args) > f.most {
		panic(failed("uses " + name + ", which has no equivalent"))
	}
	v := f.call(t, args)
	for _, a := range args {
		if v.generator == "" {
			v.generator = a.generator // what is made of a random value
		}
	}
	return v
}

// pathOf returns the path to the object that a function of function-go-templating returns, or nil. Its first argument
// is the data.
func pathOf(function string, args []value) []any {
	if len(args) == 0 || !args[0].inData || len(args[0].path) > 0 {
		return nil
	}
	switch rest := args[1:]; {
	case function == "getCompositeResource" && len(rest) == 0:
		return []any{"observed", "composite", "resource"}
	case function == "getComposedResource" && len(rest) == 1:
		return []any{"observed", "resources", steps(rest)[0], "resource"}
	case function == "getComposedConnectionDetails" && len(rest) == 1:
		return []any{"observed", "resources", steps(rest)[0], "connectionDetails"}
	}
	return nil
}

// all resolves the arguments.
func all(args []value) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = a.resolve()
	}
	return out
}

// steps returns arguments as steps of a path: texts, whole numbers, and computed steps.
func steps(args []value) []any {
	out := make([]any, len(args))
	for i, e := range all(args) {
		text, isText := e.Constant()
		number, err := strconv.Atoi(e.typed())
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
func index(_ *translation, args []value) value { return args[0].below(steps(args[1:])) }

func fromJSON(_ *translation, args []value) value {
	decoded := "json.decode(" + args[0].resolve().Text() + ")"
	return value{lookup: func(path []any, optional bool) (Expr, error) {
		return Of(celtext.Path(decoded, path, optional), Any), nil
	}}
}

var verbs = lazy.MustCompile(`%.?`)

// printf translates formats that insert values as they are.
func printf(_ *translation, args []value) value {
	list := all(args)
	format, ok := list[0].Constant()
	if !ok {
		panic(failed("computes a format"))
	}
	var out []Expr
	rest, last := list[1:], 0
	for _, at := range verbs().FindAllStringIndex(format, -1) {
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
func orDefault(_ *translation, args []value) value {
	return args[1].or(args[0], ".optFlatMap(v, optional.ofNonZeroValue(v))")
}

// dig looks up a path in its last argument. The argument before is the default for a missing value.
func dig(_ *translation, args []value) value {
	last := len(args) - 1
	return args[last].below(steps(args[:last-1])).or(args[last-1], "")
}

// or returns a value, or another one if it is missing. An export waits for a composed resource instead of writing an
// empty value. A random value that is only for the first rendering is a generator, which keeps its value.
func (v value) or(instead value, chosen string) value {
	check(v.err)
	isEmpty := instead.lookup == nil && instead.expr.Empty()
	switch {
	case v.isObserved() && instead.generator != "":
		return instead
	case v.isObserved() && isEmpty:
		return v
	case v.lookup == nil || isEmpty:
		panic(failed("has a default"))
	}
	e, err := v.lookup(v.path, true)
	check(err)
	p, ok := e.single()
	if !ok || p.kind == Encoded {
		panic(failed("has a default"))
	}
	return value{expr: Of(p.cel+chosen+".orValue("+instead.resolve().typed()+")", Any)}
}
