package observation

import (
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of an
// object, its data included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretView returns the view of a v1 Secret or of a list of them that
// expressions get, or nil for anything else.
func secretView(s *structpb.Struct) ref.Val {
	kind := s.GetFields()["kind"].GetStringValue()
	if kind != "Secret" && kind != "SecretList" {
		return nil
	}
	if v := s.GetFields()["apiVersion"].GetStringValue(); v != "v1" {
		return nil
	}
	if kind == "SecretList" { // their items may lack a kind to know them by
		return &redacted{fields: (*fields)(s), hides: []string{"items", "data", "stringData"}, below: "metadata"}
	}
	return &redacted{fields: (*fields)(s), hides: []string{"data", "stringData"}, tells: true, below: "metadata"}
}

// redacted is a Struct without some of its fields. It reads in place, since
// whoever can write the Struct decides how large it is, and how often it is
// read.
type redacted struct {
	fields *fields

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
func (m *redacted) value(key string, v *structpb.Value) ref.Val {
	s := v.GetStructValue()
	if key != m.below || s == nil {
		return value(v)
	}
	if key == "annotations" {
		return &redacted{fields: (*fields)(s), hides: []string{lastApplied}}
	}
	return &redacted{fields: (*fields)(s), below: "annotations"}
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
	v, ok := m.fields.Fields[string(k)]
	if !ok {
		return nil, false
	}
	return m.value(string(k), v), true
}

// Contains is false for what is hidden: has() and in may ask.
func (m *redacted) Contains(key ref.Val) ref.Val {
	if k, ok := key.(types.String); ok && m.hidden(string(k)) {
		return types.False
	}
	return contains(m.fields, key)
}

func (m *redacted) Size() ref.Val {
	n := len(m.fields.Fields)
	for _, h := range m.hides {
		if _, ok := m.fields.Fields[h]; ok {
			n--
		}
	}
	return types.Int(n)
}

func (m *redacted) keys() []string {
	return slices.DeleteFunc(m.fields.keys(), m.hidden)
}

func (m *redacted) Iterator() traits.Iterator {
	keys := m.keys()
	return &iterator{n: len(keys), at: keyAt(keys)}
}

func (m *redacted) Fold(f traits.Folder) {
	for _, k := range m.keys() {
		if !f.FoldEntry(types.String(k), m.value(k, m.fields.Fields[k])) {
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
