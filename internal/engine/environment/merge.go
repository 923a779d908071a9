package environment

import (
	"google.golang.org/protobuf/proto"
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

const (
	configCost = 100 // bytes that an EnvironmentConfig costs by itself
	sortCost   = 4   // units of the budget that sorting an EnvironmentConfig costs
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
	configs, above, out := newStruct(), newStruct(), newStruct()
	var list diagnostic.List
	for i, asked := range selectors {
		if asked == nil {
			continue
		}
		data, d := l.data(b, i, asked, found[i])
		if d != nil {
			list = append(list, d)
		}
		for _, d := range data {
			merge(configs, d)
		}
	}
	if err := b.Decode(proto.Size(l.defaults)); err != nil {
		list = append(list, spent(l.at, err))
	}
	if len(list) > 0 {
		return nil, list
	}
	merge(above, before)
	merge(above, configs)
	merge(out, l.defaults)
	merge(out, above)
	if out.Fields["apiVersion"].GetStringValue() == "" && out.Fields["kind"].GetStringValue() == "" {
		out.Fields["apiVersion"], out.Fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	}
	return out, nil
}

func newStruct() *structpb.Struct { return &structpb.Struct{Fields: map[string]*structpb.Value{}} }

// merge adds the fields of an object to another one, and merges objects in both. It writes only to objects that it
// created.
func merge(to, from *structpb.Struct) {
	for k, v := range from.GetFields() {
		if v.GetStructValue() != nil {
			inner := to.Fields[k].GetStructValue()
			if inner == nil {
				inner = newStruct()
			}
			merge(inner, v.GetStructValue())
			v = structpb.NewStructValue(inner)
		}
		to.Fields[k] = v
	}
}

// spent returns the diagnostic for an exceeded budget.
func spent(at *field.Path, err error) *diagnostic.Diagnostic {
	return wrong(at, "was stopped: %s: merge fewer or smaller EnvironmentConfigs", err)
}

// data returns the data to merge for an item, at its path.
func (l *Lookup) data(
	b *budget.Budget, i int, asked *Selector, found []wire.Struct,
) ([]*structpb.Struct, *diagnostic.Diagnostic) {
	at, to := l.source(i), l.paths[l.configs[i].ToFieldPath]
	if err := b.Spend(budget.Counted(sortCost*len(found), 0)); err != nil {
		return nil, spent(at, err)
	}
	configs, d := l.choose(i, asked, found)
	if d != nil {
		return nil, d
	}
	var out []*structpb.Struct
	for _, c := range configs {
		switch d := c.Get("data"); d.Kind() {
		case wire.Object: // which is decoded, and then copied
			if err := b.Decode(2*d.Size() + configCost); err != nil {
				return nil, spent(at, err)
			}
			out = append(out, to.holding(d.Proto()))
		case wire.Absent, wire.Null:
		default:
			return nil, wrong(at, "data of EnvironmentConfig %q must be an object", nameOf(c))
		}
	}
	return out, nil
}
