package attack

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// fine is a harmless entry.
var fine = entry("fine", "k", "'v'")

var madeFine = []string{"fromComposite/Secret/fine"}

// entry returns an entry of a list. Without a key, value returns several keys.
func entry(name, key, value string) map[string]any {
	out := map[string]any{"name": name, "value": value}
	if key != "" {
		out["key"] = key
	}
	return out
}

// keyed returns a copy of an entry with another key.
func keyed(e map[string]any, n int) map[string]any {
	e = maps.Clone(e)
	e["key"] = fmt.Sprint("k-", n)
	return e
}

// each returns n entries with the same value. Each has a key, and their names may contain the number.
func each(n int, name, value string) []any {
	return list(n, func(i int) any {
		named := name
		if strings.HasSuffix(name, "%d") {
			named = strings.TrimSuffix(name, "%d") + strconv.Itoa(i)
		}
		return entry(named, fmt.Sprint("k-", i), value)
	})
}

// most is like each, with as many entries as are allowed.
func most(name, value string) []any { return each(maxEntries, name, value) }

// eachOf returns an entry for each value, each in an object of its own.
func eachOf(values []string) []any {
	return list(len(values), func(i int) any { return entry(fmt.Sprint("e-", i), "k", values[i]) })
}

// labelled returns an entry for each value, each in an object of its own. The value is a label or an
// annotation.
func labelled(field string, values []string) []any {
	return list(len(values), func(i int) any {
		return object("name", fmt.Sprintf("%s-%d", field, i), "key", "k", "value", "'v'", field, object("x", values[i]))
	})
}

// expressionsOf returns n entries, each with a different expression.
func expressionsOf(n int) []any {
	return list(n, func(i int) any { return entry("e-"+strconv.Itoa(i), "k", "string("+strconv.Itoa(i)+")") })
}

// severalOf removes the keys of entries, so that each value returns several keys.
func severalOf(entries []any) []any {
	for _, e := range entries {
		delete(e.(map[string]any), "key")
	}
	return entries
}

// valueMaps moves expressions that return several keys to the field for such expressions.
func valueMaps(entries []any) []any {
	return list(len(entries), func(i int) any {
		e := maps.Clone(entries[i].(map[string]any))
		if e["key"] == nil {
			e["valueMap"] = e["value"]
			delete(e, "value")
		}
		return e
	})
}

// described returns an entry with as many labels and annotations as are allowed.
func described(i int, value string) any {
	return object("name", fmt.Sprint("e-", i), "key", "k", "value", "'v'", "labels", many(object(), maxLabels, value), "annotations", many(object(), maxLabels, value))
}

func list(n int, element func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = element(i)
	}
	return out
}

// object returns an object. The arguments are alternating keys and values.
func object(keysAndValues ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(keysAndValues); i += 2 {
		out[keysAndValues[i].(string)] = keysAndValues[i+1]
	}
	return out
}

// manyFields are the fields of an object, and n more fields with the same value, which are created when
// they are needed.
type manyFields struct {
	of    map[string]any
	n     int
	value any
}

// many adds n fields with the same value to an object.
func many(o map[string]any, n int, value any) any { return manyFields{o, n, value} }

func numberedNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "e-" + strconv.Itoa(i)
	}
	return out
}

// numberedFrom is like numbered, but the numbers begin at 100, so that they have the same length.
func numberedFrom(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, 100+i)
	}
	return strings.Join(parts, ",")
}

func long(s string, n int) string { return strings.Repeat(s, n) }

func merge(a, b map[string]Case) map[string]Case {
	maps.Copy(a, b)
	return a
}

// in returns an object with one list.
func in(field string, entries ...any) Maker {
	return exportsOf(map[string][]any{field: entries})
}

func exportsOf(lists map[string][]any) Maker {
	all := map[string]any{}
	for field, entries := range lists {
		all[field] = entries
	}
	return value(all)
}

// value returns a function that converts a Go value to a protobuf value.
func value(v any) Maker {
	return func() *structpb.Value {
		out, err := structpb.NewValue(expand(v))
		if err != nil {
			panic(err) // all literals here are valid
		}
		return out
	}
}

// made returns a function that returns an existing value.
func made(v *structpb.Value) Maker { return func() *structpb.Value { return v } }

// expand creates the fields of manyFields.
func expand(v any) any {
	switch v := v.(type) {
	case []any:
		return list(len(v), func(i int) any { return expand(v[i]) })
	case map[string]any:
		return expand(manyFields{of: v})
	case manyFields:
		out := make(map[string]any, len(v.of)+v.n)
		for k, f := range v.of {
			out[k] = expand(f)
		}
		for i := range v.n {
			out["x"+strconv.Itoa(i)] = v.value
		}
		return out
	}
	return v
}
