package expression

import (
	"cmp"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// A Cause says why an evaluation failed.
type Cause int

// The causes. The comments name the fields of [Failure] that belong to each.
const (
	CallFailed  Cause = iota // a call failed on operands of Types
	NotOptional              // the method or, or orValue, of a value that is no optional
	NoObject                 // a field is selected from Above, which is no object
	WrongResult              // the result, or an entry of it, has Types[0]
)

// A Failure is what is known about a failed evaluation. It contains parts of the source and types, but no data.
type Failure struct {
	Cause      Cause
	What       string // is wrong, without advice
	Expression *Expression
	Node       ast.Expr      // that failed; nil for the whole expression
	Types      []*types.Type // of the operands, or of the result
	Above      string        // the path of a value
	IsList     bool          // this value is a list
	Entry      string        // what messages call the entry of a result
}

// failedBy returns the error of a failed evaluation.
func (x *Expression) failedBy(f Failure) *Failed {
	f.Expression = x
	id := int64(0)
	if f.Node != nil {
		id = f.Node.ID()
	}
	return x.failedAt(id, x.env.adviser.Reason(&f))
}

// classifyCall returns the failure of a call, with the types of its operands.
func (x *Expression) classifyCall(vars cel.Activation, node ast.Expr, id int64, err *types.Err) error {
	switch {
	case id == sharedNode && err == types.NoSuchOverloadErr():
		return x.failedBy(Failure{Cause: NotOptional, What: "failed: or and orValue need an optional"})
	case node == nil || node.Kind() != ast.CallKind:
		return x.failedAt(max(id, 0), "failed")
	}
	f := Failure{Cause: CallFailed, Node: node}
	var names []string
	for _, o := range celast.Operands(node.AsCall()) {
		t := x.operandType(vars, o)
		f.Types, names = append(f.Types, t), append(names, KindName(t))
	}
	f.What = fmt.Sprintf("%s failed on %s", CallName(node.AsCall().FunctionName()), strings.Join(names, " and "))
	return x.failedBy(f)
}

// wrongResult returns the failure for a result, or an entry of it, that has another type than the one that is wanted.
func (x *Expression) wrongResult(v ref.Val, entry string) *Failed {
	f := Failure{Cause: WrongResult, Types: []*types.Type{typeOf(v)}, Entry: entry}
	wanted := x.source.Want.String()
	if x.source.Want == WantAny {
		wanted = "an object" // only its members are read
	}
	f.What = fmt.Sprintf("must return %s, but returns %s", wanted, KindName(f.Types[0]))
	if entry != "" {
		f.What = fmt.Sprintf("%s must be a string, but is %s", entry, KindName(f.Types[0]))
	}
	return x.failedBy(f)
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
