package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// diagnose returns diagnostics for the errors of CEL's checker. It checks the source again, because
// the checker does not keep the types of a tree that it refuses.
func (e *Environment) diagnose(s Source, errs []*cel.Error, declared []func(string) string) diagnostic.List {
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return diagnostic.List{s.wrong("cannot be compiled: the CEL compiler failed on it")}
	}
	meant := meantName(parsed.NativeRep())
	var out diagnostic.List
	add := func(d *diagnostic.Diagnostic) {
		if !slices.ContainsFunc(out, func(o *diagnostic.Diagnostic) bool { return *o == *d }) {
			out = append(out, d)
		}
	}
	if len(s.Text) <= limits.ExplainedCharacters {
		c, errs := e.check(s, parsed.NativeRep(), Typing{Objects: noObjects{}})
		m := mismatch{c, declared, map[int64]bool{}}
		for _, err := range errs {
			if message := m.explain(err); message != "" {
				add(c.at(err, message))
			}
		}
	}
	if len(out) == 0 {
		for _, err := range sortedErrors(errs) {
			d := s.wrong("%s", explainCEL(err.Message))
			if err.Location.Line() > 0 {
				d.Line, d.Column = err.Location.Line(), err.Location.Column()+1
			}
			add(d)
		}
	}
	if meant != "" {
		out[0].Message += suggest.DidYouMean(meant)
	}
	return out
}

// meantName guesses the name that is meant in a source that does not compile: a dot in a name selects a
// field. It returns an empty text if there is no such name.
func meantName(a *ast.AST) (meant string) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if meant == "" && e.Kind() == ast.SelectKind {
			meant = dotted(selected(e))
		}
	}))
	return meant
}

// dotted guesses the meaning of secrets.db.ca.crt, which CEL parses as the field crt of a string.
func dotted(path []string) string {
	if len(path) == 0 {
		return ""
	}
	n, ok := map[string]int{Secret: 1, Secrets: 2, Generated: 2, Candidate: 2, Previous: 2}[path[0]]
	if !ok || len(path) != n+2 || slices.Contains(lengths, path[n+1]) || slices.Contains(dataOfSecrets, path[n]) {
		return ""
	}
	return PathText(path[0], append(path[1:n:n], strings.Join(path[n:], "."))...)
}

// dataOfSecrets are the fields of a Secret that contain its values.
var dataOfSecrets = []string{"data", "stringData"} //nolint:gochecknoglobals // a table

// belowData returns the message for a value that is selected from the data of a Secret. It is empty for all other
// selections.
func belowData(operand ast.Expr, field string) string {
	path := selected(operand)
	if n := len(path) - 1; n >= 1 && slices.Contains(dataOfSecrets, path[n]) && dotted(append(path[:n:n], "a", "b")) != "" {
		return fmt.Sprintf("the values of a Secret are not below %s here: write %s", path[n],
			PathText(path[0], append(path[1:n:n], field)...))
	}
	return ""
}

// selected returns the names in a chain of plain selections that begins with a variable. It returns
// nil for all other nodes.
func selected(e ast.Expr) []string {
	switch e.Kind() { //nolint:exhaustive // all others are no selections
	case ast.IdentKind:
		return []string{e.AsIdent()}
	case ast.SelectKind:
		if path := selected(e.AsSelect().Operand()); path != nil && !e.AsSelect().IsTestOnly() {
			return append(path, e.AsSelect().FieldName())
		}
	}
	return nil
}

// inputs are the variables that contain observed data.
var inputs = []string{ //nolint:gochecknoglobals // a table
	Secret, Secrets, Resource, Self, Resources, Sources, Composite, Env, Context, Generated, Candidate, Previous,
}

func isInput(name string) bool { return slices.Contains(inputs, name) }

// lengths are the names of the size of a value in other languages.
var lengths = []string{"length", "size", "len"} //nolint:gochecknoglobals // a table

// A mismatch explains the errors of the checker in a source that does not compile.
type mismatch struct {
	*typeCheck

	declared []func(string) string
	told     map[int64]bool // nodes that are already explained
}

