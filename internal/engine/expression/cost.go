package expression

import (
	"math"
	"math/bits"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Cost is an estimate of the fuel of one evaluation. CEL's own cost model estimates it only from the
// source, because the size of the data is not known before it is observed.
type Cost struct {
	// Max is the estimate for data of the usual size: texts of up to 32 characters, lists
	// and maps of up to 16 entries. Most evaluations take much less.
	Max int64 `json:"max"`

	// Limit of an evaluation.
	Limit int64 `json:"limit"`
}

// The assumed size of data.
const (
	assumedText    = 32   // characters
	assumedEntries = 8    // of a list or a map
	assumedUnknown = 16   // of a value that may be either
	assumedObject  = 1024 // nodes and bytes of an observed resource
)

// costModel is the version of CEL's cost model. A later version asks for the parts of values of unknown types, and counts
// what it does not know as unlimited.
const costModel = 0

// mostCost is the largest estimate. Larger values have no further meaning.
const mostCost = 1000 * limits.Fuel

// Cost estimates the cost of one evaluation.
func (x *Expression) Cost() Cost {
	out := Cost{Max: mostCost, Limit: limits.Fuel}
	if c, err := x.env.env.EstimateCost(x.checked, coster{}, cost.ModelVersion(costModel)); err == nil {
		out.Max = int64(min(c.Max, mostCost))
	}
	return out
}

// A coster provides the facts that CEL's cost model does not know.
type coster struct{}

// EstimateSize estimates the size of a value that is not in the source.
func (coster) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	if e := n.Expr(); e != nil && e.Kind() == ast.IdentKind && len(n.Path()) == 0 {
		return nil // a variable of the expression: CEL's model knows its value
	}
	switch n.Type().Kind() { //nolint:exhaustive // all others may be anything
	case types.StringKind, types.BytesKind:
		return &cost.SizeEstimate{Max: assumedText}
	case types.ListKind, types.MapKind:
		return &cost.SizeEstimate{Max: assumedEntries}
	}
	return &cost.SizeEstimate{Max: assumedUnknown}
}

// EstimateCallCost estimates the cost of functions that read a whole operand, and that CEL's cost model
// counts as one step.
func (coster) EstimateCallCost(
	function, _ string, target *cost.AstNode, args []cost.AstNode,
) *cost.CallEstimate {
	if target != nil {
		args = append([]cost.AstNode{*target}, args...)
	}
	if _, checked := functions.Checks[function]; !checked && function != celast.OptionalCall {
		return nil
	}
	size := sizeOfNode(args[0])
	visits := size.Max
	switch function {
	case celast.OrderedCall, celast.OptionalCall: // they return their operand
		return &cost.CallEstimate{CostEstimate: cost.FixedCostEstimate(1), ResultSize: &size}
	case operators.Add, operators.Equals, operators.NotEquals, operators.In, "size", formatCall: // in CEL's model
		return nil
	case "json.encode", "yaml.encode":
		visits = mul(visits, assumedText)
		if args[0].Type().Kind() == types.DynKind {
			visits = assumedObject
		}
	}
	if n := functions.Growth(function); n > 0 {
		visits = mul(mul(visits, assumedText), n)
	}
	if function != celast.SortByCall { // its second operand is as long as the first
		for _, a := range args[1:] {
			visits = mul(visits, 1+sizeOfNode(a).Max/8)
		}
	}
	visits = mul(visits, max(1, functions.Weights[function])) / 8
	return &cost.CallEstimate{CostEstimate: cost.Estimate{Min: 1, Max: 1 + visits}}
}

func sizeOfNode(n cost.AstNode) cost.SizeEstimate {
	if s := n.ComputedSize(); s != nil {
		return *s
	}
	return cost.SizeEstimate{Max: assumedUnknown}
}

// mul returns a product that does not overflow.
func mul(a, b uint64) uint64 {
	if overflow, product := bits.Mul64(a, b); overflow == 0 {
		return product
	}
	return math.MaxUint64
}
