package expression

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Budget bounds what all expressions of one request may do together. It is not
// safe for concurrent use: a request is evaluated in one order.
type Budget struct {
	fuel int64

	// Waiting, Failed and OK count the evaluations by how they ended.
	OK, Waiting, Failed int
}

// NewBudget returns the budget of one request.
func NewBudget() *Budget { return &Budget{fuel: limits.RequestFuel} }

// Evaluate the expression over the variables. The error, if any, is a *Waiting
// or a *Failed. The variables may be read while the result is: it is not copied.
func (x *Expression) Evaluate(ctx context.Context, vars cel.Activation, b *Budget) (ref.Val, error) {
	v, err := x.evaluate(ctx, vars, b)
	switch err.(type) {
	case nil:
		b.OK++
		return v, nil
	case *Waiting:
		b.Waiting++
	default:
		b.Failed++
	}
	return nil, err
}

func (x *Expression) evaluate(ctx context.Context, vars cel.Activation, b *Budget) (ref.Val, error) {
	p, ok := x.programs.Get().(*program)
	if !ok {
		return nil, x.failedAt(0, "cannot be planned")
	}
	defer x.programs.Put(p)

	if b.fuel <= 0 {
		return nil, x.failedAt(0, "cannot be evaluated: the expressions before it used up what one request may do")
	}
	granted := min(b.fuel, limits.Fuel)
	p.fuel = granted
	ctx, cancel := context.WithTimeout(ctx, limits.EvaluationTime)
	defer cancel()

	v, _, err := p.ContextEval(ctx, vars)
	b.fuel -= granted - max(p.fuel, 0)
	if err != nil {
		return nil, x.classify(vars, p, err)
	}
	return v, nil
}

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
		waiting   *Waiting
		failed    *Failed
		cancelled interpreter.EvalCancelledError
		celErr    *types.Err
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
		return x.failedAt(p.stoppedAt, x.callText(p.stoppedAt)+" was stopped: "+cancelled.Message)
	case errors.Is(err, interpreter.InterruptError{}), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return x.failedAt(0, fmt.Sprintf("was stopped: it took longer than %s", limits.EvaluationTime))
	case !errors.As(err, &celErr):
		return x.failedAt(0, "failed inside the CEL interpreter")
	}
	if ref.Val(celErr) == types.NoSuchOverloadErr() { // cel-go's shared value: its node id is of whoever came first
		return x.failedAt(0, "failed: an operator or function does not take the types of its operands")
	}
	return x.classifyNode(vars, celErr)
}

func nodeOf(err error) int64 {
	var celErr *types.Err
	if errors.As(err, &celErr) {
		return celErr.NodeID()
	}
	return 0
}

func (x *Expression) classifyNode(vars cel.Activation, err *types.Err) error {
	id := err.NodeID()
	if i, ok := x.byNode[id]; ok {
		r := x.references[i]
		n, end := walk(vars, r)
		switch end {
		case endAbsent:
			return NewWaiting(append(x.absent(vars), r.upTo(n+1).text(x.source.From))...)
		case endScalar:
			return x.failedAt(id, fmt.Sprintf("cannot select %s: %s is not an object", r.upTo(n+1).text(x.source.From), r.upTo(n).text(x.source.From)))
		case endPresent, endUnknown:
		}
		if causeType(err) == missingError {
			return NewWaiting(append(x.absent(vars), r.text(x.source.From))...)
		}
	}
	node := x.node(id)
	if causeType(err) == missingError || isOptionalValue(node) {
		if inputs := x.absent(vars); len(inputs) > 0 {
			return NewWaiting(inputs...)
		}
		return NewWaiting(x.below(node))
	}
	return x.classifyCall(vars, node, id)
}

// classifyCall explains a call that failed by the types of its operands. An
// operand that is null is an input that is not there yet.
func (x *Expression) classifyCall(vars cel.Activation, node ast.Expr, id int64) error {
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
		t, null := x.operandType(vars, o)
		if null != "" {
			return NewWaiting(null)
		}
		kinds = append(kinds, t)
	}
	reason := fmt.Sprintf("%s failed on %s", callName(c.FunctionName()), strings.Join(kinds, " and "))
	number := slices.Contains(kinds, "int") || slices.Contains(kinds, "double")
	if c.FunctionName() == "_+_" && number && slices.Contains(kinds, "string") {
		reason += ": wrap the number in string(...)"
	}
	return x.failedAt(id, reason)
}

