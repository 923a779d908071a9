package advice

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// This file contains what people write who know other languages and tools, with what to write here.

// foreignOperators are two consecutive tokens that are an operator in other languages.
var foreignOperators = map[string]string{ //nolint:gochecknoglobals // a table
	"{{":  "{{ }} belongs to Go templates, but this is CEL: write ",
	"${":  "${ belongs to other template languages, but this is CEL: write ",
	"$(":  "$( belongs to other template languages, but this is CEL: write ",
	"{.":  "{ } around a path belongs to JSONPath, but this is CEL: write ",
	"$.":  "$ belongs to JSONPath, but this is CEL: write ",
	"@.":  "@ belongs to JSONPath, but this is CEL: write list.filter(x, x.name == 'a')",
	"??":  "there is no operator ??: for a default write ",
	"?:":  "there is no operator ?: without a value in it: for a default write ",
	"?.":  "there is no operator ?.: write the dot first, as in resource.?status.?host",
	"===": "there is no operator ===: write ==",
	"!==": "there is no operator !==: write !=",
	"<>":  "there is no operator <>: write !=",
	"<=>": "there is no operator <=>: write ==, or < and >",
	"=<":  "there is no operator =<: write <=",
	"=~":  "there is no operator =~: write text.matches('pattern')",
	"=>":  "there is no =>: write list.map(x, x.name)",
	"->":  "there is no ->: write a dot to select a field, or list.map(x, x.name)",
	"::":  "two colons are not an operator: write a dot to select a field",
	"|>":  "there is no operator |>: write name(value) for a function",
	"++":  "there is no operator ++: write + to join texts",
	"**":  "there is no operator **: write for example x * x" + orMerge,
	"..":  "there is no operator ..: write one dot to select a field, + to join texts" + orMerge,
	"+=":  "there is no operator +=: an expression is one value; put parts of it under variables",
	":=":  "there is no operator :=: an expression is one value; put parts of it under variables",
	".#":  "there is no #: write " + ofElements + ", or size(list) for their number",
	".*":  "there is no .*: write " + ofElements,
	".[":  "a dot cannot be before [: leave the dot out",
	"[*":  "there is no [*]: write " + ofElements + ", or [0] for the first one",
	"[]":  "[] selects nothing: write " + ofElements + ", or [0] for the first one",
	"(|":  "there is no |x|: write list.filter(x, x.ready)",
}

// Examples of all elements of a list, and of several maps.
const (
	ofElements = "list.map(x, x.name) for all elements"
	orMerge    = ", or a.merge(b) to join two maps"
)

// Operators of other languages, and single characters that are not part of CEL.
var instead = map[string]string{ //nolint:gochecknoglobals // a table
	"&": "there is no operator &: write &&, or + to join texts", "and": "there is no operator and: write &&",
	"|":  "there is no operator |: write || for or, or name(value) for a function",
	"or": "there is no operator or: write || between conditions, or for a default ",
	"=":  "there is no operator =: write ==",
	"is": "there is no operator is: write ==, or has(composite.spec.host) to test a field",
	"~":  "there is no operator ~: write + to join texts", "^": "there is no operator ^: write for example x * x",
	"not":    "there is no operator not: write !(value in list)",
	"if":     "there is no if: write condition ? one : other",
	"unless": "there is no unless: write condition ? one : other",
	"as":     "there is no as: write for example string(value)",
	"for":    "there is no for: write list.map(x, x.name) or list.filter(x, x.ready)",
	"#":      "# does not begin a comment: write //", ";": "there is no ; in an expression: leave it out",
	"$": "$ cannot be part of a name: leave it out", "`": "` cannot quote a text: write '",
	"@": "@ is not part of CEL: leave it out",
	"‘": "‘ cannot quote a text: write '", "’": "’ cannot quote a text: write '",
	"“": "“ cannot quote a text: write \"", "”": "” cannot quote a text: write \"",
	"\u00a0": "this is a no-break space (U+00A0): write a plain space",
	"\\":     `a \ can only be inside a text: leave it out`,
}

