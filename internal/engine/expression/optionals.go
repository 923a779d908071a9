package expression

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// optionalMethods are the methods that only an optional has. The macros optMap and optFlatMap call the
// first two.
var optionalMethods = []string{"hasValue", "value", "or", "orValue"} //nolint:gochecknoglobals // a table

// checkOptionals refuses methods of optionals whose target is never an optional: a part of the data that
// is selected without ?. Without this check, such a call would fail only at run time, because the type of
// the data is not known.
func (e *Environment) checkOptionals(s Source, checked *ast.AST) (out diagnostic.List) {
	c := newScript(s.Text)
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		call := n.AsCall()
		if !call.IsMemberFunction() || !slices.Contains(optionalMethods, call.FunctionName()) || !isPlain(n.Children()[0]) {
			continue
		}
		if len(out) == mostExplained {
			return out
		}
		l := checked.SourceInfo().GetStartLocation(n.ID())
		at := c.nameBefore(c.offset(l.Line(), l.Column()))
		line, column := c.position(at)
		d := s.wrongAt(line, column, c.needsOptional(at))
		if !slices.ContainsFunc(out, func(o *diagnostic.Diagnostic) bool { return *o == *d }) { // a macro has two calls
			out = append(out, d)
		}
	}
	for _, n := range ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.CallKind)) {
		if n.AsCall().FunctionName() == optionalCall && isPlain(n.Children()[0]) && len(out) < mostExplained {
			l := checked.SourceInfo().GetStartLocation(n.ID())
			at := c.offset(l.Line(), l.Column())
			out = append(out, s.wrongAt(l.Line(), l.Column()+1, needsOptionalEntry(c.pathAt(at))))
		}
	}
	return out
}

// mostExplained is how many methods and entries of one expression are explained. The checker of CEL also
// stops after so many errors.
const mostExplained = 100

// needsOptionalEntry returns the message for an optional entry whose value is not an optional.
func needsOptionalEntry(path string) string {
	return "an entry with ? needs an optional: write " + cmp.Or(optionalPath(path), "optional.of(...) around it")
}

// optionalPath returns a path whose last step is optional, or an empty text if the path has no steps.
func optionalPath(path string) string {
	switch m := stepAtEnd.FindStringSubmatch(path); {
	case m == nil:
		return ""
	case m[1] != "":
		return strings.TrimSuffix(path, m[0]) + ".?" + m[1]
	default:
		return strings.TrimSuffix(path, m[0]) + "[?" + m[2] + "]"
	}
}

// OptionalStep returns the last step of a path as it is selected if it may be missing, for example .?host or [?2].
func OptionalStep(path string) string {
	step := stepAtEnd.FindString(path)
	return strings.TrimPrefix(optionalPath(path), strings.TrimSuffix(path, step))
}

