package lsp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// hover describes what is at the place: a function, a variable or a field in an expression, or a field of the input.
func (v *question) hover() any {
	if e, offset := v.expr(v.at); e != nil {
		n := e.nameAt(offset)
		if n == nil {
			return nil
		}
		if text := e.describe(v.ctx, n); text != "" {
			return &Hover{markdown(text), v.text.rangeOf(e.span(n.start, n.end))}
		}
		return nil
	}
	if s, f, key := v.fieldAt(v.at); s != nil {
		return &Hover{markdown(s.describeField(v.ctx, f)), v.text.rangeOf(key)}
	}
	return nil
}

// fieldAt returns the field of the input whose key is at a place, or nil.
func (v *view) fieldAt(at int) (*step, inputField, span) {
	for _, s := range v.steps {
		for _, f := range s.fields {
			place, exact := s.Document().Find(s.At(f.path...)...)
			if key := v.text.spanOf(place.Key); exact && f.isKey() && key.has(at) {
				return s, f, key
			}
		}
	}
	return nil, inputField{}, span{}
}

// isKey reports whether a value has a key of its own, as an item of a list and the input have not.
func (f inputField) isKey() bool {
	if len(f.path) == 0 {
		return false
	}
	_, isItem := f.path[len(f.path)-1].(int)
	return !isItem
}

// describeField describes a field of the input.
func (s *step) describeField(ctx context.Context, f inputField) string {
	schema := f.schema
	kind := cmp.Or(schema.Type, "any value")
	if schema.Expression {
		kind = "expression"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s", f.name, kind)
	if f.above != nil && slices.Contains(f.above.Required, f.name) {
		b.WriteString(", required")
	}
	if schema.Default != nil {
		fmt.Fprintf(&b, ", default `%v`", schema.Default)
	}
	for i, value := range schema.Enum {
		fmt.Fprintf(&b, "%s`%v`", map[bool]string{true: ", one of ", false: ", "}[i == 0], value)
	}
	if f.above != nil {
		b.WriteString("\n\n" + vocabulary.Field(f.above.GoType, f.name))
	}
	for _, e := range s.expressions {
		if !schema.Expression || e.at != f.at.String() {
			continue
		}
		if hint := e.hint(); hint != "" {
			b.WriteString("\n\nIts value here: " + hint + ".")
		}
		b.WriteString(e.exampleOf(ctx, e.text))
	}
	return b.String()
}

// describe describes a name in an expression.
func (e *expr) describe(ctx context.Context, n *name) string {
	path := strings.Join(e.spelled(n.path), "")
	switch s := e.site(n.after); {
	case n.called:
		forms := append(functionsNamed(strings.Join(n.path, "."), false), functionsNamed(n.text, n.before > 0)...)
		if len(forms) == 0 {
			return ""
		}
		return forms[0].help()
	case n.path[0] == "":
		return fmt.Sprintf("```cel\n%s: %s\n```", path, s.typeName(s.of))
	default:
		return fmt.Sprintf("```cel\n%s: %s\n```", path, s.typeName(s.of)) + e.origin(n) + e.exampleOf(ctx, path)
	}
}

// spelled returns a path as an expression selects it.
func (e *expr) spelled(path []string) []string {
	if len(path) == 0 {
		return nil
	}
	out := []string{path[0]}
	for _, name := range path[1:] {
		if isField(name) {
			out = append(out, "."+name)
		} else {
			out = append(out, "['"+name+"']")
		}
	}
	return out
}

// origin says where the value of a path comes from, and whether it is secret.
func (e *expr) origin(n *name) string {
	variable := variableNamed(n.path[0])
	out := []string{e.fieldDoc(n), e.declared(n.path), variable.Does}
	isVariable := n.path[0] == expression.Variables && len(n.path) > 1
	if variable.Secret || isVariable && e.isSecret(e.variable(n.path[1])) {
		out = append(out, "Its value is **secret**: it may flow only into Secrets.")
	}
	return "\n\n" + strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "\n\n")
}

// declared says which part of the file declares what a path reads.
func (e *expr) declared(path []string) string {
	source, _, _ := e.source()
	switch kind := kindsOfVariables[path[0]]; {
	case path[0] == expression.Resource || path[0] == expression.Self || path[0] == expression.Secret:
		return e.composedBy(source.From)
	case len(path) < 2:
	case kind == ofResource:
		return e.composedBy(path[1])
	case kind == ofGenerator:
		return fmt.Sprintf("The generator `%s`.", path[1])
	case kind == ofVariable:
		i := slices.Index(e.namesIn(string(ofVariable), ""), path[1])
		return "The variable:\n```cel\n" + textOf(e.Document().At(e.At(string(ofVariable), i, "value")...)) + "\n```"
	}
	return ""
}

// fieldDoc returns the description of a field in its schema.
func (e *expr) fieldDoc(n *name) string {
	if n.before == 0 {
		return ""
	}
	above := e.site(n.before).object()
	kind, _ := e.Types.Path(above)
	text := e.Types.Schema(above, n.path[len(n.path)-1]).Get("description").Text()
	if kind == "" || kindsOfVariables[kind] != "" {
		return text
	}
	return strings.TrimSpace(text + "\n\nA field of " + kind + ".")
}

// composedBy says which step composes a resource.
func (e *expr) composedBy(name string) string {
	i := e.composer(name)
	switch steps, _ := e.Pipeline(); {
	case name == "":
		return "The composite" + ofKind(e.Known.Composite) + "."
	case i < 0:
		return fmt.Sprintf("The composed resource or source `%s`.", name)
	default:
		kind := ofKind(e.Known.Resources[name])
		return fmt.Sprintf("The composed resource `%s`%s, which the step `%s` composes.", name, kind, steps[i].Name)
	}
}

func ofKind(k plan.Kind) string {
	if k.Kind == "" {
		return ""
	}
	return ", " + k.String()
}
