package expression

import (
	"context"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/budget"
)

// Evaluate the expression over the variables. The error, if any, is a *Waiting
// or a *Failed. The variables may be read while the result is: it is not copied.
func (x *Expression) Evaluate(ctx context.Context, vars cel.Activation, b *budget.Budget) (ref.Val, error) {
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

func (x *Expression) evaluate(ctx context.Context, vars cel.Activation, b *budget.Budget) (ref.Val, error) {
	return x.evaluateWithin(ctx, vars, b, 0)
}

// evaluateWithin is evaluate with at most so much fuel, if it is not zero.
func (x *Expression) evaluateWithin(ctx context.Context, vars cel.Activation, b *budget.Budget, most int64) (ref.Val, error) {
	p, ok := x.programs.Get().(*program)
	if !ok {
		return nil, x.failedAt(0, "cannot be planned")
	}
	defer x.programs.Put(p)

	granted, left, err := b.Grant(most)
	if err != nil {
		return nil, x.failedAt(0, "was stopped: "+overBudget)
	}
	start := time.Now()
	p.nullAt = 0
	p.fuel, p.deadline, p.gone = granted, start.Add(left), ctx.Err
	defer func() { // with what it takes to explain a failure
		p.gone = nil
		b.Evaluated(granted-max(p.fuel, 0), time.Since(start))
	}()
	v, err := x.run(ctx, vars, p)
	if err == nil {
		return v, nil
	}
	if time.Now().After(p.deadline) {
		p.fuel = 0 // what took so long was not known to the meter
	}
	return nil, x.classify(vars, p, err)
}

// run is cel-go's ContextEval, which compares the text of errors, and so prints
// the value that an error is about, however large.
func (x *Expression) run(ctx context.Context, vars cel.Activation, p *program) (ref.Val, error) {
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	if x.loops { // all else ends by the meter's clock
		ctx, cancel := context.WithDeadline(ctx, p.deadline)
		defer cancel()
		if err := frame.SetContext(ctx, interruptFrequency); err != nil {
			return nil, err
		}
	}
	v, _, err := p.Eval(frame)
	return v, err
}
