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

// Map returns a CEL map with members.
func Map(m Members) traits.Mapper { return &named{m} }

// sized are members that are counted faster than listed.
type sized interface{ size() int }

// details is a map of strings, which share the memory of the values. No part of a request is written to. A value that
// is not UTF-8 keeps its bytes.
func details(d Details) ref.Val { return &named{d} }

// Find returns the value of a key.
func (d Details) Find(key string) (ref.Val, bool) {
	b, ok := d[key]
	if !ok {
		return nil, false
	}
	return types.String(unsafe.String(unsafe.SliceData(b), len(b))), true //nolint:gosec // see above
}

// Names returns the sorted keys.
func (d Details) Names() []string { return sortedKeys(d) }

func (d Details) size() int { return len(d) }

// members are members that two functions return.
type members struct {
	find  func(string) (ref.Val, bool)
	names func() []string
}

// Find returns the value of a name.
func (m members) Find(name string) (ref.Val, bool) { return m.find(name) }

// Names returns the sorted names.
func (m members) Names() []string { return m.names() }

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// named is a map whose values are created when they are read.
type named struct{ members Members }

var _ functions.KeyOrdered = (*named)(nil)

func (n *named) KeyOrdered() {}

func (n *named) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return notAKey(key)
	}
	return n.members.Find(string(k))
}

func (n *named) Get(key ref.Val) ref.Val                   { return get(n, key) }
func (n *named) Contains(key ref.Val) ref.Val              { return contains(n, key) }
func (n *named) IsZeroValue() bool                         { return n.Size() == types.IntZero }
func (n *named) Iterator() traits.Iterator                 { return overKeys(n.members.Names()) }
func (n *named) Type() ref.Type                            { return types.MapType }
func (n *named) Value() any                                { return n }
func (n *named) Equal(other ref.Val) ref.Val               { return equalMaps(n, other) }
func (n *named) ConvertToType(t ref.Type) ref.Val          { return convert(n, types.MapType, t) }
func (n *named) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

func (n *named) Size() ref.Val {
	if s, ok := n.members.(sized); ok {
		return types.Int(s.size())
	}
	return types.Int(len(n.members.Names()))
}

func (n *named) Fold(f traits.Folder) {
	for _, k := range n.members.Names() {
		if v, ok := n.members.Find(k); (ok || v != nil) && !f.FoldEntry(types.String(k), v) {
			return
		}
	}
}
