package observation

import (
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// Map returns a CEL map whose values are created when they are read: find returns the value of a name, or false if
// there is none, and names lists the sorted names. A value may be an error, which a read of it returns.
func Map(find func(name string) (ref.Val, bool), names func() []string) traits.Mapper {
	return &named{find: find, keys: names}
}

// details is a map of strings, which share the memory of the values. No part of a request is written to. A value that
// is not UTF-8 keeps its bytes.
func details(d Details) ref.Val {
	return &named{
		find: func(k string) (ref.Val, bool) {
			b, ok := d[k]
			if !ok {
				return nil, false
			}
			return types.String(unsafe.String(unsafe.SliceData(b), len(b))), true //nolint:gosec // see above
		},
		keys: func() []string { return sortedKeys(d) },
		size: func() int { return len(d) },
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// named is a map whose values are created when they are read.
type named struct {
	find func(string) (ref.Val, bool)
	keys func() []string
	size func() int // faster than listing the keys; may be nil
}

var _ expression.KeyOrdered = (*named)(nil)

func (n *named) KeyOrdered() {}

func (n *named) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return notAKey(key)
	}
	return n.find(string(k))
}

func (n *named) Get(key ref.Val) ref.Val                   { return get(n, key) }
func (n *named) Contains(key ref.Val) ref.Val              { return contains(n, key) }
func (n *named) IsZeroValue() bool                         { return n.Size() == types.IntZero }
func (n *named) Iterator() traits.Iterator                 { return overKeys(n.keys()) }
func (n *named) Type() ref.Type                            { return types.MapType }
func (n *named) Value() any                                { return n }
func (n *named) Equal(other ref.Val) ref.Val               { return equalMaps(n, other) }
func (n *named) ConvertToType(t ref.Type) ref.Val          { return convert(n, types.MapType, t) }
func (n *named) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

func (n *named) Size() ref.Val {
	if n.size != nil {
		return types.Int(n.size())
	}
	return types.Int(len(n.keys()))
}

func (n *named) Fold(f traits.Folder) {
	for _, k := range n.keys() {
		if v, ok := n.find(k); (ok || v != nil) && !f.FoldEntry(types.String(k), v) {
			return
		}
	}
}
