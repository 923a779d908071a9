package plan

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// notePlaceholders notes the texts of an expression that contain a placeholder of another tool, and the texts that the
// input itself searches for. Some texts are scripts or templates for another program, so a placeholder is only a
// warning.
func (c *compiler) notePlaceholders(x *expression.Expression) {
	if !strict.HasPlaceholder(x.Source().Text) {
		return
	}
	for _, t := range x.Texts() {
		found, message := strict.PlaceholderIn(t.Value)
		switch {
		case t.Needle && len(c.replaced) < limits.Expressions:
			c.replaced = append(c.replaced, t.Value)
		case found != "" && !t.Raw && !t.Needle && len(c.texts) < limits.Diagnostics:
			w := t.Place.Wrong(message + "write for example '...' + composite.spec.field, or r'...' around a text that is " +
				"meant as it is")
			w.Warning = true
			c.texts = append(c.texts, strict.Placeholder{Text: found, Warning: w})
		}
	}
}

// warnings returns the warnings about expressions, and placeholders that the input does not replace itself.
func (c *compiler) warnings() diagnostic.List {
	list := slices.Clone(c.suspicions)
	for _, t := range c.texts {
		replaces := func(needle string) bool {
			return strings.Contains(needle, t.Text) || len(needle) > 1 && strings.HasPrefix(t.Text, needle)
		}
		if !slices.ContainsFunc(c.replaced, replaces) {
			list = append(list, t.Warning)
		}
	}
	return list
}
