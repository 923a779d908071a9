package reconcile

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// concreteExports are the exports of one request: for a list, one export for each item.
type concreteExports struct {
	outcome.Reply

	list    []plan.Export
	unsure  map[string]bool          // the names of exports that may not be wanted
	unknown map[object.Kind][]string // the paths of exports whose items are not all known
}

// exportLists are the exports with a list, and what earlier steps desire.
type exportLists struct {
	session *evaluate.Session
	exports []plan.Export
	desired map[string]wire.Struct
}

// run makes an export for each item of each list, in the order of the input and of the keys. If a list, or
// a key in it, is not known, each observed object that may still have an item is kept.
func (x exportLists) run() concreteExports {
	var out concreteExports
	left := limits.AllItems
	for _, e := range x.exports {
		if e.ForEach == nil {
			out.list = append(out.list, e)
			continue
		}
		items, why := x.session.Items(e.ForEach, e.From, left)
		left -= len(items)
		names := map[string]bool{}
		for _, item := range items {
			of := e.For(item)
			names[of.Name] = true
			if _, earlier := x.desired[of.Name]; earlier {
				text := fmt.Sprintf("%s: %s: %s", of, e.Path.Child("name"), plan.ComposedTwice(of.Name))
				out.Report(Outcome{State: Conflict, Message: text, Warn: true, Wrong: true})
				continue
			}
			out.list = append(out.list, of)
		}
		if !why.Empty() {
			out.unknown = plan.With(out.unknown, e.Kind, append(out.unknown[e.Kind], e.Path.String()))
			out.keep(x, e, outcome.Of(why, e.String(), "is not composed for each item", false), names)
		}
	}
	return out
}

// keep keeps the observed objects of an export that have no known item, and says why.
func (c *concreteExports) keep(x exportLists, e plan.Export, o Outcome, known map[string]bool) {
	var names []string
	for _, name := range plan.SortedKeys(x.session.Sees.Resources) {
		key, isItem := strings.CutPrefix(name, plan.ItemName(e.Name, ""))
		_, earlier := x.desired[name]
		if isItem && !known[name] && !earlier && object.Held(x.session.Sees.Resources[name].Object) != nil {
			names, c.unsure = append(names, name), plan.With(c.unsure, name, true)
			c.list = append(c.list, e.For(&observation.Item{Key: key}))
		}
	}
	if len(names) > 0 { // one message for all
		o.State, o.Warn = Held, true
		o.Message += "; these composed resources are kept unchanged until all keys are known: " +
			plan.Shorten(names, ", ")
	}
	c.Report(o)
}
