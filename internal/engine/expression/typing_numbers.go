package expression

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A number of a schema is an int at run time if it is whole, and a double otherwise. An expression is
// checked once for each, and an error is real if both have it.

// as returns a type in which each Number is an int or a double.
func (t Typing) as(of *types.Type) *types.Type {
	if t.number == nil || t.Number == nil {
		return of
	}
	if of.IsExactType(t.Number) {
		*t.numbers = true
		return t.number
	}
	return mapParameters(of, t.as)
}

// mapParameters returns a type whose parameters are replaced.
func mapParameters(of *types.Type, replace func(*types.Type) *types.Type) *types.Type {
	switch {
	case of.Kind() == types.ListKind:
		return types.NewListType(replace(of.Parameters()[0]))
	case of.Kind() == types.MapKind:
		return types.NewMapType(of.Parameters()[0], replace(of.Parameters()[1]))
	case withoutOptional(of) != of:
		return types.NewOptionalType(replace(withoutOptional(of)))
	}
	return of
}

// either returns the type of a result that has one type if numbers are doubles, and another one if
// they are ints.
func (t Typing) either(double, whole *types.Type) *types.Type {
	parameters := func(of *types.Type) []*types.Type { return of.Parameters() }
	switch a, b := parameters(double), parameters(whole); {
	case double.IsExactType(whole):
		return double
	case isKind(double, types.DoubleKind) && isKind(whole, types.IntKind):
		return t.Number
	case double.Kind() == whole.Kind() && len(a) > 0 && len(a) == len(b):
		last := len(a) - 1
		return mapParameters(double, func(*types.Type) *types.Type { return t.either(a[last], b[last]) })
	}
	return types.DynType
}

// inBoth returns the diagnostics whose position also has one in the other list.
func inBoth(list, other diagnostic.List) diagnostic.List {
	type position struct{ line, column int }
	has := map[position]bool{}
	for _, d := range other {
		has[position{d.Line, d.Column}] = true
	}
	var out diagnostic.List
	for _, d := range list {
		if has[position{d.Line, d.Column}] {
			out = append(out, d)
		}
	}
	return out
}

// anOptional is the name of the type of all optionals in messages.
const anOptional = "optional"

// typeText returns the usual name of a type.
func (t Typing) typeText(of *types.Type) string {
	if isOptional(of) {
		return anOptional
	}
	text := cel.FormatCELType(t.plain(of))
	if t.numbers != nil && *t.numbers {
		text = strings.ReplaceAll(text, "double", "number")
	}
	return text
}
