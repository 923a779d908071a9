package main

import (
	"maps"
	"slices"
)

// What rules are said with.

// has all of these fields.
func has(fields ...string) schema { return schema{"required": fields} }

// without any of these fields. An editor puts the fault at the field's name.
func without(fields ...string) schema {
	properties := map[string]any{}
	for _, f := range fields {
		properties[f] = false
	}
	return schema{"properties": properties}
}

// inside a field that is there a schema holds.
func inside(name string, s schema) schema {
	return schema{"properties": map[string]any{name: s}}
}

// is says that a field has a value.
func is(name string, value any) schema { return all(has(name), inside(name, schema{"const": value})) }

// other says that a field is there, and has another value.
func other(name string, value any) schema {
	return all(has(name), inside(name, schema{"not": schema{"const": value}}))
}

// ofCore is an object of Kubernetes' core group, of one of these kinds.
func ofCore(kinds ...string) schema {
	return all(has("apiVersion", "kind"), inside("apiVersion", schema{"const": "v1"}), inside("kind", schema{"enum": kinds}))
}

// matching a pattern, as only a text can.
func matching(pattern string) schema { return schema{"type": "string", "pattern": pattern} }

// when a condition holds, so does the schema.
func when(condition, then schema) schema { return schema{"if": condition, "then": then} }

// unless a condition holds, the schema does.
func unless(condition, otherwise schema) schema { return schema{"if": condition, "else": otherwise} }

// either of two schemas holds, as the condition does or does not.
func either(condition, then, otherwise schema) schema {
	return schema{"if": condition, "then": then, "else": otherwise}
}

// never is what matches a condition. It is no not, of which an editor only tells that it
// matches what is not allowed: of a type that the value cannot have it tells what we say.
func never(condition schema) schema { return when(condition, schema{"type": "null"}) }

// all of the schemas hold.
func all(schemas ...schema) schema { return schema{"allOf": schemas} }

// some of these fields are there, or one.
func some(fields ...string) schema {
	alternatives := make([]schema, 0, len(fields))
	for _, f := range fields {
		alternatives = append(alternatives, has(f))
	}
	return schema{"anyOf": alternatives}
}

// exclusive fields: one of them, or none.
func exclusive(fields ...string) schema {
	pairs := make([]schema, 0, len(fields)-1)
	for i, f := range fields[:len(fields)-1] {
		pairs = append(pairs, when(has(f), without(fields[i+1:]...)))
	}
	if len(pairs) == 1 {
		return pairs[0]
	}
	return all(pairs...)
}

// one of these fields is there. It is no oneOf, which an editor would not explain.
func one(fields ...string) schema { return all(some(fields...), exclusive(fields...)) }

// both fields are there, or none.
func both(a, b string) schema { return all(when(has(a), has(b)), when(has(b), has(a))) }

// Keywords that only lead to others: no fault is told of them.
var leading = []string{"if", "then", "else", "allOf", "anyOf", "properties", "propertyNames", "additionalProperties"}

// tell makes an editor say a message where a value is refused. It returns another schema.
func tell(s schema, message string) schema {
	out := maps.Clone(s)
	for keyword, value := range s {
		switch value := value.(type) {
		case schema:
			if keyword != "if" && keyword != "not" {
				out[keyword] = tell(value, message)
			}
		case []schema:
			told := make([]schema, 0, len(value))
			for _, v := range value {
				told = append(told, tell(v, message))
			}
			out[keyword] = told
		case map[string]any:
			told := maps.Clone(value)
			for name, v := range value {
				if below, ok := v.(schema); ok {
					told[name] = tell(below, message)
					continue
				}
				out["errorMessage"] = message // of a field that must not be there
			}
			out[keyword] = told
		}
		if !slices.Contains(leading, keyword) {
			out["errorMessage"] = message
		}
	}
	return out
}