func (m mismatch) explain(err *cel.Error) string {
	e := m.nodes[err.ExprID]
	if e == nil {
		return explainCEL(err.Message)
	}
	parent, _ := e.Parent()
	operand, field, selects := selection(e)
	switch {
	case selects && m.explainField(operand, field) != "":
		return m.explainField(operand, field)
	case m.isPlaceError(e):
		if parent != nil && isCall(parent, operators.LogicalOr) {
			return m.notCondition(e, parent)
		}
	case e.Kind() == ast.IdentKind:
		return m.explainName(e, parent, m.offsetOf(err))
	case e.Kind() == ast.CallKind && m.env.env.Functions()[e.AsCall().FunctionName()] == nil:
		return m.noFunction(e.AsCall(), m.offsetOf(err))
	case e.Kind() == ast.CallKind:
		call := e.AsCall()
		if message := cmp.Or(m.explainOptional(call, m.offsetOf(err)), m.explainOverload(call)); message != "" {
			return message
		}
	}
	return cmp.Or(m.typeCheck.explain(err), explainCEL(err.Message))
}

// explainField returns the message for a field that is a habit of other languages, or an empty text.
func (m mismatch) explainField(operand ast.Expr, field string) string {
	if slices.Contains(lengths, field) && isKind(m.typeOf(operand), types.StringKind, types.ListKind) {
		return fmt.Sprintf("%s has no field %s: write size(...) around it", m.aType(m.typeOf(operand)), field)
	}
	return belowData(operand, field)
}

// explainName returns the message for a variable that does not exist at an offset. It is empty if another message
// is about the same mistake.
func (m mismatch) explainName(e, parent ast.NavigableExpr, at int) string {
	entries := m.text.mapOfTwo(e.AsIdent())
	switch {
	case m.ofUnknown(e, parent), entries != nil && m.told[0]:
		return ""
	case entries == nil:
		return m.noVariable(e.AsIdent(), parent, at)
	}
	m.told[0] = true // no node has this number
	return m.text.filtersList(entries)
}

// filtersList returns the message for a map whose arguments are at offsets.
func (c *script) filtersList(entries []int) string {
	return fmt.Sprintf("map with three arguments filters a list: write .transformList%s for the entries of a map",
		c.arguments(entries[2]))
}

// notCondition returns the message for an operand of || that is not a condition. It is empty if the other operand
// already has one.
func (m mismatch) notCondition(e, or ast.Expr) string {
	if m.told[or.ID()] {
		return ""
	}
	m.told[or.ID()] = true
	return fmt.Sprintf("|| takes true or false, but this is %s: for a default write %s",
		m.aType(m.typeOf(e)), m.text.withDefaultBefore(m.offset(or), literalOf(or)))
}

// comparedWithNull returns the message for a comparison with null that the checker refuses.
func (m mismatch) comparedWithNull(call ast.CallExpr) string {
	operands, fn := call.Args(), call.FunctionName()
	if fn != operators.Equals && fn != operators.NotEquals {
		return ""
	}
	i := slices.IndexFunc(operands, func(e ast.Expr) bool { return isNull(m.typeOf(e)) })
	if i < 0 {
		return ""
	}
	other, not := operands[1-i], ""
	if fn == operators.Equals {
		not = "!"
	}
	return fmt.Sprintf("%s is never null, because a missing value is waited for: write %shas(%s)",
		m.aType(m.typeOf(other)), not, m.textOf(other))
}

const forDefault = "composite.spec.?host.orValue('none')"

func isCall(e ast.Expr, fn string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == fn
}

// explainOptional returns a message about a method that needs an optional, or about null. at is the offset of
// the method.
func (m mismatch) explainOptional(call ast.CallExpr, at int) string {
	fn, have := call.FunctionName(), m.typesOf(operandsOf(call))
	switch {
	case !call.IsMemberFunction():
		return m.comparedWithNull(call)
	case slices.Contains(optionalMethods, fn) && !isOptional(have[0]):
		return m.text.needsOptional(at)
	case fn == "or" && len(have) == 2 && !isOptional(have[1]):
		return "or takes another optional: write orValue for a default value"
	}
	return ""
}

// explainOperands returns a message about operands of some operators, and of format.
func (m mismatch) explainOperands(call ast.CallExpr, have []*types.Type) string {
	switch fn := call.FunctionName(); {
	case fn == formatCall && call.IsMemberFunction() && isKind(have[0], types.TimestampKind):
		return "a timestamp has no format: write string(...) around it, or for example .getFullYear() for a part of it"
	case fn == formatCall && call.IsMemberFunction() &&
		(len(call.Args()) != 1 || !isKind(have[1], types.ListKind, types.DynKind)):
		return "format takes one list: write .format([...]) around its values"
	case fn == operators.Index && isKind(have[0], types.StringKind):
		return "a string has no elements: write .charAt(0) for a character, or .substring(0, 3) for a part"
	case fn == operators.Index && isKind(have[0], types.ListKind):
		return fmt.Sprintf("the index of a list must be a number, but this is %s: write for example [0]", m.aType(have[1]))
	case fn == operators.LogicalNot:
		return fmt.Sprintf("! takes true or false, but this is %s%s", m.aType(have[0]), m.compared(call.Args()[0]))
	case fn == operators.Modulo && isKind(have[0], types.StringKind):
		return "% divides numbers: write '%s'.format([...]) to put values into a text"
	}
	return ""
}

