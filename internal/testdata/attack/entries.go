package attack

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// fine is an entry that means no harm.
var fine = entry("fine", "k", "'v'")

var madeFine = []string{"fromComposite/Secret/fine"}

// entry of a list. Without a key, value gives several.
func entry(name, key, value string) map[string]any {
	out := map[string]any{"name": name, "value": value}
	if key != "" {
		out["key"] = key
	}
	return out
}

// keyed is a copy of an entry, with another key.
func keyed(e map[string]any, n int) map[string]any {
	e = maps.Clone(e)
	e["key"] = fmt.Sprint("k-", n)
	return e
}

// each is n entries of one value, with a key each, whose names may have the number.
func each(n int, name, value string) []any {
	return list(n, func(i int) any {
		named := name
		if strings.HasSuffix(name, "%d") {
			named = strings.TrimSuffix(name, "%d") + strconv.Itoa(i)
		}
		return entry(named, fmt.Sprint("k-", i), value)
	})
}

// most is each, as often as allowed.
func most(name, value string) []any { return each(maxEntries, name, value) }

// eachOf is an entry for each value, in an object of its own.
func eachOf(values []string) []any {
	return list(len(values), func(i int) any { return entry(fmt.Sprint("e-", i), "k", values[i]) })
}

// labelled is an entry for each value, in an object of its own, with the value as a
// label, or annotation.
func labelled(field string, values []string) []any {
	return list(len(values), func(i int) any {
		return object("name", fmt.Sprintf("%s-%d", field, i), "key", "k", "value", "'v'", field, object("x", values[i]))
	})
}

// expressionsOf are n entries, each with another expression.
func expressionsOf(n int) []any {
	return list(n, func(i int) any { return entry("e-"+strconv.Itoa(i), "k", "string("+strconv.Itoa(i)+")") })
}

// severalOf takes the keys from entries, so that each value gives several.
func severalOf(entries []any) []any {
	for _, e := range entries {
		delete(e.(map[string]any), "key")
	}
	return entries
}

// valueMaps has what gives several keys in the field that the design has for it.
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

// described is an entry with as many labels and annotations as are allowed.
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

// object of keys and values in turn.
func object(keysAndValues ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(keysAndValues); i += 2 {
		out[keysAndValues[i].(string)] = keysAndValues[i+1]
	}
	return out
}

// manyFields are those of an object, and n more of one value, which are made when
// they are needed.
type manyFields struct {
	of    map[string]any
	n     int
	value any
}

// many adds n fields of one value to an object.
func many(o map[string]any, n int, value any) any { return manyFields{o, n, value} }

func numberedNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "e-" + strconv.Itoa(i)
	}
	return out
}

// numberedFrom is numbered, with numbers of one length.
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

// in is one list.
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

// value makes what is written as Go has it.
func value(v any) Maker {
	return func() *structpb.Value {
		out, err := structpb.NewValue(expand(v))
		if err != nil {
			panic(err) // what is written here is a value
		}
		return out
	}
}

// made is a value that is there already.
func made(v *structpb.Value) Maker { return func() *structpb.Value { return v } }

// expand makes the fields that are many.
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
