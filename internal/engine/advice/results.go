package advice

import (
	"cmp"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
)

// This file explains results whose type is not the one that is wanted, and has the table of conversions.

// conversions say how to make a value of a kind what is wanted, by the letters of [kindLetters]. {it} is the value.
var conversions = []operandHint{ //nolint:gochecknoglobals // a table
	{"t", "s", ": wrap {it} in string(...)"},
	{"t", "l", ": join it with .join(',') or json.encode(...)"},
	{"t", "m", ": select one of its keys, or encode it as one text with json.encode(...)"},
	{"t", "n", emptyText + ", or optional.none() with optional: true for no value"},
	{"b", "", compareHint},
	{"l", "m", ": write value.map(k, {'name': k, 'value': value[k]}) for a list of its entries"},
	{"l", "t", ": split it with .split(','), leave json.encode or join out, or write [ ] around it"},
	{"l", "l", ""},
	{"l", "", ": write [ ] around it for a list of one item"},
	{"m", "m", ": wrap its values in string(...), or convert them with .transformMap(k, v, string(v)); its keys are " +
		"texts"},
	{"m", "t", ": leave json.encode out"},
	{"m", "", ": write for example {'key': 'value'}"},
	{"i", "t", ": wrap {it} in int(...)"},
	{"d", "t", ": wrap {it} in double(...)"},
	{"y", "t", ": wrap {it} in bytes(...)"},
}

// convert returns how to make a value what is wanted, or an empty text.
func convert(have *types.Type, want, it string) string {
	plain := celast.WithoutOptional(have)
	if hint := kubernetes.Instead(plain); hint != "" {
		return ": " + hint
	}
	hint := hintFor(conversions, want, kindsOf([]*types.Type{plain}))
	if call, wraps := strings.CutPrefix(hint, ": wrap {it} in "); wraps && plain != have {
		return ": convert the optional value with .optMap(v, " + strings.Replace(call, "...", "v", 1) + ")"
	}
	return strings.Replace(hint, "{it}", it, 1)
}

// wanted is the letter of what an expression must return. All others are texts or JSON.
func wanted(w expression.Want) string {
	return cmp.Or(map[expression.Want]string{expression.WantTextMap: "m", expression.WantLabels: "m",
		expression.WantBool: "b", expression.WantList: "l"}[w], "t")
}

// result returns the diagnostic of a result, or a part of it, whose value has a type that cannot be used.
func (m *explainer) result(err *expression.Error) *diagnostic.Diagnostic {
	of, p := err.Types[0], err.Part
	plain := celast.WithoutOptional(of)
	message := fmt.Sprintf("must return %s, but returns %s", p.Want, m.aType(plain))
	if p.Entry != "" {
		message = fmt.Sprintf("%s must be %s, but is %s", p.Entry, p.Want, m.aType(plain))
	}
	switch {
	case isHash(p.Expr):
		message += hashHint
	case p.Kind() == ast.LiteralKind && hasKinds(kindsOf([]*types.Type{plain}), "s") && wanted(p.Want) == "t":
		message += fmt.Sprintf(": write it in quotes, '%v'", p.AsLiteral().Value())
	default:
		message += convert(of, wanted(p.Want), "it")
	}
	if strings.Contains(m.Source.Path, ".data[") && wanted(p.Want) == "t" && celast.IsKind(plain, types.MapKind) {
		message += ", or use valueMap for several keys"
	}
	if p.Entry == "" && !m.typed && m.Source.Note != "" {
		message += " (" + m.Source.Note + ")"
	}
	m.converted(message, []ast.Expr{p.Expr}, []*types.Type{of})
	return m.Source.At(err.Line, err.Column, message)
}

// misfit returns the message for an expression whose type does not fit a field, with a hint. For an
// optional, it uses the type of the value.
func misfit(t expression.Typing, err *expression.Error) string {
	returned, want := err.Types[0], err.Types[1]
	hint, letters := "", kindsOf([]*types.Type{want})
	switch {
	case t.Text(want) == expression.Number:
		hint = convert(returned, "d", "it")
	case letters != "":
		hint = convert(returned, letters[:1], "it")
	}
	return fmt.Sprintf("returns %s, but %s is %s%s", withArticle(t.Text(t.Plain(celast.WithoutOptional(returned)))),
		err.Name, withArticle(t.Text(want)), hint)
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
