package gotemplate

import (
	"errors"
	"slices"
	"strconv"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
)

// pipe translates commands of which each one receives the result of the former one.
func (t *translation) pipe(p *parse.PipeNode) (value, error) {
	var piped []value
	for _, c := range p.Cmds {
		v, err := t.command(c, piped)
		if err != nil {
			return value{}, err
		}
		piped = []value{v}
	}
	return piped[0], nil
}

func (t *translation) command(c *parse.CommandNode, piped []value) (value, error) {
	id, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(c.Args) > 1 || len(piped) > 0 {
			return value{}, errors.New("passes arguments to something that is not a function")
		}
		return t.operand(c.Args[0])
	}
	args := make([]value, 0, len(c.Args))
	for _, a := range c.Args[1:] {
		v, err := t.operand(a)
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
	}
	return t.call(id.Ident, append(args, piped...))
}

func (t *translation) operand(n parse.Node) (value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return t.dot, t.dot.err
	case *parse.FieldNode:
		return t.dot.below(names(n.Ident)), t.dot.err
	case *parse.VariableNode:
		v, ok := t.vars[n.Ident[0]]
		if !ok {
			return value{}, errors.New("uses a variable that a branch or a loop sets")
		}
		return v.below(names(n.Ident[1:])), v.err
	case *parse.ChainNode:
		v, err := t.operand(n.Node)
		return v.below(names(n.Field)), err
	case *parse.PipeNode:
		return t.pipe(n)
	case *parse.StringNode:
		return value{expr: Literal(n.Text)}, nil
	case *parse.NumberNode:
		if n.IsInt {
			return value{expr: Of(strconv.FormatInt(n.Int64, 10), Any)}, nil
		}
	case *parse.BoolNode:
		return value{expr: Of(n.String(), Bool)}, nil
	case *parse.NilNode:
		return value{expr: Of("null", Any)}, nil
	case *parse.IdentifierNode:
		return t.call(n.Ident, nil)
	}
	return value{}, errors.New("has a value that has no equivalent")
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
func (t *translation) resolve(v value) (Expr, error) {
	switch {
	case v.err != nil:
		return Expr{}, v.err
	case v.isPath:
		return t.data.Lookup(v.path, false)
	case v.base != "":
		return Of(celtext.Path(v.base, v.path, false), Any), nil
	case v.list != nil, v.fields != nil:
		return Expr{}, errors.New("writes a list or an object as text")
	}
	return v.expr, nil
}

// optional returns the expression of a value that may be missing, of an optional type. It is false if
// the value cannot be missing.
func (t *translation) optional(v value) (Expr, bool, error) {
	switch {
	case t.data.Strict || !v.isPath && (v.base == "" || len(v.path) == 0):
		e, err := t.resolve(v)
		return e, false, err
	case v.isPath:
		e, err := t.data.Lookup(v.path, true)
		return e, true, err
	}
	return Of(celtext.Path(v.base, v.path, true), Any), true, nil
}
