package advice

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

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
	case isConditionsPath(path):
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

func isConditionsPath(path []string) bool {
	n := len(path) - 2
	return n > 0 && isObject(path[:n]) && slices.Equal(path[n:], []string{"status", "conditions"})
}
