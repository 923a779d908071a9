package gotemplate

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// truth returns the CEL of a value as a condition. As in a template, false, 0, and what is empty or missing are false.
func (t *translation) truth(v value) string {
	e, optional := t.optional(v)
	p, single := e.single()
	switch {
	case !single:
		return fmt.Sprintf("%s != ''", e.Text())
	case optional && p.kind == Bool:
		return p.cel + ".orValue(false)"
	case optional && (p.kind == Text || p.kind == Encoded):
		return p.cel + ".orValue('') != ''"
	case optional && t.data.observed(v) && len(v.path) <= 4:
		return p.cel + ".hasValue()" // an object
	case optional:
		return p.cel + ".optFlatMap(v, optional.ofNonZeroValue(v)).hasValue()"
	case p.kind == Bool:
		return p.cel
	case p.kind == Any:
		return "optional.ofNonZeroValue(" + p.cel + ").hasValue()"
	}
	return e.Text() + " != ''"
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
	return func(t *translation, args []value) value {
		out := make([]string, len(args))
		for i, a := range args {
			out[i] = operand(t.truth(a))
		}
		return value{expr: Of(strings.Join(out, operator), Bool)}
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
	return func(t *translation, args []value) value {
		a, b := t.compared(args[0], args[1]), t.compared(args[1], args[0])
		cel := a + operator + b
		if a, ok := strings.CutSuffix(a, ".orValue(null)"); ok && b == "null" {
			if cel = a + ".hasValue()"; operator == " == " {
				cel = not(cel)
			}
		}
		return value{expr: Of(cel, Bool)}
	}
}

// compared returns one side of a comparison. If it is missing, it is a value that the other side is not.
func (t *translation) compared(v, other value) string {
	e, optional := t.optional(v)
	if !optional {
		return e.typed()
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
	return e.parts[0].cel + ".orValue(" + zero + ")"
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
		if v, err := try(func() value { return t.pipe(n) }); err == nil && v.isPath {
			return t.data.observed(v)
		}
		return !slices.ContainsFunc(n.Cmds, func(c *parse.CommandNode) bool {
			return slices.ContainsFunc(c.Args, func(a parse.Node) bool { return !t.readsObserved(a) })
		})
	}
	v, err := try(func() value { return t.operand(n) })
	return err == nil && t.data.observed(v)
}

// ternary chooses one of its first two arguments.
func ternary(t *translation, args []value) value {
	return value{expr: If(t.truth(args[2]), t.resolve(args[0]), t.resolve(args[1]))}
}

// has reports whether an object has a key.
func has(t *translation, args []value) value {
	e, optional := t.optional(args[0].below(t.steps(args[1:])))
	if !optional {
		panic(failed("asks for a key that is always there"))
	}
	return value{expr: Of(e.parts[0].cel+".hasValue()", Bool)}
}
