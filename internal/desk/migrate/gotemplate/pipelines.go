package gotemplate

import (
	"slices"
	"strconv"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
)

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
	case *parse.NumberNode:
		if n.IsInt {
			return value{expr: Of(strconv.FormatInt(n.Int64, 10), Any)}
		}
	case *parse.BoolNode:
		return value{expr: Of(n.String(), Bool)}
	case *parse.NilNode:
		return value{expr: Of("null", Any)}
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

// below returns the value at a path below a value.
func (v value) below(path []any) value {
	check(v.err)
	if len(path) == 0 {
		return v
	}
	if name, ok := path[0].(string); ok && len(path) == 1 && v.fields != nil {
		return value{expr: v.fields[name], random: true}
	}
	if !v.isPath && v.base == "" {
		v.base = v.expr.typed()
	}
	v.path = slices.Concat(v.path, path)
	return v
}

// resolve returns the expression of a value.
func (t *translation) resolve(v value) Expr {
	check(v.err)
	switch {
	case v.isPath:
		e, err := t.data.Lookup(v.path, false)
		check(err)
		return e
	case v.base != "":
		return Of(celtext.Path(v.base, v.path, false), Any)
	case v.list != nil, v.fields != nil:
		panic(failed("writes a list or an object as text"))
	}
	return v.expr
}

// optional returns the expression of a value that may be missing, of an optional type. It is false if
// the value cannot be missing.
func (t *translation) optional(v value) (Expr, bool) {
	switch {
	case t.data.Strict || !v.isPath && (v.base == "" || len(v.path) == 0):
		return t.resolve(v), false
	case v.isPath:
		e, err := t.data.Lookup(v.path, true)
		check(err)
		return e, true
	}
	return Of(celtext.Path(v.base, v.path, true), Any), true
}
