package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// renameFuel is what an evaluation takes beside its calls, which matters only where there
// is one for each of thousands of keys.
const renameFuel = 4

// Rename evaluates a key expression. The error, if any, is a *Failed: a key is
// never waited for.
func (x *Expression) Rename(key string, b *budget.Budget) (string, error) {
	if b.Spend(renameFuel) != nil {
		return "", x.failedAt(0, "was stopped: "+overBudget)
	}
	vars, err := cel.NewActivation(map[string]any{Key: key})
	if err != nil {
		return "", x.failedAt(0, "failed inside the CEL interpreter")
	}
	v, err := x.evaluateWithin(b.Context(), vars, b, limits.KeyFuel)
	if err != nil {
		return "", x.keyFailed(err)
	}
	name, ok, err := x.Name(v, b)
	if err != nil {
		return "", x.keyFailed(err)
	}
	if !ok {
		return "", x.failedAt(0, "gives no key: optional.none() cannot leave one out")
	}
	return name, nil
}

func (x *Expression) keyFailed(err error) error {
	if f, ok := err.(*Failed); ok { //nolint:errorlint // Evaluate returns it as it is
		return f
	}
	return x.failedAt(0, "gives no key: what it selects is not there")
}

// Members are the members of a result that is an object: strings as they are,
// null as the empty text, all else as JSON. The error is *Waiting for a null, and
// *Failed for what is no object.
func (x *Expression) Members(v ref.Val, b *budget.Budget) (map[string]sensitive.Bytes, bool, error) {
	m, ok, err := x.object(v, "must give an object, but gives ")
	if err != nil || !ok {
		return nil, false, err
	}
	n, err := nativeMap(m, &counter{nodes: limits.ResultNodes, bytes: limits.ResultBytes, budget: b, weigh: jsonWeighs})
	if err != nil {
		return nil, false, x.placed(err)
	}
	members, _ := n.(map[string]any)
	out := make(map[string]sensitive.Bytes, len(members))
	for k, e := range members {
		switch t := e.(type) {
		case nil:
			out[k] = sensitive.Bytes{}
			continue
		case string:
			out[k] = sensitive.FromString(t)
			continue
		}
		s, err := marshal(e)
		if err != nil {
			return nil, false, x.failedAt(0, "gives what JSON does not have")
		}
		out[k] = sensitive.FromString(s)
	}
	return out, true, nil
}
