package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// choose returns the EnvironmentConfigs to merge, in order. It does not change found.
func (l *Lookup) choose(by chosen, asked *Selector, found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	const needs = "mode Single needs one EnvironmentConfig with the labels %s, and "
	switch n := len(found); {
	case by.name != "" && n == 0 && !l.optional:
		return nil, wrong(by.at,
			"EnvironmentConfig %q of apiextensions.crossplane.io/v1beta1 does not exist: create it, or set %s to Optional",
			by.name, l.policy)
	case by.name != "" && n > 1:
		return nil, wrong(by.at,
			"Crossplane found %d EnvironmentConfigs with the name %q, but there can be only one", n, by.name)
	case by.many:
		return by.chooseMany(asked, found)
	case by.name != "" || n == 1:
		return found, nil
	case n == 0:
		return nil, wrong(by.at,
			needs+"none has them: add the labels to one, or correct matchLabels, or set mode to Multiple, "+
				"which needs none", asked.labels())
	default:
		return nil, wrong(by.at, needs+"%d have them (%s): match a label that only one of them has, or set mode to Multiple",
			asked.labels(), n, several(namesOf(found)))
	}
}

func (by chosen) chooseMany(asked *Selector, found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	if uint64(len(found)) < by.min {
		have := "none has them"
		if len(found) > 0 {
			have = fmt.Sprintf("%d have them (%s)", len(found), several(namesOf(found)))
		}
		return nil, wrong(by.at.Child("minMatch"),
			"needs at least %d EnvironmentConfigs with the labels %s, and %s: add the labels to more, or lower minMatch",
			by.min, asked.labels(), have)
	}
	out, d := by.sorted(found)
	return out[:min(uint64(len(out)), by.max)], d
}

// keyed is the sort key of an EnvironmentConfig: a text or a number, then the name.
type keyed struct {
	config wire.Struct
	text   string
	number float64
	name   string
}

// sorted returns the EnvironmentConfigs in an order that does not depend on their order in found.
func (by chosen) sorted(found []wire.Struct) ([]wire.Struct, *diagnostic.Diagnostic) {
	if len(found) < 2 {
		return found, nil
	}
	keys, d := by.keys(found)
	slices.SortStableFunc(keys, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	out := make([]wire.Struct, len(keys))
	for i, k := range keys {
		out[i] = k.config
	}
	return out, d
}

// keys returns the sort keys of EnvironmentConfigs. A field that is absent or null has the zero
// value of the type that the others have.
func (by chosen) keys(configs []wire.Struct) ([]keyed, *diagnostic.Diagnostic) {
	keys := make([]keyed, 0, len(configs))
	var texts, numbers, others []string
	for _, c := range configs {
		key := keyed{config: c, name: nameOf(c)}
		v, free := by.sortBy.find(c)
		switch kind := v.Kind(); {
		case kind == wire.Text:
			key.text, texts = v.Text(), append(texts, key.name)
		case kind == wire.Number:
			key.number, numbers = v.Number(), append(numbers, key.name)
		case !free || kind != wire.Absent && kind != wire.Null:
			others = append(others, key.name)
		}
		keys = append(keys, key)
	}
	if text := mixed(texts, numbers, others); text != "" {
		return nil, wrong(by.at.Child("sortByFieldPath"),
			"cannot sort by %q, which is %s: use a string in all EnvironmentConfigs, or a number in all", by.sortBy, text)
	}
	return keys, nil
}

// mixed returns a text about EnvironmentConfigs that cannot be compared, or an empty text.
func mixed(texts, numbers, others []string) string {
	var is []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			is = append(is, fmt.Sprintf("%s in %s", what, several(names)))
		}
	}
	add("a string", texts)
	add("a number", numbers)
	if len(others) == 0 && len(is) < 2 {
		return ""
	}
	add("neither string nor number", others)
	return strings.Join(is, " and ")
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
	for k, v := range s.Labels {
		out = append(out, k+"="+v)
	}
	return several(out)
}
