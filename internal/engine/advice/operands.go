package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
)

// This file explains calls whose operands have wrong types, by what CEL's checker knows about them.

// Hints that several messages share.
const (
	hashHint      = ": wrap the hash in hex.encode(...)" // its bytes are usually not UTF-8
	compareHint   = ": compare it with something"
	noSubtraction = ": - subtracts numbers: write text.replace(part, '') to remove a part"
	noMerge       = ": write a.merge(b), which uses the value in b if both maps have a key"
	emptyText     = ": write '' for an empty text"
)

const formatCall = "format"

// comparisons are the operators that order two values.
var comparisons = []string{ //nolint:gochecknoglobals // a table
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
}

func isOperator(fn string) bool { return strings.ContainsAny(fn[:1], "_@!-") }

// isHash reports whether an expression is a call of a function that returns the bytes of a hash.
func isHash(e ast.Expr) bool {
	return e.Kind() == ast.CallKind &&
		(strings.HasPrefix(e.AsCall().FunctionName(), "hash.") || celast.IsCall(e, "hmac.sha256"))
}

// operandMistakes are messages about calls whose first operand has some kind. {type} is the type of the last operand.
var operandMistakes = []operandHint{ //nolint:gochecknoglobals // a table
	{formatCall, "p", "a timestamp has no format: write string(...) around it, or for example .getFullYear() for a part " +
		"of it"},
	{"add", "l", "add is for quantities: write list + [value]"},
	{"sub", "t", "sub is for quantities: " + forReplace},
	{operators.Index, "t", "a string has no elements: write .charAt(0) for a character, or .substring(0, 3) for a part"},
	{operators.Index, "l", "the index of a list must be a number, but this is {type}: write for example [0]"},
	{operators.Modulo, "t", "% divides numbers: write '%s'.format([...]) to put values into a text"},
}

// noOverload returns the message for a call that does not accept its operands.
func (m *explainer) noOverload(err *expression.Error) string {
	call := err.Node.AsCall()
	if m.typed {
		return m.notAccepted(call, err.Types)
	}
	message := cmp.Or(m.noOptional(call, err), m.mistakeOf(call, err.Types), m.wrongForm(err.Node))
	if message != "" {
		return message
	}
	switch message = m.notAccepted(call, err.Types); {
	case strings.Contains(message, ": "):
		return message
	case slices.ContainsFunc(celast.Operands(call), isHash):
		return message + hashHint
	}
	for _, t := range err.Types {
		if hint := kubernetes.Instead(t); hint != "" {
			return message + ": " + hint
		}
	}
	return message + conversion(m.overloads(call), err.Types)
}

// noOptional returns the message for a method of an optional, or for a comparison with null. It is empty for all other
// calls.
func (m *explainer) noOptional(call ast.CallExpr, err *expression.Error) string {
	fn, have := call.FunctionName(), err.Types
	switch {
	case !call.IsMemberFunction():
		return m.comparedWithNull(err)
	case slices.Contains(optionalMethods, fn) && !celast.IsOptional(have[0]):
		return m.script().needsOptional(m.at(err))
	case fn == "or" && len(have) == 2 && !celast.IsOptional(have[1]):
		return m.script().replace(m.at(err), m.at(err)+len(fn), "orValue", "or takes another optional: write orValue "+
			"for a default value")
	}
	return ""
}

// comparedWithNull returns the message for a comparison with null that the checker refuses.
func (m *explainer) comparedWithNull(err *expression.Error) string {
	call, have := err.Node.AsCall(), err.Types
	fn := call.FunctionName()
	i := slices.IndexFunc(have, celast.IsNull)
	if fn != operators.Equals && fn != operators.NotEquals || i < 0 {
		return ""
	}
	not := map[string]string{operators.Equals: "!"}[fn]
	has := fmt.Sprintf("%shas(%s)", not, m.textOf(call.Args()[1-i]))
	if step := stepAtEnd().FindStringSubmatch(m.pathOf(call.Args()[1-i])); step != nil && step[1] != "" {
		m.instead(err.Node, has, has)
	}
	return fmt.Sprintf("%s is never null, because a missing value is waited for: write %s", m.aType(have[1-i]), has)
}

// mistakeOf returns a message about operands of some operators, and of format.
func (m *explainer) mistakeOf(call ast.CallExpr, have []*types.Type) string {
	fn := call.FunctionName()
	switch mistake := hintFor(operandMistakes, fn, kindsOf(have[:min(1, len(have))])); {
	case mistake != "":
		return strings.ReplaceAll(mistake, "{type}", m.aType(have[len(have)-1]))
	case fn == formatCall && call.IsMemberFunction() &&
		(len(call.Args()) != 1 || !celast.IsKind(have[1], types.ListKind, types.DynKind)):
		return "format takes one list: write .format([...]) around its values"
	case fn == operators.LogicalNot:
		return fmt.Sprintf("! takes true or false, but this is %s%s", m.aType(have[0]), m.compared(call.Args()[0]))
	}
	return ""
}

