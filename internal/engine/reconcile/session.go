package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A session holds what the phases of one request share: what expressions see, and the budget. It does
// not change: each phase has a session that sees what the phases before it returned.
type session struct {
	composite
	observed  *observation.Observation
	author    *observation.Author // what a composite author's expressions see of it; nil for those of the input
	item      *observation.Item   // that expressions see; may be nil
	variables variables
	missing   map[string]string // missing inputs, as expressions name them, and what each of them is
	inputs    *inputs           // what is known about other missing inputs
	budget    *budget.Budget
	quota     *quota // of the composite author; nil for the input's own exports
}

func newSession(
	ctx context.Context, p *plan.Plan, req *request, xr composite, sees *observation.Observation,
) *session {
	s := &session{composite: xr, observed: sees, budget: budget.New(ctx), inputs: &inputs{plan: p, req: req}}
	s.variables = variables{list: p.Variables, values: map[string]ref.Val{}}.in(s)
	return s
}

// next returns the session of the next phase.
func (s *session) next(missing map[string]string, see func(*observation.Observation)) *session {
	out, sees := *s, *s.observed
	see(&sees)
	out.observed = &sees
	if len(missing) > 0 {
		out.missing = maps.Clone(missing)
		for input, what := range s.missing {
			if _, ok := missing[input]; !ok {
				out.missing[input] = what
			}
		}
	}
	out.variables = s.variables.in(&out)
	return &out
}

// scope returns the variables of expressions whose resource is the composed resource from, or the composite.
func (s *session) scope(from string) *observation.Scope {
	if s.author != nil {
		return s.observed.AuthorScope(s.author)
	}
	return s.observed.Scope(from, s.variables.Val).Item(s.item)
}

// name returns the name that an expression produces. It is empty for optional.none().
func (s *session) name(x *expression.Expression, from string) (string, error) {
	name, _, err := valueOf(s, x, s.scope(from), x.Name)
	return name, err
}

// valueOf evaluates an expression and converts its value. It is not ok for optional.none().
func valueOf[T any](s *session, x *expression.Expression, in *observation.Scope,
	convert func(ref.Val, *budget.Budget) (T, bool, error),
) (out T, ok bool, err error) {
	v, err := s.evaluate(x, in)
	if err != nil {
		return out, false, err
	}
	out, ok, err = convert(v, s.budget)
	return out, ok, s.explain(err, x)
}

// json returns the value of an expression as JSON, or nil for optional.none().
func (s *session) json(x *expression.Expression, in *observation.Scope) (*structpb.Value, error) {
	v, _, err := valueOf(s, x, in, x.JSON)
	return v, err
}

func (s *session) evaluate(x *expression.Expression, in *observation.Scope) (ref.Val, error) {
	v, err := x.Evaluate(s.budget.Context(), in, s.budget)
	return v, s.explain(err, x)
}

// isBelow reports whether a missing input is a variable or a part of it.
func isBelow(input, variable string) bool {
	rest, ok := strings.CutPrefix(input, variable)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// variables are the named expressions as a CEL map. Each is evaluated once, on first use, and again
// if what it reads changes.
type variables struct {
	ref.Val

	list   []plan.Variable
	values map[string]ref.Val
}

// in returns the variables as the expressions of a session see them.
func (v variables) in(s *session) variables {
	if len(v.list) > 0 {
		v.Val = observation.Map(&firstVariables{s, v.list, v.values})
	}
	return v
}

// firstVariables are the variables above another one, or all. A variable sees only the variables above it, even where
// it computes a name. Otherwise it could read itself.
type firstVariables struct {
	session *session
	list    []plan.Variable
	values  map[string]ref.Val
}

// Find evaluates a variable when it is first used.
func (v *firstVariables) Find(name string) (ref.Val, bool) {
	i := slices.IndexFunc(v.list, func(x plan.Variable) bool { return x.Name == name })
	if i < 0 {
		return nil, false
	}
	if known, ok := v.values[name]; ok {
		return known, true
	}
	s := v.session
	above := observation.Map(&firstVariables{s, v.list[:i], v.values})
	value, err := v.list[i].Value.Evaluate(s.budget.Context(), s.observed.Scope("", above), s.budget)
	if err != nil {
		value = types.WrapErr(err)
	}
	v.values[name] = value
	return value, true
}

// Names returns the sorted names.
func (v *firstVariables) Names() []string {
	out := make([]string, 0, len(v.list))
	for _, x := range v.list {
		out = append(out, x.Name)
	}
	slices.Sort(out)
	return out
}

func failed(path, format string, args ...any) *expression.Failed {
	return &expression.Failed{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// reasons say why something does not match the input.
type reasons struct {
	failed  []string
	waiting []string // sentences about the parts that wait
	missing []string // what the whole waits for
	see     string   // a command that shows more about the first missing input

	required bool // an optional field also waits
}

// add adds an error. The argument who names the part that waits; it is empty if the outcome is about that part.
func (r *reasons) add(who string, err error) {
	var w *expression.Waiting
	switch {
	case errors.As(err, &w):
		r.see, r.required = cmp.Or(r.see, w.See), r.required || w.Required
		if inputs := strings.Join(w.Inputs, ", "); who == "" {
			r.missing = append(r.missing, inputs)
		} else {
			r.waiting = append(r.waiting, who+" waits for "+inputs)
		}
	case err != nil:
		r.failed = append(r.failed, err.Error())
	}
}

func because(who string, err error) (out reasons) {
	out.add(who, err)
	return out
}

func failing(format string, args ...any) reasons {
	return reasons{failed: []string{fmt.Sprintf(format, args...)}}
}

func waitingFor(format string, args ...any) reasons {
	return reasons{missing: []string{fmt.Sprintf(format, args...)}}
}

func (r *reasons) empty() bool { return len(r.failed)+len(r.waiting)+len(r.missing) == 0 }

func (r *reasons) text() string {
	return plan.Shorten(slices.Concat(r.failed, r.waiting, r.missing), "; ")
}

// The states. Each is worse than the one before.
const (
	Available State = iota // it matches the input
	Created                // it does not exist yet, and this reconcile creates it: the reason is Waiting
	Waiting                // it does not exist, and waits for an input
	Held                   // it failed, or is kept as it was observed
	Conflict               // it belongs to another owner, and is not changed
)

// outcome of an object that cannot be made, and is kept if it was observed.
func (r *reasons) outcome(what, absent string, observed bool) Outcome {
	out := Outcome{State: Held, Warn: true}
	if !observed && len(r.failed) == 0 {
		out = Outcome{State: Waiting}
	}
	if observed {
		absent = "is kept unchanged"
	}
	out.Message = what + " " + absent + ": " + r.sentence()
	out.See, out.Wrong = r.see, len(r.failed) > 0
	return out
}

// sentence is the text of all reasons as sentences.
func (r *reasons) sentence() string {
	texts := slices.Concat(r.failed, r.waiting)
	if len(r.missing) > 0 {
		texts = append(texts, "it waits for "+strings.Join(r.missing, ", "))
	}
	return plan.Shorten(texts, "; ")
}
