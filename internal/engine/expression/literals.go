package expression

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// literalValidator refuses literals that always fail or lose data: a regular expression that does not
// compile or is too complex, a negative index, or a map that contains a key twice.
type literalValidator struct{}

// Name of the validator for cel-go.
func (literalValidator) Name() string { return "export.literals" }

// Validate reports at the positions of the literals.
func (literalValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, iss *cel.Issues) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.MapKind {
			validateMap(e.AsMap(), iss)
		}
		if e.Kind() != ast.CallKind {
			return
		}
		switch operands := celast.Operands(e.AsCall()); e.AsCall().FunctionName() {
		case "matches", "regex.replace", "regex.extract", "regex.extractAll":
			validatePattern(operands, iss)
		case operators.Index:
			validateIndex(a.GetType(operands[0].ID()), operands[1], iss)
		}
	}))
}

func validatePattern(args []ast.Expr, iss *cel.Issues) {
	if len(args) < 2 {
		return
	}
	pattern, ok := celast.Text(args[1])
	if !ok {
		return
	}
	refuse := func(format string, a ...any) { iss.ReportErrorAtID(args[1].ID(), format, a...) }
	switch n, err := types.RegexProgramSize(pattern); {
	case len(pattern) > limits.RegexCharacters:
		refuse("regular expression has %d characters, over the limit of %d", len(pattern), limits.RegexCharacters)
	case err != nil:
		refuse("is not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	case n > limits.RegexInstructions:
		refuse("regular expression has %d instructions, over the limit of %d", n, limits.RegexInstructions)
	}
}

// validateIndex refuses a negative index, which in other languages counts from the end of a list.
func validateIndex(of *types.Type, index ast.Expr, iss *cel.Issues) {
	if n, ok := celast.Key(index).(int64); ok && n < 0 && !celast.IsKind(of, types.MapKind) {
		iss.ReportErrorAtID(index.ID(), "an index cannot be negative: write list[size(list) - 1] for the last element")
	}
}

func validateMap(m ast.MapExpr, iss *cel.Issues) {
	seen := map[string]bool{}
	for _, x := range m.Entries() {
		k, ok := celast.Text(x.AsMapEntry().Key())
		if ok && seen[k] {
			iss.ReportErrorAtID(x.AsMapEntry().Key().ID(), "key %q is in the map twice: keep one of them", k)
		}
		seen[k] = seen[k] || ok
	}
}

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
