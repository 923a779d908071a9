package main

import (
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

// The texts of rules that draft-07 can express simply.
var (
	requires   = regexp.MustCompile(`^!has\(self\.(\w+)\) \|\| has\(self\.(\w+)\)$`)
	excludes   = regexp.MustCompile(`^!\(has\(self\.(\w+)\) && has\(self\.(\w+)\)\)$`)
	depends    = regexp.MustCompile(`^(!?)\(has\(self\.(\w+)\) && self\.(\w+) (==|!=) '(\w+)'\) \|\| (!?)has\(self\.(\w+)\)(?: \|\| has\(self\.(\w+)\))?$`)
	matches    = regexp.MustCompile(`^(!?)self\.matches\('([^']*)'\)$`)
	startsWith = regexp.MustCompile(`^!self\.startsWith\('([^']*)'\)$`)
	differs    = regexp.MustCompile(`^self != '([^']*)'$`)
)

// translate translates a rule to draft-07, or to nil if that is not simple: the function refuses
// the inputs that the schema accepts. The schema never refuses an input that the rule accepts. An
// editor shows the errorMessage of the violated part.
func translate(r *definition.Rule) schema {
	if fields, some, exclusive := r.Presence(); some || exclusive {
		return presence(fields, some, exclusive, r.Message)
	}
	if strings.Contains(r.Text, "duration(self)") { // its form, but not its length
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

// presence requires some of the fields, or at most one of them, or both. It does not use oneOf,
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

// dependent requires one or two fields, or forbids one, depending on the value of another field.
func dependent(m []string, message string) schema {
	value := literal(m[5])
	if m[4] == "!=" {
		value = schema{"not": value}
	}
	condition, then := field(m[2], value), required(m[7], message)
	condition["required"] = []string{m[2]}
	switch {
	case m[6] == "!":
		then = without(m[7:8], message)
	case m[8] != "":
		then = presence(m[7:], true, false, message)
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

// without forbids all of the fields. An editor marks the name of the field.
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

// never refuses every match of a condition. It does not use not, because an editor ignores its message.
func never(condition schema, message string) schema {
	return when(condition, schema{"type": "null", "errorMessage": message})
}
