package expression

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// missingError is the unexported type of cel-go's error for a missing key or
// index, taken from one: it is compared by type, since its text holds the key.
var missingError = func() reflect.Type { //nolint:gochecknoglobals // a constant that has to be computed
	env, err := cel.NewEnv(cel.Variable("m", cel.MapType(cel.StringType, cel.StringType)))
	if err != nil {
		return nil
	}
	a, iss := env.Compile(`m.missing`)
	if iss.Err() != nil {
		return nil
	}
	p, err := env.Program(a)
	if err != nil {
		return nil
	}
	_, _, err = p.Eval(map[string]any{"m": map[string]string{}})
	return causeType(err)
}()

// causeType is the type of the innermost error.
func causeType(err error) reflect.Type {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return reflect.TypeOf(err)
		}
		err = inner
	}
}

// classify tells what is missing from what is broken. Only types and positions
// of cel-go's error are used: its text may quote a value.
func (x *Expression) classify(vars cel.Activation, p *program, err error) error {
	var (
		waiting     *Waiting
		failed      *Failed
		cancelled   interpreter.EvalCancelledError
		interrupted interpreter.InterruptError
		celErr      *types.Err
	)
	switch {
	case errors.As(err, &waiting):
		return waiting
	case errors.As(err, &failed):
		if failed.Path == "" {
			return x.failedAt(nodeOf(err), failed.Reason)
		}
		return failed
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		if p.stoppedAt == 0 {
			return x.failedAt(0, "was stopped: "+cancelled.Message)
		}
		return x.failedAt(p.stoppedAt, x.callText(p.stoppedAt)+" was stopped: "+cancelled.Message)
	case errors.As(err, &interrupted):
		return x.failedAt(0, "was stopped: "+overBudget)
	case errors.As(err, &celErr):
		return x.classifyNode(vars, p, celErr)
	}
	return x.failedAt(0, "failed inside the CEL interpreter")
}

func nodeOf(err error) int64 {
	var celErr *types.Err
	if errors.As(err, &celErr) {
		return celErr.NodeID()
	}
	return 0
}

// sharedNode marks the error values that cel-go shares between evaluations: it
// would write the node of whoever comes first into them, and race.
const sharedNode = -1

func init() { //nolint:gochecknoinits // before the first evaluation
	types.LabelErrNode(sharedNode, types.NoSuchOverloadErr())
	types.LabelErrNode(sharedNode, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
}

func (x *Expression) classifyNode(vars cel.Activation, p *program, err *types.Err) error {
	id, missing := err.NodeID(), causeType(err) == missingError
	if err := x.classifyReferences(vars, id, missing); err != nil {
		return err
	}
	node := x.node(id)
	if missing || isOptionalValue(node) {
		if inputs := x.absent(vars); len(inputs) > 0 {
			return NewWaiting(inputs...)
		}
		return NewWaiting(x.below(node))
	}
	if nulls := x.nulls(vars, node); len(nulls) > 0 {
		return NewWaiting(nulls...)
	}
	if p.nullAt == id {
		return NewWaiting(x.below(node))
	}
	return x.classifyCall(vars, node, id)
}

// classifyReferences walks the paths that the value of a node may be: one that is
// absent is waited for, before one below a scalar is a failure. It returns nil if
// all are there.
func (x *Expression) classifyReferences(vars cel.Activation, id int64, missing bool) error {
	var failed error
	var absent, all []string
	for _, i := range x.byNode[id] {
		r := x.references[i]
		all = append(all, r.text(x.source.from()))
		switch n, end := walk(vars, r); end {
		case endAbsent:
			absent = append(absent, r.upTo(n+1).text(x.source.from()))
		case endScalar:
			failed = x.failedAt(id, fmt.Sprintf("cannot select %s: %s is not an object", r.upTo(n+1).text(x.source.from()), r.upTo(n).text(x.source.from())))
		case endPresent, endUnknown:
		}
	}
	switch {
	case len(absent) > 0:
		lenient := x.lenient()
		if some := slices.DeleteFunc(slices.Clone(absent), func(s string) bool { return lenient[s] }); len(some) > 0 {
			absent = some // the others are in branches that were not taken
		}
		return NewWaiting(append(x.absent(vars), absent...)...)
	case failed != nil:
		return failed
	case missing && len(all) > 0:
		return NewWaiting(append(x.absent(vars), all...)...)
	}
	return nil
}

// classifyCall explains a call that failed by the types of its operands.
func (x *Expression) classifyCall(vars cel.Activation, node ast.Expr, id int64) error {
	if id == sharedNode {
		return x.failedAt(0, "failed: an operator or function does not take its operands")
	}
	if node == nil || node.Kind() != ast.CallKind {
		return x.failedAt(id, "failed")
	}
	c := node.AsCall()
	operands := c.Args()
	if c.IsMemberFunction() {
		operands = append([]ast.Expr{c.Target()}, operands...)
	}
	kinds := make([]string, 0, len(operands))
	for _, o := range operands {
		kinds = append(kinds, x.operandType(vars, o))
	}
	reason := fmt.Sprintf("%s failed on %s", callName(c.FunctionName()), strings.Join(kinds, " and "))
	number := slices.Contains(kinds, "int") || slices.Contains(kinds, "double")
	if c.FunctionName() == "_+_" && number && slices.Contains(kinds, "string") {
		reason += ": wrap the number in string(...)"
	}
	if fn := c.FunctionName(); fn == "_/_" || fn == "_%_" {
		reason += ": the divisor is zero, or one of them is no number"
	}
	return x.failedAt(id, reason)
}

// operandType names the type of an operand, as far as the source and the data
// say.
func (x *Expression) operandType(vars cel.Activation, o ast.Expr) string {
	for _, i := range x.byNode[asWritten(o).ID()] {
		r := x.references[i]
		if v, end := follow(vars, r); end == endPresent && !r.presence {
			return v.Type().TypeName()
		}
	}
	if o.Kind() == ast.LiteralKind {
		return o.AsLiteral().Type().TypeName()
	}
	if t := x.ast.GetType(o.ID()); t != nil {
		return cel.FormatCELType(t)
	}
	return "dyn"
}

// nulls are the paths that a node reads and that are null: inputs that are not
// there yet, and on which it may have failed.
func (x *Expression) nulls(vars cel.Activation, node ast.Expr) []string {
	ids := nodesOf(node)
	var out []string
	budget := limits.RangeElements // of all references together
	for _, r := range x.references {
		root, ok := vars.ResolveName(r.Variable)
		if ok && ids[r.node] && !r.presence && someNull(types.DefaultTypeAdapter.NativeToValue(root), r.Path, &budget) {
			out = append(out, r.text(x.source.from()))
		}
	}
	return out
}

func nodesOf(e ast.Expr) map[int64]bool {
	ids := map[int64]bool{}
	if e != nil {
		ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { ids[e.ID()] = true }))
	}
	return ids
}

