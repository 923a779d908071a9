// Package kubernetes contains the functions that Kubernetes adds to CEL: url, ip, cidr, quantity, semver and format,
// with the functions of their values.
//
// Kubernetes' own package k8s.io/apiserver/pkg/cel/library also authorizes requests. Therefore, it imports the typed
// API, which is large and registers itself at start. The functions here have the same names, signatures and results,
// and use the same packages below. internal/e2e/cel compares them with the original. They differ in three ways: an
// error contains no part of an operand, a quantity has a limited length and exponent, and neither a sum nor a
// comparison of quantities depends on how the operands were computed. The functions of addresses are cel-go's own,
// whose errors contain the operand.
//
// The values of these functions are opaque: only other functions read them. They cannot be the result of an expression.
package kubernetes

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// Library declares the functions and types. An environment with them also needs optional types. cel-go's functions of
// addresses and networks have the names, signatures and results of Kubernetes. In addition, there is isMask, and a
// literal that is not an address or a network is refused.
func Library() []cel.EnvOption {
	network := []cel.EnvOption{ext.Network(ext.NetworkVersion(ext.Version1))}
	return slices.Concat(network, urlFunctions(), quantityFunctions(), semverFunctions(), formatFunctions())
}

// An Opaque value is a URL, an IP address, a network, a quantity, a version or a format.
type Opaque interface {
	ref.Val

	// Len returns about how many bytes of text the value was made of, if there is no limit for them.
	Len() int64
}

// What to write instead of an opaque value, by its type.
var instead = map[string]string{ //nolint:gochecknoglobals // a table
	ext.IPType.TypeName():     "wrap it in string(...)",
	ext.CIDRType.TypeName():   "wrap it in string(...)",
	urls.typ.TypeName():       "select a part of it, for example with .getHost()",
	quantities.typ.TypeName(): "convert it with .asInteger() or .asApproximateFloat()",
	versions.typ.TypeName():   "select a part of it, for example with .major()",
	formats.typ.TypeName():    "apply it to a text with .validate(...)",
}

// Instead returns what to write instead of an opaque value. It returns an empty text for all other types.
func Instead(t *cel.Type) string { return instead[t.TypeName()] }

// A kind is a type of opaque values.
type kind[T any] struct {
	typ   *cel.Type
	equal func(a, b T) bool
	size  func(T) int64 // nil if the size is limited
}

// of returns an opaque value, or an error that replaces err, which can contain a part of the text.
func (k *kind[T]) of(v T, err error) ref.Val {
	if err != nil {
		return types.WrapErr(errText)
	}
	return opaque[T]{k, v}
}

// errText is the error of a text that is not a URL, an IP address and so on.
var errText = errors.New("the text cannot be read")

type opaque[T any] struct {
	kind  *kind[T]
	value T
}

// ConvertToNative fails: no program reads the value.
func (o opaque[T]) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("cannot convert %s", o.kind.typ)
}

// ConvertToType returns the type.
func (o opaque[T]) ConvertToType(t ref.Type) ref.Val {
	switch {
	case t == types.TypeType:
		return o.kind.typ
	case t.TypeName() == o.kind.typ.TypeName():
		return o
	}
	return types.NewErr("type conversion error from '%s' to '%s'", o.kind.typ, t)
}

// Equal fails on a value of another type, as in Kubernetes.
func (o opaque[T]) Equal(other ref.Val) ref.Val {
	v, ok := other.(opaque[T])
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Bool(o.kind.equal(o.value, v.value))
}

// Type returns the type of the value.
func (o opaque[T]) Type() ref.Type { return o.kind.typ }

// Value returns the value without its type.
func (o opaque[T]) Value() any { return o.value }

// Len implements Opaque.
func (o opaque[T]) Len() int64 {
	if o.kind.size == nil {
		return 0
	}
	return o.kind.size(o.value)
}

// one is a function of a value of type A.
func one[A ref.Val](f func(A) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val {
		a, ok := v.(A)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return f(a)
	})
}

// two is a function of a value of type A and one of type B.
func two[A, B ref.Val](f func(A, B) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(left, right ref.Val) ref.Val {
		a, ok := left.(A)
		b, also := right.(B)
		if !ok || !also {
			return types.MaybeNoSuchOverloadErr(right)
		}
		return f(a, b)
	})
}

// parser is the function that reads a text as a value.
func parser[T any](k *kind[T], id, name string, parse func(string) (T, error)) cel.EnvOption {
	return cel.Function(name, cel.Overload(id, []*cel.Type{cel.StringType}, k.typ,
		one(func(s types.String) ref.Val { return k.of(parse(string(s))) })))
}

// is is the function that reports whether a text can be read as a value.
func is[T any](id, name string, parse func(string) (T, error)) cel.EnvOption {
	return cel.Function(name, cel.Overload(id, []*cel.Type{cel.StringType}, cel.BoolType,
		one(func(s types.String) ref.Val {
			_, err := parse(string(s))
			return types.Bool(err == nil)
		})))
}

// method is a function of a value, which is called as value.name().
func method[T any](k *kind[T], id, name string, result *cel.Type, f func(T) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{k.typ}, result,
		one(func(v opaque[T]) ref.Val { return f(v.value) })))
}

// both is a function of two values of one type, which is called as value.name(other).
func both[T any](k *kind[T], id, name string, result *cel.Type, f func(a, b T) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{k.typ, k.typ}, result,
		two(func(a, b opaque[T]) ref.Val { return f(a.value, b.value) })))
}

// comparisons are the functions that order two values of one type. Their IDs begin with prefix.
func comparisons[T any](k *kind[T], prefix string, compare func(a, b T) int) []cel.EnvOption {
	isGreater := func(a, b T) ref.Val { return types.Bool(compare(a, b) > 0) }
	isLess := func(a, b T) ref.Val { return types.Bool(compare(a, b) < 0) }
	order := func(a, b T) ref.Val { return types.Int(compare(a, b)) }
	return []cel.EnvOption{
		both(k, prefix+"_is_greater_than", "isGreaterThan", cel.BoolType, isGreater),
		both(k, prefix+"_is_less_than", "isLessThan", cel.BoolType, isLess),
		both(k, prefix+"_compare_to", "compareTo", cel.IntType, order),
	}
}
