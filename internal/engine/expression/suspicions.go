package expression

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// Suspicions returns warnings about parts that are valid, but probably do not do what is meant. There is none
// about a value that is wrapped in dyn(), or about a hash that is wrapped in bytes().
func (x *Expression) Suspicions() (out diagnostic.List) {
	root := resultPart{Expr: x.ast.Expr(), want: x.source.Want}
	for _, p := range root.parts() {
		if p.want == WantText && isHash(p.Expr) {
			out = append(out, x.suspicion(p.ID(), rawHash(p.AsCall())))
		}
	}
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		message := ""
		switch call := e.AsCall(); call.FunctionName() {
		case operators.Equals, operators.NotEquals:
			message = x.comparedWithNull(call)
		case "base64.decode":
			message = x.decodedTwice(call)
		}
		if message != "" {
			out = append(out, x.suspicion(e.ID(), message))
		}
	}))
	return out
}

func (x *Expression) suspicion(id int64, message string) *diagnostic.Diagnostic {
	line, column := x.position(id)
	d := x.source.wrongAt(line, column, message)
	d.Warning = true
	return d
}

// rawHash returns the warning about a value that is the bytes of a hash.
func rawHash(call ast.CallExpr) string {
	return fmt.Sprintf("the value is the raw bytes of the hash: write hex.encode(%[1]s(...)), "+
		"or bytes(%[1]s(...)) if the bytes are meant", call.FunctionName())
}

// comparedWithNull returns the warning about a comparison of a field of the data with null.
func (x *Expression) comparedWithNull(call ast.CallExpr) string {
	args, not := call.Args(), ""
	i := slices.IndexFunc(args, func(e ast.Expr) bool {
		return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
	})
	if i < 0 {
		return ""
	}
	path := x.plainPath(args[1-i])
	if path == "" {
		return ""
	}
	if call.FunctionName() == operators.Equals {
		not = "!"
	}
	present := fmt.Sprintf("%shas(%s)", not, path)
	if m := stepAtEnd.FindStringSubmatch(path); m == nil || m[1] == "" {
		present = not + optionalPath(path) + ".hasValue()"
	}
	return fmt.Sprintf("a missing field is waited for, it is not null: write %s, or for a default %s.orValue('none')",
		present, optionalPath(path))
}

// decodedTwice returns the warning about a connection detail that is decoded again.
func (x *Expression) decodedTwice(call ast.CallExpr) string {
	args := call.Args()
	path := x.plainPath(args[0], Secret, Secrets)
	if path == "" {
		return ""
	}
	return fmt.Sprintf("connection details are already decoded: write %s, or base64.decode(dyn(%s)) if it is encoded twice",
		path, path)
}

// plainPath returns the text of an operand that selects a field that must exist, of one of the variables or of
// any. It is empty for all other operands.
func (x *Expression) plainPath(e ast.Expr, variables ...string) string {
	e = asWritten(e)
	refs := x.byNode[e.ID()]
	if _, _, selects := selection(e); !selects || len(refs) != 1 || hasDyn(e) {
		return ""
	}
	r := x.references[refs[0]]
	known := len(variables) == 0 || slices.Contains(variables, r.Variable)
	if !known || x.mayLack[x.name(r)] || slices.ContainsFunc(r.Path, Step.Any) {
		return ""
	}
	c, at := newScript(x.source.Text), x.ast.SourceInfo().GetStartLocation(e.ID())
	path := c.pathAt(c.offset(at.Line(), at.Column()))
	if optionalPath(path) == "" {
		return ""
	}
	return path
}
