package environment

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
		return nil, wrong(at, "mode Single needs one EnvironmentConfig with the labels %s, and %d have them%s: "+
			"add the labels to one, correct matchLabels, or set mode to Multiple",
			asked.labels(), n, several(namesOf(found)))
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
