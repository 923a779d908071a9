package plan

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// expressionOfName matches a name that is written as an expression, such as secrets.db, resources['db']
// or 'db'. A dot and a bracket can be part of a name, but no resource has such a name by intention.
var expressionOfName = regexp.MustCompile(
	`^(?:(?:secrets|resources|sources)(?:\.([A-Za-z_][-\w]*)|\[["']([^"'\]]+)["']\])(?:[./\[].*)?|["']([-.\w]+)["'])$`)

// meant returns the name in a text that is written as an expression, and otherwise the text.
func meant(text string) (name string, isExpression bool) {
	groups := expressionOfName.FindStringSubmatch(text)
	if groups == nil {
		return text, false
	}
	return groups[1] + groups[2] + groups[3], true
}

// literalName refuses a name of an input that is written as an expression.
func (v *validator) literalName(at *field.Path, text string) {
	if name, isExpression := meant(text); isExpression {
		v.report(at, "must be a name, not an expression: write %s", name)
	}
}

// literalNames refuses names of inputs in dataFrom that are written as expressions.
func (v *validator) literalNames(at *field.Path, list []v1beta1.DataFrom) {
	for i, d := range list {
		at := at.Child("dataFrom").Index(i)
		if d.Extract != nil {
			v.literalName(at.Child("extract", "key"), d.Extract.Key)
		}
		if d.Find == nil {
			continue
		}
		if name, isExpression := meant(d.Find.Path); isExpression {
			v.report(at.Child("find", "path"), "must be the beginning of <input>/<key>, not an expression: write %s/", name)
		}
	}
}
