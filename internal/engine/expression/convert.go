package expression

import (
	"cmp"
	"fmt"
	"math"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// This file converts values of CEL to Go values that encoding/json can encode. CEL shares structures and computes
// elements late, so a small value can become a large result: the size is limited while the value is converted.

// A limit is the number of values and bytes that a result may still have.
type limit struct{ values, bytes int }

// ofResult returns the limit of a whole result.
func ofResult() limit { return limit{limits.ResultNodes, limits.ResultBytes} }

// take counts one value with its bytes.
func (l *limit) take(bytes int) error {
	l.values--
	l.bytes -= bytes
	switch {
	case l.values < 0:
		return &Failed{Reason: fmt.Sprintf("returns more than %d values", limits.ResultNodes)}
	case l.bytes < 0:
		return &Failed{Reason: fmt.Sprintf("returns more than %d bytes", limits.ResultBytes)}
	}
	return nil
}

// A converter converts one result.
type converter struct {
	left limit

	// The budget pays for each value. It is nil inside of a call, which has already spent its cost.
	budget *budget.Budget
	cost   int // of a value, in units of the budget
}

// textConverter returns the converter of a result that is copied as text.
func textConverter(b *budget.Budget) *converter { return &converter{ofResult(), b, 1} }

// jsonConverter returns the converter of a result that becomes JSON, for which each value is converted twice.
func jsonConverter(b *budget.Budget) *converter { return &converter{ofResult(), b, 3} }

// add pays for one value with its bytes, and counts it.
func (c *converter) add(bytes int) error {
	if c.budget != nil && c.budget.Spend(budget.Copied(c.cost, bytes)) != nil {
		return &Failed{Reason: "was stopped: " + overBudget}
	}
	return c.left.take(bytes)
}

// A notJSON error is for a value that JSON cannot represent.
type notJSON struct{ what, hint string }

// Error says what is wrong with the result of a function that writes a format.
func (n *notJSON) Error() string { return "there is " + n.what + n.hint }

// Unwrap returns the failure of an expression that returns the value.
func (n *notJSON) Unwrap() error {
	return &Failed{Reason: "returns " + n.what + ", which JSON cannot represent" + n.hint}
}

// native converts a value to a Go value that encoding/json can encode.
func native(v ref.Val, c *converter) (any, error) {
	if err := c.add(int(textLen(v))); err != nil {
		return nil, err
	}
	switch t := v.(type) {
	case types.String:
		return string(t), nil
	case types.Bytes:
		return []byte(t), nil // base64, as in JSON of Kubernetes
	case types.Bool:
		return bool(t), nil
	case types.Int:
		return int64(t), nil
	case types.Uint:
		return uint64(t), nil
	case types.Double:
		if !isFinite(float64(t)) {
			return nil, &notJSON{"a number that is infinite or not a number", ""}
		}
		return float64(t), nil
	case types.Null:
		return nil, nil //nolint:nilnil // JSON's null
	case *types.Optional:
		if !t.HasValue() {
			return nil, nil //nolint:nilnil // JSON's null
		}
		return native(t.GetValue(), c)
	case *types.Err:
		return nil, t
	case traits.Mapper:
		return nativeMap(t, c)
	case traits.Lister:
		return nativeList(t, c)
	}
	return nil, &notJSON{"a " + v.Type().TypeName(), ": " + cmp.Or(kubernetes.Instead(typeOf(v)), "wrap it in string(...)")}
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func nativeList(l traits.Lister, c *converter) (any, error) {
	out := make([]any, 0, min(size(l), int64(max(c.left.values, 0))))
	for it := l.Iterator(); it.HasNext() == types.True; {
		e, err := native(it.Next(), c)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func nativeMap(m traits.Mapper, c *converter) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		s, ok := k.(types.String)
		if !ok {
			return nil, &notJSON{"a map whose keys are " + k.Type().TypeName(), ": wrap them in string(...)"}
		}
		e, ok := m.Find(k)
		if !ok && e == nil { // otherwise it does not exist yet
			continue
		}
		if err := c.add(len(s)); err != nil {
			return nil, err
		}
		n, err := native(e, c)
		if err != nil {
			return nil, err
		}
		out[string(s)] = n
	}
	return out, nil
}