// overloads returns the overloads of a function, or of a method.
func (m *explainer) overloads(call ast.CallExpr) []*decls.OverloadDecl {
	all := m.Environment.CEL().Functions()[call.FunctionName()].OverloadDecls()
	if isOperator(call.FunctionName()) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(o *decls.OverloadDecl) bool {
		return o.IsMemberFunction() != call.IsMemberFunction()
	})
}

// wrongForm returns a message if a call has the wrong form or the wrong number of arguments.
func (m *explainer) wrongForm(e ast.Expr) string {
	call := e.AsCall()
	fn, n := call.FunctionName(), len(call.Args())
	overloads := m.overloads(call)
	counts := make([]int, 0, len(overloads))
	for _, o := range overloads {
		count := len(o.ArgTypes())
		if o.IsMemberFunction() {
			count--
		}
		counts = append(counts, count)
	}
	slices.Sort(counts)
	switch counts = slices.Compact(counts); {
	case isOperator(fn), slices.Contains(counts, n):
		return ""
	case len(counts) == 0 && call.IsMemberFunction():
		return fmt.Sprintf("%s is a function, not a method: write %s(...) around the value", fn, fn)
	case len(counts) == 0:
		return fmt.Sprintf("%s is a method: write value.%s(...)", fn, fn)
	}
	wanted := strings.ReplaceAll(strings.Trim(fmt.Sprint(counts), "[]"), " ", " or ")
	return fmt.Sprintf("the number of arguments in the parentheses of %s must be %s, but is %d%s", fn, wanted, n,
		exampleOfMap(fn))
}

// exampleOfMap returns an example of a call, if the function takes a map.
func exampleOfMap(fn string) string {
	const login = "'username': secret.username, 'password': secret.password"
	argument := "{'host': resource.status.atProvider.address, 'port': 5432, 'database': 'app', " + login + "}"
	switch fn {
	case "jdbc.url":
		argument = "{'driver': 'postgresql', " + argument[1:]
	case "mongodb.url":
	case "redis.url", "amqp.url":
		argument = "{'host': resource.status.atProvider.address, " + login + "}"
	case "libpq.encode", "dotenv.encode", "properties.encode", "toml.encode":
		argument = "{'host': resource.status.atProvider.address}"
	case "pgpass.encode":
		argument = "[" + argument + "]"
	default:
		return ""
	}
	return ": write " + fn + "(" + argument + ")"
}

// conversion returns a hint for a call that accepts all operands except one.
func conversion(overloads []*decls.OverloadDecl, have []*types.Type) string {
	for _, toText := range []bool{true, false} { // overloads that return a text are more likely
		for _, o := range overloads {
			if celast.IsKind(o.ResultType(), types.StringKind) != toText || len(o.ArgTypes()) != len(have) {
				continue
			}
			var wrong []int
			for i, want := range o.ArgTypes() {
				if !want.IsAssignableType(have[i]) && !celast.IsKind(want, types.TypeParamKind, types.DynKind) &&
					!celast.IsKind(have[i], types.DynKind, types.ErrorKind) {
					wrong = append(wrong, i)
				}
			}
			if len(wrong) == 1 {
				from, to := have[wrong[0]], kindsOf(o.ArgTypes()[wrong[0]:][:1])
				if hint := convert(from, strings.Trim(to[:min(1, len(to))], "bm"),
					"the "+cel.FormatCELType(from)); hint != "" {
					return hint
				}
			}
		}
	}
	return ""
}

// comparedTypes are the messages for comparisons whose result is always the same.
var comparedTypes = map[string]string{ //nolint:gochecknoglobals // a table
	operators.In:        "can never be true: it looks for %s in %s%s",
	operators.Equals:    "can never be true: it compares %s with %s%s",
	operators.NotEquals: "is always true: it compares %s with %s%s",
}

// notAccepted returns the message about operands that a call does not accept.
func (m *explainer) notAccepted(call ast.CallExpr, have []*types.Type) string {
	fn, operands := call.FunctionName(), celast.Operands(call)
	if format, ok := comparedTypes[fn]; ok {
		return fmt.Sprintf(format, m.aType(have[0]), m.aType(have[1]), m.compareAs(fn, operands, have))
	}
	if fn == operators.Conditional {
		if !celast.IsKind(have[0], types.BoolKind, types.DynKind, types.ErrorKind) {
			return fmt.Sprintf("the condition of ?: is %s%s", m.aType(have[0]), m.compared(operands[0]))
		}
		return fmt.Sprintf("returns %s or %s%s", m.aType(have[1]), m.aType(have[2]), hintFor(operandHints, fn,
			kindsOf(have[1:])))
	}
	names := make([]string, 0, len(have))
	for _, t := range have {
		names = append(names, m.Typing.Text(t))
	}
	empty := "''"
	if fn == "merge" {
		empty = "{}"
	}
	return fmt.Sprintf("%s does not accept %s%s", expression.CallName(fn), strings.Join(names, " and "),
		cmp.Or(m.withDefault(operands, empty), m.callHint(call, have)))
}

