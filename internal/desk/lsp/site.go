package lsp

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
)

// objectType is the type of objects in schemas, and for people.
const objectType = schema.Object

// mark is a name that no expression has. It is written where the type of the text before it is asked for.
const mark = "zz_cursor"

// A site is what is known at one place of an expression.
type site struct {
	expression.Typing

	of *types.Type // of the operand before the place; nil if it is not known
}

// site returns what is known after the first bytes of an expression that end with an operand. The rest of the text is
// not read, because somebody is just typing it: open brackets are closed instead. If the text before the operand is not
// complete either, a path is read alone.
func (e *expr) site(end int) site {
	tokens := tokensOf(e.text[:end])
	alone := ""
	if start, path := pathBefore(tokens); path != nil {
		alone = e.text[tokens[start].start:end]
	}
	return e.siteOf(e.text[:end]+"."+mark+closersOf(tokens), alone+"."+mark)
}

func (e *expr) siteOf(texts ...string) site {
	s, env, list := e.source()
	compiled := e.compiled(e.at)
	out := site{}
	if s.Own && compiled != nil {
		out.Typing = e.Types.Typing("", &compiled.Own, list)
	} else {
		out.Typing = e.Types.Typing(s.From, nil, list)
	}
	for _, text := range texts {
		s.Text = text
		tree := e.Types.Tree(env, s, out.Typing)
		if tree == nil {
			continue
		}
		for _, n := range ast.MatchDescendants(ast.NavigateAST(tree), ast.AllMatcher()) {
			if operand, name, ok := celast.Selection(n); ok && name == mark {
				out.of = celast.WithoutOptional(tree.GetType(operand.ID()))
				return out
			}
		}
	}
	return out
}

// object returns the name of the object type at the site, or nothing if its fields are not known.
func (s site) object() string {
	if s.of == nil || s.of.Kind() != types.StructKind || !s.Objects.Has(s.of.TypeName()) {
		return ""
	}
	return s.of.TypeName()
}

// typeName returns the name of a type for people.
func (s site) typeName(t *types.Type) string {
	if t == nil || celast.IsKind(t, types.ErrorKind, types.DynKind, types.AnyKind, types.TypeParamKind) {
		return "any value"
	}
	if t.Kind() == types.StructKind && s.Objects != nil && s.Objects.Has(t.TypeName()) {
		return objectType
	}
	return s.Text(t)
}

// accepts reports whether a method with a receiver, as signatures write it, can be called on a type.
func (s site) accepts(receiver string) bool {
	have := s.typeName(s.of)
	head := func(text string) string {
		name, _, _ := strings.Cut(text, "(")
		return name
	}
	if have == "any value" || have == objectType && head(receiver) == "map" {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.Trim(receiver, "()"), " | "), func(r string) bool {
		return head(r) == head(have) || len(r) == 1 || r == "dyn"
	})
}
