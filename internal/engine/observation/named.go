package observation

import (
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/functions"
)

// Members are the entries of a CEL map whose values are created when they are read.
type Members interface {
	// Find returns the value of a name, or false if there is none. The value may be an error, which a read of it
	// returns.
	Find(name string) (ref.Val, bool)

	// Names returns the sorted names.
	Names() []string
}

// Members that are counted or gone through faster than they are listed.
type (
	sized  interface{ size() int }
	ranged interface {
		each(f func(name string, v ref.Val) bool)
	}
)

// Map returns a CEL map with members.
func Map(m Members) traits.Mapper { return &named[Members]{m} }

// entries are members with the values of a Go map.
type entries[V any] struct {
	all   map[string]V
	value func(name string, v V) (ref.Val, bool)
}

// mapOf returns a CEL map with the entries of a Go map.
func mapOf[V any](all map[string]V, value func(name string, v V) (ref.Val, bool)) ref.Val {
	return &named[entries[V]]{entries[V]{all, value}}
}

// Find returns the value of a name.
func (e entries[V]) Find(name string) (ref.Val, bool) {
	v, ok := e.all[name]
	if !ok {
		return nil, false
	}
	return e.value(name, v)
}

// Names returns the sorted names.
func (e entries[V]) Names() []string { return slices.Sorted(maps.Keys(e.all)) }

func (e entries[V]) size() int { return len(e.all) }

// details is a map of strings, which share the memory of the values. No part of a request is written to. A value that
// is not UTF-8 keeps its bytes.
func details(d Details) ref.Val {
	return mapOf(d, func(_ string, b []byte) (ref.Val, bool) {
		return types.String(unsafe.String(unsafe.SliceData(b), len(b))), true //nolint:gosec // see above
	})
}

// members are members that two functions return.
type members struct {
	find  func(string) (ref.Val, bool)
	names func() []string
}

// of returns a CEL map with the members.
func (m members) of() *named[members] { return &named[members]{m} }

// Find returns the value of a name.
func (m members) Find(name string) (ref.Val, bool) { return m.find(name) }

// Names returns the sorted names.
func (m members) Names() []string { return m.names() }

// named is a map whose values are created when they are read.
type named[M Members] struct{ members M }

// The interfaces that cel-go requires.
var (
	_ functions.KeyOrdered = (*named[Members])(nil)
	_ traits.Zeroer        = (*named[Members])(nil)
	_ traits.Lister        = (*list)(nil)
	_ traits.Foldable      = (*list)(nil)
	_ traits.Zeroer        = (*list)(nil)
)

func (n *named[M]) KeyOrdered() {}

// Find returns the value of a key. For a key that is an error, it returns the error.
func (n *named[M]) Find(key ref.Val) (ref.Val, bool) {
	if k, ok := key.(types.String); ok {
		return n.members.Find(string(k))
	}
	if types.IsUnknownOrError(key) {
		return key, false
	}
	return nil, false
}

func (n *named[M]) Get(key ref.Val) ref.Val                   { return get(n, key) }
func (n *named[M]) Contains(key ref.Val) ref.Val              { return contains(n, key) }
func (n *named[M]) IsZeroValue() bool                         { return n.Size() == types.IntZero }
func (n *named[M]) Type() ref.Type                            { return types.MapType }
func (n *named[M]) Value() any                                { return n }
func (n *named[M]) Equal(other ref.Val) ref.Val               { return equalMaps(n, other) }
func (n *named[M]) ConvertToType(t ref.Type) ref.Val          { return convert(n, types.MapType, t) }
func (n *named[M]) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

func (n *named[M]) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, n.members.Names()).Iterator()
}

func (n *named[M]) Size() ref.Val {
	if s, ok := any(n.members).(sized); ok {
		return types.Int(s.size())
	}
	return types.Int(len(n.members.Names()))
}

func (n *named[M]) Fold(f traits.Folder) {
	if r, ok := any(n.members).(ranged); ok {
		r.each(func(name string, v ref.Val) bool { return f.FoldEntry(types.String(name), v) })
		return
	}
	for _, k := range n.members.Names() {
		if v, ok := n.members.Find(k); (ok || v != nil) && !f.FoldEntry(types.String(k), v) {
			return
		}
	}
}
