package expression

import (
	"cmp"
	"errors"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// exactInteger is the largest whole number that JSON parsers and a google.protobuf.Value represent
// exactly.
const exactInteger = 1 << 53

// Text returns a result as the value of one key. It returns false for optional.none(). The error is
// *Waiting for null, and *Failed for other values that are not text.
func (x *Expression) Text(v ref.Val, b *budget.Budget) (sensitive.Bytes, bool, error) {
	v, ok := present(v)
	if !ok {
		return sensitive.Bytes{}, false, nil
	}
	text, err := x.text(v, textConverter(b))
	return text, err == nil, err
}

// TextMap returns a result as the values of several keys. It returns false for optional.none(). An entry
// whose value is optional.none() is left out. The errors are those of Text: if one entry fails, the whole
// map fails.
func (x *Expression) TextMap(v ref.Val, b *budget.Budget) (map[string]sensitive.Bytes, bool, error) {
	m, ok, err := x.object(v, "must return a map(string, string), but returns ")
	if err != nil || !ok {
		return nil, false, err
	}
	c := textConverter(b)
	if b.Spend(size(m)) != nil { // for sorting the keys
		return nil, false, x.stopped()
	}
	out := make(map[string]sensitive.Bytes, min(size(m), limits.DataItems))
	sorted, ok := order(m).(traits.Mapper)
	if !ok {
		return nil, false, x.failedAt(0, "must return a map(string, string), but a key is not a string")
	}
	for it := sorted.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		key, isString := k.(types.String)
		if !isString {
			return nil, false, x.failedAt(0, "must return a map(string, string), but a key is "+typeName(k))
		}
		e, _ := m.Find(k)
		if e, ok = present(e); !ok {
			continue
		}
		if err := c.add(len(key)); err != nil {
			return nil, false, x.placed(err)
		}
		text, err := x.textOfEntry(string(key), e, c)
		if err != nil {
			return nil, false, err
		}
		out[string(key)] = text
	}
	return out, true, nil
}

// entry returns the value of a key in a map literal, or nil: a computed key may be data.
func (x *Expression) entry(key string) ast.Expr {
	if x.ast.Expr().Kind() != ast.MapKind {
		return nil
	}
	for _, e := range x.ast.Expr().AsMap().Entries() {
		if k, ok := literalString(e.AsMapEntry().Key()); ok && k == key {
			return asWritten(e.AsMapEntry().Value())
		}
	}
	return nil
}

// object returns a result as a map. It returns false for optional.none().
func (x *Expression) object(v ref.Val, wrong string) (traits.Mapper, bool, error) {
	v, ok, err := x.some(v)
	if err != nil || !ok {
		return nil, false, err
	}
	m, ok := v.(traits.Mapper)
	if !ok {
		return nil, false, x.failedAt(0, wrong+typeName(v))
	}
	return m, true, nil
}

// some returns a result that is not null, without the optional around it. It returns false for
// optional.none().
func (x *Expression) some(v ref.Val) (ref.Val, bool, error) {
	v, ok := present(v)
	if v == types.NullValue {
		return nil, false, x.null(x.ast.Expr())
	}
	return v, ok, nil
}

// Name returns a result as a name. It returns false for optional.none(). The errors are those of Text.
func (x *Expression) Name(v ref.Val, b *budget.Budget) (string, bool, error) {
	text, ok, err := x.Text(v, b)
	return string(text.Reveal()), ok, err
}

// Bool returns a result as a condition. optional.none() is false. The errors are those of Text.
func (x *Expression) Bool(v ref.Val) (bool, error) {
	v, ok, err := x.some(v)
	if err != nil || !ok {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, x.failedAt(0, "must return true or false, but returns "+typeName(v))
	}
	return bool(b), nil
}

// List returns a result as a list. It returns false for optional.none(). The errors are those of Text.
func (x *Expression) List(v ref.Val) (traits.Lister, bool, error) {
	v, ok, err := x.some(v)
	if err != nil || !ok {
		return nil, false, err
	}
	l, ok := v.(traits.Lister)
	if !ok {
		return nil, false, x.failedAt(0, "must return a list, but returns "+typeName(v)+
			listHint(typeOf(v)))
	}
	return l, true, nil
}

// Entries returns the number of entries of a result that is a map, and 0 for any other result.
func (x *Expression) Entries(v ref.Val) int {
	v, _ = present(v)
	if m, ok := v.(traits.Mapper); ok {
		return int(size(m))
	}
	return 0
}

