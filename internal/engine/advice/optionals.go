package advice

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// optionalMethods are the methods that only an optional has. The macros optMap and optFlatMap call the
// first two.
var optionalMethods = []string{"hasValue", "value", "or", "orValue"} //nolint:gochecknoglobals // a table

// needsOptionalEntry returns the message for an optional entry whose value is not an optional.
func (m *explainer) needsOptionalEntry(e ast.Expr) string {
	const message = "an entry with ? needs an optional: write "
	if path := optionalPath(m.pathOf(e)); path != "" {
		return message + m.instead(e, path, path)
	}
	return message + m.instead(e, "optional.of("+m.sourceOf(e)+")", "optional.of(...) around it")
}

// optionalPath returns a path whose last step is optional, or an empty text if the path has no steps.
func optionalPath(path string) string {
	switch m := stepAtEnd().FindStringSubmatch(path); {
	case m == nil:
		return ""
	case m[1] != "":
		return strings.TrimSuffix(path, m[0]) + ".?" + m[1]
	default:
		return strings.TrimSuffix(path, m[0]) + "[?" + m[2] + "]"
	}
}

// optionalStep returns the last step of a path as it is selected if it may be missing, for example .?host or [?2].
func optionalStep(path string) string {
	step := stepAtEnd().FindString(path)
	return strings.TrimPrefix(optionalPath(path), strings.TrimSuffix(path, step))
}

// withDefaultBefore returns how to write a default for the path before an offset, or an example. value is the literal
// for the default, if there is one.
func (c *script) withDefaultBefore(at int, value string) string {
	before := pathBefore(c.text[:at])
	path := optionalPath(cmp.Or(translated(before), before))
	if end := strings.Index(c.text[at:], value); path != "" && value != "" && end > 0 {
		hint := fmt.Sprintf("%s.orValue(%s)", path, value)
		return c.replace(len(strings.TrimRight(c.text[:at], " \n"))-len(before), at+end+len(value), hint, hint)
	}
	switch {
	case path == "":
		return forDefault
	case value == "" && isSecret(path): // an invented text is no password
		return path + " with optional: true, which leaves the key out"
	}
	return fmt.Sprintf("%s.orValue(%s)", path, cmp.Or(value, "'none'"))
}

// literalAt returns a short text or number at a token, or an empty text.
func (c *script) literalAt(i int) string {
	if i >= len(c.tokens) || len(c.tokens[i].text) > argumentsQuoted {
		return ""
	}
	if t := c.tokens[i]; t.kind == quoted || t.kind == number {
		return t.text
	}
	return ""
}

// Parts of the text of a path, up to a method.
var (
	pathAtEnd = lazy.MustCompile(`(?:[A-Za-z_]\w*)?(?:\.\??[A-Za-z_]\w*|\[[^\[\]]*\])*$`)
	stepAtEnd = lazy.MustCompile(`(?:\.([A-Za-z_]\w*)|\[([^\[\]]*)\])$`)
	wordFirst = lazy.MustCompile(`^\w*`)
	pathFirst = lazy.MustCompile(`^[A-Za-z_]\w*(?:\.\??[A-Za-z_]\w*|\[[^\[\]]*\])*`)
)

// pathBefore returns the path at the end of a text, or an empty text if it is too long for a message. It does
// not search a long text from its beginning, because there can be a hundred such paths.
func pathBefore(text string) string {
	const most = 256
	text = strings.TrimRight(text, " \n")
	if tail := text[max(0, len(text)-most):]; len(tail) == len(text) || pathAtEnd().FindString(tail) != tail {
		return pathAtEnd().FindString(tail)
	}
	return ""
}

// needsOptional returns the message for a method at an offset whose target is not an optional.
func (c *script) needsOptional(at int) string {
	method, path := wordFirst().FindString(c.text[at:]), ""
	if before, ok := strings.CutSuffix(c.text[:at], "."); ok {
		path = pathBefore(before)
	}
	call := method + c.arguments(at+len(method))
	optional := cmp.Or(optionalPath(path), "? before the last field, as in composite.spec.?host")
	hint := fmt.Sprintf("%s needs an optional: write %s.%s", method, optional, call)
	if path == "" {
		return hint
	}
	return c.replace(at-1-len(path), at-1, optional, hint)
}

// argumentsQuoted is the length up to which a message repeats the arguments of a call.
const argumentsQuoted = 32

// arguments returns the text of the arguments whose bracket is at an offset, or (...) if it is long.
func (c *script) arguments(at int) string {
	if all := c.bracket(at); all != "" && utf8.RuneCountInString(all) <= argumentsQuoted {
		return all
	}
	return "(...)"
}

// bracket returns the text from the bracket at an offset up to the one that closes it, or an empty text.
func (c *script) bracket(at int) string {
	depth := 0
	for _, t := range c.tokens {
		switch {
		case t.at < at:
			continue
		case t.is(opening):
			depth++
		case t.is(closing):
			depth--
		}
		if depth <= 0 {
			return c.text[at:t.end()]
		}
	}
	return ""
}

// pathAt returns the text of the path that begins at an offset, without the method at its end.
func (c *script) pathAt(at int) string {
	path := pathFirst().FindString(c.text[at:])
	if strings.HasPrefix(c.text[at+len(path):], "(") {
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return path
}

// isSecret reports whether the text of a path is a connection detail, or a key of a Secret.
func isSecret(path string) bool {
	return root(path) == expression.Secret || root(path) == expression.Secrets
}

// isDecoding reports whether a function of another language decodes Base64.
func isDecoding(name string) bool {
	hint := foreignHint(name)
	return hint != "" && hint == foreignHint("b64dec")
}

// alreadyDecoded is the hint for Base64 of connection details, which Secrets only have in their manifests.
const alreadyDecoded = "secrets are already decoded"

// isPattern reports whether a literal is a regular expression, and not only a text.
func isPattern(e ast.Expr) bool {
	text, ok := celast.Text(e)
	return ok && strings.ContainsAny(text, `^$()[]*+\|`)
}

// literalOf returns the last operand of a call as it is written, if it is a text, or an empty text.
func literalOf(call ast.Expr) string {
	args := call.AsCall().Args()
	if text, ok := celast.Text(args[len(args)-1]); ok && len(text) <= argumentsQuoted && !strings.ContainsAny(text,
		`'\`) {
		return "'" + text + "'"
	}
	return ""
}
