package expression

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// This file refuses paths that no object of Kubernetes ever has. Without it they compile, because the types of
// objects are not known, and the expression waits forever.

// unescape replaces the escapes that the CEL of Kubernetes has for the characters of names.
var unescape = strings.NewReplacer("__dot__", ".", "__slash__", "/", "__dash__", "-", "__underscores__", "__")

// checkShapes returns a diagnostic for each path that never exists.
func (e *Environment) checkShapes(s Source, checked *ast.AST) (out diagnostic.List) {
	add := func(n ast.Expr, message string) {
		l := checked.SourceInfo().GetStartLocation(n.ID())
		d := s.wrongAt(l.Line(), l.Column()+1, message)
		if message != "" && !slices.ContainsFunc(out, func(o *diagnostic.Diagnostic) bool { return *o == *d }) {
			out = append(out, d)
		}
	}
	ast.PreOrderVisit(ast.NavigateAST(checked), ast.NewExprVisitor(func(n ast.Expr) {
		if path := literalSteps(n); len(path) > 1 && isInput(path[0]) {
			add(n, neverExists(path[:len(path)-1], path[len(path)-1]))
		}
		if nav, ok := n.(ast.NavigableExpr); ok && (isCall(n, operators.Equals) || isCall(n, operators.NotEquals)) {
			add(n, statusOfCondition(nav))
		}
	}))
	return out
}

// literalSteps returns the names in a chain of selections that begins with a variable, as in resources['db'].status.
// It returns nil for all other nodes.
func literalSteps(e ast.Expr) []string {
	var above ast.Expr
	key := ""
	switch {
	case e.Kind() == ast.IdentKind:
		return []string{e.AsIdent()}
	case e.Kind() == ast.SelectKind:
		above, key = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case isCall(e, operators.Index):
		text, ok := literalString(e.AsCall().Args()[1])
		if !ok {
			return nil
		}
		above, key = e.AsCall().Args()[0], text
	default:
		return nil
	}
	if path := literalSteps(above); path != nil {
		return append(path, key)
	}
	return nil
}

// neverExists returns the message for a field that its object never has, or an empty text.
func neverExists(path []string, field string) string {
	whole, object := written(path), isObject(path)
	switch name := unescape.Replace(field); {
	case name != field && isPart(path):
		return fmt.Sprintf("names are not escaped here: write %s", written(append(path[:len(path):len(path)], name)))
	case object && field == "connectionDetails" && path[0] != Composite:
		return fmt.Sprintf("a resource has no field connectionDetails: write %s", detailOf(path, "password"))
	case object && field == "resource":
		return fmt.Sprintf("%s is the resource itself: leave .resource out", whole)
	case isConditionsPath(path):
		return fmt.Sprintf("%s is a list: write %s.filter(c, c.type == '%s')[0]", whole, whole, field)
	}
	return ""
}

// written returns a path as it is written in the source.
func written(path []string) string {
	r := Reference{Variable: path[0]}
	for _, key := range path[1:] {
		r.Path = append(r.Path, Step{Key: key})
	}
	return r.text(own)
}

// isObject reports whether a path is that of a resource or the composite.
func isObject(path []string) bool {
	switch path[0] {
	case Resource, Self, Composite:
		return len(path) == 1
	case Resources:
		return len(path) == 2
	}
	return false
}

// isPart reports whether a path is a resource or the composite, or is below one.
func isPart(path []string) bool {
	return slices.Contains([]string{Resource, Self, Composite}, path[0]) || path[0] == Resources && len(path) > 1
}

// detailOf returns the path of a connection detail of a resource.
func detailOf(path []string, key string) string {
	if path[0] == Resources {
		return written([]string{Secrets, path[1], key})
	}
	return written([]string{Secret, key})
}

// statusOfCondition returns the message for a comparison of the status of a condition with true or false, which
// is a text in all conditions, or an empty text.
func statusOfCondition(n ast.NavigableExpr) string {
	for i, o := range n.Children() {
		other := n.Children()[1-i]
		if o.Kind() != ast.LiteralKind || other.Kind() != ast.SelectKind || other.AsSelect().FieldName() != "status" {
			continue
		}
		b, ok := o.AsLiteral().(types.Bool)
		if ok && isCondition(other.Children()[0]) {
			text := map[types.Bool]string{true: "'True'", false: "'False'"}[b]
			return fmt.Sprintf("the status of a condition is a string: write %s", text)
		}
	}
	return ""
}

// isCondition reports whether a node is an element of the conditions of a resource.
func isCondition(n ast.NavigableExpr) bool {
	if isCall(n, operators.Index) {
		return isConditions(n.Children()[0])
	}
	if n.Kind() != ast.IdentKind {
		return false
	}
	for p, ok := n.Parent(); ok; p, ok = p.Parent() {
		if p.Kind() == ast.ComprehensionKind && p.AsComprehension().IterVar() == n.AsIdent() {
			return isConditions(p.Children()[0])
		}
	}
	return false
}

// isConditions reports whether a node is the list of the conditions of a resource, or a part of the list.
func isConditions(n ast.NavigableExpr) bool {
	if isCall(n, orderedCall) {
		return isConditions(n.Children()[0])
	}
	if n.Kind() == ast.ComprehensionKind {
		return isConditions(n.Children()[0])
	}
	return isConditionsPath(literalSteps(n))
}

func isConditionsPath(path []string) bool {
	n := len(path) - 2
	return n > 0 && isObject(path[:n]) && slices.Equal(path[n:], []string{"status", "conditions"})
}

// isSecret reports whether the text of a path is a connection detail, or a key of a Secret.
func isSecret(path string) bool { return root(path) == Secret || root(path) == Secrets }

// isDecoding reports whether a function of another language decodes Base64.
func isDecoding(name string) bool {
	hint := foreignHint(name)
	return hint != "" && hint == foreignHint("b64dec")
}

// alreadyDecoded is the hint for Base64 of connection details, which Secrets only have in their manifests.
const alreadyDecoded = "secrets are already decoded"

// isPattern reports whether a literal is a regular expression, and not only a text.
func isPattern(e ast.Expr) bool {
	text, ok := literalString(e)
	return ok && strings.ContainsAny(text, `^$()[]*+\|`)
}

// literalOf returns the last operand of a call as it is written, if it is a text, or an empty text.
func literalOf(call ast.Expr) string {
	args := call.AsCall().Args()
	if text, ok := literalString(args[len(args)-1]); ok && len(text) <= argumentsQuoted && !strings.ContainsAny(text, `'\`) {
		return "'" + text + "'"
	}
	return ""
}
