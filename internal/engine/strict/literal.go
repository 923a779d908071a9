package strict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A literal field is used as it is. A text in it that is probably an expression is refused, because it would become for
// example a DNS name of a certificate. A text is an expression if it begins with a variable, and if its second step
// is a field that each object has, or a name that the input declares for this variable. So secrets.example.com is a
// DNS name.

// variables of which a path may begin an expression.
var variables = strings.Join([]string{ //nolint:gochecknoglobals // a constant
	expression.Composite, expression.Resource, expression.Self, expression.Secret, expression.Resources,
	expression.Secrets, expression.Sources, expression.Env, expression.Context, expression.Variables,
	expression.Generated, expression.Candidate, expression.Previous, expression.Revisions, expression.Item,
}, "|")

var (
	// twoSteps matches the beginning of an expression: a variable and its second step.
	twoSteps = lazy.MustCompile(
		`^\s*(` + variables + `)(?:\??\.\??([A-Za-z_]\w*)|\[["']([^"'\]]+)["']\])(?:[^-\w]|$)`)

	// pathForm is a path below a variable.
	pathForm = lazy.MustCompile(
		`^(?:` + variables + `)(?:\??\.\??[A-Za-z_]\w{0,62}|\['[-./\w]{1,63}'\]|\[\d{1,4}\]){1,12}$`)

	// namesInputs matches the paths of literal fields whose text may begin like an expression: names of inputs, field
	// paths, and patterns.
	namesInputs = lazy.MustCompile(
		`\.(?:from|extract\.\w+|find\..*|rewrite\[.*|nonSensitive\[\d+\]|allow\..*)$|[fF]ieldPath$`)

	// placeholder matches a placeholder of a shell, kro, a Go template, Kustomize or Python. A group is its name.
	placeholder = lazy.MustCompile(strings.Join([]string{
		`\$\{ *([A-Za-z_][-.\w]{0,62}) *\}`,
		`\{\{-? *([.$A-Za-z_][-.\w]{0,62})(?: [^{}\n]{0,200})?-?\}\}`,
		`\$\(([A-Za-z_][.\w]{0,62})\)`,
		`%\(([A-Za-z_]\w{0,62})\)[sdr]`,
		`<(no value)>`,
	}, "|"))
)

// IsPath reports whether a text is a path of CEL below a variable. Messages may repeat it. Any other text may be data.
func IsPath(text string) bool { return pathForm().MatchString(text) }

// HasPlaceholder reports whether a text contains a placeholder of another tool.
func HasPlaceholder(text string) bool { return placeholder().MatchString(text) }

// PlaceholderIn returns the beginning of the message about the first placeholder of another tool in a text, or nothing.
// Some texts are scripts or templates for another program. Therefore a placeholder is only a warning.
func PlaceholderIn(text string) (message string) {
	if m := placeholder().FindStringSubmatch(text); m != nil {
		message = fmt.Sprintf("%q looks like a placeholder of another tool, but is used as it is: ", strings.Join(m[1:], ""))
	}
	return message
}

// declaredSteps returns the names that an input declares, after the variables that have them.
func declaredSteps(s *structpb.Struct) map[string]bool {
	out := map[string]bool{}
	declare := func(list, name string, variables ...string) {
		for _, item := range s.GetFields()[list].GetListValue().GetValues() {
			for _, v := range variables {
				out[v+"."+item.GetStructValue().GetFields()[name].GetStringValue()] = true
			}
		}
	}
	declare("sources", "name", expression.Sources, expression.Secrets)
	declare("variables", "name", expression.Variables)
	declare("generators", "name", expression.Generated, expression.Candidate, expression.Previous)
	for _, exports := range []string{"secrets", "configMaps"} {
		declare(exports, "name", expression.Revisions)
		declare(exports, "from", expression.Resources, expression.Secrets)
	}
	return out
}

// beginsExpression reports whether a text begins as an expression over this input.
func (d *decoder) beginsExpression(text string) bool {
	m := twoSteps().FindStringSubmatch(text)
	inEachObject := []string{"metadata", "spec", "status"}
	return m != nil && (slices.Contains(inEachObject, m[2]+m[3]) || d.declared[m[1]+"."+m[2]+m[3]])
}

// literal refuses a text in a literal field if it is an expression, and notes it if it contains a placeholder of
// another tool. Rules of rewrite have placeholders of their own.
func (d *decoder) literal(n Node) {
	text, path, name := n.Value.GetStringValue(), n.At.String(), expressionFor(n)
	if !namesInputs().MatchString(path) && d.beginsExpression(text) {
		message := "is literal, and no field accepts an expression for it: write the text itself"
		if name != "" {
			message = "is literal: write the expression in the field " + name
		}
		wrong := d.refuse(n.At, "%s", message)
		if name != "" && n.Key == "" && !n.Item && !HasPlaceholder(text) {
			wrong.Edits = []diagnostic.Edit{{Path: path, Action: diagnostic.Rename, Text: name}}
		}
		return
	}
	if message := PlaceholderIn(text); message != "" && !strings.Contains(path, ".rewrite[") {
		instead := "write the text that it stands for"
		if name != "" {
			instead = "write an expression in the field " + name
		}
		d.warn(path, message+instead)
	}
}

// manifest warns about texts in a manifest that are probably expressions. They are no mistake: the manifest is of
// another program.
func (d *decoder) manifest(root string, path *field.Path, v *structpb.Value) {
	for i, item := range v.GetListValue().GetValues() {
		d.manifest(root, path.Index(i), item)
	}
	fields := v.GetStructValue().GetFields()
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		d.manifest(root, path.Child(k), fields[k])
	}
	if text := v.GetStringValue(); d.beginsExpression(text) {
		d.warn(path.String(), "is literal: write the expression into set beside the manifest, as {fieldPath: "+
			strings.TrimPrefix(path.String(), root)+", value: ...}")
	}
}

func (d *decoder) warn(path, message string) {
	if len(d.warnings) < limits.Diagnostics {
		w := &diagnostic.Diagnostic{Path: path, Rule: diagnostic.Input, Warning: true, Message: message}
		d.warnings = append(d.warnings, w)
	}
}

// expressionFor returns the field whose expression returns the value of a literal field, or an empty text.
func expressionFor(n Node) string {
	owner, name := n.Above, n.Name
	if n.Item || n.Key != "" {
		owner = owner.Above
	}
	if name == "matchName" { // of a source
		name = "name"
	}
	if name += "Expression"; owner != nil && owner.Schema.Properties[name] != nil {
		return name
	}
	return ""
}