// insteadBefore are words of other languages before a value.
var insteadBefore = map[string]string{ //nolint:gochecknoglobals // a table
	"not":    "there is no operator not: write ! before the value",
	"try":    "there is no try: for a default write for example resource.?status.?host.orValue('none')",
	"lambda": "there is no lambda: write list.map(x, x.name)",
	"f":      "a text cannot contain values: write 'text %s'.format([value])",
}

// constants of other languages.
var constants = map[string]string{ //nolint:gochecknoglobals // a table
	"none": forNull, "nil": forNull, "undefined": forNull, "null": forNull, "true": "true", "false": "false",
}

const forNull = "null, or has(composite.spec.host) to test a field"

// step is one step of a path in other tools.
const step = `(\.\w[\w-]*|\[[^\[\]]*\])`

// foreignPaths are the beginnings of paths in other tools, and in CEL here. They are in order: the first pattern that
// matches is used.
var foreignPaths = patterns([][2]string{ //nolint:gochecknoglobals // a table
	{`(?i)^observed\.composite\.connectionDetails`, "secret"},
	{`(?i)^(?:observed|desired)\.composite(?:\.resource)?`, "composite"},
	{`(?i)^observed\.resources` + step + `\.connectionDetails`, "secrets$1"},
	{`(?i)^(?:observed|desired)\.resources` + step + `\.resource`, "resources$1"},
	{`(?i)^(?:observed|desired)\.resources` + step, "resources$1"},
	{`(?i)^_?[od]cds` + step + `\.ConnectionDetails`, "secrets$1"},
	{`(?i)^_?[od]cds` + step + `(?:\.Resource)?`, "resources$1"},
	{`(?i)^_?(?:[od]xr|xr|claim)(?:\.Resource)?`, "composite"},
	{`(?i)^(?:schema|object|oldObject|oldSelf)\.`, "composite."},
	{`(?i)^(?:values|params|inputs?)\.`, "composite.spec."},
	{`(?i)^parameters\.`, "composite.spec.parameters."},
	{`(?i)^(spec|metadata)`, "composite.$1"},
	{`(?i)^status`, "resource.status"},
	{`(?i)^atProvider`, "resource.status.atProvider"},
	{`(?i)^forProvider`, "resource.spec.forProvider"},
	{`(?i)^(?:this|it)`, "resource"},
	{`(?i)^(?:env|context\.environment)`, "environment"},
	{`(?i)^ctx`, "context"},
	{`(?i)^locals?\.`, "variables."},
	{`(?i)^(?:connection|connectionDetails)`, "secret"},
	{`(?i)^(?:candidate|latest|pending|current|outputs)\.`, "generated."},
	{`(?i)^(?:observed|ocds)`, "resources"},
})

// wholePath matches a text that is a path, as it is written in other tools.
var wholePath = lazy.MustCompile(`^\s*[$@]?\.?([A-Za-z_]\w*(?:\.\??\w[\w-]*|\[[^\[\]]*\])*)\s*$`)

// translated returns a path of another tool as it is written here, or an empty text.
func translated(path string) string {
	m := wholePath().FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	for _, f := range foreignPaths {
		if at := f.Pattern().FindStringSubmatchIndex(m[1]); at != nil && isStep(m[1], at[1]) {
			return string(f.Pattern().ExpandString(nil, f.message, m[1], at)) + m[1][at[1]:]
		}
	}
	if variable := root(m[1]); isInput(variable) || variable == expression.Variables {
		return m[1]
	}
	return ""
}

// root returns the variable of a path.
func root(path string) string { return wordFirst().FindString(path) }

// isStep reports whether a step of a path ends, or begins, at an offset.
func isStep(path string, at int) bool {
	return at == len(path) || path[at] == '.' || path[at] == '[' || path[at-1] == '.'
}

// wrapped matches a text that is wrapped as a whole by another template language.
var wrapped = lazy.MustCompile(`(?s)^\s*(?:\$?\{\{-?(.*?)-?\}\}|\$\{([^{}]*)\}|\$\(([^()]*)\)|` +
	`\{(\.[^{}]*)\}|(\$\..*))\s*$`)

// ofWorkflow is a secret of GitHub Actions.
var ofWorkflow = lazy.MustCompile(`^secrets\.\w+$`)

