package observation

import (
	"errors"
	"math"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// value returns a google.protobuf.Value as a CEL value: only text is copied.
func value(v wire.Value) ref.Val {
	switch v.Kind() {
	case wire.Text:
		return types.String(v.Text())
	case wire.Object:
		return object(v.Struct())
	case wire.Array:
		return &list{v.List()}
	case wire.Number:
		return number(v.Number())
	case wire.Bool:
		return types.Bool(v.Bool())
	default:
		return types.NullValue
	}
}

// number returns an int for a whole number. A whole number that a double cannot represent exactly may have been
// rounded before, so its use fails.
func number(f float64) ref.Val {
	const exact = 1 << 53
	switch {
	case f != math.Trunc(f), math.IsInf(f, 0):
		return types.Double(f)
	case f > exact || f < -exact:
		return types.WrapErr(&expression.Failed{Reason: "reads a whole number over 2^53, which was rounded " +
			"on its way to the function: make it a string in the resource"})
	}
	return types.Int(f)
}

// object is a google.protobuf.Struct as a CEL map. The data of a v1 Secret is hidden in every Struct, because a
// Secret can be in a manifest, in the context or in a status. Annotations with copies of objects are also hidden.
func object(s wire.Struct) ref.Val {
	kind := s.Get("kind")
	isSecret := (kind.Is("Secret") || kind.Is("SecretList")) && s.Get("apiVersion").Is("v1")
	return &named[fields]{fields{s, isSecret}}
}

// fields are the fields of a Struct that are not hidden. It is read in place, because it may be large and read often.
type fields struct {
	of       wire.Struct
	isSecret bool // or a list of Secrets
}

// Find returns the value of a field. A hidden one is an error.
func (m fields) Find(name string) (ref.Val, bool) {
	if m.hidden(name) {
		return hiddenError(name), false
	}
	v := m.of.Get(name)
	if !v.Exists() {
		return nil, false
	}
	return value(v), true
}

// Names returns the sorted names.
func (m fields) Names() []string { return slices.DeleteFunc(m.of.Keys(), m.hidden) }

func (m fields) size() int {
	n := m.of.Len()
	hidden := copies
	if m.isSecret {
		hidden = slices.Concat(copies, secretFields)
	}
	for _, name := range hidden {
		if m.of.Get(name).Exists() {
			n--
		}
	}
	return n
}

func (m fields) each(f func(name string, v ref.Val) bool) {
	for k, v := range m.of.All() {
		if !m.hidden(k) && !f(k, value(v)) {
			return
		}
	}
}

// errNative refuses a conversion into a Go type. No function of the environment needs one, and a result is converted
// value by value.
var errNative = errors.New("cannot convert an observed value to a Go value")

func get(m traits.Mapper, key ref.Val) ref.Val {
	v, ok := m.Find(key)
	if !ok {
		return types.ValOrErr(v, "no such key")
	}
	return v
}

// contains is false for a hidden field, so that has() and in do not fail.
func contains(m traits.Mapper, key ref.Val) ref.Val {
	v, ok := m.Find(key)
	if v == nil || !types.IsUnknownOrError(v) || isHidden(v) {
		return types.Bool(ok)
	}
	return v
}

// A foldable is a map whose entries are faster to go through than to look up.
type foldable interface {
	traits.Mapper
	traits.Foldable
}

func equalMaps(m foldable, other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok || m.Size() != o.Size() {
		return types.False
	}
	all := ref.Val(types.True)
	functions.Each(m, func(k, a ref.Val) bool {
		b, ok := o.Find(k)
		if !ok && b == nil { // otherwise b is an error
			all = types.False
		} else {
			all = and(all, equal(a, b))
		}
		return all != types.False
	})
	return all
}

// and is false if one of two results is, and otherwise the first error.
func and(a, b ref.Val) ref.Val {
	if a == types.True || b == types.False {
		return b
	}
	return a
}

// equal compares values, one of which may be an error: a rounded number is neither equal to a value nor different
// from it.
func equal(a, b ref.Val) ref.Val {
	switch {
	case types.IsUnknownOrError(a):
		return a
	case types.IsUnknownOrError(b):
		return b
	}
	return types.Equal(a, b)
}

func convert(v ref.Val, own *types.Type, to ref.Type) ref.Val {
	switch to {
	case own:
		return v
	case types.TypeType:
		return own
	}
	return types.NewErr("type conversion error from '%s' to '%s'", own, to)
}

// list is a ListValue.
type list struct{ of wire.List }

// all returns a list of cel-go with the values.
func (l *list) all() traits.Lister {
	out := make([]ref.Val, 0, l.of.Len())
	for _, v := range l.of.All() {
		out = append(out, value(v))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, out)
}

func (l *list) Contains(e ref.Val) ref.Val {
	found := ref.Val(types.False)
	for _, v := range l.of.All() {
		switch eq := equal(e, value(v)); {
		case eq == types.True:
			return eq
		case eq != types.False && found == types.False:
			found = eq
		}
	}
	return found
}

func (l *list) Get(index ref.Val) ref.Val {
	i, err := types.GetOrError(index)
	if err != nil {
		return types.ValOrErr(index, "invalid index")
	}
	if i < 0 || i >= l.of.Len() {
		return types.NewErr("index out of bounds")
	}
	return value(l.of.At(i))
}

func (l *list) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok || l.Size() != o.Size() {
		return types.False
	}
	all := ref.Val(types.True)
	for i, v := range l.of.All() {
		if all = and(all, equal(value(v), o.Get(types.Int(i)))); all == types.False {
			break
		}
	}
	return all
}

