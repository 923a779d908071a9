package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
)

// This file explains results whose type is not the one that is wanted.

// result returns the diagnostic of a result, or a part of it, whose value has a type that cannot be used.
func (m *explainer) result(err *expression.Error) *diagnostic.Diagnostic {
	of, p := err.Types[0], err.Part
	plain := celast.WithoutOptional(of)
	several := ""
	if p.Entry == "" {
		several = severalKeys(m.Environment, m.Source)
	}
	message, hint := m.wrongResult(p, plain, several)
	message += convertedResult(hint, p, plain, (m.typed || p.Entry != "") && plain != of)
	if p.Entry == "" && !m.typed && m.Source.Note != "" {
		message += " (" + m.Source.Note + ")"
	}
	m.converted(message, []ast.Expr{p.Expr}, []*types.Type{of})
	return m.Source.At(err.Line, err.Column, message)
}

// wrongResult returns what is wrong with a result or an entry of it, and a hint.
func (m *explainer) wrongResult(p *expression.Part, plain *types.Type, several string) (message, hint string) {
	hint = resultHint(p.Want, plain, several)
	switch {
	case p.Entry != "" && celast.IsKind(plain, types.NullTypeKind):
		return fmt.Sprintf("%s must be %s, but is null", p.Entry, p.Want), emptyText + ", or leave the key out"
	case p.Entry != "":
		return fmt.Sprintf("%s must be %s, but is %s", p.Entry, p.Want, m.aType(plain)), hint
	}
	return fmt.Sprintf("must return %s, but returns %s", p.Want, m.aType(plain)), hint
}

// severalKeys is the advice for a map where a text is wanted, if the field can have several keys.
func severalKeys(e *expression.Environment, s expression.Source) string {
	known := e.Names(s)
	if !slices.Contains(known, expression.Variables) || slices.Contains(known, expression.Generation) {
		return ""
	}
	return "use valueMap for several keys, "
}

// resultHint returns how to make a value of type t what is wanted.
func resultHint(w expression.Want, t *types.Type, several string) string {
	want := aText
	switch w { //nolint:exhaustive // all others are texts or JSON
	case expression.WantTextMap, expression.WantLabels:
		return mapHint(t)
	case expression.WantBool:
		want = "bool"
	case expression.WantList:
		want = "list"
	}
	if hint := kubernetes.Instead(t); hint != "" {
		return ": " + hint
	}
	return strings.Replace(hintFor(resultHints, want, kindsOf([]*types.Type{t})), "{several}", several, 1)
}

// aText is a text that is wanted, or anything that JSON can represent.
const aText = "text"

// resultHints are the hints for a result of one of some kinds, instead of a text, a condition or a list.
var resultHints = []operandHint{ //nolint:gochecknoglobals // a table
	{"bool", "", compareHint},
	{"list", "m", ": write value.map(k, {'name': k, 'value': value[k]}) for a list of its entries"},
	{"list", "t", ": split it with .split(','), or write [ ] around it"},
	{"list", "", ": write [ ] around it for a list of one item"},
	{aText, "s", stringHint},
	{aText, "l", ": join it with .join(',') or json.encode(...)"},
	{aText, "m", ": select one of its keys, {several}or encode it as one text with json.encode(...)"},
	{aText, "n", emptyText + ", or optional.none() with optional: true for no value"},
}

// valuesHint is the hint for a map whose values are not text.
const valuesHint = ": wrap its values in string(...)"

// mapHint returns how to convert a map to a map of strings.
func mapHint(t *types.Type) string {
	switch {
	case !celast.IsKind(t, types.MapKind) || len(t.Parameters()) != 2:
		return ": write for example {'key': 'value'}"
	case !celast.IsKind(t.Parameters()[0], types.StringKind, types.DynKind):
		return ": write its keys in quotes"
	}
	return valuesHint
}

// convertedResult returns the hint for a part, which can be more exact than the hint for its type.
func convertedResult(hint string, p *expression.Part, plain *types.Type, optional bool) string {
	switch {
	case hint == valuesHint && p.Kind() != ast.MapKind:
		return ": convert its values with .transformMap(k, v, string(v)), or with json.encode(v)"
	case hint != stringHint:
		return hint
	case isHash(p.Expr):
		return hashHint
	case p.Kind() == ast.LiteralKind && celast.IsKind(plain, types.IntKind, types.DoubleKind, types.BoolKind):
		return fmt.Sprintf(": write it in quotes, '%v'", p.AsLiteral().Value())
	case optional:
		return ": convert the optional value with .optMap(v, string(v))"
	}
	return hint
}

// misfit returns the message for an expression whose type does not fit a field, with a hint. For an
// optional, it uses the type of the value.
func misfit(t expression.Typing, err *expression.Error) string {
	returned, want := err.Types[0], err.Types[1]
	plain := t.Plain(celast.WithoutOptional(returned))
	isNumber := func(of *types.Type) bool { return t.Number != nil && of.IsExactType(t.Number) }
	how, convert := hintFor(misfitHints, kindsOf([]*types.Type{want}), kindsOf([]*types.Type{plain})), ""
	switch text, toText := celast.IsKind(plain, types.StringKind), celast.IsKind(want, types.StringKind); {
	case text && celast.IsKind(want, types.IntKind):
		convert = "int"
	case text && isNumber(want):
		convert = "double"
	case toText && (isNumber(plain) || resultHint(expression.WantText, plain, "") == stringHint):
		convert = "string"
	case toText:
		how = resultHint(expression.WantText, plain, "")
	}
	switch {
	case convert != "" && celast.IsOptional(returned):
		how = fmt.Sprintf(": convert the optional value with .optMap(v, %s(v))", convert)
	case convert != "":
		how = fmt.Sprintf(": wrap it in %s(...)", convert)
	}
	return fmt.Sprintf("returns %s, but %s is %s%s", withArticle(t.Text(plain)), err.Name, withArticle(t.Text(want)), how)
}

// misfitHints are the hints for a text where a list or a map is wanted.
var misfitHints = []operandHint{ //nolint:gochecknoglobals // a table
	{"l", "t", ": leave json.encode or join out, or write [ ] around it"},
	{"m", "t", ": leave json.encode out"},
}

// withDefault returns the hint for the first of the operands that is an optional, or an empty text.
// without is the literal for a type that is not known.
func (m *explainer) withDefault(operands []ast.Expr, without string) string {
	for _, e := range operands {
		if t := m.typeOf(e); celast.IsOptional(t) {
			empty := map[types.Kind]string{types.StringKind: "''", types.ListKind: "[]", types.MapKind: "{}",
				types.BoolKind: "false", types.IntKind: "0"}[celast.WithoutOptional(t).Kind()]
			return fmt.Sprintf(": write %s.orValue(%s)", m.textOf(e), cmp.Or(empty, without))
		}
	}
	return ""
}
