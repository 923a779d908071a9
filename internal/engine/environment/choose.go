package environment

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// choose returns the EnvironmentConfigs to merge, in order. It does not change found.
func (l *Lookup) choose(by chosen, asked *Selector, found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	switch n := len(found); {
	case by.name != "" && n == 0 && !l.optional:
		return nil, wrong(by.at, "EnvironmentConfig %q of apiextensions.crossplane.io/v1beta1 does not exist: "+
			"create it, or set %s to Optional", by.name, l.policy)
	case by.many && uint64(n) < by.min:
		return nil, wrong(by.at.Child("minMatch"), "needs at least %d EnvironmentConfigs with the labels %s, "+
			"and %d have them: add the labels to more, or lower minMatch", by.min, asked.labels(), n)
	case by.many:
		out, d := by.sorted(found)
		return out[:min(uint64(len(out)), by.max)], d
	case by.name == "" && n != 1:
		return nil, wrong(by.at, "mode Single needs one EnvironmentConfig with the labels %s, and %d have them%s: "+
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
func (by chosen) sorted(found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	if len(found) < 2 {
		return found, nil
	}
	keys := make([]keyed, len(found))
	kinds := map[wire.Kind]bool{}
	for i, c := range found {
		v, free := by.sortBy.Find(c)
		keys[i] = keyed{config: c, text: v.Text(), number: v.Number(), name: nameOf(c)}
		if kind := v.Kind(); !free {
			kinds[wire.Object] = true
		} else if kind != wire.Absent && kind != wire.Null {
			kinds[kind] = true
		}
	}
	texts, numbers := kinds[wire.Text], kinds[wire.Number]
	if len(kinds) > 1 || len(kinds) == 1 && !texts && !numbers {
		return nil, wrong(by.at.Child("sortByFieldPath"),
			"cannot sort by %q: use a string in all EnvironmentConfigs, or a number in all", by.sortBy)
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