// ofResource is a path of a resource in kro.
var ofResource = lazy.MustCompile(`^[A-Za-z]\w*\.(?:spec|status|metadata)(?:\.\w+)+$`)

// Examples of CEL for the template languages.
const (
	exampleContent = "its content as an expression, for example resources.db.status.host"
	exampleText    = "'text' + value, or 'text %s'.format([value])"
	examplePath    = "for example composite.spec.host"
)

// template matches what a template language inserts, before any text in quotes.
var template = lazy.MustCompile(`^[^'"]*?(\{\{|\$\{|\$\()`)

var templateExamples = map[string]string{ //nolint:gochecknoglobals // a table
	"{{": exampleContent, "${": exampleText, "$(": exampleText, "{.": examplePath, "$.": examplePath,
}

// foreign finds the syntax of other languages in the first n tokens. Unclosed texts and wrong escapes are only
// looked for up to the wrong token.
func (c *script) foreign(n, wrong int) (message string, at int) {
	for i, t := range c.tokens[:n] {
		if i+1 < len(c.tokens) && c.tokens[i+1].at == t.end() {
			if text := c.foreignOperator(i); text != "" {
				return text, i
			}
		}
		if i > wrong {
			continue
		}
		if t.text == "'" || t.text == `"` {
			message := "the text that begins here does not end: close it with " + t.text
			if t.end() == len(strings.TrimRight(c.text, " ")) {
				message += ", and if a space and # come after it in the YAML, write `|-` after the key, and the " +
					"expression indented in the next line"
			}
			if rest := c.text[t.end():]; !strings.ContainsAny(rest, `+()[]{}?'"`) {
				c.replace(len(c.text), len(c.text), t.text, message)
			}
			return message, i
		}
		if bad := badEscape(t.text); t.kind == quoted && bad != "" {
			return bad + ` is not a valid escape in a text: write \` + bad + " for a backslash, or r before the text", i
		}
	}
	return "", 0
}

// foreignOperator returns a message about a token and the next one, which follows without a space.
func (c *script) foreignOperator(i int) string {
	two, before := c.tokens[i].text+c.tokens[i+1].text, c.token(i-1)
	switch {
	case two == "[]" && (!before.isValue(closing) || before.end() != c.tokens[i].at):
		return "" // a list
	case two == "??" || two == "?:":
		return foreignOperators[two] + c.withDefaultBefore(c.tokens[i].at, c.literalAt(i+2))
	case c.tokens[i].text == "." && c.tokens[i+1].kind == quoted:
		return c.replace(c.tokens[i].at, c.tokens[i+1].end(), "["+c.tokens[i+1].text+"]",
			fmt.Sprintf("a text cannot follow a dot: write [%s] without the dot", c.tokens[i+1]))
	case two == "{." && c.token(i+2).text == ".": // a map is spread
		return foreignOperators[".."]
	case templateExamples[two] != "":
		return c.inserted(two)
	}
	at := c.tokens[i].at
	if m, list := elements().FindStringSubmatch(c.text[at:]), pathBefore(c.text[:at]); m != nil && list != "" {
		return strings.Replace(foreignOperators[two], ofElements, fmt.Sprintf("%s.map(x, x.%s)", list, m[1]), 1)
	}
	return foreignOperators[two]
}

// elements matches the selection of all elements of a list in other languages, and the field that follows.
var elements = lazy.MustCompile(`^(?:\.[*#]|\[\*?\])\.([A-Za-z_]\w*)`)

// inserted returns the message about the operator of a template language: what to write instead of a whole text of it,
// or an example for a whole value, or for a value in a text.
func (c *script) inserted(operator string) string {
	message, example := foreignOperators[operator], templateExamples[operator]
	m := wrapped().FindStringSubmatch(c.text)
	if m == nil {
		return message + strings.Replace(example, exampleContent, exampleText, 1)
	}
	inner := strings.TrimSpace(strings.Join(m[1:], ""))
	switch path := translated(inner); {
	case ofWorkflow().MatchString(inner):
		return message + "for example secrets.db.password, a key of the composed resource db"
	case path != "":
		inner = path
	case ofResource().MatchString(inner):
		inner = expression.Resources + "." + inner
	default:
		return message + example
	}
	return message + c.replace(0, len(c.text), inner, inner)
}
