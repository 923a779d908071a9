package reconcile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// concreteExports are the exports of one request: for a list, one export for each item.
type concreteExports struct {
	reply

	list    []plan.Export
	unsure  map[string]bool          // the names of exports that may not be wanted
	unknown map[object.Kind][]string // the paths of exports whose items are not all known
}

// expand makes an export for each item of each list, in the order of the input and of the keys. If a list, or
// a key in it, is not known, each observed object that may still have an item is kept.
func expand(s *session, p *plan.Plan, req *request) concreteExports {
	var out concreteExports
	left := limits.AllItems
	for _, e := range p.Exports {
		if e.ForEach == nil {
			out.list = append(out.list, e)
			continue
		}
		items, why := s.items(e.ForEach, e.From, left)
		left -= len(items)
		names := map[string]bool{}
		for _, item := range items {
			of := e.For(item)
			names[of.Name] = true
			if s.isComposedTwice(req, of.Name) {
				text := fmt.Sprintf("%s: %s: %s", of, e.Path.Child("name"), plan.ComposedTwice(of.Name))
				out.report(Outcome{State: Conflict, Message: text, Warn: true, Wrong: true})
				continue
			}
			out.list = append(out.list, of)
		}
		if !why.empty() {
			out.unknown = with(out.unknown, e.Kind, append(out.unknown[e.Kind], e.Path.String()))
			out.keep(s, e, req, names, &why)
		}
	}
	return out
}

// keep keeps the observed objects of an export that have no known item, and says why.
func (c *concreteExports) keep(s *session, e plan.Export, req *request, items map[string]bool, why *reasons) {
	o := why.outcome(e.String(), "is not composed for each item", false)
	var kept []string
	for _, name := range plan.SortedKeys(s.observed.Resources) {
		key, ok := strings.CutPrefix(name, plan.ItemName(e.Name, ""))
		_, earlier := req.Desired[name]
		if !ok || items[name] || earlier || object.Held(s.observed.Resources[name].Object) == nil {
			continue
		}
		kept, c.unsure = append(kept, name), with(c.unsure, name, true)
		c.list = append(c.list, e.For(&observation.Item{Key: key}))
	}
	if len(kept) > 0 { // one message for all
		o.State, o.Warn = Held, true
		o.Message += "; these composed resources are kept unchanged until all keys are known: " + plan.Shorten(kept, ", ")
	}
	c.report(o)
}

// items evaluates a list and the key of each item. It returns the items with a good key, in the order of their
// keys, and what is wrong with the list or with the other items. The number of all items must not exceed left.
func (s *session) items(f *plan.ForEach, from string, left int) (good []*observation.Item, why reasons) {
	list, _, err := valueOf(s, f.List, s.scope(from), func(v ref.Val, _ *budget.Budget) (traits.Lister, bool, error) {
		return f.List.List(v)
	})
	path := f.List.Source().Path
	switch {
	case err != nil:
		return nil, because("", err)
	case list == nil:
		return nil, waitingFor("a list of %s: write .orValue([]) for an empty one", path)
	}
	n := int(list.Size().(types.Int)) //nolint:forcetypeassert // each list has a size
	switch {
	case n > limits.Items:
		return nil, failing("%s: has %d items, over the limit of %d: use several composites", path, n, limits.Items)
	case n > left:
		return nil, failing("%s: has %d items, but all lists of the input together may have at most %d: use several "+
			"composites", path, n, limits.AllItems)
	}
	byKey := map[string][]*observation.Item{}
	for i := range n {
		item := &observation.Item{Value: list.Get(types.Int(i)), Index: i}
		item.Key, err = s.forItem(item).checkedName(f.Key, from, "key", object.ValidateItemKey)
		if err != nil {
			why.addItem(f.Key, i, err)
			continue
		}
		byKey[item.Key] = append(byKey[item.Key], item)
	}
	for _, key := range plan.SortedKeys(byKey) {
		if same := byKey[key]; len(same) > 1 {
			why.failed = append(why.failed, fmt.Sprintf("%s: returns %q for the items at %s: each item needs its own key",
				f.Key.Source().Path, key, indices(same)))
			continue
		}
		good = append(good, byKey[key][0])
	}
	return good, why
}

// addItem adds the error of the key of an item.
func (r *reasons) addItem(key *expression.Expression, index int, err error) {
	who := fmt.Sprintf("%s for the item at index %d", key.Source().Path, index)
	var f *expression.Failed
	if errors.As(err, &f) {
		err = &expression.Failed{Path: who, Reason: f.Reason}
	}
	r.add(who, err)
}

func indices(items []*observation.Item) string {
	texts := make([]string, 0, len(items))
	for _, i := range items {
		texts = append(texts, strconv.Itoa(i.Index))
	}
	return "index " + plan.Shorten(texts, ", ")
}

// forItem returns the session whose expressions see an item. For nil, it is the same session.
func (s *session) forItem(item *observation.Item) *session {
	if item == nil {
		return s
	}
	out := *s
	out.item = item
	return &out
}