// operandType names the type of an operand, as far as the source and the data
// say, or the path of one that is null.
func (x *Expression) operandType(vars cel.Activation, o ast.Expr) (name, null string) {
	if i, ok := x.byNode[o.ID()]; ok {
		r := x.references[i]
		if v, end := follow(vars, r); end == endPresent && !r.presence && !r.iterated {
			if v == types.NullValue {
				return "", r.text(x.source.From)
			}
			return v.Type().TypeName(), ""
		}
	}
	if o.Kind() == ast.LiteralKind {
		return o.AsLiteral().Type().TypeName(), ""
	}
	if t := x.ast.GetType(o.ID()); t != nil {
		return cel.FormatCELType(t), ""
	}
	return "dyn", ""
}

func isOptionalValue(e ast.Expr) bool {
	return e != nil && e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == "value"
}

// callNames are the operators whose function name no one writes.
var callNames = map[string]string{ //nolint:gochecknoglobals // a table
	"_+_": "+", "_-_": "-", "_*_": "*", "_/_": "/", "_%_": "%", "-_": "-", "!_": "!", "_==_": "==", "_!=_": "!=",
	"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in", "_[_]": "[]", "_?_:_": "?:", "_&&_": "&&", "_||_": "||",
	orderedCall: "the iteration", "@sortByAssociatedKeys": "sortBy",
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
	ids := map[int64]bool{}
	if node != nil {
		ast.PostOrderVisit(node, ast.NewExprVisitor(func(e ast.Expr) { ids[e.ID()] = true }))
	}
	for _, r := range x.references {
		if ids[r.node] && !slices.ContainsFunc(r.Path, Step.Any) {
			return "an element of " + r.text(x.source.From)
		}
	}
	return "a computed value of " + x.source.Path
}

// absent lists the paths that are missing for sure: read in any case, and by no
// part of the expression as something that may be missing.
func (x *Expression) absent(vars cel.Activation) []string {
	lenient := map[string]bool{}
	for _, r := range x.references {
		if !r.strict() {
			lenient[r.text(x.source.From)] = true
		}
	}
	var out []string
	for _, r := range x.references {
		if !r.strict() || r.branch || lenient[r.text(x.source.From)] {
			continue
		}
		if n, end := walk(vars, r); end == endAbsent {
			out = append(out, r.upTo(n+1).text(x.source.From))
		}
	}
	return out
}

func (r Reference) upTo(n int) Reference {
	r.Path = r.Path[:min(n, len(r.Path))]
	return r
}

// An end says why a walk along a path ended.
type end int

const (
	endPresent end = iota // the path is there
	endAbsent             // a key is missing, a list too short, or a parent null
	endScalar             // a parent has no keys
	endUnknown            // the source does not say which key
)

// walk follows a path through the data, and returns how many steps are there.
func walk(vars cel.Activation, r Reference) (int, end) {
	n, _, e := steps(vars, r)
	return n, e
}

func follow(vars cel.Activation, r Reference) (ref.Val, end) {
	_, v, e := steps(vars, r)
	return v, e
}

func steps(vars cel.Activation, r Reference) (int, ref.Val, end) {
	root, ok := vars.ResolveName(r.Variable)
	if !ok {
		return 0, nil, endUnknown
	}
	v := types.DefaultTypeAdapter.NativeToValue(root)
	for i, s := range r.Path {
		next, e := step(v, s)
		if e != endPresent {
			return i, nil, e
		}
		v = next
	}
	return len(r.Path), v, endPresent
}

func step(v ref.Val, s Step) (ref.Val, end) {
	if s.Any() || types.IsUnknownOrError(v) {
		return nil, endUnknown
	}
	switch t := v.(type) {
	case traits.Mapper:
		return stepInto(t, s)
	case traits.Lister:
		i, ok := s.Key.(int64)
		if !ok {
			return nil, endScalar
		}
		if n, _ := t.Size().(types.Int); i < 0 || types.Int(i) >= n {
			return nil, endAbsent
		}
		return t.Get(types.Int(i)), endPresent
	case types.Null:
		return nil, endAbsent
	case *types.Optional:
		if !t.HasValue() {
			return nil, endAbsent
		}
		return step(t.GetValue(), s)
	}
	return nil, endScalar
}

func stepInto(m traits.Mapper, s Step) (ref.Val, end) {
	k, ok := s.Key.(string)
	if !ok {
		return nil, endUnknown
	}
	v, found := m.Find(types.String(k))
	if v != nil && types.IsError(v) {
		return nil, endUnknown
	}
	if !found {
		return nil, endAbsent
	}
	return v, endPresent
}