func (l *list) Size() ref.Val                             { return types.Int(l.of.Len()) }
func (l *list) IsZeroValue() bool                         { return l.of.Len() == 0 }
func (l *list) Type() ref.Type                            { return types.ListType }
func (l *list) Value() any                                { return l }
func (l *list) Add(other ref.Val) ref.Val                 { return l.all().Add(other) }
func (l *list) Iterator() traits.Iterator                 { return l.all().Iterator() }
func (l *list) ConvertToType(t ref.Type) ref.Val          { return convert(l, types.ListType, t) }
func (l *list) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }

func (l *list) Fold(f traits.Folder) {
	for i, v := range l.of.All() {
		if !f.FoldEntry(types.Int(i), value(v)) {
			return
		}
	}
}

// copies are the annotations in which tools keep a copy of the applied object, which may be a Secret or contain one:
// kubectl, Kapp, Rancher, Kopf and the operators of Banzai Cloud.
var copies = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"kapp.k14s.io/original",
	"objectset.rio.cattle.io/applied",
	"kopf.zalando.org/last-handled-configuration",
	"banzaicloud.com/last-applied",
}

// HoldsCopy reports whether an annotation with that name contains a copy of the applied object. Expressions cannot
// read it in any map.
func HoldsCopy(name string) bool { return slices.Contains(copies, name) }

// secretFields are the fields with the data of a v1 Secret, or of a list of Secrets, whose items may have no kind.
var secretFields = []string{"data", "stringData", "items"}

func (m fields) hidden(key string) bool {
	return HoldsCopy(key) || m.isSecret && slices.Contains(secretFields, key)
}

// The reasons why an expression fails that reads a hidden field. Without them it would wait forever.
var (
	hiddenData = &expression.Failed{Reason: "reads the data of a v1 Secret, which is hidden here: " +
		"read it as secrets.<name>, by a source of kind Secret"}
	hiddenCopy = &expression.Failed{Reason: "reads an annotation that holds a copy of an object, which is hidden: " +
		"read the object's own fields"}
)

func hiddenError(key string) ref.Val {
	if HoldsCopy(key) {
		return types.WrapErr(hiddenCopy)
	}
	return types.WrapErr(hiddenData)
}

func isHidden(v ref.Val) bool {
	err, _ := v.Value().(error)
	return errors.Is(err, hiddenData) || errors.Is(err, hiddenCopy)
}
