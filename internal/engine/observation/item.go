package observation

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// An Item is one item of a list, for which an export or a generator is made.
type Item struct {
	Value ref.Val
	Index int
	Key   string // that identifies the item; empty while it is computed
}

// Item returns the scope with the variables of an item, which may be nil.
func (s *Scope) Item(i *Item) *Scope {
	s.item = i
	return s
}

func (i *Item) resolve(name string) (any, bool) {
	switch {
	case i == nil:
	case name == expression.Item && i.Value == nil: // only the key is known
		return waiting(expression.Item), true
	case name == expression.Item:
		return i.Value, true
	case name == expression.Index:
		return types.Int(i.Index), true
	case name == expression.Key:
		return types.String(i.Key), true
	}
	return nil, false
}
