package functions

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

// OverBudget is the reason why an evaluation is stopped or not started. It is always the same text
// without a position: which limit is exceeded first, and where, depends on the load of the machine,
// and each change of a condition would cause another reconcile.
const OverBudget = "it exceeds the limit of work for one expression, or for all expressions together"

// A Refusal is the error of a function that cannot be called with its operands. It contains no data.
type Refusal struct{ Reason string }

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

// This file converts values of CEL to Go values that encoding/json can encode. CEL shares structures and computes
// elements late, so a small value can become a large result: the Size is limited while the value is converted.

// A Converter converts one result.
type Converter struct {
	values, bytes int // that the result may still have

	// The budget pays for each value. It is nil inside of a call, which has already spent its cost.
	budget *budget.Budget
	cost   int // of a value, in units of the budget

	// The result becomes a field of an object.
	field bool

	// YAML and TOML repeat something for each level, so the number of levels is limited. JSON has no limit.
	level, levels int
}

// exactInteger is the largest whole number that JSON parsers and a google.protobuf.Value represent exactly.
const exactInteger = 1 << 53

func newConverter() *Converter {
	return &Converter{values: limits.ResultNodes, bytes: limits.ResultBytes}
}

func nestedConverter() *Converter {
	c := newConverter()
	c.levels = limits.YAMLDepth
	return c
}

// TextConverter returns the Converter of a result that is copied as text.
func TextConverter(b *budget.Budget) *Converter {
	c := newConverter()
	c.budget, c.cost = b, 1
	return c
}

// JSONConverter returns the Converter of a result that becomes JSON, for which each value is converted twice.
func JSONConverter(b *budget.Budget) *Converter {
	c := newConverter()
	c.budget, c.cost, c.field = b, 3, true
	return c
}

// Add pays for one value with its bytes, and counts it.
func (c *Converter) Add(bytes int) error {
	if c.budget != nil && c.budget.Spend(budget.Copied(c.cost, bytes)) != nil {
		return &Refusal{Reason: "was stopped: " + OverBudget}
	}
	c.values--
	c.bytes -= bytes
	switch {
	case c.values < 0:
		return &Refusal{Reason: fmt.Sprintf("returns more than %d values", limits.ResultNodes)}
	case c.bytes < 0:
		return &Refusal{Reason: fmt.Sprintf("returns more than %d bytes", limits.ResultBytes)}
	}
	return nil
}

// whole returns a whole number, unless it is too large for a field.
func (c *Converter) whole(n any, large bool) (any, error) {
	if c.field && large {
		return nil, &Refusal{Reason: "returns a whole number over 2^53, which JSON cannot represent exactly: " +
			"wrap it in string(...)"}
	}
	return n, nil
}

// notJSON is the error for a value that JSON cannot represent.
func notJSON(what, hint string) error {
	return &Refusal{Reason: "there is " + what + ", which JSON cannot represent" + hint}
}

// Native converts a value to a Go value that encoding/json can encode.
func Native(v ref.Val, c *Converter) (any, error) {
	if err := c.Add(int(TextLen(v))); err != nil {
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
		return c.whole(int64(t), t > exactInteger || t < -exactInteger)
	case types.Uint:
		return c.whole(uint64(t), t > exactInteger)
	case types.Double:
		return number(float64(t))
	case types.Null:
		return nil, nil //nolint:nilnil // JSON's null
	case *types.Optional:
		if !t.HasValue() {
			return nil, nil //nolint:nilnil // JSON's null
		}
		return Native(t.GetValue(), c)
	case *types.Err:
		return nil, t
	case traits.Mapper, traits.Lister:
		return nested(t, c)
	}
	return nil, notJSON("a "+v.Type().TypeName(), ": "+cmp.Or(instead(v), "wrap it in string(...)"))
}

func number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, notJSON("a number that is infinite or not a number", "")
	}
	return f, nil
}

// instead says what to write instead of a value that only Kubernetes' functions read.
func instead(v ref.Val) string {
	if t, ok := v.Type().(*types.Type); ok {
		return kubernetes.Instead(t)
	}
	return ""
}

// nested converts a map or a list.
func nested(v ref.Val, c *Converter) (n any, err error) {
	c.level++
	if c.level > c.levels && c.levels > 0 {
		return nil, &Refusal{fmt.Sprintf("cannot encode a value with more than %d levels", c.levels)}
	}
	switch t := v.(type) {
	case traits.Mapper:
		n, err = nativeMap(t, c)
	case traits.Lister:
		n, err = nativeList(t, c)
	}
	c.level--
	return n, err
}

func nativeList(l traits.Lister, c *Converter) (any, error) {
	out := make([]any, 0, min(Size(l), int64(max(c.values, 0))))
	for it := l.Iterator(); it.HasNext() == types.True; {
		e, err := Native(it.Next(), c)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func nativeMap(m traits.Mapper, c *Converter) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		s, ok := k.(types.String)
		if !ok {
			return nil, notJSON("a map whose keys are "+k.Type().TypeName(), ": wrap them in string(...)")
		}
		e, ok := m.Find(k)
		if !ok && e == nil { // otherwise it does not exist yet
			continue
		}
		if err := c.Add(len(s)); err != nil {
			return nil, err
		}
		n, err := Native(e, c)
		if err != nil {
			return nil, err
		}
		out[string(s)] = n
	}
	return out, nil
}
