package expression

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// A Text is a string literal of an expression.
type Text struct {
	Value string
	Place Place

	Raw    bool // it is written as r'...'
	Needle bool // it is searched for or compared, and is not part of the result
}

// searches are the functions and operators that search for their arguments, or compare them.
var searches = []string{ //nolint:gochecknoglobals // a table
	"contains", "startsWith", "endsWith", "indexOf", "lastIndexOf", "matches", "replace", "split",
	"regex.replace", "regex.extract", "regex.extractAll",
	operators.Equals, operators.NotEquals, operators.In, operators.Index, operators.OptIndex,
}

// Texts returns the string literals in the order of the source.
func (x *Expression) Texts() []Text {
	var out []Text
	needles := map[int64]bool{}
	ast.PreOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && slices.Contains(searches, e.AsCall().FunctionName()) {
			for _, a := range e.AsCall().Args() {
				needles[a.ID()] = true
			}
		}
		s, ok := celast.Text(e)
		if !ok {
			return
		}
		line, column := x.position(e.ID())
		out = append(out, Text{s, Place{x.source.Path, line, column}, x.isRaw(e.ID()), needles[e.ID()]})
	}))
	slices.SortStableFunc(out, func(a, b Text) int {
		return cmp.Or(a.Place.Line-b.Place.Line, a.Place.Column-b.Place.Column)
	})
	return out
}

// isRaw reports whether a literal begins with r.
func (x *Expression) isRaw(id int64) bool {
	r, ok := x.ast.SourceInfo().GetOffsetRange(id)
	text := []rune(x.source.Text)
	return ok && int(r.Start) < len(text) && strings.ContainsRune("rR", text[r.Start])
}
