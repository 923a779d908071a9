// Package celtext writes CEL expressions as text.
package celtext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// Literal returns a text as a CEL string, in the quotes that need the fewest escapes. The object that
// is migrated also uses a placeholder in the text as it is, so the text is raw.
func Literal(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	text := Quoted(quote, s)
	if strict.HasPlaceholder(s) && !strings.Contains(text, `\`) {
		return "r" + text
	}
	return text
}

// Quoted returns a text in double quotes of YAML, or in quotes of CEL, which have the same escapes.
func Quoted(mark rune, s string) string {
	var b strings.Builder
	b.WriteRune(mark)
	for _, r := range s {
		switch escaped := strconv.QuoteRuneToASCII(r); {
		case r == mark || r == '\\':
			b.WriteString(`\` + string(r))
		case NeedsEscape(r):
			b.WriteString(escaped[1 : len(escaped)-1])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteRune(mark)
	return b.String()
}

// NeedsEscape reports whether a character must not be written as it is.
func NeedsEscape(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

var identifier = lazy.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// Computed is the CEL of a step.
type Computed string

// Step returns a step into an object, by a string, or into a list, by an int. An optional one has a
// question mark.
func Step(step any, optional bool) string {
	mark := ""
	if optional {
		mark = "?"
	}
	name, isField := step.(string)
	if !isField {
		return fmt.Sprintf("[%s%v]", mark, step)
	}
	if identifier().MatchString(name) && !slices.Contains([]string{"in", "true", "false", "null"}, name) {
		return "." + mark + name
	}
	return "[" + mark + Literal(name) + "]"
}

// Select returns the CEL of a field below a variable.
func Select(variable string, names ...string) string {
	for _, n := range names {
		variable += Step(n, false)
	}
	return variable
}

// Path returns the CEL of a path below a variable.
func Path(variable string, path []any, optional bool) string {
	for _, step := range path {
		variable += Step(step, optional)
	}
	return variable
}

// Format returns the CEL of a format with these values.
func Format(text string, values []string) string {
	return Literal(text) + ".format([" + strings.Join(values, ", ") + "])"
}
