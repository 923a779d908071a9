package kubernetes

import (
	"errors"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

var quantities = &kind[*resource.Quantity]{ //nolint:gochecknoglobals // a constant
	typ:   cel.ObjectType("kubernetes.Quantity"),
	equal: func(a, b *resource.Quantity) bool { return compare(a, b) == 0 },
}

// quantityFunctions declares quantity, isQuantity, and the functions of a quantity.
func quantityFunctions() []cel.EnvOption {
	return append(comparisons(quantities, "quantity", compare),
		parser(quantities, "string_to_quantity", "quantity", parseQuantity),
		is("is_quantity_string", "isQuantity", parseQuantity),
		cel.Function("sign", // in Kubernetes, it is not a method, unlike the others
			cel.Overload("quantity_sign", []*cel.Type{quantities.typ}, cel.IntType,
				one(func(q opaque[*resource.Quantity]) ref.Val { return types.Int(q.value.Sign()) }))),
		method(quantities, "quantity_get_float", "asApproximateFloat", cel.DoubleType,
			func(q *resource.Quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) }),
		method(quantities, "quantity_get_int", "asInteger", cel.IntType, asInteger),
		method(quantities, "quantity_is_integer", "isInteger", cel.BoolType, isInteger),
		both(quantities, "quantity_add", "add", quantities.typ, add),
		both(quantities, "quantity_sub", "sub", quantities.typ, sub),
		withInt("quantity_add_int", "add", add),
		withInt("quantity_sub_int", "sub", sub),
	)
}

// Limits of the text of a quantity. Without them, the parser takes a minute for 1e-100000000.
const (
	quantityBytes    = 128
	quantityExponent = 999
)

var errQuantity = errors.New("the quantity is too long, or its exponent is too large")

func parseQuantity(s string) (*resource.Quantity, error) {
	if len(s) > quantityBytes {
		return nil, errQuantity
	}
	exponent := s[strings.LastIndexAny(s, "eE")+1:] // not a number if there is none
	n, err := strconv.Atoi(exponent)
	if err == nil && exponent != s && (n > quantityExponent || n < -quantityExponent) {
		return nil, errQuantity
	}
	q, err := resource.ParseQuantity(s)
	return &q, err
}

func asInteger(q *resource.Quantity) ref.Val {
	n, ok := q.AsInt64()
	if !ok {
		return types.NewErr("cannot convert value to integer")
	}
	return types.Int(n)
}

func isInteger(q *resource.Quantity) ref.Val {
	_, ok := q.AsInt64()
	return types.Bool(ok)
}

// compare orders two quantities. Without the copy, it would change how the first one is stored, and isInteger with it.
func compare(a, b *resource.Quantity) int {
	a = new(a.DeepCopy())
	return a.Cmp(*b)
}

// add returns a sum. Without the copy, the sum of large quantities would change the first one.
func add(a, b *resource.Quantity) ref.Val {
	sum := a.DeepCopy()
	sum.Add(*b)
	return quantities.of(&sum, nil)
}

func sub(a, b *resource.Quantity) ref.Val {
	difference := a.DeepCopy()
	difference.Sub(*b)
	return quantities.of(&difference, nil)
}

// withInt is a function of a quantity and an int.
func withInt(id, name string, f func(a, b *resource.Quantity) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{quantities.typ, cel.IntType}, quantities.typ,
		two(func(q opaque[*resource.Quantity], n types.Int) ref.Val {
			return f(q.value, resource.NewQuantity(int64(n), resource.DecimalExponent))
		})))
}
