package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/format"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A merge merges the members of values that are JSON objects.
//
// Keys are merged in alphabetical order, followed by the keys of Priority in the order of the list. The
// last key wins. Numbers are kept as they are written.
type merge struct {
	*v1beta1.RewriteMerge

	path string
}

func (m merge) run(b *budget.Budget, keys []Key) ([]Key, *Failed) {
	if m.Strategy == "JSON" {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == m.Into }); i >= 0 {
			return nil, failed(m.path+".into", "cannot write the merged object into %q: "+
				"%s already has this name; choose another one", m.Into, keys[i])
		}
	}
	ordered, err := m.order(keys)
	if err != nil || len(keys) == 0 {
		return nil, err // a merged object without keys would have no origin
	}
	merged, err := m.merge(b, ordered)
	if err != nil {
		return nil, err
	}
	if m.Strategy == "JSON" {
		members := make(map[string]any, len(merged))
		for name, member := range merged {
			members[name] = member.value
		}
		return append(keys, Key{m.Into, sensitive.New(encodeJSON(members)), origins(keys...)}), nil
	}
	out := make([]Key, 0, len(merged))
	for name, member := range merged {
		out = append(out, Key{name, sensitive.New(memberText(member.value)), member.origins})
	}
	return out, nil
}

// order returns the keys, which are sorted by name, in the order in which they are merged.
func (m merge) order(keys []Key) ([]Key, *Failed) {
	listed := func(k Key) bool { return slices.Contains(m.Priority, k.Name) }
	out := slices.DeleteFunc(slices.Clone(keys), listed)
	for i, name := range m.Priority {
		at := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
		if at >= 0 {
			out = append(out, keys[at])
		} else if m.PriorityPolicy != "IgnoreNotFound" {
			f := failed(fmt.Sprintf("%s.priority[%d]", m.path, i), "the key %q of %s.priority: name a key that exists, "+
				"or set priorityPolicy: IgnoreNotFound", name, m.path)
			f.Missing = true
			return nil, f
		}
	}
	return out, nil
}

// A member of the merged object.
type member struct {
	value   any
	origins []Origin // of all keys that have it
}

// merge merges the members of keys. Of several conflicts, it reports the one with the first name.
func (m merge) merge(b *budget.Budget, ordered []Key) (map[string]member, *Failed) {
	merged := map[string]member{}
	var conflicts []string
	for _, k := range ordered {
		members, err := parseObject(b, k.Value.Reveal())
		switch {
		case isSpent(b, err):
			return nil, spent(m.path)
		case err != nil:
			return nil, failed(m.path, "the value of %s %s", k, err)
		}
		for name, v := range members {
			before, taken := merged[name]
			if taken && b.Spend(budget.Counted(len(before.origins)+len(k.Origins), 0)) != nil { // a message lists them
				return nil, spent(m.path)
			}
			if taken && m.ConflictPolicy != "Ignore" {
				conflicts = append(conflicts, describe([]Key{{Origins: before.origins}, k}))
				continue
			}
			all := origins(k, Key{Origins: before.origins})
			if b.Spend(budget.Counted(len(all), 0)) != nil {
				return nil, spent(m.path)
			}
			merged[name] = member{v, all}
		}
	}
	if len(conflicts) == 0 {
		return merged, nil
	}
	const text = "a member with the same name is in %s: remove one of them, or set conflictPolicy to Ignore"
	return nil, failed(m.path, text, slices.Min(conflicts))
}

// origins returns the origins of all keys, sorted and without duplicates.
func origins(keys ...Key) []Origin {
	if len(keys) == 1 || len(keys) == 2 && keys[1].Origins == nil {
		return keys[0].Origins
	}
	var out []Origin
	for _, k := range keys {
		out = append(out, k.Origins...)
	}
	slices.SortFunc(out, compareOrigins)
	return slices.Compact(out)
}

// Open returns the members of a JSON object as keys. The object is in the value of a key, below the
// members in path. Strings and numbers are unchanged, objects and lists become compact JSON, and null
// becomes an empty text. The returned keys have the origins of the key, and their order is not defined.
//
// The error is a [*Failed]. It names the path, which is part of the input.
func Open(b *budget.Budget, k Key, path []string) ([]Key, error) {
	members, err := parseObject(b, k.Value.Reveal())
	switch {
	case isSpent(b, err):
		return nil, spent("")
	case err != nil:
		return nil, failed("", "the value of %s %s", k, err)
	}
	for i, name := range path {
		below := fmt.Sprintf("%q in %s", strings.Join(path[:i+1], "."), k)
		next, ok := members[name]
		if !ok {
			return nil, &Failed{Reason: below, Missing: true}
		}
		if members, ok = next.(map[string]any); !ok && next != nil {
			return nil, failed("", "the value of %s %s", below, errNotObject)
		}
	}
	out := make([]Key, 0, len(members))
	for name, v := range members {
		out = append(out, Key{name, sensitive.New(memberText(v)), k.Origins})
	}
	return out, nil
}

// Why a value cannot be merged, as the end of a sentence. The texts contain no part of the value, unlike
// errors of encoding/json, which quote it.
var (
	errNotObject = errors.New("is not a JSON object")
	errNotText   = errors.New("has a string that is not Unicode text: it cannot be kept unchanged")
)

// parseObject returns the members of a JSON object, with numbers as they are written. null has no members.
func parseObject(b *budget.Budget, raw []byte) (map[string]any, error) {
	const tokenFuel = 6 // the cost of reading and writing a value in JSON, with its name
	if err := b.Spend(budget.Counted(tokenFuel*bytes.Count(raw, []byte{','})+1, charactersWeigh*len(raw))); err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, errNotObject
	}
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return nil, errNotObject
	}
	// encoding/json replaces what is not Unicode, such as one half of a UTF-16 pair.
	if !utf8.Valid(raw) || bytes.Contains(encodeJSON(members), []byte("\ufffd")) {
		return nil, errNotText
	}
	return members, nil
}

// encodeJSON returns a value that parseObject has read as compact JSON with sorted members.
func encodeJSON(v any) []byte {
	text, _ := format.JSON(v) // it was JSON
	return []byte(text)
}

// memberText returns the value of a key for a member: the text of a string, an empty text for null, and JSON for all
// others.
func memberText(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	}
	return encodeJSON(v)
}
