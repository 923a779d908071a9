package advice

import (
	"cmp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// CEL's parser and its validator of format report errors only as text. Only this file depends on
// these texts. A test compares them with the texts of the current version of cel-go.

// The beginning of a message about CEL's grammar, and its end if the : of a condition is missing.
const (
	grammarMessage = "Syntax error: "
	noColonMessage = "expecting ':'"
)

const explainedHas = "has() takes a field: write for example has(resource.status.host)"

// celMessages are patterns of cel-go's messages, each with the message that replaces it.
var celMessages = patterns([][2]string{ //nolint:gochecknoglobals // a table
	{`^reserved identifier: if$`, "there is no if: write condition ? one : other"},
	{`^reserved identifier: (let|var|const)$`,
		"there is no $1: an expression is one value; put parts of it under variables"},
	{`^reserved identifier: (for|while|loop)$`,
		"there is no $1: write list.map(x, x.name) or list.filter(x, x.ready)"},
	{`^reserved identifier: return$`, "there is no return: leave it out"},
	{`^reserved identifier: (.*)$`, "$1 is a reserved word and cannot be a variable: " +
		"write the object that has this field, for example composite.metadata.$1"},
	{`^.*invalid argument to has\(\).*$`, explainedHas},
	{`^(argument must be a simple name|argument is not an identifier)$`,
		"$1: the first argument must be a name for each element, as in list.map(x, x.name)"},
	{`^(expression|error recovery|max recursion) .*(limit|exceed).*$`,
		"is nested too deeply: split it into variables"},
	{`^invalid ip argument: .*$`, "is not an IP address: write for example '10.0.0.1' or '2001:db8::1'"},
	{`^invalid cidr argument: .*$`, "is not a network: write for example '10.0.0.0/8' or '2001:db8::/32'"},
	{`^(invalid .* literal)$`, "$1: it does not fit into 64 bits"},

	{`^too many arguments supplied to string\.format \(expected (\d+), got (\d+)\)$`,
		"format has $2 values for $1 % in its text: write one %s for each"},
	{`^index \d+ out of range$`, "format has fewer values than there are % in its text: " +
		"write one value for each, and %% for a percent sign"},
	{`^.*unrecognized formatting clause "(.)"$`, "format has no %$1: " +
		"write %s for any value, %d for whole numbers, and %% for a percent sign"},
	{`^error during formatting: .* clause can only be used on .*, was given optional_type$`,
		"format does not accept an optional: write .orValue('') after it"},
	{`^error during formatting: (.*) clause can only be used on (.*), was given (int.*)$`,
		"{$1} takes $2, but this is an $3: write %s, or convert it"},
	{`^error during formatting: (.*) clause can only be used on (.*), was given (.*)$`,
		"{$1} takes $2, but this is a $3: write %s, or convert it"},
})

// clauses replaces the names of the clauses of format in CEL's messages.
var clauses = strings.NewReplacer("{decimal}", "%d", "{fixed-point}", "%f", "{scientific}", "%e", "{binary}", "%b",
	"{octal}", "%o", "{hex}", "%x", "{string}", "%s")

// explainCEL returns a plain message for a message of CEL, for errors that the tree does not explain.
func explainCEL(text string) string {
	text = strings.Join(strings.Fields(strings.TrimSuffix(text, " (in container '')")), " ")
	return cmp.Or(clauses.Replace(messageFor(celMessages, text)), text)
}

// A pattern is what people write, or what CEL says, and the message about it. $1 in the message is the first group.
type pattern struct {
	lazy.Pattern

	message string
}

// patterns compiles a table of patterns and messages.
func patterns(table [][2]string) (out []pattern) {
	for _, row := range table {
		out = append(out, pattern{lazy.MustCompile(row[0]), row[1]})
	}
	return out
}

// messageFor returns the message of the first pattern that matches a text, or an empty text.
func messageFor(all []pattern, text string) string {
	for _, p := range all {
		if m := p.Pattern().FindStringSubmatchIndex(text); m != nil {
			return string(p.Pattern().ExpandString(nil, p.message, text, m))
		}
	}
	return ""
}
