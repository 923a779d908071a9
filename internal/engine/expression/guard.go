package expression

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	celfunctions "cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// guards create programs that pay for a call before they call the function.
type guards map[string]celfunctions.FunctionOp // by function

// newGuards collects the implementations of the functions in the table of costs. A function without an
// implementation is a defect: a new version of cel-go renamed it.
func newGuards(env *cel.Env) (guards, error) {
	g := guards{
		operators.Equals:    func(a ...ref.Val) ref.Val { return types.Equal(a[0], a[1]) },
		operators.NotEquals: func(a ...ref.Val) ref.Val { return types.Bool(types.Equal(a[0], a[1]) != types.True) },
	}
	for name := range functions.Costs {
		if _, ok := g[name]; ok {
			continue
		}
		bindings, err := env.Functions()[name].Bindings() // none if it does not exist
		for _, b := range bindings {                      // one of them has the name, and calls the overload that fits
			if b.Operator == name {
				g[name] = implementation(b)
			}
		}
		if err != nil || g[name] == nil {
			return nil, errors.Join(fmt.Errorf("cannot guard function %q: it has no implementation", name), err)
		}
	}
	return g, nil
}

// implementation returns the implementation of an overload. Like cel-go's own calls, it first checks
// the trait of the first operand.
func implementation(b *celfunctions.Overload) celfunctions.FunctionOp {
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

// interruptFrequency is the number of steps of comprehensions between checks of the clock. With 100,
// an evaluation took seven times its limit.
const interruptFrequency = 10

// A program is a planned expression with its own meter. CEL's programs have no state, so the counter
// is in a copy that only one evaluation uses at a time.
type program struct {
	cel.Program
	fuel     int64
	deadline time.Time
	ctx      context.Context // of the request, which its caller can cancel
	steps    uint32
	bodies   map[int64]int64
}

// program plans a program. CEL's own optimizations stay off, because they replace calls together with
// their costs.
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
		switch node := i.(type) {
		case interpreter.InterpretableConstructor:
			return metered{i, p, int64(len(node.InitVals())) / 4}, nil
		case interpreter.InterpretableCall:
			return metered{p.paid(node, g[node.Function()]), p, 1}, nil
		}
		return i, nil
	}
}

// paid returns a call that spends its cost before it calls the function.
func (p *program) paid(call interpreter.InterpretableCall, op celfunctions.FunctionOp) interpreter.InterpretableV2 {
	cost, ok := functions.Costs[call.Function()]
	if !ok {
		return call
	}
	if call.Function() == operators.Add {
		op = flatSum(op)
	}
	times := max(1, p.bodies[call.ID()]) // an iteration spends its fuel before it begins
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(a ...ref.Val) ref.Val {
		p.spend(cost(a) * times / 8)
		return op(a...)
	})
}

// flatSum copies the sum of two lists. cel-go's sum refers to both lists, so that each access to a sum
// of a thousand lists would take a thousand steps.
func flatSum(add celfunctions.FunctionOp) celfunctions.FunctionOp {
	return func(a ...ref.Val) ref.Val {
		sum := add(a...)
		l, ok := sum.(traits.Lister)
		if _, accumulator := sum.(traits.MutableLister); !ok || accumulator || sum == a[0] || sum == a[1] {
			return sum
		}
		elements := make([]ref.Val, 0, functions.Size(l))
		for _, part := range a {
			for it := part.(traits.Lister).Iterator(); it.HasNext() == types.True; {
				elements = append(elements, it.Next())
			}
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	}
}

// A metered node spends fuel each time that it runs: for a call, or for the elements of a list or map that it creates,
// and for the text that it returns.
type metered struct {
	interpreter.InterpretableV2
	program *program
	fuel    int64
}

func (m metered) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	m.program.spend(m.fuel)
	v := m.InterpretableV2.Exec(frame)
	m.program.spend(functions.TextLen(v) / 64)
	return v
}

func (m metered) Eval(a interpreter.Activation) ref.Val { return interpreter.EvalActivation(a, m.Exec) }

// spend takes fuel, and sometimes checks the clock. CEL itself checks the clock only between the steps of a
// comprehension. If nothing is left, it ends the evaluation: an error value would not, because `|| true` absorbs it.
func (p *program) spend(n int64) {
	p.fuel -= n
	p.steps++
	if p.fuel < 0 || (n >= 512 || p.steps%64 == 0) && (time.Now().After(p.deadline) || p.ctx.Err() != nil) {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
}

// bodies returns the number of nodes that comprehensions evaluate for each element, by the node of the
// call around their range.
func bodies(a *ast.AST) map[int64]int64 {
	out := map[int64]int64{}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind && !celast.IsBind(e.AsComprehension()) {
			c := e.AsComprehension()
			out[c.IterRange().ID()] = int64(len(nodesOf(c.LoopCondition())) + len(nodesOf(c.LoopStep())))
		}
	}))
	return out
}
