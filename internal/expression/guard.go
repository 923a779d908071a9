package expression

import (
	"fmt"
	"regexp"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// guards make programs that look before they call.
type guards map[string]functions.FunctionOp // by function, or function/overload

// newGuards collects the implementations of the checked functions. One that has
// none is a defect: a new version of cel-go renamed it.
func newGuards(env *cel.Env) (guards, error) {
	g := guards{
		"_==_": func(a ...ref.Val) ref.Val { return types.Equal(a[0], a[1]) },
		"_!=_": func(a ...ref.Val) ref.Val { return types.Bool(types.Equal(a[0], a[1]) != types.True) },
	}
	for name := range checks {
		if _, ok := g[name]; ok {
			continue
		}
		f, ok := env.Functions()[name]
		if !ok {
			return nil, fmt.Errorf("cannot guard function %q: it does not exist", name)
		}
		bindings, err := f.Bindings()
		if err != nil {
			return nil, fmt.Errorf("cannot guard function %q: %w", name, err)
		}
		for _, b := range bindings {
			if op := implementation(b); op != nil && b.Operator == name {
				g[name] = op
			} else if op != nil {
				g[name+"/"+b.Operator] = op
			}
		}
	}
	return g, nil
}

// implementation is what an overload does, with the look at the trait of the
// first operand that cel-go's own calls have before it.
func implementation(b *functions.Overload) functions.FunctionOp {
	op := b.Function
	switch {
	case op != nil:
	case b.Binary != nil:
		op = func(a ...ref.Val) ref.Val { return b.Binary(a[0], a[1]) }
	case b.Unary != nil:
		op = func(a ...ref.Val) ref.Val { return b.Unary(a[0]) }
	default:
		return nil
	}
	if b.OperandTrait == 0 {
		return op
	}
	return func(a ...ref.Val) ref.Val {
		if !a[0].Type().HasTrait(b.OperandTrait) {
			return types.MaybeNoSuchOverloadErr(a[0])
		}
		return op(a...)
	}
}

func (g guards) of(call interpreter.InterpretableCall) (functions.FunctionOp, error) {
	for _, name := range []string{call.Function() + "/" + call.OverloadID(), call.Function()} {
		if op := g[name]; op != nil {
			return op, nil
		}
	}
	return nil, fmt.Errorf("cannot guard function %q: no implementation", call.Function())
}

// interruptFrequency is how many steps of comprehensions pass between looks at
// the clock: 100 overshot the time by seven times.
const interruptFrequency = 10

// A program is a planned expression with a meter of its own: programs are
// stateless, so the counter lives in a copy, used by one evaluation at a time.
type program struct {
	cel.Program
	fuel      int64
	deadline  time.Time
	gone      func() error // not nil once the caller has gone away
	steps     uint32
	stoppedAt int64 // the node that was refused
	nullAt    int64 // the last call that failed, and had a null to work on
	bodies    map[int64]int64

	explaining bool
}

// program plans one. CEL's own optimizations stay off: they replace calls, and
// with them the checks.
func (g guards) program(env *cel.Env, a *cel.Ast) (*program, error) {
	p := &program{fuel: limits.Fuel, bodies: bodies(a.NativeRep())}
	prg, err := env.Program(a,
		cel.InterruptCheckFrequency(interruptFrequency),
		cel.CustomDecoratorV2(p.guard(g)))
	if err != nil {
		return nil, err
	}
	p.Program = prg
	return p, nil
}

func (p *program) guard(g guards) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if c, ok := i.(interpreter.InterpretableConstructor); ok {
			return meteredConstructor{c, p, int64(len(c.InitVals()))}, nil
		}
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		check, ok := checks[call.Function()]
		if !ok {
			return meteredCall{call, p}, nil
		}
		op, err := g.of(call)
		if err != nil {
			return nil, err
		}
		if m := compiledMatch(call); m != nil {
			op = m
		}
		if call.Function() == "_+_" {
			op = flatSum(op)
		}
		times := max(1, p.bodies[call.ID()]) // an iteration is paid for before it begins
		guarded := func(a ...ref.Val) ref.Val {
			n, refused := check(a)
			p.spend(n * times / 8)
			if refused != "" {
				p.stop(call.ID(), refused)
			}
			return op(a...)
		}
		return meteredCall{interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), guarded), p}, nil
	}
}

