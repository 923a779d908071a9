package reconcile

import (
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// An earlierStep composes the resource with this name.
type earlierStep string

// String names the resource.
func (name earlierStep) String() string {
	return fmt.Sprintf("composed resource %q of an earlier step", string(name))
}

// findWriters finds the earlier steps and the exports of this step that compose an object. drop are the resources of
// the composite author in earlier steps that exports replace.
func (b *placer) findWriters(placed placements) (out lifecycle.Writers, drop []string) {
	out = make(lifecycle.Writers, len(placed.exports))
	authors := map[lifecycle.Place]string{}
	for _, name := range plan.SortedKeys(b.desired) {
		o := b.desired[name]
		t := b.composite.PlaceOf(o)
		switch {
		case t.Name == "" || !o.Get("apiVersion").Is("v1"):
		case plan.IsAuthors(name):
			authors[t] = name
		default:
			out.Add(t, earlierStep(name))
		}
	}
	for _, at := range placed.exports {
		if t := at.Place; t.Name != "" {
			out.Add(t, at.ItemPath())
			if name, ok := authors[t]; ok {
				drop = append(drop, name)
			}
		}
	}
	return out, drop
}
