package rewrite

import (
	"errors"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// Open returns the members of a JSON object as keys. The object is in the value of a key, below the
// members in path. Strings and numbers are unchanged, objects and lists become compact JSON, and null
// becomes an empty text. The returned keys have the origins of the key, and their order is not defined.
//
// The error is a [*Failed]. It names the path, which is part of the input.
func Open(b *budget.Budget, k Key, path []string) ([]Key, error) {
	members, err := parseObject(b, k.Value.Reveal())
	switch {
	case b.Context().Err() != nil || errors.Is(err, budget.ErrSpent):
		return nil, spent("", budget.ErrSpent)
	case err != nil:
		return nil, failed("", "the value of %s %s", k.name(), err)
	}
	for i, name := range path {
		next, ok := members[name]
		if !ok {
			return nil, &Failed{Reason: k.below(path[:i+1]), Missing: true}
		}
		if members, ok = next.(map[string]any); !ok && next != nil {
			return nil, failed("", "the value of %s %s", k.below(path[:i+1]), errNotObject)
		}
	}
	out := make([]Key, 0, len(members))
	for name, v := range members {
		out = append(out, Key{name, sensitive.New(memberText(v)), k.Origins})
	}
	return out, nil
}

// below describes a member of the value of a key.
func (k Key) below(path []string) string {
	if len(path) == 0 {
		return k.name()
	}
	return quote(strings.Join(path, ".")) + " in " + k.name()
}

// String describes the key by its origins, never by its name or value.
func (k Key) String() string { return k.name() }