// flatSum copies the sum of two lists. cel-go's refers to both, so that each
// access to a sum of a thousand lists would take a thousand steps.
func flatSum(add functions.FunctionOp) functions.FunctionOp {
	return func(a ...ref.Val) ref.Val {
		sum := add(a...)
		l, ok := sum.(traits.Lister)
		if _, accumulator := sum.(traits.MutableLister); !ok || accumulator || sum == a[0] || sum == a[1] {
			return sum
		}
		elements := make([]ref.Val, 0, size(l))
		for _, part := range a {
			for it := part.(traits.Lister).Iterator(); it.HasNext() == types.True; {
				elements = append(elements, it.Next())
			}
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	}
}

// compiledMatch is a matches whose literal pattern is compiled now, or nil.
func compiledMatch(call interpreter.InterpretableCall) functions.FunctionOp {
	if call.Function() != "matches" || len(call.Args()) != 2 {
		return nil
	}
	c, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok || c.Value().Type() != types.StringType {
		return nil
	}
	re, err := regexp.Compile(textOf(c.Value()))
	if err != nil {
		return nil
	}
	return func(a ...ref.Val) ref.Val {
		s, ok := a[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a[0])
		}
		return types.Bool(re.MatchString(string(s)))
	}
}

// A meteredCall pays for each call, and for the text it gives.
type meteredCall struct {
	interpreter.InterpretableCall
	program *program
}

func (m meteredCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	m.program.spend(1)
	v := m.InterpretableCall.Exec(frame)
	if err, failed := v.(*types.Err); failed && err.NodeID() == m.ID() && !m.program.explaining {
		m.program.explain(m, frame)
	}
	m.program.spend(textLen(v) / 64)
	return v
}

// explain notes whether a call that failed had a null as an operand: then the expression waits
// for an input. Its operands are evaluated again, which gives the same.
func (p *program) explain(call interpreter.InterpretableCall, frame *interpreter.ExecutionFrame) {
	p.explaining = true
	defer func() { p.explaining = false }()
	for _, arg := range call.Args() {
		v := arg.Exec(frame)
		p.spend(size(v) / 8)
		isNull := func(v ref.Val) bool { return v == types.NullValue }
		if isNull(v) || someElement(v, isNull) {
			p.nullAt = call.ID()
		}
	}
}

func (m meteredCall) Eval(a interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(a))
}

// A meteredConstructor pays for each element of a list or map that it makes.
type meteredConstructor struct {
	interpreter.InterpretableConstructor
	program  *program
	elements int64
}

func (m meteredConstructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	m.program.spend(m.elements / 4)
	return m.InterpretableConstructor.Exec(frame)
}

func (m meteredConstructor) Eval(a interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(a))
}

// spend takes fuel, and sometimes checks the clock: CEL itself does so only between the steps of
// a comprehension.
func (p *program) spend(n int64) {
	p.fuel -= n
	if p.fuel < 0 {
		p.stop(0, overBudget)
	}
	if p.steps++; (n >= 512 || p.steps%64 == 0) && (time.Now().After(p.deadline) || p.gone() != nil) {
		p.stop(0, overBudget)
	}
}

// overBudget is why an evaluation is stopped, or not begun, for what it may do: one
// text, without a place. Which of the limits was the first, and where, is not the same
// each time on a machine that has other work, and a condition that changes each time
// is a reconcile each time.
const overBudget = "it is over the limit of what one expression may do, or all of them together"

// stop ends the evaluation. An error value would not: `|| true` absorbs it.
func (p *program) stop(node int64, reason string) {
	p.stoppedAt = node
	panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: reason})
}

// bodies are the sizes, in nodes, of what comprehensions do for each element, by
// the node of the call around their range.
func bodies(a *ast.AST) map[int64]int64 {
	out := map[int64]int64{}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind && !isBind(e.AsComprehension()) {
			c := e.AsComprehension()
			out[c.IterRange().ID()] = int64(len(nodesOf(c.LoopCondition())) + len(nodesOf(c.LoopStep())))
		}
	}))
	return out
}
