package functions

import (
	"cmp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// KeyOrdered is a map that itself iterates in the Order of its keys. Iterating over its entries is faster
// than looking them up.
type KeyOrdered interface {
	traits.Mapper
	traits.Foldable
	// KeyOrdered does nothing. It marks the type.
	KeyOrdered()
}

// Each calls f for each entry of a map, whose keys and values are CEL values, until f returns false.
func Each(m traits.Foldable, f func(k, v ref.Val) bool) { m.Fold(folder(f)) }

type folder func(k, v ref.Val) bool

// FoldEntry implements traits.Folder.
func (f folder) FoldEntry(k, v any) bool {
	return f(k.(ref.Val), v.(ref.Val)) //nolint:forcetypeassert // Each requires CEL values
}

// ordered declares the identity functions that Compile adds to the source. Their names contain a
// character that a source cannot contain.
//
// The range of each comprehension is wrapped in the first function. Otherwise, cel-go iterates over a map
// in the random Order of a Go map, and a list that is made from a map would change on every reconcile. The
// call also spends the fuel of the iteration before the iteration begins. The value of each optional entry
// and element is wrapped in the second function. Otherwise, cel-go prints a value that is not an optional,
// even if the value is large.
func ordered() []cel.EnvOption {
	t := cel.TypeParamType("T")
	return []cel.EnvOption{
		cel.Function(celast.OrderedCall, cel.Overload("export_ordered", []*cel.Type{t}, t, cel.UnaryBinding(Order))),
		cel.Function(celast.OptionalCall,
			cel.Overload("export_optional", []*cel.Type{t}, t, cel.UnaryBinding(optional))),
	}
}

func optional(v ref.Val) ref.Val {
	if _, ok := v.(*types.Optional); !ok {
		return types.NewErr("not an optional")
	}
	return v
}

// Order returns a list unchanged, and a map in the order of its keys. It returns an error for any other value, and for
// a map that is incomplete.
func Order(v ref.Val) ref.Val {
	switch m := v.(type) {
	case KeyOrdered, traits.Lister:
		return v
	case traits.Mapper:
		return newOrderedMap(m)
	}
	return types.NewErr("not iterable")
}

// An orderedMap iterates over a map in the Order of its keys.
type orderedMap struct {
	traits.Mapper
	keys []ref.Val
}

// newOrderedMap returns m in the Order of its keys. It returns an error if a key has no Order: a map that
// is made with dyn() can have keys of any type.
func newOrderedMap(m traits.Mapper) ref.Val {
	keys := make([]ref.Val, 0, Size(m))
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		if _, text := k.(types.String); !text && !isScalar(k) {
			return types.NewErr("a map key is not a string, number or bool")
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return orderedMap{m, keys}
}

// compareKeys orders keys of one type by value, and keys of several types by
// the name of their type.
func compareKeys(a, b ref.Val) int {
	if c, ok := a.(traits.Comparer); ok && a.Type() == b.Type() {
		if r, ok := c.Compare(b).(types.Int); ok {
			return int(r)
		}
	}
	return cmp.Compare(a.Type().TypeName(), b.Type().TypeName())
}

// KeyOrdered marks the type.
func (m orderedMap) KeyOrdered() {}

// Iterator iterates over the keys in Order.
func (m orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys).Iterator()
}

// Fold iterates over the entries in the Order of their keys.
func (m orderedMap) Fold(f traits.Folder) {
	for _, k := range m.keys {
		v, _ := m.Find(k)
		if !f.FoldEntry(k, v) {
			return
		}
	}
}

// merge returns a map with the entries of two maps, in the Order of the keys. If both maps have a key, the value is
// that of the right map.
func merge(left, right ref.Val) ref.Val {
	merged := map[ref.Val]ref.Val{}
	found := types.NewRefValMap(types.DefaultTypeAdapter, merged) // finds 1 also if the key is 1u
	for _, m := range []ref.Val{right, left} {
		entries, ok := Order(m).(KeyOrdered)
		if !ok {
			return Order(m) // the error
		}
		var failed ref.Val
		Each(entries, func(k, v ref.Val) bool {
			if types.IsUnknownOrError(v) { // for example, the value does not exist yet
				failed = v
			} else if _, ok := found.Find(k); !ok {
				merged[k] = v
			}
			return failed == nil
		})
		if failed != nil {
			return failed
		}
	}
	return newOrderedMap(types.NewRefValMap(types.DefaultTypeAdapter, merged))
}