// explainOverload returns a message about the form of a call or its operands.
func (m mismatch) explainOverload(call ast.CallExpr) string {
	fn, have := call.FunctionName(), m.typesOf(operandsOf(call))
	if message := cmp.Or(explainQuantity(fn, have), m.explainOperands(call, have)); message != "" {
		return message
	}
	overloads := m.env.env.Functions()[fn].OverloadDecls()
	if !isOperator(fn) {
		overloads = slices.DeleteFunc(slices.Clone(overloads), func(o *decls.OverloadDecl) bool {
			return o.IsMemberFunction() != call.IsMemberFunction()
		})
		if message := explainForm(call, argumentCounts(overloads)); message != "" {
			return message
		}
	}
	message := m.explainCall(call)
	switch {
	case message == "" || strings.Contains(message, ": "):
		return message
	case slices.ContainsFunc(operandsOf(call), isHash):
		return message + hashHint
	}
	return message + cmp.Or(conversion(overloads, have), operandHint(fn, have))
}

// explainForm returns a message if a call has the wrong form or the wrong number of arguments. counts
// are the numbers of arguments that the function takes in this form.
func explainForm(call ast.CallExpr, counts []int) string {
	fn, n := call.FunctionName(), len(call.Args())
	switch {
	case len(counts) == 0 && call.IsMemberFunction():
		return fmt.Sprintf("%s is a function, not a method: write %s(...) around the value", fn, fn)
	case len(counts) == 0:
		return fmt.Sprintf("%s is a method: write value.%s(...)", fn, fn)
	case slices.Contains(counts, n):
		return ""
	case n == 1:
		return fmt.Sprintf("%s takes %s in its parentheses, but has 1", fn, countText(counts))
	}
	return fmt.Sprintf("%s takes %s in its parentheses, but has %d", fn, countText(counts), n)
}

func isOperator(fn string) bool { return strings.ContainsAny(fn[:1], "_@!-") }

// argumentCounts returns the possible numbers of arguments, in order.
func argumentCounts(overloads []*decls.OverloadDecl) (counts []int) {
	for _, o := range overloads {
		n := len(o.ArgTypes())
		if o.IsMemberFunction() {
			n--
		}
		counts = append(counts, n)
	}
	slices.Sort(counts)
	return slices.Compact(counts)
}

func countText(counts []int) string {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(counts), "[]"), " ", ", ")
	if i := strings.LastIndex(text, ", "); i >= 0 {
		text = text[:i] + " or " + text[i+len(", "):]
	}
	if counts[len(counts)-1] == 1 {
		return text + " argument"
	}
	return text + " arguments"
}

// conversion returns a hint for a call that accepts all operands except one.
func conversion(overloads []*decls.OverloadDecl, have []*types.Type) string {
	for _, toText := range []bool{true, false} { // overloads that return a text are more likely
		for _, o := range overloads {
			if isKind(o.ResultType(), types.StringKind) != toText || len(o.ArgTypes()) != len(have) {
				continue
			}
			var wrong []int
			for i, want := range o.ArgTypes() {
				if !want.IsAssignableType(have[i]) && !isKind(want, types.TypeParamKind, types.DynKind) &&
					!isKind(have[i], types.DynKind, types.ErrorKind) {
					wrong = append(wrong, i)
				}
			}
			if len(wrong) == 1 {
				if hint := conversionOf(have[wrong[0]], o.ArgTypes()[wrong[0]]); hint != "" {
					return hint
				}
			}
		}
	}
	return ""
}

// conversionOf returns a hint how to convert a scalar to another type, or an empty text.
func conversionOf(from, to *types.Type) string {
	text := isKind(from, types.StringKind)
	switch {
	case text && kubernetes.Parser(to) != "":
		return fmt.Sprintf(": wrap the string in %s(...)", kubernetes.Parser(to))
	case !text && !isKind(from, types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind):
		return ""
	case isKind(to, types.StringKind), text && isKind(to, types.BytesKind, types.IntKind, types.DoubleKind):
		return fmt.Sprintf(": wrap the %s in %s(...)", cel.FormatCELType(from), cel.FormatCELType(to))
	case isKind(to, types.ListKind):
		return fmt.Sprintf(": write [ ] around the %s", cel.FormatCELType(from))
	}
	return ""
}
