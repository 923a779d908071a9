package expression

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/format"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// This file converts the result of an evaluation to what a field of an object holds. Each function returns false for
// optional.none(). Its error is *Waiting for null, because an observed field that is null has no value yet, and
// *Failed for a value of another type.

// Text returns a result as the value of one key.
func (x *Expression) Text(v ref.Val, b *budget.Budget) (sensitive.Bytes, bool, error) {
	v, ok := present(v)
	if !ok {
		return sensitive.Bytes{}, false, nil
	}
	text, err := x.text(v, functions.TextConverter(b), x.ast.Expr(), "")
	return text, err == nil, err
}

// Name returns a result as a name.
func (x *Expression) Name(v ref.Val, b *budget.Budget) (string, bool, error) {
	text, ok, err := x.Text(v, b)
	return string(text.Reveal()), ok, err
}

// TextMap returns a result as the values of several keys. An entry whose value is optional.none() is left out. If one
// entry fails, the whole map fails.
func (x *Expression) TextMap(v ref.Val, b *budget.Budget) (map[string]sensitive.Bytes, bool, error) {
	m, ok, err := resultOf[traits.Mapper](x, v)
	if err != nil || !ok {
		return nil, false, err
	}
	c := functions.TextConverter(b)
	if b.Spend(functions.Size(m)) != nil { // for sorting the keys
		return nil, false, x.stopped()
	}
	out := make(map[string]sensitive.Bytes, min(functions.Size(m), limits.DataItems))
	sorted, ok := functions.Order(m).(traits.Mapper)
	if !ok {
		return nil, false, x.failedAt(0, "must return a map(string, string), but a key is not a string")
	}
	for it := sorted.Iterator(); it.HasNext() == types.True; {
		key, isString := it.Next().(types.String)
		if !isString {
			return nil, false, x.failedAt(0, "must return a map(string, string), but a key is not a string")
		}
		e, ok := present(m.Get(key))
		if !ok {
			continue
		}
		if err := c.Add(len(key)); err != nil {
			return nil, false, x.converted(err)
		}
		node, entry := x.ast.Expr(), "a value of the map"
		if literal := x.entry(string(key)); literal != nil {
			node, entry = literal, valueOfKey(string(key))
		}
		text, err := x.text(e, c, node, entry)
		if err != nil {
			return nil, false, err
		}
		out[string(key)] = text
	}
	return out, true, nil
}

// Labels returns a result as labels or annotations.
func (x *Expression) Labels(v ref.Val, b *budget.Budget) (map[string]string, bool, error) {
	m, ok, err := x.TextMap(v, b)
	if err != nil || !ok {
		return nil, ok, err
	}
	out := make(map[string]string, len(m))
	for k, text := range m {
		out[k] = string(text.Reveal())
	}
	return out, true, nil
}

// Bool returns a result as a condition. optional.none() is false.
func (x *Expression) Bool(v ref.Val) (bool, error) {
	b, ok, err := resultOf[types.Bool](x, v)
	return bool(b) && ok, err
}

// List returns a result as a list.
func (x *Expression) List(v ref.Val) (traits.Lister, bool, error) {
	return resultOf[traits.Lister](x, v)
}

// JSON returns a copy of a result as a field.
func (x *Expression) JSON(v ref.Val, b *budget.Budget) (*structpb.Value, bool, error) {
	v, ok, err := resultOf[ref.Val](x, v)
	if err != nil || !ok {
		return nil, false, err
	}
	n, err := functions.Native(v, functions.JSONConverter(b))
	if err != nil {
		return nil, false, x.converted(err)
	}
	out, err := structpb.NewValue(n)
	if err != nil { // a string that is not UTF-8
		return nil, false, x.failedAt(0, "returns a string that is not UTF-8: wrap it in base64.encode(bytes(...))")
	}
	return out, true, nil
}

// Members returns the members of a result that is an object: strings unchanged, null as an empty text,
// and other values as JSON.
func (x *Expression) Members(v ref.Val, b *budget.Budget) (map[string]sensitive.Bytes, bool, error) {
	m, ok, err := resultOf[traits.Mapper](x, v)
	if err != nil || !ok {
		return nil, false, err
	}
	n, err := functions.Native(m, functions.JSONConverter(b))
	if err != nil {
		return nil, false, x.converted(err)
	}
	members, _ := n.(map[string]any)
	out := make(map[string]sensitive.Bytes, len(members))
	for k, e := range members {
		text, isString := e.(string)
		if !isString && e != nil {
			if text, err = format.JSON(e); err != nil {
				return nil, false, x.failedAt(0, "returns a value that JSON cannot represent")
			}
		}
		out[k] = sensitive.FromString(text)
	}
	return out, true, nil
}

// resultOf returns a result of a type, without the optional around it.
func resultOf[T ref.Val](x *Expression, v ref.Val) (out T, ok bool, err error) {
	v, ok = present(v)
	switch {
	case !ok:
		return out, false, nil
	case v == types.NullValue:
		return out, false, x.null(x.ast.Expr())
	}
	if out, ok = v.(T); !ok {
		return out, false, x.wrongResult(v, "")
	}
	return out, true, nil
}

// present returns the value in an optional.
func present(v ref.Val) (ref.Val, bool) {
	for o, ok := v.(*types.Optional); ok; o, ok = v.(*types.Optional) {
		if !o.HasValue() {
			return nil, false
		}
		v = o.GetValue()
	}
	return v, true
}

// entry returns the value of a key in a map literal, or nil: a computed key may be data.
func (x *Expression) entry(key string) ast.Expr {
	if x.ast.Expr().Kind() != ast.MapKind {
		return nil
	}
	for _, e := range x.ast.Expr().AsMap().Entries() {
		if k, ok := celast.Text(e.AsMapEntry().Key()); ok && k == key {
			return celast.AsWritten(e.AsMapEntry().Value())
		}
	}
	return nil
}

// text returns the value of a node as text. entry is what messages call it, if it is not the whole result.
func (x *Expression) text(v ref.Val, c *functions.Converter, node ast.Expr, entry string) (sensitive.Bytes, error) {
	if err := c.Add(int(functions.TextLen(v))); err != nil {
		return sensitive.Bytes{}, x.converted(err)
	}
	switch t := v.(type) {
	case types.String:
		return sensitive.FromString(string(t)), nil
	case types.Bytes:
		if x.source.Want == WantText || x.source.Want == WantTextMap {
			return sensitive.New(t), nil
		}
	case types.Null:
		return sensitive.Bytes{}, x.null(node)
	case *types.Err:
		return sensitive.Bytes{}, x.converted(t)
	}
	return sensitive.Bytes{}, x.wrongResult(v, entry)
}

// null returns an error that waits for the value of a node.
func (x *Expression) null(node ast.Expr) error {
	if r, _ := x.Reading(node); r != nil && !r.tested {
		return waitingForNull(x.TextOf(*r))
	}
	return NewWaiting("a value of " + x.source.Path + " that is null")
}

// converted returns the error of a conversion with the position of the expression.
func (x *Expression) converted(err error) error {
	if known := x.placed(err); known != nil {
		return known
	}
	return x.failedAt(0, "failed")
}
