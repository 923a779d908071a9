package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/wire"
)

// nameOfObject is where an object has its name.
var nameOfObject = mustParse("metadata.name")

func mustParse(p string) Path {
	out, err := ParsePath(p)
	if err != nil {
		panic(err)
	}
	return out
}

// multiple is a selector of mode Multiple.
type multiple struct {
	labels
	min, max uint64
	sortBy   Path
}

func (m multiple) choose(asked *Selector, found []wire.Struct) ([]wire.Struct, *field.Error) {
	if uint64(len(found)) < m.min {
		have := "none has them"
		if len(found) > 0 {
			have = fmt.Sprintf("%d have them (%s)", len(found), several(namesOf(found)))
		}
		return nil, invalid(m.at.Child("minMatch"), "needs at least %d EnvironmentConfigs with the labels %s, and %s: give them to more, or lower minMatch",
			m.min, asked.labels(), have)
	}
	out, fault := m.sorted(found)
	return out[:min(uint64(len(out)), m.max)], fault
}

// keyed is what an EnvironmentConfig is sorted by: text or number, the other one is
// zero for all of them.
type keyed struct {
	config wire.Struct
	text   string
	number float64
}

// sorted returns all that was found in the order of sortBy, and of their names where
// that is equal. It is the same whatever order they come in.
func (m multiple) sorted(found []wire.Struct) ([]wire.Struct, *field.Error) {
	type named struct {
		name   string
		config wire.Struct
	}
	all := make([]named, 0, len(found))
	for _, c := range found {
		all = append(all, named{nameOf(c), c})
	}
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(a.name, b.name) })
	out := make([]wire.Struct, 0, len(found))
	for _, n := range all {
		out = append(out, n.config)
	}
	if len(out) < 2 {
		return out, nil
	}
	keys, fault := m.keys(out)
	if fault != nil {
		return nil, fault
	}
	slices.SortStableFunc(keys, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.number, b.number))
	})
	for i, k := range keys {
		out[i] = k.config
	}
	return out, nil
}

// keys in the order of the EnvironmentConfigs. A field that is absent or null has the
// zero value of the others.
func (m multiple) keys(configs []wire.Struct) ([]keyed, *field.Error) {
	keys := make([]keyed, 0, len(configs))
	var texts, numbers, others []string
	for _, c := range configs {
		key := keyed{config: c}
		v, free := m.sortBy.find(c)
		switch v.Kind() {
		case wire.Text:
			key.text, texts = v.Text(), append(texts, nameOf(c))
		case wire.Number:
			key.number, numbers = v.Number(), append(numbers, nameOf(c))
		case wire.Absent, wire.Null:
			if !free {
				others = append(others, nameOf(c))
			}
		default:
			others = append(others, nameOf(c))
		}
		keys = append(keys, key)
	}
	if text := confusion(texts, numbers, others); text != "" {
		return nil, invalid(m.at.Child("sortByFieldPath"), "cannot sort by %q, which is %s: make it a string in all EnvironmentConfigs, or a number in all", m.sortBy, text)
	}
	return keys, nil
}

// confusion says which EnvironmentConfigs cannot be compared, if any.
func confusion(texts, numbers, others []string) string {
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

// nameOf an object, empty if it has none.
func nameOf(s wire.Struct) string {
	v, _ := Get(s, nameOfObject)
	return v.Text()
}

func namesOf(objects []wire.Struct) []string {
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, nameOf(o))
	}
	return names
}
