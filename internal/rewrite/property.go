package rewrite

import (
	"errors"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// Open takes the members of the JSON object in the value of a key, below the
// members that path names, as keys: strings as they are, numbers as they are
// written, objects and lists as compact JSON, null as the empty text. They have
// the origins of the key, and are sorted by no order.
//
// The error is a [*Failed]. It names the path, which the input spells.
func Open(b *budget.Budget, k Key, path []string) ([]Key, error) {
	raw := k.Value.Reveal()
	for i := 0; ; i++ {
		members, err := parseObject(b, raw)
		if errors.Is(err, budget.ErrSpent) || b.Can(0) != nil {
			return nil, spent("", budget.ErrSpent)
		}
		if err != nil {
			return nil, failed("", "the value of %s %s", k.below(path[:i]), err)
		}
		if i == len(path) {
			out := make([]Key, 0, len(members))
			for name, raw := range members {
				out = append(out, Key{name, sensitive.New(plain(raw)), k.Origins})
			}
			return out, nil
		}
		next, ok := members[path[i]]
		if !ok {
			return nil, &Failed{Reason: k.below(path[:i+1]), Missing: true}
		}
		raw = next
	}
}

// below is a member of a key's value in words.
func (k Key) below(path []string) string {
	if len(path) == 0 {
		return k.name()
	}
	return quote(strings.Join(path, ".")) + " in " + k.name()
}

// String is the key in words: where it came from, never its name or value.
func (k Key) String() string { return k.name() }
