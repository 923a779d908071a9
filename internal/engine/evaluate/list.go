package evaluate

import (
	"errors"
	"fmt"
	"strconv"

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

// Items evaluates a list and the key of each item. It returns the items with a good key, in the order of their
// keys, and what is wrong with the list or with the other items. The number of all items must not exceed left.
func (s *Session) Items(f *plan.ForEach, from string, left int) (good []*observation.Item, why Reasons) {
	list, _, err := Value(s, f.List, s.Scope(from), func(v ref.Val, _ *budget.Budget) (traits.Lister, bool, error) {
		return f.List.List(v)
	})
	path := f.List.Source().Path
	switch {
	case err != nil:
		return nil, Because("", err)
	case list == nil:
		return nil, WaitingFor("a list of %s: write .orValue([]) for an empty one", path)
	}
	n := int(list.Size().(types.Int)) //nolint:forcetypeassert // each list has a size
	switch {
	case n > limits.Items:
		return nil, Failing("%s: has %d items, over the limit of %d: use several composites", path, n, limits.Items)
	case n > left:
		return nil, Failing("%s: has %d items, but all lists of the input together may have at most %d: use several "+
			"composites", path, n, limits.AllItems)
	}
	byKey := map[string][]*observation.Item{}
	for i := range n {
		item := &observation.Item{Value: list.Get(types.Int(i)), Index: i}
		item.Key, err = s.ForItem(item).CheckedName(f.Key, from, "key", object.ValidateItemKey)
		if err != nil {
			why.addItem(f.Key, i, err)
			continue
		}
		byKey[item.Key] = append(byKey[item.Key], item)
	}
	for _, key := range plan.SortedKeys(byKey) {
		if same := byKey[key]; len(same) > 1 {
			why.Failed = append(why.Failed, fmt.Sprintf(
				"%s: returns %q for the items at %s: each item needs its own key",
				f.Key.Source().Path, key, indices(same)))
			continue
		}
		good = append(good, byKey[key][0])
	}
	return good, why
}

// addItem adds the error of the key of an item.
func (r *Reasons) addItem(key *expression.Expression, index int, err error) {
	who := fmt.Sprintf("%s for the item at index %d", key.Source().Path, index)
	var f *expression.Failed
	if errors.As(err, &f) {
		err = &expression.Failed{Path: who, Reason: f.Reason}
	}
	r.Add(who, err)
}

func indices(items []*observation.Item) string {
	texts := make([]string, 0, len(items))
	for _, i := range items {
		texts = append(texts, strconv.Itoa(i.Index))
	}
	return "index " + plan.Shorten(texts, ", ")
}
