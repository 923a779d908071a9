package advice

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

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

// say adds a diagnostic at an offset, unless it has already been added: a macro has the same node twice.
func (r *reviewer) say(at int, message string, isWarning bool) {
	d := r.wrong(at, message)
	d.Warning = isWarning
	if message != "" && len(r.out) < mostReviewed && !slices.ContainsFunc(r.out, d.Same) {
		r.out = append(r.out, d)
	}
}

// optional refuses a method of optionals, or an entry with ?, for a part of the data that is selected without ?.
func (r *reviewer) optional(n ast.NavigableExpr) {
	switch {
	case !r.x.LacksOptional(n):
	case celast.IsCall(n, celast.OptionalCall):
		r.say(r.offset(n), r.needsOptionalEntry(n), false)
	default:
		at := r.script().nameBefore(r.offset(n))
		r.say(at, r.script().needsOptional(at), false)
	}
}

// shape refuses a path that never exists, and a comparison of the status of a condition with true or false.
func (r *reviewer) shape(n ast.NavigableExpr) {
	if path := steps(n); len(path) > 1 && isInput(path[0]) {
		r.say(r.offset(n), r.neverExists(n, path[:len(path)-1], path[len(path)-1]), false)
	} else if celast.IsCall(n, operators.Equals) || celast.IsCall(n, operators.NotEquals) {
		r.say(r.offset(n), r.statusOfCondition(n), false)
	}
}

// suspicions adds warnings. There is none about a value that is wrapped in dyn().
func (r *reviewer) suspicions(nodes []ast.NavigableExpr) {
	for _, p := range r.Source.Parts(r.Tree) {
		if p.Want == expression.WantText && isHash(p.Expr) {
			r.say(r.offset(p), fmt.Sprintf("the value is the raw bytes of the hash: write hex.encode(%[1]s(...)), "+
				"or bytes(%[1]s(...)) if the bytes are meant", p.AsCall().FunctionName()), true)
		}
	}
	for _, n := range nodes {
		switch {
		case celast.IsCall(n, "base64.decode"):
			r.say(r.offset(n), r.decodedTwice(n), true)
		case slices.Equal(steps(n), []string{expression.Env, "data"}):
			r.say(r.offset(n), dataOfEnvironment, true)
		}
	}
}

// decodedTwice returns the warning about a connection detail that is decoded again.
func (r *reviewer) decodedTwice(call ast.Expr) string {
	arg := celast.AsWritten(call.AsCall().Args()[0])
	read, optional := r.x.Reading(arg)
	if path := r.pathOf(arg); read != nil && !optional && isSecret(read.Variable) && optionalPath(path) != "" &&
		!celast.HasDyn(arg) {
		return r.instead(call, path, fmt.Sprintf("connection details are already decoded: write %[1]s, or "+
			"base64.decode(dyn(%[1]s)) if it is encoded twice", path))
	}
	return ""
}

// unescape replaces the escapes that the CEL of Kubernetes has for the characters of names.
var unescape = strings.NewReplacer("__dot__", ".", "__slash__", "/", "__dash__", "-")

// steps returns the names in a chain of selections that begins with a variable, as in resources['db'].status. It
// returns nil for all other nodes.
func steps(e ast.Expr) []string {
	if e.Kind() == ast.IdentKind {
		return []string{e.AsIdent()}
	}
	above, key, ok := celast.Selection(e)
	if !ok || celast.IsCall(e, operators.OptSelect) {
		return nil
	}
	if path := steps(above); path != nil {
		return append(path, key)
	}
	return nil
}

// neverExists returns the message for a field that its object never has, or an empty text.
func (r *reviewer) neverExists(n ast.Expr, path []string, field string) string {
	whole, object := written(path), isObject(path)
	switch name := unescape.Replace(field); {
	case name != field:
		instead := written(append(path[:len(path):len(path)], name))
		return r.instead(n, instead, "names are not escaped here: write "+instead)
	case object && field == "connectionDetails" && path[0] != expression.Composite:
		details := []string{expression.Secret, "password"}
		if path[0] == expression.Resources {
			details = []string{expression.Secrets, path[1], "password"}
		}
		return fmt.Sprintf("a resource has no field connectionDetails: write %s", written(details))
	case object && field == "resource":
		return r.instead(n, whole, fmt.Sprintf("%s is the resource itself: leave .resource out", whole))
	case len(path) > 2 && isObject(path[:len(path)-2]) &&
		slices.Equal(path[len(path)-2:], []string{"status", "conditions"}):
		instead := fmt.Sprintf("%s.filter(c, c.type == '%s')[0]", whole, field)
		return r.instead(n, instead, fmt.Sprintf("%s is a list: write %s", whole, instead))
	}
	return ""
}

// written returns a path as it is written in the source.
func written(path []string) string {
	r := expression.Reference{Variable: path[0]}
	for _, key := range path[1:] {
		r.Path = append(r.Path, expression.Step{Key: key})
	}
	return r.String()
}

// isObject reports whether a path is that of a resource or the composite.
func isObject(path []string) bool {
	switch path[0] {
	case expression.Resource, expression.Self, expression.Composite:
		return len(path) == 1
	case expression.Resources:
		return len(path) == 2
	}
	return false
}

// statusOfCondition returns the message for a comparison of the status of a condition with true or false, which
// is a text in all conditions, or an empty text.
func (r *reviewer) statusOfCondition(n ast.NavigableExpr) string {
	for i, o := range n.Children() {
		other := n.Children()[1-i]
		if o.Kind() != ast.LiteralKind || other.Kind() != ast.SelectKind || other.AsSelect().FieldName() != "status" {
			continue
		}
		path := steps(other) // nil for an element of a list
		b, ok := o.AsLiteral().(types.Bool)
		if ok && strings.Contains(r.Source.Text, ".conditions") && (path == nil || !isInput(path[0])) {
			text := map[types.Bool]string{true: "'True'", false: "'False'"}[b]
			return r.instead(o, text, "the status of a condition is a string: write "+text)
		}
	}
	return ""
}
