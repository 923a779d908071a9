package advice

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// This file refuses what compiles and can never work, because the types of objects are not known: paths that no object
// of Kubernetes ever has, methods of optionals whose target is never one, and names that are subtracted. Without it,
// the expression waits forever, or fails in each request.

// A reviewer reviews one expression.
type reviewer struct {
	*explainer

	x   *expression.Expression
	out diagnostic.List
}

// mostReviewed is how many mistakes of one expression are explained. The checker of CEL also stops after so many
// errors.
const mostReviewed = 100

// Review returns the diagnostics of parts of an expression that can never work. If there are none, it returns warnings
// about parts that probably do not do what is meant.
func (adviser) Review(x *expression.Expression) diagnostic.List {
	r := &reviewer{explainer: explainerOf(x), x: x}
	if list := r.dashes(); len(list) > 0 {
		return list
	}
	nodes := ast.MatchDescendants(ast.NavigateAST(x.Tree()), ast.AllMatcher())
	for _, check := range []func(ast.NavigableExpr){r.optional, r.shape} {
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
	r.correct(d)
	if len(r.out) < mostReviewed && !slices.ContainsFunc(r.out, d.Same) {
		r.out = append(r.out, d)
	}
}

// start returns the position of a node. Columns count from 1.
func (r *reviewer) start(n ast.Expr) (line, column int) {
	l := r.Tree.SourceInfo().GetStartLocation(n.ID())
	return l.Line(), l.Column() + 1
}

// optional refuses a method of optionals, or an entry with ?, for a part of the data that is selected without ?.
func (r *reviewer) optional(n ast.NavigableExpr) {
	switch {
	case !r.x.LacksOptional(n):
	case celast.IsCall(n, celast.OptionalCall):
		line, column := r.start(n)
		r.refuse(line, column, r.needsOptionalEntry(n))
	default:
		at := r.script().nameBefore(r.offset(n))
		line, column := r.script().position(at)
		r.refuse(line, column, r.script().needsOptional(at))
	}
}

// shape refuses a path that never exists, and a comparison of the status of a condition with true or false.
func (r *reviewer) shape(n ast.NavigableExpr) {
	message := ""
	if path := steps(n); len(path) > 1 && isInput(path[0]) {
		message = r.neverExists(n, path[:len(path)-1], path[len(path)-1])
	} else if celast.IsCall(n, operators.Equals) || celast.IsCall(n, operators.NotEquals) {
		message = r.statusOfCondition(n)
	}
	if message != "" {
		line, column := r.start(n)
		r.refuse(line, column, message)
	}
}

// suspicions adds warnings. There is none about a value that is wrapped in dyn().
func (r *reviewer) suspicions(nodes []ast.NavigableExpr) {
	warn := func(n ast.Expr, message string) {
		if message != "" {
			line, column := r.start(n)
			d := r.Source.At(line, column, message)
			r.correct(d)
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
		case celast.IsCall(n, "base64.decode"):
			warn(n, r.decodedTwice(n))
		case slices.Equal(steps(n), []string{expression.Env, "data"}):
			warn(n, "leave data out, because the environment is the data of the EnvironmentConfigs")
		}
	}
}

// rawHash returns the warning about a value that is the bytes of a hash.
func rawHash(call ast.CallExpr) string {
	return fmt.Sprintf("the value is the raw bytes of the hash: write hex.encode(%[1]s(...)), "+
		"or bytes(%[1]s(...)) if the bytes are meant", call.FunctionName())
}

// decodedTwice returns the warning about a connection detail that is decoded again.
func (r *reviewer) decodedTwice(call ast.Expr) string {
	arg := celast.AsWritten(call.AsCall().Args()[0])
	read, optional := r.x.Reading(arg)
	if path := r.pathOf(arg); read != nil && !optional && isSecret(read.Variable) && optionalPath(path) != "" &&
		!celast.HasDyn(arg) {
		return r.instead(call, path, fmt.Sprintf("connection details are already decoded: write %s, or "+
			"base64.decode(dyn(%s)) if it is encoded twice",
			path, path))
	}
	return ""
}
