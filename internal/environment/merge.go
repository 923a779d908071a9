package environment

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/budget"
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
// all of before: do not write to it, but use [Set] and [Remove]. What the budget does not
// pay for is a fault.
func (l *Lookup) Merge(b *budget.Budget, before *structpb.Struct, selectors []*Selector, found [][]wire.Struct) (*structpb.Struct, field.ErrorList) {
	m := merger{own: map[*structpb.Struct]bool{}, budget: b}
	var configs *structpb.Struct
	var faults field.ErrorList
	for i, s := range l.sources {
		if selectors[i] == nil {
			continue
		}
		data, fault := s.data(b, selectors[i], found[i])
		if fault != nil {
			faults = append(faults, fault)
		}
		for _, d := range data {
			configs = m.merge(configs, d)
		}
		if m.spent != nil {
			faults = append(faults, spent(s.at, m.spent))
			break
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	all := m.identify(m.merge(l.defaults, m.merge(before, configs)))
	if m.spent != nil {
		return nil, field.ErrorList{spent(l.at, m.spent)}
	}
	return all, nil
}

// spent says that the budget does not pay for it.
func spent(at *field.Path, err error) *field.Error {
	return invalid(at, "was stopped: %s: merge fewer or smaller EnvironmentConfigs", err)
}

// data to merge, where it goes to.
func (s source) data(b *budget.Budget, asked *Selector, found []wire.Struct) ([]*structpb.Struct, *field.Error) {
	if err := b.Spend(budget.Counted(sortWeighs*len(found), 0)); err != nil {
		return nil, spent(s.at, err)
	}
	chosen, fault := s.finder.choose(asked, found)
	if fault != nil {
		return nil, fault
	}
	var out []*structpb.Struct
	for _, c := range chosen {
		switch d := c.Get("data"); d.Kind() {
		case wire.Object:
			if err := b.Decode(d.Size() + configWeighs); err != nil {
				return nil, spent(s.at, err)
			}
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
type merger struct {
	own    map[*structpb.Struct]bool
	budget *budget.Budget
	spent  error // why no more is merged, nil as long as more is
}

// fieldsPerThing are merged, or copied, in the time that a thing of the budget takes.
const fieldsPerThing = 2

// configWeighs is how many bytes an EnvironmentConfig weighs by itself.
const configWeighs = 100

// sortWeighs is how many things an EnvironmentConfig weighs that is sorted among others.
const sortWeighs = 4

// merge what is over into what is under, either of which may be nil.
func (m *merger) merge(under, over *structpb.Struct) *structpb.Struct {
	if len(over.GetFields()) == 0 {
		return under
	}
	if len(under.GetFields()) == 0 {
		return over
	}
	if m.spend(len(over.GetFields())); m.spent != nil {
		return under
	}
	out := m.copied(under)
	for k, v := range over.GetFields() {
		was, is := out.GetFields()[k].GetStructValue(), v.GetStructValue()
		if was != nil && is != nil {
			v = structpb.NewStructValue(m.merge(was, is))
		}
		out.Fields[k] = v
	}
	return out
}

func (m *merger) spend(fields int) {
	if m.spent == nil {
		m.spent = m.budget.Spend(budget.Counted(1+fields/fieldsPerThing, 0))
	}
}

// copied returns the struct, or a copy, that may be written to.
func (m *merger) copied(s *structpb.Struct) *structpb.Struct {
	if m.own[s] {
		return s
	}
	m.spend(len(s.GetFields()))
	out := &structpb.Struct{Fields: maps.Clone(s.GetFields())}
	if out.Fields == nil {
		out.Fields = map[string]*structpb.Value{}
	}
	m.own[out] = true
	return out
}

// identify an environment that has neither an apiVersion nor a kind.
func (m *merger) identify(s *structpb.Struct) *structpb.Struct {
	fields := s.GetFields()
	if fields["apiVersion"].GetStringValue() != "" || fields["kind"].GetStringValue() != "" {
		return s
	}
	out := m.copied(s)
	out.Fields["apiVersion"] = structpb.NewStringValue(apiVersion)
	out.Fields["kind"] = structpb.NewStringValue(kind)
	return out
}
