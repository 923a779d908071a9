package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// truth returns the CEL of a value as a condition. As in a template, false, 0, and what is empty or missing are false.
func (t *translation) truth(v value) (string, error) {
	e, optional, err := t.optional(v)
	if err != nil {
		return "", err
	}
	p, single := e.single()
	switch {
	case !single:
		return fmt.Sprintf("%s != ''", e.Text()), nil
	case optional && p.kind == Bool:
		return p.cel + ".orValue(false)", nil
	case optional && (p.kind == Text || p.kind == Encoded):
		return p.cel + ".orValue('') != ''", nil
	case optional && t.data.observed(v) && len(v.path) <= 4:
		return p.cel + ".hasValue()", nil // an object
	case optional:
		return p.cel + ".optFlatMap(v, optional.ofNonZeroValue(v)).hasValue()", nil
	case p.kind == Bool:
		return p.cel, nil
	case p.kind == Any:
		return "optional.ofNonZeroValue(" + p.cel + ").hasValue()", nil
	}
	return e.Text() + " != ''", nil
}

// not negates a condition.
func not(condition string) string {
	if strings.Contains(condition, " ") {
		return "!(" + condition + ")"
	}
	return "!" + condition
}

// connective returns and, or or.
func connective(operator string) function {
	return func(t *translation, args []value) (value, error) {
		out := make([]string, len(args))
		for i, a := range args {
			c, err := t.truth(a)
			if err != nil {
				return value{}, err
			}
			out[i] = operand(c)
		}
		return value{expr: Of(strings.Join(out, operator), Bool)}, nil
	}
}

// operand returns a condition that can be part of another one.
func operand(condition string) string {
	for _, operator := range []string{" && ", " || ", " ? "} {
		if strings.Contains(condition, operator) {
			return "(" + condition + ")"
		}
	}
	return condition
}

// comparison translates eq and ne. A missing value differs from every constant.
func comparison(operator string) function {
	return func(t *translation, args []value) (value, error) {
		a, err := t.compared(args[0], args[1])
		if err != nil {
			return value{}, err
		}
		b, err := t.compared(args[1], args[0])
		if err != nil {
			return value{}, err
		}
		if a, ok := strings.CutSuffix(a, ".orValue(null)"); ok && b == "null" {
			if operator == " == " {
				return value{expr: Of("!"+a+".hasValue()", Bool)}, nil
			}
			return value{expr: Of(a+".hasValue()", Bool)}, nil
		}
		return value{expr: Of(a+operator+b, Bool)}, nil
	}
}

// compared returns one side of a comparison. If it is missing, it is a value that the other side is not.
func (t *translation) compared(v, other value) (string, error) {
	e, optional, err := t.optional(v)
	if err != nil || !optional {
		return e.typed(), err
	}
	text, isText := other.expr.Constant()
	zero := "null"
	p, _ := other.expr.single()
	switch {
	case other.isPath || other.base != "":
	case isText && text != "":
		zero = "''"
	case p.cel == "true":
		zero = "false"
	}
	return e.parts[0].cel + ".orValue(" + zero + ")", nil
}

// negated reports whether a condition asks for something that is not there.
func negated(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.PipeNode:
		return slices.ContainsFunc(n.Cmds, func(c *parse.CommandNode) bool { return slices.ContainsFunc(c.Args, negated) })
	case *parse.IdentifierNode:
		return slices.Contains([]string{"not", "eq", "empty"}, n.Ident)
	}
	return false
}

// readsObserved reports whether a pipeline only reads composed resources. An export waits for them.
func (t *translation) readsObserved(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.NilNode, *parse.StringNode, *parse.NumberNode:
		return true
	case *parse.DotNode, *parse.FieldNode:
		if t.inObserved {
			return true
		}
	case *parse.IdentifierNode:
		return t.functions[n.Ident].call != nil
	case *parse.PipeNode:
		if v, err := t.pipe(n); err == nil && v.isPath {
			return t.data.observed(v)
		}
		return !slices.ContainsFunc(n.Cmds, func(c *parse.CommandNode) bool {
			return slices.ContainsFunc(c.Args, func(a parse.Node) bool { return !t.readsObserved(a) })
		})
	}
	v, err := t.operand(n)
	return err == nil && t.data.observed(v)
}

// ternary chooses one of its first two arguments.
func ternary(t *translation, args []value) (value, error) {
	condition, err := t.truth(args[2])
	if err != nil {
		return value{}, err
	}
	list, err := t.all(args[:2])
	if err != nil {
		return value{}, err
	}
	return value{expr: If(condition, list[0], list[1])}, nil
}

// has reports whether an object has a key.
func has(t *translation, args []value) (value, error) {
	list, err := t.steps(args[1:])
	if err != nil {
		return value{}, err
	}
	e, optional, err := t.optional(args[0].below(list))
	if err == nil && !optional {
		err = errors.New("asks for a key that is always there")
	}
	if err != nil {
		return value{}, err
	}
	return value{expr: Of(e.parts[0].cel+".hasValue()", Bool)}, nil
}
