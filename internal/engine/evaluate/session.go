// Package evaluate evaluates the expressions of one request.
//
// A [Session] is what expressions see, and the budget that they share. Each phase of a request has its own session,
// which sees what the phases before it returned. An expression that cannot be evaluated waits or fails: [Reasons]
// collect why. Facts about a missing input are added where the expression is evaluated, so that each message names the
// input, and says what to do.
package evaluate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Session holds what the expressions of one phase share. It does not change.
type Session struct {
	Sees   *observation.Observation
	Budget *budget.Budget

	author    *observation.Author // what a composite author's expressions see of it; nil for those of the input
	item      *observation.Item   // that expressions see; may be nil
	variables []plan.Variable
	values    map[string]ref.Val // of variables that were evaluated
	missing   map[string]string  // missing inputs, as expressions name them, and what each of them is
	inputs    *inputs            // what is known about other missing inputs
}

// New returns the first session of a request.
func New(ctx context.Context, list []plan.Variable, known Known, sees *observation.Observation) *Session {
	s := &Session{Sees: sees, Budget: budget.New(ctx), variables: list, inputs: &inputs{Known: known}}
	if len(list) > 0 {
		s.values = map[string]ref.Val{}
	}
	return s
}

// Next returns the session of the next phase, which sees more.
func (s *Session) Next(missing map[string]string, see func(*observation.Observation)) *Session {
	out, sees := *s, *s.Sees
	see(&sees)
	out.Sees = &sees
	if len(missing) > 0 {
		out.missing = maps.Clone(missing)
		for input, what := range s.missing {
			if _, ok := missing[input]; !ok {
				out.missing[input] = what
			}
		}
	}
	return &out
}

// WithEnvironment returns a session with another environment. Variables that read it are evaluated again.
func (s *Session) WithEnvironment(env *structpb.Struct, missing map[string]string) *Session {
	out := s.Next(missing, func(o *observation.Observation) { o.Environment = wire.Of(env) })
	out.values = maps.Clone(s.values)
	for _, x := range s.variables {
		if x.Environment {
			delete(out.values, x.Name)
		}
	}
	return out
}

// ForItem returns the session whose expressions see an item. For nil, it is the same session.
func (s *Session) ForItem(item *observation.Item) *Session {
	if item == nil {
		return s
	}
	out := *s
	out.item = item
	return &out
}

// ForAuthor returns the session of the composite author's exports, with a budget of its own.
func (s *Session) ForAuthor(sees *observation.Author) *Session {
	return &Session{
		Sees: s.Sees, author: sees, missing: s.missing, inputs: s.inputs, Budget: budget.NewAuthor(s.Budget.Context()),
	}
}

// Scope returns the variables of expressions whose resource is the composed resource from, or the composite.
func (s *Session) Scope(from string) *observation.Scope {
	if s.author != nil {
		return s.Sees.AuthorScope(s.author)
	}
	return s.Sees.Scope(from, s.named(s.variables)).Item(s.item)
}

// GenerationScope returns the variables of the expressions of a generation.
func (s *Session) GenerationScope(m *observation.Generation) *observation.Scope {
	return s.Sees.GenerationScope(m, s.named(s.variables)).Item(s.item)
}

// Name returns the name that an expression produces. It is empty for optional.none().
func (s *Session) Name(x *expression.Expression, from string) (string, error) {
	name, _, err := Value(s, x, s.Scope(from), x.Name)
	return name, err
}

// CheckedName returns the name that an expression produces. It is empty on an error.
func (s *Session) CheckedName(x *expression.Expression, from, what string, check func(string) error) (string, error) {
	name, err := s.Name(x, from)
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", expression.NewWaiting("a " + what + " that is not empty")
	case check(name) != nil:
		return "", Failed(x.Source().Path, "returns an invalid %s: %s", what, check(name).Error())
	}
	return name, nil
}

// Value evaluates an expression and converts its value. It is not ok for optional.none().
func Value[T any](s *Session, x *expression.Expression, in *observation.Scope,
	convert func(ref.Val, *budget.Budget) (T, bool, error),
) (out T, ok bool, err error) {
	v, err := s.Evaluate(x, in)
	if err != nil {
		return out, false, err
	}
	out, ok, err = convert(v, s.Budget)
	return out, ok, s.Explain(err, x)
}

