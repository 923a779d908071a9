package expression

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
)

// A Cause says why an evaluation failed.
type Cause int

// The causes. The comments name the fields of [Failure] that belong to each.
const (
	Other       Cause = iota // CEL has no operand that can be named
	CallFailed               // a call failed on operands of Types
	NullOperand              // a value is null that a format cannot represent
	NotOptional              // the method or, or orValue, of a value that is no optional
	BadTime                  // a timestamp is out of range
	NoObject                 // Path is selected from Above, which is no object
	WrongResult              // the result, or an entry of it, has Types[0]
)

// A Failure is what is known about a failed evaluation. It contains parts of the source and types, but no data.
type Failure struct {
	Cause      Cause
	Expression *Expression
	Node       ast.Expr      // that failed; nil for the whole expression
	Types      []*types.Type // of the operands, or of the result
	Path       string        // of a selection
	Above      string        // the path before its last step
	IsList     bool          // the value at this path is a list
	Entry      string        // what messages call the entry of a result
}

// String says what is wrong, without advice.
func (f *Failure) String() string {
	switch f.Cause {
	case CallFailed:
		names := make([]string, 0, len(f.Types))
		for _, t := range f.Types {
			names = append(names, KindName(t))
		}
		return fmt.Sprintf("%s failed on %s", CallName(f.Node.AsCall().FunctionName()), strings.Join(names, " and "))
	case NullOperand:
		return CallName(f.Node.AsCall().FunctionName()) + " failed: a value is null"
	case NotOptional:
		return "failed: or and orValue need an optional"
	case BadTime:
		return "failed: a timestamp is out of range"
	case NoObject:
		if f.IsList {
			return fmt.Sprintf("cannot select %s: %s is a list", f.Path, f.Above)
		}
		return fmt.Sprintf("cannot select %s: %s is not an object", f.Path, f.Above)
	case WrongResult:
		if f.Entry != "" {
			return fmt.Sprintf("%s must be a string, but is %s", f.Entry, KindName(f.Types[0]))
		}
		return fmt.Sprintf("must return %s, but returns %s", f.wanted(), KindName(f.Types[0]))
	case Other:
	}
	return "failed"
}

// wanted is what the result must be. Only members are read from a result that may be anything.
func (f *Failure) wanted() string {
	if f.Expression.source.Want == WantAny {
		return "an object"
	}
	return f.Expression.source.Want.String()
}

// failedBy returns the error of a failed evaluation.
func (x *Expression) failedBy(f Failure) *Failed {
	f.Expression = x
	id, reason := int64(0), f.String()
	if f.Node != nil {
		id = f.Node.ID()
	}
	if x.env.adviser != nil {
		reason = x.env.adviser.Reason(&f)
	}
	return x.failedAt(id, reason)
}

// classifyCall returns the failure of a call, with the types of its operands.
func (x *Expression) classifyCall(vars cel.Activation, node ast.Expr, id int64, err *types.Err) error {
	switch {
	case id == sharedNode && err == types.NoSuchOverloadErr():
		return x.failedBy(Failure{Cause: NotOptional})
	case id == sharedNode:
		return x.failedBy(Failure{Cause: BadTime})
	case node == nil || node.Kind() != ast.CallKind:
		return x.failedAt(id, "failed")
	case errors.Is(err, functions.ErrNull):
		return x.failedBy(Failure{Cause: NullOperand, Node: node})
	}
	f := Failure{Cause: CallFailed, Node: node}
	for _, o := range celast.Operands(node.AsCall()) {
		f.Types = append(f.Types, x.operandType(vars, o))
	}
	return x.failedBy(f)
}

// wrongResult returns the failure for a result, or an entry of it, that has another type than the one that is wanted.
func (x *Expression) wrongResult(v ref.Val, entry string) *Failed {
	return x.failedBy(Failure{Cause: WrongResult, Types: []*types.Type{typeOf(v)}, Entry: entry})
}

// operandType returns the type of an operand, as far as it is known from the source and the data.
func (x *Expression) operandType(vars cel.Activation, o ast.Expr) *types.Type {
	for _, i := range x.byNode[celast.AsWritten(o).ID()] {
		r := x.references[i]
		if _, v, end := walk(vars, r); end == endPresent && !r.tested {
			return typeOf(v)
		}
	}
	return cmp.Or(x.ast.GetType(o.ID()), types.DynType)
}

// typeOf returns the type of a value.
func typeOf(v ref.Val) *types.Type {
	t, _ := v.Type().(*types.Type)
	return cmp.Or(t, types.DynType)
}

// KindName returns the name of the type of a value. The types of the elements of a list or map in the data are not
// known.
func KindName(t *types.Type) string {
	switch {
	case t == types.MapType || t == types.ListType:
		return t.TypeName()
	case t.Kind() == types.NullTypeKind:
		return "null"
	}
	return Typing{Objects: noObjects{}}.Text(t)
}

// callNames are the names of operators and internal functions for messages.
var callNames = map[string]string{ //nolint:gochecknoglobals // a table
	operators.Index: "[]", operators.Conditional: "?:", celast.OrderedCall: "the iteration",
	celast.OptionalCall: "an optional entry", celast.SortByCall: "sortBy", "cel.@mapInsert": "an entry of the map",
}

// CallName returns what messages call a function.
func CallName(function string) string {
	operator, _ := operators.FindReverse(function)
	return cmp.Or(callNames[function], operator, function)
}