// withDefaultBefore returns how to write a default for the path before an offset, or an example. value is the literal
// for the default, if there is one.
func (c *script) withDefaultBefore(at int, value string) string {
	before := pathBefore(c.text[:at])
	path := optionalPath(cmp.Or(translated(before), before))
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

// isPlain reports whether the value of a node is certainly not an optional, because it is a part of the
// data without an optional step.
func isPlain(e ast.NavigableExpr) bool {
	switch e.Kind() { //nolint:exhaustive // all others may be an optional
	case ast.SelectKind:
		return isPlain(e.Children()[0])
	case ast.IdentKind:
		return isPlainVariable(e)
	case ast.CallKind:
		switch e.AsCall().FunctionName() {
		case "json.decode", "yaml.decode":
			return true
		case operators.Index, "dyn", orderedCall:
			return isPlain(e.Children()[0])
		}
	}
	return false
}

// isPlainVariable reports whether a variable contains data. A local variable contains the element of a
// range, or the value of cel.bind.
func isPlainVariable(e ast.NavigableExpr) bool {
	name, global := strings.CutPrefix(e.AsIdent(), ".")
	for p, ok := e.Parent(); ok && !global; p, ok = p.Parent() {
		if p.Kind() != ast.ComprehensionKind {
			continue
		}
		c, children := p.AsComprehension(), p.Children()
		switch {
		case c.AccuVar() == name && isBind(c):
			return isPlain(children[1])
		case c.IterVar() == name, c.IterVar2() == name:
			return isPlain(children[0])
		}
	}
	return slices.Contains(inputs, name)
}

// Parts of the text of a path, up to a method.
var (
	pathAtEnd = regexp.MustCompile(`(?:[A-Za-z_]\w*)?(?:\.\??[A-Za-z_]\w*|\[[^\[\]]*\])*$`)
	stepAtEnd = regexp.MustCompile(`(?:\.([A-Za-z_]\w*)|\[([^\[\]]*)\])$`)
	wordFirst = regexp.MustCompile(`^\w*`)
)

// pathBefore returns the path at the end of a text, or an empty text if it is too long for a message. It does
// not search a long text from its beginning, because there can be a hundred such paths.
func pathBefore(text string) string {
	const most = 256
	text = strings.TrimRight(text, " \n")
	if tail := text[max(0, len(text)-most):]; len(tail) == len(text) || pathAtEnd.FindString(tail) != tail {
		return pathAtEnd.FindString(tail)
	}
	return ""
}

// needsOptional returns the message for a method at an offset whose target is not an optional.
func (c *script) needsOptional(at int) string {
	method, path := wordFirst.FindString(c.text[at:]), ""
	if before, ok := strings.CutSuffix(c.text[:at], "."); ok {
		path = pathBefore(before)
	}
	if method == "value" && path != "" {
		return fmt.Sprintf("value needs an optional, but %s is the value itself: leave out .value()", path)
	}
	call := method + c.arguments(at+len(method))
	path = cmp.Or(optionalPath(path), "? before the last field, as in composite.spec.?host")
	return fmt.Sprintf("%s needs an optional: write %s.%s", method, path, call)
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

func isOptional(t *cel.Type) bool { return withoutOptional(t) != t }

// paths are all paths in a text.
var paths = regexp.MustCompile(`[A-Za-z_]\w*(?:\.\??[A-Za-z_]\w*|\[[^\[\]]*\])*(?:\.\??[A-Za-z_]\w*\(?|\[[^\[\]]*\])`)

// pathAt returns the text of the path at an offset, without the method at its end.
func (c *script) pathAt(at int) string {
	if c.paths == nil {
		c.paths = paths.FindAllStringIndex(c.text, -1)
	}
	for _, m := range c.paths {
		path := c.text[m[0]:m[1]]
		if strings.HasSuffix(path, "(") {
			path = path[:strings.LastIndexByte(path, '.')]
		}
		if m[0] <= at && at < m[0]+len(path) {
			return path
		}
	}
	return ""
}

// withDefault returns the hint for the first of the operands that is an optional, or an empty text.
// without is the literal for a type that is not known.
func (c *typeCheck) withDefault(operands []ast.Expr, without string) string {
	i := slices.IndexFunc(operands, func(e ast.Expr) bool { return isOptional(c.typeOf(e)) })
	if i < 0 {
		return ""
	}
	switch withoutOptional(c.typeOf(operands[i])).Kind() { //nolint:exhaustive // the others have no usual default
	case types.StringKind:
		without = "''"
	case types.ListKind:
		without = "[]"
	case types.MapKind:
		without = "{}"
	case types.BoolKind:
		without = "false"
	case types.IntKind:
		without = "0"
	}
	return fmt.Sprintf(": write %s.orValue(%s)", c.textOf(operands[i]), without)
}

// mapped returns how to leave out a key whose value is a function of an optional.
func (c *typeCheck) mapped(call ast.CallExpr) string {
	fn, args := call.FunctionName(), call.Args()
	if c.source.Want != WantText || isOperator(fn) || call.IsMemberFunction() || len(args) != 1 {
		return ""
	}
	if !isOptional(c.typeOf(args[0])) {
		return ""
	}
	return fmt.Sprintf(", or %s.optMap(v, %s(v)) with optional: true", c.textOf(args[0]), fn)
}

// textOf returns the text of a path, or a word for any other operand.
func (c *typeCheck) textOf(e ast.Expr) string {
	if path := c.text.pathAt(c.offset(e)); path != "" {
		return path
	}
	return "value"
}
