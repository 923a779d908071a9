package expression

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// Evaluate the expression over the variables. The error, if any, is a *Waiting
// or a *Failed. The variables may be read while the result is: it is not copied.
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

// evaluate with at most so much fuel, if most is not zero.
func (x *Expression) evaluate(ctx context.Context, vars cel.Activation, b *budget.Budget, most int64) (ref.Val, error) {
	p, ok := x.programs.Get().(*program)
	if !ok {
		return nil, x.failedAt(0, "cannot be planned")
	}
	defer x.programs.Put(p)

	granted, left, err := b.Grant(most)
	if err != nil {
		return nil, x.stopped()
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
	if len(p.bodies) > 0 { // all else ends by the meter's clock
		ctx, cancel := context.WithDeadline(ctx, p.deadline)
		defer cancel()
		if err := frame.SetContext(ctx, interruptFrequency); err != nil {
			return nil, err
		}
	}
	v, _, err := p.Eval(frame)
	return v, err
}

// renameFuel is what an evaluation takes beside its calls, which matters only where there
// is one for each of thousands of keys.
const renameFuel = 4

// Rename evaluates a key expression. The error, if any, is a *Failed: a key is
// never waited for.
func (x *Expression) Rename(key string, b *budget.Budget) (string, error) {
	if b.Spend(renameFuel) != nil {
		return "", x.stopped()
	}
	vars, err := cel.NewActivation(map[string]any{Key: key})
	if err != nil {
		return "", x.failedAt(0, "failed inside the CEL interpreter")
	}
	var name string
	ok := false
	v, err := x.evaluate(b.Context(), vars, b, limits.KeyFuel)
	if err == nil {
		name, ok, err = x.Name(v, b)
	}
	var failed *Failed
	switch {
	case errors.As(err, &failed):
		return "", failed
	case err != nil:
		return "", x.failedAt(0, "gives no key: what it selects is not there")
	case !ok:
		return "", x.failedAt(0, "gives no key: optional.none() cannot leave one out")
	}
	return name, nil
}

// Waiting is the error of an expression that needs an input which is not there
// yet: a composed resource that is not observed, a key that has no value, a
// source that was not read. It is told from a failure by this type alone.
type Waiting struct {
	// Inputs that are missing, in CEL's words and sorted, for example
	// resources.db.status.endpoint. They come from the source of the expression,
	// never from its data.
	Inputs []string
}

// NewWaiting returns an error that waits for the inputs.
func NewWaiting(inputs ...string) *Waiting {
	inputs = slices.Clone(inputs)
	slices.Sort(inputs)
	return &Waiting{Inputs: slices.Compact(inputs)}
}

// Error names the inputs. It holds no data.
func (w *Waiting) Error() string { return "waiting for " + strings.Join(w.Inputs, ", ") }

// Failed is the error of an expression that cannot be evaluated, however long
// one waits.
type Failed struct {
	// Path of the expression, with the line and column of the part that failed.
	Path string

	// Reason, and a hint. It holds no data, only what the source of the
	// expression says and the types of values.
	Reason string
}

// Error names the place and the reason. It holds no data.
func (f *Failed) Error() string {
	if f.Path == "" {
		return f.Reason
	}
	return f.Path + ": " + f.Reason
}
