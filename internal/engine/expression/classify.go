package expression

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// missingError is the unexported type of cel-go's error for a missing key or index. It is compared
// by type, because its text contains the key.
var missingError = func() reflect.Type { //nolint:gochecknoglobals // a constant that must be computed
	attributes := interpreter.NewAttributeFactory(containers.DefaultContainer, types.DefaultTypeAdapter, nil)
	key, err := attributes.NewQualifier(nil, 0, "missing", false)
	if err == nil {
		_, err = key.Qualify(interpreter.EmptyActivation(), map[string]string{})
	}
	return causeType(err)
}()

// causeType is the type of the innermost error.
func causeType(err error) reflect.Type {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return reflect.TypeOf(err)
}

// classify distinguishes missing inputs from failures. It uses only types and positions of cel-go's
// error, because the text of the error may quote a value.
func (x *Expression) classify(vars cel.Activation, err error) error {
	var celErr *types.Err
	switch {
	case errors.As(err, new(interpreter.EvalCancelledError)), errors.As(err, new(interpreter.InterruptError)):
		return x.stopped()
	case errors.As(err, new(*Waiting)), errors.As(err, new(*Failed)):
		return x.placed(err)
	case !errors.As(err, &celErr):
		return x.failedAt(0, "failed inside the CEL interpreter")
	}
	id, missing := celErr.NodeID(), causeType(celErr) == missingError
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
		return waitingForNull(nulls...)
	}
	if known := x.placed(err); known != nil {
		return known
	}
	return x.classifyCall(vars, node, id, celErr)
}

// placed returns an error of the data or of a function with its position in the expression, or nil for an error of CEL.
func (x *Expression) placed(err error) error {
	var (
		waiting *Waiting
		failed  *Failed
		refusal *functions.Refusal
		celErr  *types.Err
		node    int64
	)
	if errors.As(err, &celErr) {
		node = celErr.NodeID()
	}
	switch {
	case errors.As(err, &waiting):
		return waiting
	case errors.As(err, &refusal):
		return x.failedAt(node, refusal.Reason)
	case errors.As(err, &failed) && failed.Path == "":
		return x.failedAt(node, failed.Reason)
	case failed != nil:
		return failed
	}
	return nil
}

// sharedNode marks the error values that cel-go shares between evaluations. Without the mark, cel-go
// would write the node of the first evaluation into them, which is a data race.
const sharedNode = -1

func init() { //nolint:gochecknoinits // before the first evaluation
	types.LabelErrNode(sharedNode, types.NoSuchOverloadErr())
	types.LabelErrNode(sharedNode, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
}

// classifyReferences walks the paths that the value of a node may have. If a path is absent, the
// expression waits for it. Otherwise, a path below a scalar is a failure. It returns nil if all paths
// exist.
func (x *Expression) classifyReferences(vars cel.Activation, id int64, missing bool) error {
	var failed error
	var absent []string
	all := make([]string, 0, len(x.byNode[id]))
	for _, i := range x.byNode[id] {
		r := x.references[i].in(vars)
		all = append(all, x.TextOf(r))
		switch n, v, end := walk(vars, r); end { //nolint:exhaustive // the others say nothing about the error
		case endScalar:
			failed = x.noObject(v, r, n, id)
		case endAbsent:
			absent = append(absent, x.TextOf(r.upTo(n+1)))
		}
	}
	switch {
	case len(absent) > 0:
		return NewWaiting(append(x.absent(vars), absent...)...)
	case failed != nil:
		return failed
	case missing && len(all) > 0:
		return NewWaiting(append(x.absent(vars), all...)...)
	}
	return nil
}

// noObject returns the failure of the step after the first n steps of a path, whose value is v.
func (x *Expression) noObject(v ref.Val, r Reference, n int, id int64) *Failed {
	f := Failure{Cause: NoObject, Node: x.node(id), Above: x.TextOf(r.upTo(n))}
	what := "not an object"
	if _, f.IsList = v.(traits.Lister); f.IsList {
		what = "a list"
	}
	f.What = fmt.Sprintf("cannot select %s: %s is %s", x.TextOf(r.upTo(n+1)), f.Above, what)
	return x.failedBy(f)
}

// nulls returns the paths that a node reads and that are null, a list with a null, or an unknown element of a value
// with a null. They are missing inputs that may have caused the failure.
func (x *Expression) nulls(vars cel.Activation, node ast.Expr) (out []string) {
	ids, budget := nodesOf(node), limits.RangeElements // for all references together
	for _, r := range x.references {
		r = r.in(vars)
		_, v, end := walk(vars, r)
		_, isList := v.(traits.Lister)
		switch {
		case !ids[r.node] || r.tested || end == endAbsent || end == endScalar:
		case v == types.NullValue, (isList || end == endUnknown) && hasNull(v, &budget):
			out = append(out, x.TextOf(r))
		}
	}
	return out
}

// hasNull reports whether a null is in a value. It reads at most as many values as the budget allows.
func hasNull(v ref.Val, budget *int) bool {
	*budget--
	it, ok := v.(traits.Iterable)
	if !ok || *budget < 0 {
		return v == types.NullValue
	}
	m, isMap := v.(traits.Mapper)
	for i := it.Iterator(); i.HasNext() == types.True; {
		e := i.Next()
		if isMap {
			e, _ = m.Find(e)
		}
		if e != nil && hasNull(e, budget) {
			return true
		}
	}
	return false
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

// stopped returns the failure of an evaluation that exceeds the budget.
func (x *Expression) stopped() *Failed { return x.failedAt(0, "was stopped: "+functions.OverBudget) }

// failedAt returns a failure at a node. Node 0 is the whole expression.
func (x *Expression) failedAt(id int64, reason string) *Failed {
	line, column := x.position(id)
	return &Failed{Path: x.source.At(line, column, "").Place(), Reason: reason}
}

// position returns the position of a node, or 0 if it has none.
func (x *Expression) position(id int64) (line, column int) {
	if _, ok := x.ast.SourceInfo().GetOffsetRange(id); !ok || id == 0 {
		return 0, 0
	}
	l := x.ast.SourceInfo().GetStartLocation(id)
	return l.Line(), l.Column() + 1
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

// below names the value that is read below a node.
func (x *Expression) below(node ast.Expr) string {
	ids := nodesOf(node)
	for _, r := range x.references {
		if ids[r.node] && !slices.ContainsFunc(r.Path, Step.Any) {
			return "an element of " + x.TextOf(r)
		}
	}
	return "a computed value of " + x.source.Path
}

// absent returns the paths of [Expression.Absent] as text, each up to the missing step.
func (x *Expression) absent(vars cel.Activation) []string {
	absent := x.Absent(vars)
	names := make([]string, 0, len(absent))
	for _, r := range absent {
		n, _, _ := walk(vars, r)
		names = append(names, x.TextOf(r.upTo(n+1)))
	}
	return names
}

// Absent returns the paths that are missing, and without which the expression waits in any case.
func (x *Expression) Absent(vars cel.Activation) (out []Reference) {
	for _, r := range x.references {
		r = r.in(vars)
		if n, _, end := walk(vars, r); !r.branch && end == endAbsent && n < r.must {
			out = append(out, r.upTo(r.must))
		}
	}
	return out
}
