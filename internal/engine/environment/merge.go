package environment

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
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
	if fields := out.GetFields(); fields["apiVersion"].GetStringValue() == "" && fields["kind"].GetStringValue() == "" {
		fields["apiVersion"], fields["kind"] = structpb.NewStringValue(apiVersion), structpb.NewStringValue(kind)
	}
	return out, nil
}

func newStruct() *structpb.Struct { return &structpb.Struct{Fields: map[string]*structpb.Value{}} }

// merge adds the fields of an object to another one, and merges objects in both. It writes only to objects that it
// created.
func merge(to, from *structpb.Struct) {
	for k, v := range from.GetFields() {
		if v.GetStructValue() != nil {
			inner := to.GetFields()[k].GetStructValue()
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

// choose returns the EnvironmentConfigs of an item to merge, in order. It does not change found.
func (l *Lookup) choose(i int, asked *Selector, found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	in, at, n := l.configs[i].Selector, l.source(i).Child("selector"), len(found)
	switch {
	case asked.Name != "" && n == 0 && !l.optional:
		return nil, wrong(l.source(i).Child("ref", "name"), "EnvironmentConfig %q of apiextensions.crossplane.io/v1beta1 "+
			"does not exist: create it, or set %s to Optional", asked.Name, l.at.Child("policy", "resolution"))
	case asked.Name != "":
		return found, nil
	case in.Mode == v1beta1.EnvironmentSelectorMultiple:
		if least := ptr.Deref(in.MinMatch, 0); uint64(n) < least {
			return nil, wrong(at.Child("minMatch"), "needs at least %d EnvironmentConfigs with the labels %s, "+
				"and %d have them: add the labels to more, or lower minMatch", least, asked.labels(), n)
		}
		out, d := sorted(at.Child("sortByFieldPath"), l.paths[sortBy(in)], found)
		return out[:min(uint64(len(out)), ptr.Deref(in.MaxMatch, math.MaxUint64))], d
	case n != 1:
		names := ""
		if n > 0 {
			names = " (" + suggest.List(slices.Sorted(slices.Values(namesOf(found)))) + ")"
		}
		return nil, wrong(at, "mode Single needs one EnvironmentConfig with the labels %s, and %d have them%s: "+
			"add the labels to one, correct matchLabels, or set mode to Multiple", asked.labels(), n, names)
	}
	return found, nil
}

// keyed is the sort key of an EnvironmentConfig: a text or a number, then the name.
type keyed struct {
	config wire.Struct
	text   string
	number float64
	name   string
}

// sorted returns the EnvironmentConfigs in an order that does not depend on their order in found. A field that is
// absent or null has the zero value of the type that the others have.
func sorted(at *field.Path, by Path, found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	if len(found) < 2 {
		return found, nil
	}
	keys := make([]keyed, len(found))
	kinds := map[wire.Kind]bool{}
	for i, c := range found {
		v, free := by.Find(c)
		keys[i] = keyed{config: c, text: v.Text(), number: v.Number(), name: nameOf(c)}
		if kind := v.Kind(); !free {
			kinds[wire.Object] = true
		} else if kind != wire.Absent && kind != wire.Null {
			kinds[kind] = true
		}
	}
	texts, numbers := kinds[wire.Text], kinds[wire.Number]
	if len(kinds) > 1 || len(kinds) == 1 && !texts && !numbers {
		return nil, wrong(at, "cannot sort by %q: use a string in all EnvironmentConfigs, or a number in all", by)
	}
	slices.SortStableFunc(keys, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	out := make([]wire.Struct, len(keys))
	for i, k := range keys {
		out[i] = k.config
	}
	return out, nil
}

// nameOf returns the name of an object, or an empty text.
func nameOf(s wire.Struct) string { return s.Get("metadata").Struct().Get("name").Text() }

func namesOf(objects []wire.Struct) []string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = nameOf(o)
	}
	return names
}

// labels returns the labels of a selector in the syntax of kubectl.
func (s *Selector) labels() string {
	out := make([]string, 0, len(s.Labels))
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		out = append(out, k+"="+s.Labels[k])
	}
	return strings.Join(out, ",")
}
