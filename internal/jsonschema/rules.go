package main

import (
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/definition"
)

// Rules that draft-07 can say simply, by their texts.
var (
	requires   = regexp.MustCompile(`^!has\(self\.(\w+)\) \|\| has\(self\.(\w+)\)$`)
	excludes   = regexp.MustCompile(`^!\(has\(self\.(\w+)\) && has\(self\.(\w+)\)\)$`)
	depends    = regexp.MustCompile(`^(!?)\(has\(self\.(\w+)\) && self\.(\w+) (==|!=) '(\w+)'\) \|\| (!?)has\(self\.(\w+)\)$`)
	matches    = regexp.MustCompile(`^(!?)self\.matches\('([^']*)'\)$`)
	startsWith = regexp.MustCompile(`^!self\.startsWith\('([^']*)'\)$`)
	differs    = regexp.MustCompile(`^self != '([^']*)'$`)
)

// translate a rule to draft-07, or to nil if that is not simple: the function refuses what
// the schema does not. The schema never refuses what the rule accepts. An editor shows the
// errorMessage of the part that does not hold.
func translate(r *definition.Rule) schema {
	if fields, some, exclusive := r.Presence(); some || exclusive {
		return presence(fields, some, exclusive, r.Message)
	}
	if strings.Contains(r.Text, "duration(self)") { // its form, but not how long it is
		return matching(`^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`, r.Message)
	}
	if m := requires.FindStringSubmatch(r.Text); m != nil {
		return when(has(m[1]), required(m[2], r.Message))
	}
	if m := excludes.FindStringSubmatch(r.Text); m != nil {
		return when(has(m[1]), without(m[2:], r.Message))
	}
	if m := depends.FindStringSubmatch(r.Text); m != nil && m[2] == m[3] {
		return dependent(m, r.Message)
	}
	if m := matches.FindStringSubmatch(r.Text); m != nil {
		if m[1] == "!" {
			return never(schema{"type": "string", "pattern": m[2]}, r.Message)
		}
		return matching(m[2], r.Message)
	}
	if m := startsWith.FindStringSubmatch(r.Text); m != nil {
		return never(schema{"type": "string", "pattern": "^" + regexp.QuoteMeta(m[1])}, r.Message)
	}
	if m := differs.FindStringSubmatch(r.Text); m != nil {
		return never(literal(m[1]), r.Message)
	}
	return nil
}

// presence of some of the fields, or of at most one of them, or both. There is no oneOf,
// which an editor would not explain.
func presence(fields []string, some, exclusive bool, message string) schema {
	all, alternatives := []schema{}, make([]schema, 0, len(fields))
	for i, f := range fields {
		alternatives = append(alternatives, required(f, message))
		if exclusive && i+1 < len(fields) {
			all = append(all, when(has(f), without(fields[i+1:], message)))
		}
	}
	if some {
		all = append(all, schema{"anyOf": alternatives})
	}
	return schema{"allOf": all}
}

// dependent is whether one field must be there, or must not, by the value of another one.
func dependent(m []string, message string) schema {
	value := literal(m[5])
	if m[4] == "!=" {
		value = schema{"not": value}
	}
	condition, then := field(m[2], value), required(m[7], message)
	condition["required"] = []string{m[2]}
	if m[6] == "!" {
		then = without(m[7:], message)
	}
	if m[1] == "!" {
		return when(condition, then)
	}
	return when(schema{"not": condition}, then)
}

func when(condition, then schema) schema { return schema{"if": condition, "then": then} }

func field(name string, value schema) schema {
	return schema{"properties": schema{name: value}}
}

func literal(value string) schema { return schema{"const": value} }

func has(field string) schema { return schema{"required": []string{field}} }

func required(field, message string) schema {
	return schema{"required": []string{field}, "errorMessage": message}
}

// without any of the fields. An editor marks the name of the field.
func without(fields []string, message string) schema {
	properties := schema{}
	for _, f := range fields {
		properties[strings.Trim(f, "_")] = false
	}
	return schema{"properties": properties, "errorMessage": message}
}

func matching(pattern, message string) schema {
	return schema{"type": "string", "pattern": pattern, "errorMessage": message}
}

// never is what matches a condition. It has no not, for which an editor ignores the message.
func never(condition schema, message string) schema {
	return when(condition, schema{"type": "null", "errorMessage": message})
}
