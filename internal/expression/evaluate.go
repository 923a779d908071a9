package expression

import (
	"context"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Budget bounds what all expressions of one request may do together. It is not
// safe for concurrent use: a request is evaluated in one order.
type Budget struct {
	fuel  int64         // of all expressions
	grant int64         // of one expression
	time  time.Duration // of all expressions

	// Waiting, Failed and OK count the evaluations by how they ended.
	OK, Waiting, Failed int
}

// NewBudget returns the budget of one request.
func NewBudget() *Budget {
	return &Budget{fuel: limits.RequestFuel, grant: limits.Fuel, time: limits.RequestTime}
}

// NewTenantBudget returns the budget of what one composite's author asks for in
// one request.
func NewTenantBudget() *Budget {
	return &Budget{fuel: limits.TenantRequestFuel, grant: limits.TenantFuel, time: limits.TenantTime}
}

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

	if b.fuel <= 0 || b.time <= 0 {
		return nil, x.failedAt(0, "was stopped: "+overBudget)
	}
	granted, start := min(b.fuel, b.grant), time.Now()
	defer func() { b.time -= time.Since(start) }() // with what it takes to explain a failure
	p.nullAt = 0
	p.fuel, p.deadline = granted, start.Add(min(b.time, limits.EvaluationTime))
	v, err := x.run(ctx, vars, p)
	if err == nil {
		b.fuel -= granted - p.fuel
		return v, nil
	}
	if time.Now().After(p.deadline) {
		p.fuel = 0 // what took so long was not known to the meter
	}
	b.fuel -= granted - max(p.fuel, 0)
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
