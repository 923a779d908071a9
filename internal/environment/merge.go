package environment

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/wire"
)

// What an environment is that does not say so itself.
const (
	apiVersion = "internal.crossplane.io/v1alpha1"
	kind       = "Environment"
)

// Merge the environment. before is the environment as earlier steps left it, or nil;
// selectors are all that [Lookup.Selectors] gave, and found[i] the EnvironmentConfigs
// that selectors[i] found, in any order: what is found for nil is not looked at.
//
// The EnvironmentConfigs are merged as listed, the later ones over the earlier, then
// that over before, and that over the default data: objects are merged, anything
// else is replaced. It matters that they are merged with each other first: what
// a scalar replaced in one of them, another one's object brings back.
//
// All faults come at once, in the order of the list. Nothing that comes in is
// changed. The result shares with it, and with the Lookup, what is the same, up to
// all of before: do not write to it, but use [Set] and [Remove].
func (l *Lookup) Merge(before *structpb.Struct, selectors []*Selector, found [][]wire.Struct) (*structpb.Struct, field.ErrorList) {
	m := merger{}
	var configs *structpb.Struct
	var faults field.ErrorList
	for i, s := range l.sources {
		if selectors[i] == nil {
			continue
		}
		data, fault := s.data(selectors[i], found[i])
		if fault != nil {
			faults = append(faults, fault)
		}
		for _, d := range data {
			configs = m.merge(configs, d)
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return m.identify(m.merge(l.defaults, m.merge(before, configs))), nil
}

// data to merge, where it goes to.
func (s source) data(asked *Selector, found []wire.Struct) ([]*structpb.Struct, *field.Error) {
	chosen, fault := s.finder.choose(asked, found)
	if fault != nil {
		return nil, fault
	}
	var out []*structpb.Struct
	for _, c := range chosen {
		switch d := c.Get("data"); d.Kind() {
		case wire.Object:
			out = append(out, s.to.holding(d.Proto()))
		case wire.Absent, wire.Null: // it has none
		default:
			return nil, invalid(s.at, "data of EnvironmentConfig %q must be an object", nameOf(c))
		}
	}
	return out, nil
}

// A merger knows the structs that it made itself, and so may write to: each is
// copied once, however much is merged into it.
type merger map[*structpb.Struct]bool

// merge what is over into what is under, either of which may be nil.
func (m merger) merge(under, over *structpb.Struct) *structpb.Struct {
	if len(over.GetFields()) == 0 {
		return under
	}
	if len(under.GetFields()) == 0 {
		return over
	}
	out := m.own(under)
	for k, v := range over.GetFields() {
		was, is := out.GetFields()[k].GetStructValue(), v.GetStructValue()
		if was != nil && is != nil {
			v = structpb.NewStructValue(m.merge(was, is))
		}
		out.Fields[k] = v
	}
	return out
}

// own returns the struct, or a copy, that may be written to.
func (m merger) own(s *structpb.Struct) *structpb.Struct {
	if m[s] {
		return s
	}
	out := &structpb.Struct{Fields: maps.Clone(s.GetFields())}
	if out.Fields == nil {
		out.Fields = map[string]*structpb.Value{}
	}
	m[out] = true
	return out
}

// identify an environment that has neither an apiVersion nor a kind.
func (m merger) identify(s *structpb.Struct) *structpb.Struct {
	fields := s.GetFields()
	if fields["apiVersion"].GetStringValue() != "" || fields["kind"].GetStringValue() != "" {
		return s
	}
	out := m.own(s)
	out.Fields["apiVersion"] = structpb.NewStringValue(apiVersion)
	out.Fields["kind"] = structpb.NewStringValue(kind)
	return out
}
