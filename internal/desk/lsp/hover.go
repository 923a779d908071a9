package lsp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// hover describes what is at the position: a function, a variable or a field in an expression, or a field of the input.
func (v *question) hover() any {
	if e, offset := v.expr(v.at); e != nil {
		text, t := e.describe(v.ctx, offset)
		if text == "" {
			return nil
		}
		return &Hover{markdown(text), v.text.editorRange(e.rangeOf(t.start, t.end))}
	}
	for _, s := range v.steps {
		for _, f := range s.fields {
			place, exact := s.Document().Find(s.At(f.path...)...)
			if _, isItem := f.last().(int); exact && !isItem && len(f.path) > 0 && contains(place.Key, v.at) {
				return &Hover{markdown(s.describeField(v.ctx, f)), v.text.editorRange(place.Key)}
			}
		}
	}
	return nil
}

func contains(r document.Range, p document.Position) bool {
	return !p.Before(r.Position) && !r.End.Before(p)
}

func (f inputField) last() any {
	if len(f.path) == 0 {
		return nil
	}
	return f.path[len(f.path)-1]
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

// describe describes the name at an offset.
func (e *expr) describe(ctx context.Context, offset int) (string, token) {
	for i, t := range e.tokens {
		if !t.isName() || offset < t.start || offset > t.end {
			continue
		}
		if i+1 < len(e.tokens) && e.tokens[i+1].is("(") {
			return e.describeCall(i), t
		}
	}
	t, path, ok := e.pathAt(offset)
	if !ok || path[0] == "" && len(path) < 2 {
		return "", t
	}
	s := e.site(e.endOf(t))
	var b strings.Builder
	fmt.Fprintf(&b, "```cel\n%s: %s\n```", strings.Join(e.spelled(path), ""), s.typeName(s.of))
	if path[0] != "" {
		b.WriteString(e.origin(path))
		b.WriteString(e.exampleOf(ctx, strings.Join(e.spelled(path), "")))
	}
	return b.String(), t
}

// endOf returns the end of the operand that a name ends: a key in brackets ends with its bracket.
func (e *expr) endOf(name token) int {
	for i, t := range e.tokens {
		if t.start == name.start && t.kind == tokenText && i+1 < len(e.tokens) {
			return e.tokens[i+1].end
		}
	}
	return name.end
}

// describeCall describes the function that a token names.
func (e *expr) describeCall(i int) string {
	name, method := e.tokens[i].text, i > 0 && e.tokens[i-1].is(".", ".?")
	forms := functionsNamed(name, method)
	if _, path, ok := operandBefore(e.tokens, i+1); ok && method {
		forms = slices.Concat(functionsNamed(strings.Join(path, "."), false), forms)
	}
	if len(forms) == 0 {
		return ""
	}
	return forms[0].help()
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
func (e *expr) origin(path []string) string {
	variable := variableNamed(path[0])
	out := []string{e.fieldDoc(path), e.declared(path), variable.Does}
	if variable.Secret || e.readsSecret(path) {
		out = append(out, "Its value is **secret**: it may flow only into Secrets.")
	}
	return "\n\n" + strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "\n\n")
}

// declared says which part of the file declares what a path reads.
func (e *expr) declared(path []string) string {
	source, _, _ := e.source()
	switch kind := kindsOfVariables[path[0]]; {
	case path[0] == expression.Resource || path[0] == expression.Self || path[0] == expression.Secret:
		return e.composer(source.From)
	case len(path) < 2:
	case kind == ofResource:
		return e.composer(path[1])
	case kind == ofGenerator:
		return fmt.Sprintf("The generator `%s`.", path[1])
	case kind == ofVariable:
		i := slices.Index(e.namesIn(string(ofVariable), ""), path[1])
		return "The variable:\n```cel\n" + textOf(e.Document().At(e.At(string(ofVariable), i, "value")...)) + "\n```"
	}
	return ""
}

// readsSecret reports whether a path begins with a variable of the input that uses a secret.
func (e *expr) readsSecret(path []string) bool {
	i := slices.Index(e.namesIn(string(ofVariable), ""), path[min(1, len(path)-1)])
	return path[0] == expression.Variables && e.isSecret(fmt.Sprintf("variables[%d].value", i))
}

// fieldDoc returns the description of the last field of a path in its schema.
func (e *expr) fieldDoc(path []string) string {
	if len(path) < 2 {
		return ""
	}
	s := e.siteOf(strings.Join(e.spelled(path[:len(path)-1]), "") + "." + mark)
	kind, _ := e.Types.Path(s.object())
	text := e.Types.Schema(s.object(), path[len(path)-1]).Get("description").Text()
	if kind == "" || kindsOfVariables[kind] != "" {
		return text
	}
	return strings.TrimSpace(text + "\n\nA field of " + kind + ".")
}

// composer says which step composes a resource.
func (e *expr) composer(name string) string {
	if name == "" {
		return "The composite" + ofKind(e.Known.Composite) + "."
	}
	steps, _ := e.Pipeline()
	for _, other := range steps {
		if slices.ContainsFunc(other.Resources, func(r composition.Resource) bool { return r.Name == name }) {
			kind := ofKind(e.Known.Resources[name])
			return fmt.Sprintf("The composed resource `%s`%s, which the step `%s` composes.", name, kind, other.Name)
		}
	}
	return fmt.Sprintf("The composed resource or source `%s`.", name)
}

func ofKind(k plan.Kind) string {
	if k.Kind == "" {
		return ""
	}
	return ", " + k.String()
}
