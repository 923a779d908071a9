package observation

import (
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of an
// object, its data included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretView returns the view of a v1 Secret or of a list of them that
// expressions get, or nil for anything else.
func secretView(s wire.Struct) ref.Val {
	kind := s.Get("kind")
	isList := kind.Is("SecretList")
	if !isList && !kind.Is("Secret") || !s.Get("apiVersion").Is("v1") {
		return nil
	}
	if isList { // their items may lack a kind to know them by
		return &redacted{fields: s, hides: []string{"items", "data", "stringData"}, below: "metadata"}
	}
	return &redacted{fields: s, hides: []string{"data", "stringData"}, tells: true, below: "metadata"}
}

// redacted is a Struct without some of its fields. It reads in place, since
// whoever can write the Struct decides how large it is, and how often it is
// read.
type redacted struct {
	fields wire.Struct

	// hides are the names of the fields that are not there.
	hides []string

	// tells whoever selects a hidden field that it is hidden, instead of letting
	// them wait for ever.
	tells bool

	// below is the name of a field that hides the annotation of kubectl apply, in
	// its own field annotations.
	below string
}

var (
	_ expression.KeyOrdered = (*redacted)(nil)
	_ traits.Foldable       = (*redacted)(nil)
	_ traits.Zeroer         = (*redacted)(nil)
)

func (m *redacted) hidden(key string) bool { return slices.Contains(m.hides, key) }

// value is a field as expressions see it.
func (m *redacted) value(key string, v wire.Value) ref.Val {
	if key != m.below || v.Kind() != wire.Object {
		return value(v)
	}
	s := v.Struct()
	if key == "annotations" {
		return &redacted{fields: s, hides: []string{lastApplied}}
	}
	return &redacted{fields: s, below: "annotations"}
}

func (m *redacted) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	switch {
	case !ok:
		return notAKey(key)
	case m.hidden(string(k)) && m.tells:
		return types.WrapErr(&expression.Failed{Reason: "reads the data of a v1 Secret, which is hidden here: read it as secrets.<name>, by a source of kind Secret"}), false
	case m.hidden(string(k)):
		return nil, false
	}
	v := m.fields.Get(string(k))
	if !v.Exists() {
		return nil, false
	}
	return m.value(string(k), v), true
}

// Contains is false for what is hidden: has() and in may ask.
func (m *redacted) Contains(key ref.Val) ref.Val {
	if k, ok := key.(types.String); ok && m.hidden(string(k)) {
		return types.False
	}
	return contains(&fields{m.fields}, key)
}

func (m *redacted) Size() ref.Val {
	n := m.fields.Len()
	for _, h := range m.hides {
		if m.fields.Get(h).Exists() {
			n--
		}
	}
	return types.Int(n)
}

func (m *redacted) keys() []string {
	return slices.DeleteFunc(m.fields.Keys(), m.hidden)
}

func (m *redacted) Iterator() traits.Iterator {
	keys := m.keys()
	return &iterator{n: len(keys), at: keyAt(keys)}
}

func (m *redacted) Fold(f traits.Folder) {
	for k, v := range m.fields.All() {
		if !m.hidden(k) && !f.FoldEntry(types.String(k), m.value(k, v)) {
			return
		}
	}
}

// KeyOrdered marks the type.
func (m *redacted) KeyOrdered() {}

func (m *redacted) Get(key ref.Val) ref.Val                   { return get(m, key) }
func (m *redacted) IsZeroValue() bool                         { return m.Size() == types.IntZero }
func (m *redacted) Type() ref.Type                            { return types.MapType }
func (m *redacted) Value() any                                { return m }
func (m *redacted) Equal(other ref.Val) ref.Val               { return equalMaps(m, other) }
func (m *redacted) ConvertToType(t ref.Type) ref.Val          { return convert(m, types.MapType, t) }
func (m *redacted) ConvertToNative(reflect.Type) (any, error) { return nil, errNative }