// JSON returns the value of an expression as JSON, or nil for optional.none().
func (s *Session) JSON(x *expression.Expression, in *observation.Scope) (*structpb.Value, error) {
	v, _, err := Value(s, x, in, x.JSON)
	return v, err
}

// Evaluate returns the value of an expression.
func (s *Session) Evaluate(x *expression.Expression, in *observation.Scope) (ref.Val, error) {
	v, err := x.Evaluate(s.Budget.Context(), in, s.Budget)
	return v, s.Explain(err, x)
}

// variables are the first variables of the input, as a CEL map. Each is evaluated once, on first use, and again if what
// it reads changes. A variable sees only the variables above it, even where it computes a name. Otherwise it could read
// itself.
type variables struct {
	session *Session
	list    []plan.Variable
}

// named returns the first variables, or nil if there are none.
func (s *Session) named(list []plan.Variable) ref.Val {
	if len(list) == 0 {
		return nil
	}
	return observation.Map(&variables{s, list})
}

// Find evaluates a variable when it is first used.
func (v *variables) Find(name string) (ref.Val, bool) {
	i := slices.IndexFunc(v.list, func(x plan.Variable) bool { return x.Name == name })
	if i < 0 {
		return nil, false
	}
	s := v.session
	if known, ok := s.values[name]; ok {
		return known, true
	}
	value, err := v.list[i].Value.Evaluate(s.Budget.Context(), s.Sees.Scope("", s.named(v.list[:i])), s.Budget)
	if err != nil {
		value = types.WrapErr(err)
	}
	s.values[name] = value
	return value, true
}

// Names returns the sorted names.
func (v *variables) Names() []string {
	out := make([]string, 0, len(v.list))
	for _, x := range v.list {
		out = append(out, x.Name)
	}
	slices.Sort(out)
	return out
}

// Items evaluates a list and the key of each item. It returns the items with a good key, in the order of their
// keys, and what is wrong with the list or with the other items. The number of all items must not exceed left.
func (s *Session) Items(f *plan.ForEach, from string, left int) (good []*observation.Item, why Reasons) {
	list, _, err := Value(s, f.List, s.Scope(from), func(v ref.Val, _ *budget.Budget) (traits.Lister, bool, error) {
		return f.List.List(v)
	})
	path := f.List.Source().Path
	switch {
	case err != nil:
		return nil, Because("", err)
	case list == nil:
		return nil, WaitingFor("a list of %s: write .orValue([]) for an empty one", path)
	}
	n := int(list.Size().(types.Int)) //nolint:forcetypeassert // each list has a size
	switch {
	case n > limits.Items:
		return nil, Failing("%s: has %d items, over the limit of %d: use several composites", path, n, limits.Items)
	case n > left:
		return nil, Failing("%s: has %d items, but all lists of the input together may have at most %d: use several "+
			"composites", path, n, limits.AllItems)
	}
	byKey := map[string][]*observation.Item{}
	for i := range n {
		item := &observation.Item{Value: list.Get(types.Int(i)), Index: i}
		item.Key, err = s.ForItem(item).CheckedName(f.Key, from, "key", object.ValidateItemKey)
		if err != nil {
			why.addItem(f.Key, i, err)
			continue
		}
		byKey[item.Key] = append(byKey[item.Key], item)
	}
	for _, key := range plan.SortedKeys(byKey) {
		if same := byKey[key]; len(same) > 1 {
			why.Failed = append(why.Failed, fmt.Sprintf(
				"%s: returns %q for the items at index %d and %d: each item needs its own key",
				f.Key.Source().Path, key, same[0].Index, same[1].Index))
			continue
		}
		good = append(good, byKey[key][0])
	}
	return good, why
}

// addItem adds the error of the key of an item.
func (r *Reasons) addItem(key *expression.Expression, index int, err error) {
	who := fmt.Sprintf("%s for the item at index %d", key.Source().Path, index)
	var f *expression.Failed
	if errors.As(err, &f) {
		err = &expression.Failed{Path: who, Reason: f.Reason}
	}
	r.Add(who, err)
}
