package rewrite

import (
	"errors"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// Merge merges the members of values that are JSON objects.
//
// Keys are merged in alphabetical order, followed by the keys of Priority in the order of the list. The
// last key wins. Numbers are kept as they are written.
type Merge struct {
	// Strategy is Extract or JSON. Empty means Extract: the members become the keys. Strings are
	// unchanged, null becomes an empty value, and objects and arrays become compact JSON with sorted
	// members. JSON keeps the keys and adds one.
	Strategy string

	// Into is the name of the key that JSON adds. Extract ignores it, as in External Secrets.
	Into string

	// Priority lists names of keys after the previous rules.
	Priority []string

	// PriorityPolicy is Strict or IgnoreNotFound. Empty means Strict: each key of Priority must exist.
	PriorityPolicy string

	// ConflictPolicy is Error or Ignore. Empty means Error: a member that two keys have is refused, even
	// if its values are equal. Ignore overwrites it.
	ConflictPolicy string
}

func (m *Merge) compile(path string) apply {
	own := *m
	own.Priority = slices.Clone(m.Priority)
	return func(b *budget.Budget, keys []Key) ([]Key, *Failed) { return own.run(b, path, keys) }
}

func (m *Merge) run(b *budget.Budget, path string, keys []Key) ([]Key, *Failed) {
	if m.Strategy == "JSON" {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == m.Into }); i >= 0 {
			return nil, failed(path+".into", "cannot write the merged object into %s: "+
				"%s already has this name; choose another one", quote(m.Into), keys[i].name())
		}
	}
	ordered, err := m.order(path, keys)
	if err != nil {
		return nil, err
	}
	merged, err := m.merge(b, path, ordered)
	if err != nil || len(keys) == 0 {
		return nil, err // a merged object without keys would have no origin
	}
	if m.Strategy == "JSON" {
		object, err := m.object(b, keys, merged)
		if err != nil {
			return nil, spent(path, err)
		}
		return append(keys, object), nil
	}
	out := make([]Key, 0, len(merged))
	for name, member := range merged {
		out = append(out, Key{name, sensitive.New(memberText(member.value)), member.origins})
	}
	return out, nil
}

// order returns the keys, which are sorted by name, in the order in which they are merged.
func (m *Merge) order(path string, keys []Key) ([]Key, *Failed) {
	byName := make(map[string]Key, len(m.Priority))
	out := make([]Key, 0, len(keys))
	for _, k := range keys {
		if slices.Contains(m.Priority, k.Name) {
			byName[k.Name] = k
			continue
		}
		out = append(out, k)
	}
	for i, name := range m.Priority {
		k, ok := byName[name]
		if ok {
			out = append(out, k)
		} else if m.PriorityPolicy != "IgnoreNotFound" {
			return nil, &Failed{
				Path: fmt.Sprintf("%s.priority[%d]", path, i),
				Reason: fmt.Sprintf("the key %s of %s.priority: name a key that exists, or set priorityPolicy: IgnoreNotFound",
					quote(name), path),
				Missing: true,
			}
		}
	}
	return out, nil
}

// A member of the merged object.
type member struct {
	value   any
	origins []Origin // of all keys that have it
}

func (m *Merge) merge(b *budget.Budget, path string, ordered []Key) (map[string]member, *Failed) {
	merged := map[string]member{}
	var conflicts []string
	for _, k := range ordered {
		members, err := parseObject(b, k.Value.Reveal())
		if b.Context().Err() != nil || errors.Is(err, budget.ErrSpent) {
			return nil, spent(path, budget.ErrSpent)
		}
		if err != nil {
			return nil, failed(path, "the value of %s %s", k.name(), err)
		}
		for name, v := range members {
			before, taken := merged[name]
			if !taken {
				merged[name] = member{v, k.Origins}
				continue
			}
			if err := b.Spend(budget.Counted(4+len(before.origins)+len(k.Origins), 0)); err != nil {
				return nil, spent(path, err)
			}
			if m.ConflictPolicy != "Ignore" {
				conflicts = append(conflicts, describe([]Key{{Origins: before.origins}, k}))
				continue
			}
			merged[name] = member{v, union(before.origins, k.Origins)}
		}
	}
	if len(conflicts) == 0 {
		return merged, nil
	}
	slices.Sort(conflicts)
	return nil, failed(path, "a member with the same name is in %s: remove one of them, or set conflictPolicy to Ignore",
		several(slices.Compact(conflicts), "; "))
}

// object returns the key that the strategy JSON adds. Its origins are those of all keys.
func (m *Merge) object(b *budget.Budget, keys []Key, merged map[string]member) (Key, error) {
	members := make(map[string]any, len(merged))
	for name, member := range merged {
		members[name] = member.value
	}
	origins, n := make([][]Origin, 0, len(keys)), len(members)
	for _, k := range keys {
		origins = append(origins, k.Origins)
		n += len(k.Origins)
	}
	if err := b.Spend(budget.Counted(n, 0)); err != nil {
		return Key{}, err
	}
	return Key{m.Into, sensitive.New(encodeJSON(members)), union(origins...)}, nil
}
