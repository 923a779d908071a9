package environment

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// The type of an environment that has none.
const (
	apiVersion = "internal.crossplane.io/v1alpha1"
	kind       = "Environment"
)

// Merge the environment. before is the environment of earlier steps, or nil; selectors are what
// [Lookup.Selectors] returned, and found[i] the EnvironmentConfigs that selectors[i] found, in any
// order. What is found for nil is ignored.
//
// The EnvironmentConfigs are merged as listed, the later ones over the earlier ones, then that over
// before, and that over the default data: objects are merged, anything else is replaced. They must be
// merged with each other first: what a scalar replaced in one of them, the object of another restores.
//
// Merge returns all diagnostics, in the order of the list. It changes no argument. The result shares
// with them and with the Lookup what is the same, so do not write to it: use [Set] and [Remove]. An
// environment that exceeds the budget is a diagnostic.
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

// spent says that the budget is exceeded.
func spent(at *field.Path, err error) *diagnostic.Diagnostic {
	return wrong(at, "was stopped: %s: merge fewer or smaller EnvironmentConfigs", err)
}

// data returns what is merged for a source, at its path.
func (l *Lookup) data(b *budget.Budget, s source, asked *Selector, found []wire.Struct) ([]*structpb.Struct, *diagnostic.Diagnostic) {
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

// A merger writes only to the structs that it created: each is copied once, however much is merged into
// it.
type merger struct {
	own    map[*structpb.Struct]bool
	budget *budget.Budget
	spent  error // why no more is merged
}

const (
	fieldsPerThing = 2   // fields that are merged, or copied, for the cost of a thing of the budget
	configCost     = 100 // bytes that an EnvironmentConfig costs by itself
	sortCost       = 4   // things that an EnvironmentConfig costs that is sorted
)

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