func isOptionalValue(e ast.Expr) bool {
	return e != nil && e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == "value"
}

// callNames are the operators whose function name no one writes.
var callNames = map[string]string{ //nolint:gochecknoglobals // a table
	"_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "-_": "-", "!_": "!", "_==_": "==", "_!=_": "!=",
	"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in", "_[_]": "[]", "_?_:_": "?:", "_&&_": "&&", "_||_": "||",
	orderedCall: "the iteration", optionalCall: "an optional entry", sortByCall: "sortBy", "cel.@mapInsert": "an entry of the map",
}

func callName(function string) string {
	if n, ok := callNames[function]; ok {
		return n
	}
	return function
}

func (x *Expression) callText(id int64) string {
	if n := x.node(id); n != nil && n.Kind() == ast.CallKind {
		return callName(n.AsCall().FunctionName())
	}
	return "it"
}

// failedAt places a reason at a node. Node 0 is the whole expression.
func (x *Expression) failedAt(id int64, reason string) *Failed {
	path := x.source.Path
	if _, ok := x.ast.SourceInfo().GetOffsetRange(id); ok && id != 0 {
		l := x.ast.SourceInfo().GetStartLocation(id)
		path = fmt.Sprintf("%s:%d:%d", path, l.Line(), l.Column()+1)
	}
	return &Failed{Path: path, Reason: reason}
}

func (x *Expression) node(id int64) (found ast.Expr) {
	if id == 0 {
		return nil
	}
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			found = e
		}
	}))
	return found
}

// below names what is read below a node.
func (x *Expression) below(node ast.Expr) string {
	ids := nodesOf(node)
	for _, r := range x.references {
		if ids[r.node] && !slices.ContainsFunc(r.Path, Step.Any) {
			return "an element of " + r.text(x.source.from())
		}
	}
	return "a computed value of " + x.source.Path
}

// lenient are the paths that some part of the expression takes as something that
// may be missing.
func (x *Expression) lenient() map[string]bool {
	out := map[string]bool{}
	for _, r := range x.references {
		if !r.strict() {
			out[r.text(x.source.from())] = true
		}
	}
	return out
}

// absent lists the paths that are missing for sure.
func (x *Expression) absent(vars cel.Activation) []string {
	var out []string
	for _, r := range x.Absent(vars) {
		out = append(out, r.text(x.source.from()))
	}
	return out
}

// Absent are the paths that are missing for sure, each up to the step that is: read in
// any case, and by no part of the expression as something that may be missing.
func (x *Expression) Absent(vars cel.Activation) []Reference {
	lenient := x.lenient()
	var out []Reference
	for _, r := range x.references {
		if !r.strict() || r.branch || lenient[r.text(x.source.from())] {
			continue
		}
		if n, end := walk(vars, r); end == endAbsent {
			out = append(out, r.upTo(n+1))
		}
	}
	return out
}
