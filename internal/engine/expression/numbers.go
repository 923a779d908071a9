package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
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
	case celast.WithoutOptional(of) != of:
		return types.NewOptionalType(replace(celast.WithoutOptional(of)))
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
	case celast.IsKind(double, types.DoubleKind) && celast.IsKind(whole, types.IntKind):
		return t.Number
	case double.Kind() == whole.Kind() && len(a) > 0 && len(a) == len(b):
		last := len(a) - 1
		return mapParameters(double, func(*types.Type) *types.Type { return t.either(a[last], b[last]) })
	}
	return types.DynType
}

// inBoth returns the errors whose position also has one in the other list.
func inBoth(list, other []*Error) []*Error {
	return slices.DeleteFunc(list, func(e *Error) bool {
		return !slices.ContainsFunc(other, func(o *Error) bool { return o.Line == e.Line && o.Column == e.Column })
	})
}

// Text returns the usual name of a type.
func (t Typing) Text(of *types.Type) string {
	if celast.IsOptional(of) {
		return "optional"
	}
	text := cel.FormatCELType(t.Plain(of))
	if t.numbers != nil && *t.numbers {
		text = strings.ReplaceAll(text, "double", "number")
	}
	return text
}

// Plain returns the type that a value has at run time: objects are maps.
func (t Typing) Plain(of *types.Type) *types.Type {
	switch {
	case of.Kind() == types.StructKind && t.Objects.Has(of.TypeName()):
		return types.NewMapType(types.StringType, types.DynType)
	case of.Kind() == types.ErrorKind:
		return types.DynType
	}
	return mapParameters(of, t.Plain)
}
