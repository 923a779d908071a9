package observation

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// A Revision counts the changes of the data of an export's observed object. It is 0 before the object exists.
type Revision struct {
	Number int64

	// Items are set for an export with a list: the revision for each item by its key.
	Items map[string]int64
}

// revisions returns the variable with the revision of each export.
func revisions(all map[string]Revision) ref.Val {
	return members{
		find: func(name string) (ref.Val, bool) {
			r, ok := all[name]
			switch {
			case !ok:
				return nil, false
			case r.Items != nil:
				return itemRevisions(r.Items), true
			}
			return types.Int(r.Number), true
		},
		names: func() []string { return sortedKeys(all) },
	}.of()
}

func itemRevisions(items map[string]int64) ref.Val {
	return members{
		find: func(key string) (ref.Val, bool) {
			n, ok := items[key]
			return types.Int(n), ok
		},
		names: func() []string { return sortedKeys(items) },
	}.of()
}
