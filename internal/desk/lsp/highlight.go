package lsp

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// The names of the classes of semantic tokens, as clients know them, and of their modifiers.
var (
	tokenTypes = []string{ //nolint:gochecknoglobals // a table
		"variable", "property", "function", "method", "string", "number", "operator", "keyword", "comment",
	}
	tokenModifiers = []string{"secret"} //nolint:gochecknoglobals // a table
)

// semanticTokens returns the words of all expressions.
func (v *question) semanticTokens() any {
	data := []int{}
	last := Position{}
	for _, e := range v.inOrder() {
		for i, t := range e.tokens {
			class := e.classOf(i)
			if class == "" {
				continue
			}
			modifiers := 0
			if class == "variable" && variableNamed(t.text).Secret {
				modifiers = 1
			}
			in := v.text.rangeOf(e.span(t.start, t.end))
			if in.Start.Line != in.End.Line { // the protocol has no class for it
				continue
			}
			from := in.Start.Character
			if in.Start.Line == last.Line {
				from -= last.Character
			}
			data = append(data, in.Start.Line-last.Line, from, in.End.Character-in.Start.Character,
				slices.Index(tokenTypes, class), modifiers)
			last = in.Start
		}
	}
	return map[string]any{"data": data}
}

// inOrder returns the expressions in the order of the file.
func (v *view) inOrder() (out []*expr) {
	for _, s := range v.steps {
		for _, e := range s.expressions {
			if len(e.letters) > 1 {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b *expr) int { return a.letters[0] - b.letters[0] })
	// An anchor's expression is also that of its aliases.
	return slices.CompactFunc(out, func(a, b *expr) bool { return a.letters[0] == b.letters[0] })
}

var keywords = []string{"true", "false", "null", "in"} //nolint:gochecknoglobals // a table

// classes are those of the tokens that are not names. Most signs have none.
var classes = map[tokenKind]string{ //nolint:gochecknoglobals // a table
	tokenText: "string", tokenNumber: "number", tokenComment: "comment", tokenOperator: "operator",
}

// classOf returns the class of a token, or nothing.
func (e *expr) classOf(i int) string {
	t, next := e.tokens[i], token{}
	if i+1 < len(e.tokens) {
		next = e.tokens[i+1]
	}
	selected, called := i > 0 && e.tokens[i-1].is(".", ".?"), next.is("(")
	switch {
	case t.is("(", ")", "[", "]", "{", "}", ",", "."):
		return ""
	case !t.isName():
		return classes[t.kind]
	case slices.Contains(keywords, t.text) && !selected:
		return "keyword"
	case called && selected:
		return "method"
	case called:
		return "function"
	case selected:
		return "property"
	}
	return "variable"
}

// hints returns the types of expressions, and whether they use secrets, in a range.
func (v *question) hints() any {
	out := []InlayHint{}
	for _, e := range v.inOrder() {
		at := v.text.position(e.letters[len(e.letters)-1])
		if at.Line < v.Range.Start.Line || at.Line > v.Range.End.Line {
			continue
		}
		if hint := e.hint(); hint != "" {
			out = append(out, InlayHint{Position: at, Label: hint, Kind: 1, PaddingLeft: true})
		}
	}
	return out
}

// hint returns the type of the value of an expression, and whether it is secret. It is empty if nothing is known.
func (e *expr) hint() string {
	var out []string
	x := e.compiled(e.at)
	if t := e.Types.Result(e.at); t != nil && x != nil {
		s := site{Typing: expression.Typing{Objects: e.Types}}
		if name := s.typeName(celast.WithoutOptional(t)); name != "any value" {
			if celast.IsOptional(t) && t.Kind() == types.OpaqueKind {
				name = "optional " + name
			}
			out = append(out, name)
		}
	}
	if x != nil && e.isSecret(x.Expression) {
		out = append(out, "secret")
	}
	return strings.Join(out, ", ")
}

// isSecret reports whether an expression uses a secret, directly or through variables, which use earlier ones.
func (s *step) isSecret(x *expression.Expression) bool {
	return x != nil && slices.ContainsFunc(x.References(), func(r expression.Reference) bool {
		return variableNamed(r.Variable).Secret || r.Variable == expression.Variables && len(r.Path) > 0 &&
			s.isSecret(s.variable(textOf(r.Path[0].Key)))
	})
}

// variable returns the value of a variable, or nil if it does not compile. It uses only variables above it.
func (s *step) variable(name string) *expression.Expression {
	for _, v := range s.Plan.Variables {
		if v.Name == name {
			return v.Value
		}
	}
	return nil
}