// Labels returns a result as labels or annotations. It returns false for optional.none(). The errors are
// those of Text.
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

// JSON returns a result as a field. It returns false for optional.none(). The value is a copy. The error
// is a *Failed for a value that JSON cannot represent.
func (x *Expression) JSON(v ref.Val, b *budget.Budget) (*structpb.Value, bool, error) {
	v, ok, err := x.some(v)
	if err != nil || !ok {
		return nil, false, err
	}
	n, err := native(v, jsonConverter(b))
	if err != nil {
		return nil, false, x.placed(err)
	}
	if !exactIntegers(n) {
		return nil, false, x.failedAt(0, "returns a whole number over 2^53, which JSON cannot represent exactly: "+
			"wrap it in string(...)")
	}
	out, err := structpb.NewValue(n)
	if err != nil { // a string that is not UTF-8
		return nil, false, x.failedAt(0, "returns a string that is not UTF-8: wrap it in base64.encode(bytes(...))")
	}
	return out, true, nil
}

// Members returns the members of a result that is an object: strings unchanged, null as an empty text,
// and other values as JSON. The error is *Waiting for null, and *Failed for other values that are not
// objects.
func (x *Expression) Members(v ref.Val, b *budget.Budget) (map[string]sensitive.Bytes, bool, error) {
	m, ok, err := x.object(v, "must return an object, but returns ")
	if err != nil || !ok {
		return nil, false, err
	}
	n, err := nativeMap(m, jsonConverter(b))
	if err != nil {
		return nil, false, x.placed(err)
	}
	members, _ := n.(map[string]any)
	out := make(map[string]sensitive.Bytes, len(members))
	for k, e := range members {
		switch t := e.(type) {
		case nil:
			out[k] = sensitive.Bytes{}
		case string:
			out[k] = sensitive.FromString(t)
		default:
			s, err := marshal(e)
			if err != nil {
				return nil, false, x.failedAt(0, "returns a value that JSON cannot represent")
			}
			out[k] = sensitive.FromString(s)
		}
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

func (x *Expression) text(v ref.Val, c *converter) (sensitive.Bytes, error) {
	return x.textAt(v, c, x.ast.Expr(), "must return a string, but returns ")
}

// textOfEntry returns the value of a key as text.
func (x *Expression) textOfEntry(key string, v ref.Val, c *converter) (sensitive.Bytes, error) {
	node := x.entry(key)
	if node == nil {
		return x.textAt(v, c, x.ast.Expr(), "each value of the map must be a string, but one is ")
	}
	return x.textAt(v, c, node, valueOfKey(key)+" must be a string, but is ")
}

// textAt returns the value of a node as text. wrong is the beginning of the message for any other value.
func (x *Expression) textAt(v ref.Val, c *converter, node ast.Expr, wrong string) (sensitive.Bytes, error) {
	if err := c.add(int(textLen(v))); err != nil {
		return sensitive.Bytes{}, x.placed(err)
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
		return sensitive.Bytes{}, x.placed(t)
	}
	return sensitive.Bytes{}, x.failedAt(0, wrong+typeName(v)+conversionHint(typeOf(v), x.env.several))
}

// typeOf returns the type of a value.
func typeOf(v ref.Val) *types.Type {
	t, _ := v.Type().(*types.Type)
	return cmp.Or(t, types.DynType)
}

// null returns an error that waits: an observed field that is null has no value yet. The field is the value of
// a node.
func (x *Expression) null(node ast.Expr) error {
	if is := x.byNode[node.ID()]; len(is) == 1 && !x.references[is[0]].tested {
		return waitingForNull(x.name(x.references[is[0]]))
	}
	return NewWaiting("a value of " + x.source.Path + " that is null")
}

// placed adds the position of the expression to an error.
func (x *Expression) placed(err error) error {
	var waiting *Waiting
	var failed *Failed
	switch {
	case errors.As(err, &waiting):
		return waiting
	case !errors.As(err, &failed):
		return x.failedAt(0, "failed")
	case failed.Path == "":
		return x.failedAt(0, failed.Reason)
	}
	return failed
}

func typeName(v ref.Val) string {
	if _, ok := v.(types.Null); ok {
		return "null"
	}
	return v.Type().TypeName()
}

func exactIntegers(v any) bool {
	switch t := v.(type) {
	case int64:
		return t <= exactInteger && t >= -exactInteger
	case uint64:
		return t <= exactInteger
	case map[string]any:
		for _, e := range t {
			if !exactIntegers(e) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(t, func(e any) bool { return !exactIntegers(e) })
	}
	return true
}
