package advice

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// This file refuses what compiles and can never work, because the types of objects are not known: paths that no object
// of Kubernetes ever has, methods of optionals whose target is never one, and names that are subtracted. Without it, the
// expression waits forever, or fails in each request.

// A reviewer reviews one expression.
type reviewer struct {
	*explainer

	x   *expression.Expression
	out diagnostic.List
}

// mostReviewed is how many mistakes of one expression are explained. The checker of CEL also stops after so many errors.
const mostReviewed = 100

// Review returns the diagnostics of parts of an expression that can never work. If there are none, it returns warnings
// about parts that probably do not do what is meant.
func (adviser) Review(x *expression.Expression) diagnostic.List {
	errs := &expression.Errors{Source: x.Source(), Environment: x.Environment(), Tree: x.Tree()}
	r := &reviewer{explainer: newExplainer(errs), x: x}
	if minusOfObject(x.Tree()) > 0 {
		if list := r.dashes(); len(list) > 0 {
			return list
		}
	}
	nodes := ast.MatchDescendants(ast.NavigateAST(x.Tree()), ast.AllMatcher())
	for _, check := range []func(ast.NavigableExpr){r.optionalMethod, r.optionalEntry, r.shape} {
		for _, n := range nodes {
			check(n)
		}
	}
	if len(r.out) == 0 {
		r.suspicions(nodes)
	}
	return r.out
}

// refuse adds a diagnostic of a node, unless it has already been added: a macro has the same node twice.
func (r *reviewer) refuse(line, column int, message string) {
	d := r.Source.At(line, column, message)
	same := func(o *diagnostic.Diagnostic) bool { return *o == *d }
	if len(r.out) < mostReviewed && !slices.ContainsFunc(r.out, same) {
		r.out = append(r.out, d)
	}
}

// start returns the position of a node. Columns count from 1.
func (r *reviewer) start(n ast.Expr) (line, column int) {
	l := r.Tree.SourceInfo().GetStartLocation(n.ID())
	return l.Line(), l.Column() + 1
}

// optionalMethod refuses a method of optionals whose target is a part of the data that is selected without ?.
func (r *reviewer) optionalMethod(n ast.NavigableExpr) {
	if n.Kind() != ast.CallKind || !n.AsCall().IsMemberFunction() ||
		!slices.Contains(optionalMethods, n.AsCall().FunctionName()) || !isPlain(n.Children()[0]) {
		return
	}
	at := r.text.nameBefore(r.offset(n))
	line, column := r.text.position(at)
	r.refuse(line, column, r.text.needsOptional(at))
}

// optionalEntry refuses an entry with ? whose value is such a part.
func (r *reviewer) optionalEntry(n ast.NavigableExpr) {
	if celast.IsCall(n, celast.OptionalCall) && isPlain(n.Children()[0]) {
		line, column := r.start(n)
		r.refuse(line, column, needsOptionalEntry(r.pathOf(n)))
	}
}

// shape refuses a path that never exists, and a comparison of the status of a condition with true or false.
func (r *reviewer) shape(n ast.NavigableExpr) {
	message := ""
	if path := literalSteps(n); len(path) > 1 && isInput(path[0]) {
		message = neverExists(path[:len(path)-1], path[len(path)-1])
	} else if celast.IsCall(n, operators.Equals) || celast.IsCall(n, operators.NotEquals) {
		message = statusOfCondition(n)
	}
	if message != "" {
		line, column := r.start(n)
		r.refuse(line, column, message)
	}
}

// suspicions adds warnings. There is none about a value that is wrapped in dyn(), or about a hash that is wrapped in
// bytes().
func (r *reviewer) suspicions(nodes []ast.NavigableExpr) {
	warn := func(n ast.Expr, message string) {
		if message != "" {
			line, column := r.start(n)
			d := r.Source.At(line, column, message)
			d.Warning = true
			r.out = append(r.out, d)
		}
	}
	for _, p := range r.Source.Parts(r.Tree) {
		if p.Want == expression.WantText && isHash(p.Expr) {
			warn(p, rawHash(p.AsCall()))
		}
	}
	for _, n := range nodes {
		switch {
		case celast.IsCall(n, operators.Equals) || celast.IsCall(n, operators.NotEquals):
			warn(n, r.comparedWithNull(n.AsCall()))
		case celast.IsCall(n, "base64.decode"):
			warn(n, r.decodedTwice(n.AsCall()))
		}
	}
}

// rawHash returns the warning about a value that is the bytes of a hash.
func rawHash(call ast.CallExpr) string {
	return fmt.Sprintf("the value is the raw bytes of the hash: write hex.encode(%[1]s(...)), "+
		"or bytes(%[1]s(...)) if the bytes are meant", call.FunctionName())
}

// comparedWithNull returns the warning about a comparison of a field of the data with null.
func (r *reviewer) comparedWithNull(call ast.CallExpr) string {
	args, not := call.Args(), ""
	i := slices.IndexFunc(args, func(e ast.Expr) bool {
		return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
	})
	if i < 0 {
		return ""
	}
	path := r.plainPath(args[1-i])
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
func (r *reviewer) decodedTwice(call ast.CallExpr) string {
	args := call.Args()
	path := r.plainPath(args[0], expression.Secret, expression.Secrets)
	if path == "" {
		return ""
	}
	return fmt.Sprintf("connection details are already decoded: write %s, or base64.decode(dyn(%s)) if it is encoded twice",
		path, path)
}

// plainPath returns the text of an operand that selects a field that must exist, of one of the variables or of
// any. It is empty for all other operands.
func (r *reviewer) plainPath(e ast.Expr, variables ...string) string {
	e = celast.AsWritten(e)
	read, optional := r.x.Reading(e)
	if _, _, selects := celast.Selection(e); !selects || read == nil || optional || celast.HasDyn(e) {
		return ""
	}
	known := len(variables) == 0 || slices.Contains(variables, read.Variable)
	if path := r.pathOf(e); known && !slices.ContainsFunc(read.Path, expression.Step.Any) && optionalPath(path) != "" {
		return path
	}
	return ""
}
