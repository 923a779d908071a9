package environment

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// The type of an environment without a type.
const (
	apiVersion = "internal.crossplane.io/v1alpha1"
	kind       = "Environment"
)

// Merge the environment. before is the environment of earlier steps, or nil; selectors is the result
// of [Lookup.Selectors], and found[i] are the EnvironmentConfigs that selectors[i] selects, in any
// order. If selectors[i] is nil, found[i] is ignored.
//
// The EnvironmentConfigs are merged in the order of the list, later ones over earlier ones. The
// result is merged over before, and then over the default data. Objects are merged, and other values
// are replaced. The EnvironmentConfigs must be merged with each other first: if a scalar replaces an
// object in one of them, another one can restore the object.
//
// Merge returns all diagnostics, in the order of the list. It does not change its arguments. The
// result shares values with the arguments and with the Lookup. Do not write to it: use [Set] and
// [Remove]. If the environment exceeds the budget, Merge returns a diagnostic.
func (l *Lookup) Merge(b *budget.Budget, before *structpb.Struct, selectors []*Selector, found [][]wire.Struct) (
	*structpb.Struct, diagnostic.List,
) {
	m := merger{own: map[*structpb.Struct]bool{}, budget: b}
	var configs *structpb.Struct
	var list diagnostic.List
	for i, asked := range selectors {
		if asked == nil {
			continue
		}
		s := l.sources[i]
		data, d := l.data(b, s, asked, found[i])
		if d != nil {
			list = append(list, d)
		}
		for _, d := range data {
			configs = m.merge(configs, d)
		}
		if m.spent != nil {
			list = append(list, spent(s.at, m.spent))
			break
		}
	}
	if len(list) > 0 {
		return nil, list
	}
	all := m.identify(m.merge(l.defaults, m.merge(before, configs)))
	if m.spent != nil {
		return nil, diagnostic.List{spent(l.at, m.spent)}
	}
	return all, nil
}

// spent returns the diagnostic for an exceeded budget.
func spent(at *field.Path, err error) *diagnostic.Diagnostic {
	return wrong(at, "was stopped: %s: merge fewer or smaller EnvironmentConfigs", err)
}

// data returns the data to merge for a source, at its path.
func (l *Lookup) data(
	b *budget.Budget, s source, asked *Selector, found []wire.Struct,
) ([]*structpb.Struct, *diagnostic.Diagnostic) {
	if err := b.Spend(budget.Counted(sortCost*len(found), 0)); err != nil {
		return nil, spent(s.at, err)
	}
	configs, d := l.choose(s.by, asked, found)
	if d != nil {
		return nil, d
	}
	var out []*structpb.Struct
	for _, c := range configs {
		switch d := c.Get("data"); d.Kind() {
		case wire.Object:
			if err := b.Decode(d.Size() + configCost); err != nil {
				return nil, spent(s.at, err)
			}
			out = append(out, s.to.holding(d.Proto()))
		case wire.Absent, wire.Null:
		default:
			return nil, wrong(s.at, "data of EnvironmentConfig %q must be an object", nameOf(c))
		}
	}
	return out, nil
}

// A merger writes only to structs that it created. It copies each struct at most once.
type merger struct {
	own    map[*structpb.Struct]bool
	budget *budget.Budget
	spent  error // the reason why nothing more is merged
}

const (
	fieldsPerThing = 2   // fields that are merged or copied for one unit of the budget
	configCost     = 100 // bytes that an EnvironmentConfig costs by itself
	sortCost       = 4   // units of the budget that sorting an EnvironmentConfig costs
)

// merge over into under. Both may be nil.
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

// copied returns the struct, or a copy of it, that the merger may write to.
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

// identify sets the type of an environment that has neither an apiVersion nor a kind.
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