// compared returns the hint for a condition that is not true or false.
func (m *explainer) compared(e ast.Expr) string {
	return cmp.Or(m.withDefault([]ast.Expr{e}, "false"), compareHint)
}

// compareAs returns a hint how to compare an optional, or a string with a number or a boolean.
func (m *explainer) compareAs(fn string, operands []ast.Expr, have []*types.Type) string {
	if hint := m.withDefault(operands, "''"); hint != "" {
		return hint
	}
	if fn == operators.In && celast.IsKind(have[1], types.StringKind) {
		return ": write text.contains(part)"
	}
	for i, o := range operands[:2] {
		other, text := operands[1-i], strings.HasSuffix(strings.TrimSuffix(m.Typing.Text(have[1-i]), ")"), "string")
		switch scalar := celast.IsKind(have[i], types.IntKind, types.DoubleKind, types.BoolKind); {
		case !scalar || !text:
		case o.Kind() == ast.LiteralKind:
			return fmt.Sprintf(": write it in quotes, '%v'", o.AsLiteral().Value())
		case other.Kind() == ast.LiteralKind || other.Kind() == ast.ListKind:
			return fmt.Sprintf(": leave out the quotes, or wrap the %s in string(...)", m.Typing.Text(have[i]))
		default:
			return fmt.Sprintf(": wrap the %s in string(...)", m.Typing.Text(have[i]))
		}
	}
	return ""
}

// callHint returns a hint for a call that does not accept operands of some types.
func (m *explainer) callHint(call ast.CallExpr, have []*types.Type) string {
	fn, kinds := call.FunctionName(), kindsOf(have)
	isText := func(e ast.Expr) bool { _, ok := celast.Text(e); return ok }
	if slices.Contains(comparisons, fn) && hasKinds(kinds, "t#") && slices.ContainsFunc(call.Args(), isText) {
		return ": leave out the quotes, or wrap the number in string(...)"
	}
	hint := hintFor(operandHints, fn, kinds)
	if hint == "" {
		hint = exampleOfMap(fn)
	}
	if hint == "" && call.IsMemberFunction() && celast.IsNumber(have[0]) {
		hint = fmt.Sprintf(": wrap the %s in string(...)", m.Typing.Text(have[0]))
	}
	return hint
}

// An operandHint is a hint for a call of one of some functions, or of any, on operands of all of some kinds. The
// letters of the kinds are those of [kindLetters]: # is any number, and s any scalar that string(...) accepts.
type operandHint struct{ functions, kinds, text string }

const wrapOther = ": wrap the operand that is not a string in string(...)"

var operandHints = []operandHint{ //nolint:gochecknoglobals // a table
	{operators.Add, "tl", ": write .join(',') after the list, or [ ] around the string"},
	{operators.Add, "t#", wrapOther},
	{operators.Add, "tb", wrapOther},
	{operators.Add, "tm", ": select one key of the map"},
	{operators.Add, "m", noMerge},
	{operators.Add, "tn", emptyText},
	{"_-_", "t", noSubtraction},
	{"_<_ _<=_ _>_ _>=_", "t#", ": wrap the string in int(...) or double(...)"},
	{"", "id", ": wrap the int in double(...)"},
	{operators.Conditional, "n", ": for no value write optional.of(...) and optional.none(), with optional: true"},
	{operators.Conditional, "t#", ": wrap the number in string(...)"},
	{operators.Conditional, "tb", ": wrap the bool in string(...)"},
	{operators.Conditional, "", ": make both the same type, or write dyn(...) around one"},
	{"merge", "m", ": convert the values of one map, or write dyn(...) around it"},
	{"join", "", ": convert its elements with .map(x, string(x))"},
}

var kindLetters = map[types.Kind]string{ //nolint:gochecknoglobals // a table
	types.StringKind: "t", types.IntKind: "i#s", types.UintKind: "s", types.DoubleKind: "d#s", types.BoolKind: "bs",
	types.BytesKind: "ys", types.TimestampKind: "ps", types.DurationKind: "s", types.MapKind: "m",
	types.StructKind: "m", types.ListKind: "l", types.NullTypeKind: "n",
}

// kindsOf returns the letters of the kinds of types.
func kindsOf(have []*types.Type) (letters string) {
	for _, t := range have {
		letters += kindLetters[t.Kind()]
	}
	return letters
}

func hasKinds(have, wanted string) bool {
	return !strings.ContainsFunc(wanted, func(letter rune) bool { return !strings.ContainsRune(have, letter) })
}

// hintFor returns the first hint for a call, or an empty text.
func hintFor(hints []operandHint, fn, kinds string) string {
	for _, h := range hints {
		if (h.functions == "" || slices.Contains(strings.Fields(h.functions), fn)) && hasKinds(kinds, h.kinds) {
			return h.text
		}
	}
	return ""
}
