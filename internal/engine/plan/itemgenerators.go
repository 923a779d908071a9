package plan

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// A generator with forEachExpression is replaced by one generator for each item in each request. It is named
// <generator>/<key>. The name of any other generator contains no slash.

// For returns the generator of the credential for an item.
func (m *Generator) For(item *observation.Item) Generator {
	out := *m
	out.Name, out.Item = ItemName(m.Name, item.Key), item
	return out
}

// SplitItem splits the name of a generator into the name in the input and the key of the item, if there is one.
func SplitItem(name string) (generator, key string, ok bool) { return strings.Cut(name, "/") }

// ObjectName returns the name of a generator as a part of the names of objects.
func ObjectName(generator string) string { return strings.ReplaceAll(generator, "/", "-") }

// Generators are the generators of an input, or of a request: there, each item of a list has one.
type Generators []Generator

// Named returns the generator with a name, or nil.
func (all Generators) Named(name string) *Generator {
	i := slices.IndexFunc(all, func(m Generator) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// List returns the generator with forEachExpression that has a name, or that has an item with this name, or nil.
func (all Generators) List(name string) *Generator {
	name, _, _ = SplitItem(name)
	if m := all.Named(name); m != nil && m.ForEach != nil {
		return m
	}
	return nil
}

// Declares reports whether the input has a generator, or may have its item.
func (all Generators) Declares(name string) bool {
	return all.Named(name) != nil || all.List(name) != nil
}

// WithItems returns exports that read all items of a list as the exports that read the generators for these items.
func WithItems(exports []Export, generators Generators) []Export {
	out, all := slices.Clone(exports), NamesOf(generators)
	expand := func(names []string) (expanded []string) {
		for _, name := range names {
			prefix, isAll := strings.CutSuffix(name, ItemName("", Anything))
			if !isAll {
				expanded = append(expanded, name)
			}
			for _, n := range all {
				if isAll && strings.HasPrefix(n, ItemName(prefix, "")) {
					expanded = append(expanded, n)
				}
			}
		}
		return distinct(expanded)
	}
	for i := range out {
		out[i].Generators, out[i].Candidates = expand(out[i].Generators), expand(out[i].Candidates)
	}
	return out
}

// ownKey stands for the item that has the same key as the item of the export.
const ownKey = "[" + expression.Key + "]"

// ofItem returns the generators that an export for an item uses.
func ofItem(generators []string, key string) (out []string) {
	for _, name := range generators {
		out = append(out, strings.ReplaceAll(name, ownKey, key))
	}
	return distinct(out)
}

// distinct sorts names, and removes those that occur twice.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// generatedUse returns the use of the outputs of generators by a reference.
func (c *compiler) generatedUse(r expression.Reference, place expression.Place) use {
	out := use{variable: r.Variable, input: StepName(r, 0), key: StepName(r, 1), place: place}
	if c.declaredGenerators.List(out.input) != nil {
		out.item, out.key = itemStep(r), StepName(r, 2)
	}
	return out
}

// itemStep returns the key of the item that a reference selects, ownKey, or Anything.
func itemStep(r expression.Reference) string {
	if len(r.Path) > 1 && r.Path[1].ItemKey {
		return ownKey
	}
	return StepName(r, 1)
}

// generatorOf returns the name of the generator of a use, with the item.
func (u use) generator() string {
	if u.item == "" {
		return u.input
	}
	return ItemName(u.input, u.item)
}

// checkItem refuses an item that a generator cannot have, and outputs that are selected without an item.
func (c *compiler) checkItem(at expression.Place, r expression.Reference, m *Generator) {
	item := StepName(r, 1)
	switch {
	case item == Anything:
	case len(r.Path) == 2 && slices.Contains(m.Keys, item):
		c.reportAt(at, "generator %q has outputs for each item: write %s[key].%s for the item of this export, or "+
			"%[2]s['<key>'].%[3]s", m.Name, expression.PathText(r.Variable, m.Name), item)
	case object.ValidateItemKey(item) != nil:
		c.reportAt(at, "generator %q has no item %q: %s", m.Name, item, object.ValidateItemKey(item).Error())
	default:
		c.checkOutput(at, r, m, StepName(r, 2))
	}
}

// refuseSameObjects refuses a generator whose objects could have the names of the objects of items.
func (c *compiler) refuseSameObjects(m *Generator) {
	for _, list := range c.declaredGenerators {
		if list.ForEach != nil && strings.HasPrefix(m.Name, list.Name+"-") {
			c.refuse(m.Path.Child("name"), "begins with %s-, as the names of the objects for the items of %s: rename one of "+
				"them", list.Name, list.Path)
		}
	}
}
