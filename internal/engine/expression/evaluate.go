package expression

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// Evaluate the expression with the variables. The error, if any, is a *Waiting or a *Failed. The
// result is not copied: reading it may read the variables.
func (x *Expression) Evaluate(ctx context.Context, vars cel.Activation, b *budget.Budget) (ref.Val, error) {
	v, err := x.evaluate(ctx, vars, b, 0)
	switch {
	case err == nil:
		b.OK++
		return v, nil
	case errors.As(err, new(*Waiting)):
		b.Waiting++
	default:
		b.Failed++
	}
	return nil, err
}

// evaluate with at most most fuel. Zero means the usual limit.
func (x *Expression) evaluate(ctx context.Context, vars cel.Activation, b *budget.Budget, most int64) (ref.Val, error) {
	p := x.programs.Get().(*program) //nolint:forcetypeassert // the pool has nothing else
	defer x.programs.Put(p)

	granted, left, err := b.Grant(most)
	if err != nil {
		return nil, x.stopped()
	}
	start := time.Now()
	p.fuel, p.deadline, p.ctx = granted, start.Add(left), ctx
	defer func() { // including the time to explain a failure
		p.ctx = nil
		b.Evaluated(granted-max(p.fuel, 0), time.Since(start))
	}()
	v, err := x.run(ctx, vars, p)
	if err == nil {
		return v, nil
	}
	if time.Now().After(p.deadline) {
		p.fuel = 0 // the meter did not count the work that took so long
	}
	return nil, x.classify(vars, err)
}

// run replaces cel-go's ContextEval, which compares the texts of errors. To do this, it prints the
// value that an error is about, even if the value is large.
func (x *Expression) run(ctx context.Context, vars cel.Activation, p *program) (ref.Val, error) {
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	if len(p.bodies) > 0 { // in all other programs the meter checks the clock
		ctx, cancel := context.WithDeadline(ctx, p.deadline)
		defer cancel()
		if err := frame.SetContext(ctx, interruptFrequency); err != nil {
			return nil, err
		}
	}
	v, _, err := p.Eval(frame)
	return v, err
}

// renameFuel is the fuel of an evaluation in addition to its calls. It only matters for key
// expressions, because one is evaluated for each of thousands of keys.
const renameFuel = 4

// Rename evaluates a key expression. The error, if any, is a *Failed: a key expression never waits.
func (x *Expression) Rename(key string, b *budget.Budget) (string, error) {
	if b.Spend(renameFuel) != nil {
		return "", x.stopped()
	}
	vars, err := cel.NewActivation(map[string]any{Key: key})
	if err != nil {
		return "", x.failedAt(0, "failed inside the CEL interpreter")
	}
	name, ok := "", false
	v, err := x.evaluate(b.Context(), vars, b, limits.KeyFuel)
	if err == nil {
		name, ok, err = x.Name(v, b)
	}
	if err == nil && !ok || errors.As(err, new(*Waiting)) {
		return "", x.failedAt(0, "returns no key: the value that it selects does not exist")
	}
	return name, err
}

// Waiting is the error of an expression that needs a missing input: a composed resource that is not
// observed, a key that has no value, or a source that was not read. Only this type distinguishes it
// from a failure.
type Waiting struct {
	// Missing inputs as they are written in CEL, sorted, for example resources.db.status.endpoint. They
	// come from the source of the expression, never from its data.
	Inputs []string

	// Null is set if they exist and are null.
	Null bool

	// Required is set if an optional key also waits for them, because it had a value that it would lose for a moment.
	Required bool

	// See is a command that shows more about the first of them, or empty.
	See string
}

// NewWaiting returns an error for missing inputs.
func NewWaiting(inputs ...string) *Waiting {
	inputs = slices.Clone(inputs)
	slices.Sort(inputs)
	return &Waiting{Inputs: slices.Compact(inputs)}
}

// waitingForNull returns an error for inputs that exist and are null.
func waitingForNull(inputs ...string) *Waiting {
	w := NewWaiting(inputs...)
	w.Null = true
	return w
}

// Error names the inputs. It contains no data.
func (w *Waiting) Error() string { return "waiting for " + strings.Join(w.Inputs, ", ") }

// Failed is the error of an expression that cannot be evaluated, even if all inputs exist.
type Failed struct {
	// Path of the expression, with the line and column of the part that failed.
	Path string

	// Reason with a hint. It contains no data, only parts of the source of the expression and the types
	// of values.
	Reason string
}

// Error names the position and the reason. It contains no data.
func (f *Failed) Error() string {
	if f.Path == "" {
		return f.Reason
	}
	return f.Path + ": " + f.Reason
}
