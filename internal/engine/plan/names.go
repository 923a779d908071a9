package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// expressionOfName matches a name that is written as an expression, such as secrets.db, resources['db']
// or 'db'. A dot and a bracket can be part of a name, but no resource has such a name by intention.
var expressionOfName = lazy.MustCompile(
	`^(?:(?:secrets|resources|sources)(?:\.([A-Za-z_][-\w]*)|\[["']([^"'\]]+)["']\])(?:[./\[].*)?|["']([-.\w]+)["'])$`)

// meant returns the name in a text that is written as an expression, and otherwise the text.
func meant(text string) (name string, isExpression bool) {
	groups := expressionOfName.FindStringSubmatch(text)
	if groups == nil {
		return text, false
	}
	return groups[1] + groups[2] + groups[3], true
}

// literalName returns the name of an input, and refuses one that is written as an expression.
func (c *compiler) literalName(at *field.Path, text string) string {
	name, isExpression := meant(text)
	if isExpression {
		c.refuse(at, "must be a name, not an expression: write %s", name)
	}
	return name
}
