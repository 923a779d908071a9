package strict

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A literal field is used as it is. A text in it that is probably an expression is refused, because it would become for
// example a DNS name of a certificate. A text is an expression if it begins with a variable, and if its second step
// is a field that each object has, or a name that the input declares for this variable. So secrets.example.com is a
// DNS name.

// twoSteps matches the beginning of an expression: a variable and its second step.
var twoSteps = lazy.MustCompile(`^\s*(` + strings.Join([]string{
	expression.Composite, expression.Resource, expression.Self, expression.Secret, expression.Resources,
	expression.Secrets, expression.Sources, expression.Env, expression.Context, expression.Variables,
	expression.Generated, expression.Candidate, expression.Previous, expression.Revisions, expression.Item,
}, "|") + `)(?:\??\.\??([A-Za-z_]\w*)|\[["']([^"'\]]+)["']\])(?:[^-\w]|$)`)

// inEachObject are the fields that each object has.
var inEachObject = []string{"metadata", "spec", "status"} //nolint:gochecknoglobals // a constant

// namesInputs matches the paths of literal fields whose text may begin like an expression: names of inputs, field
// paths, and patterns.
var namesInputs = lazy.MustCompile(
	`\.(?:from|extract\.\w+|find\..*|rewrite\[.*|nonSensitive\[\d+\]|allow\..*)$|[fF]ieldPath$`)

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
	m := twoSteps.FindStringSubmatch(text)
	return m != nil && (slices.Contains(inEachObject, m[2]+m[3]) || d.declared[m[1]+"."+m[2]+m[3]])
}

// literal refuses a text in a literal field if it is an expression, and notes it if it contains a placeholder of
// another tool. Rules of rewrite have placeholders of their own.
func (d *decoder) literal(n Node) {
	text, path, name := n.Value.GetStringValue(), n.At.String(), expressionFor(n)
	if !namesInputs.MatchString(path) && d.beginsExpression(text) {
		wrong := d.refuse(n.At, "%s", LiteralText(name, n.Key, text))
		if name != "" && n.Key == "" && !n.Item && !HasPlaceholder(text) {
			wrong.Edits = []diagnostic.Edit{{Path: path, Action: diagnostic.Rename, Text: name}}
		}
		return
	}
	found, message, _ := PlaceholderIn(text)
	if found == "" || strings.Contains(path, ".rewrite[") || len(d.texts) == MostPlaceholders {
		return
	}
	instead := "write the text that it stands for"
	if name != "" {
		instead = "write " + insteadOf(name, n.Key, text)
	}
	w := &diagnostic.Diagnostic{Path: path, Rule: diagnostic.Input, Warning: true, Message: message + instead}
	d.texts = append(d.texts, Placeholder{found, w})
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
	if text := v.GetStringValue(); d.beginsExpression(text) && len(d.texts) < MostPlaceholders {
		at := path.String()
		d.texts = append(d.texts, Placeholder{text, &diagnostic.Diagnostic{
			Path: at, Rule: diagnostic.Input, Warning: true,
			Message: "is literal: write the expression into set beside the manifest, as {fieldPath: " +
				strings.TrimPrefix(at, root) + ", value: ...}",
		}})
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
	if name += "Expression"; owner.Schema.Properties[name] != nil {
		return name
	}
	return ""
}

// LiteralText is the message about a literal text that should be an expression in a field. key is the name of a
// label or an annotation, or empty.
func LiteralText(name, key, text string) string {
	switch {
	case name == "":
		return "is literal, and no field accepts an expression for it: write the text itself"
	case HasPlaceholder(text):
		return "is literal, and placeholders in it are not replaced: write " + insteadOf(name, key, text)
	}
	return "is literal: write the expression in the field " + name
}
