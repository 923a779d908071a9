// Package advice turns what is wrong into help for people: an error of an expression into a message that says what is
// wrong, where, and what to write instead, and what is known about a missing input into what to do.
//
// The engine below knows only typed errors and facts. The function and the desk create the environment of expressions
// here. Most of the package is tables of what people write who know other languages and tools. It has no state, and
// reads no objects. Its texts contain names and parts of the input, never data.
package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// An adviser is the expression.Adviser of the function and of the desk. It also is a strict.Adviser.
type adviser struct{ fields.Adviser }

// NewEnvironment makes the environment of expressions whose messages give advice. An error is a defect of the program.
func NewEnvironment() (*expression.Environment, error) { return expression.NewEnvironment(adviser{}) }

// An explainer explains the errors of one source.
type explainer struct {
	*expression.Errors

	text  *script // once it is split into tokens
	typed bool    // the errors are about the types of schemas
}

// Explain returns the diagnostics of an expression that cannot be used.
func (adviser) Explain(errs *expression.Errors) diagnostic.List {
	m := newExplainer(errs)
	if !m.typed {
		if list := m.dashes(); len(list) > 0 {
			return list
		}
	}
	return m.list()
}

func newExplainer(errs *expression.Errors) *explainer {
	return &explainer{errs, nil, errs.Declared == nil}
}

// script returns the source, split into tokens. Most sources need none, because nothing is wrong with them.
func (m *explainer) script() *script {
	if m.text == nil {
		m.text = newScript(m.Source.Text)
	}
	return m.text
}

// list returns the diagnostics in the order of the errors. Two errors can be about the same mistake.
func (m *explainer) list() (out diagnostic.List) {
	for _, err := range m.All {
		d := m.diagnostic(err)
		m.correct(d)
		if d.Message != "" && !slices.ContainsFunc(out, d.Same) {
			out = append(out, d)
		}
	}
	if len(out) == 0 { // CEL's own messages are better than none
		for _, err := range m.All {
			out = append(out, m.Source.At(err.Line, err.Column, explainCEL(err.Text)))
		}
	}
	if m.Tree != nil && !m.typed && m.All[0].Class != expression.NoItem && m.All[0].Class != expression.Result {
		out[0].Message += suggest.DidYouMean(m.meantName())
		if len(out[0].Edits) == 0 {
			m.correct(out[0])
		}
	}
	return out
}

func (m *explainer) diagnostic(err *expression.Error) *diagnostic.Diagnostic {
	switch err.Class { //nolint:exhaustive // the others stay where they are
	case expression.Syntax:
		return m.syntax(err)
	case expression.Result:
		return m.result(err)
	case expression.Misfit:
		message := misfit(m.Typing, err)
		if m.Tree != nil {
			m.converted(message, []ast.Expr{m.Tree.Expr()}, err.Types[:1])
		}
		return m.Source.At(0, 0, message)
	}
	return m.Source.At(err.Line, err.Column, m.message(err))
}

func (m *explainer) message(err *expression.Error) string {
	switch err.Class { //nolint:exhaustive // the others have a message of CEL
	case expression.Limit:
		return err.Text + ": split it into variables, or make it shorter"
	case expression.NoVariable:
		return m.noVariable(err)
	case expression.NoItem:
		return m.noItem(err.Name)
	case expression.NoFunction:
		return m.noFunction(err.Node, m.at(err))
	case expression.NoField:
		return m.noField(err)
	case expression.NoOptional:
		return m.needsOptionalEntry(err.Node)
	case expression.NoBool:
		return m.noBool(err)
	case expression.NoRange:
		return fmt.Sprintf("cannot be iterated: it is %s, not a list or map%s", m.aType(err.Types[0]),
			m.withDefault([]ast.Expr{err.Node}, "[]"))
	case expression.NoOverload:
		message := m.noOverload(err)
		m.converted(message, celast.Operands(err.Node.AsCall()), err.Types)
		return message
	}
	return explainCEL(err.Text)
}

// at returns the offset of an error, and offset that of a node.
func (m *explainer) at(err *expression.Error) int { return m.script().offset(err.Line, err.Column-1) }

func (m *explainer) offset(e ast.Expr) int {
	l := m.Tree.SourceInfo().GetStartLocation(e.ID())
	return m.script().offset(l.Line(), l.Column())
}

func (m *explainer) typeOf(e ast.Expr) *types.Type { return m.Tree.GetType(e.ID()) }

// aType returns the usual name of a type with its article.
func (m *explainer) aType(of *types.Type) string { return withArticle(m.Typing.Text(of)) }

// withArticle returns a type with its article.
func withArticle(t string) string {
	switch {
	case t == "null":
		return t
	case strings.HasPrefix(t, "int") || strings.HasPrefix(t, "opt"):
		return "an " + t
	}
	return "a " + t
}

// wrong returns the diagnostic of a mistake at an offset, with the edit that corrects it.
func (m *explainer) wrong(at int, message string) *diagnostic.Diagnostic {
	line, column := m.script().position(at)
	d := m.Source.At(line, column, message)
	m.correct(d)
	return d
}

// pathOf returns the text of the path that a node is, or an empty text. textOf returns a word for any other node.
func (m *explainer) pathOf(e ast.Expr) string {
	if text := m.sourceOf(e); strings.ContainsAny(text, ".[") && pathAtEnd().FindString(text) == text {
		return text
	}
	return ""
}

func (m *explainer) textOf(e ast.Expr) string { return cmp.Or(m.pathOf(e), "value") }

// parentOf returns the node that contains a node, or nil.
func parentOf(e ast.Expr) ast.NavigableExpr {
	if n, ok := e.(ast.NavigableExpr); ok {
		if p, ok := n.Parent(); ok {
			return p
		}
	}
	return nil
}

// noField returns the message for a field that its operand does not have.
func (m *explainer) noField(err *expression.Error) string {
	operand, field, _ := celast.Selection(err.Node)
	path := steps(operand)
	of := celast.WithoutOptional(err.Types[0])
	switch {
	case err.Text != "":
		return err.Text
	case len(path) > 1 && slices.Contains(dataOfSecrets, path[len(path)-1]):
		return "the values of a Secret are not below data here: leave ." + path[len(path)-1] + " out"
	case slices.Contains(lengths, field):
		return fmt.Sprintf("%s has no field %s: write size(...) around it", m.aType(of), field)
	case celast.IsCall(err.Node, operators.Index) && of.Kind() == types.ListKind:
		return "the index of a list must be a number, but this is a string: write for example [0]"
	case of.Kind() == types.ListKind:
		return fmt.Sprintf("cannot select %s from a list: select one of its elements first, for example [0], "+
			"or iterate over it with map or filter", field)
	}
	return fmt.Sprintf("cannot select %s from %s", field, m.aType(of))
}

// noBool returns the message for a value that must be true or false. It is empty if the other operand of || already
// has one.
func (m *explainer) noBool(err *expression.Error) string {
	or := parentOf(err.Node)
	if m.typed || or == nil || !celast.IsCall(or, operators.LogicalOr) {
		return fmt.Sprintf("must be true or false, but is %s%s", m.aType(err.Types[0]), m.compared(err.Node))
	}
	if left := or.AsCall().Args()[0]; left.ID() != err.Node.ID() && !celast.IsKind(m.typeOf(left), types.BoolKind,
		types.DynKind) {
		return "" // said about the left one
	}
	return fmt.Sprintf("|| takes true or false, but this is %s: for a default write %s",
		m.aType(err.Types[0]), m.script().withDefaultBefore(m.offset(or), literalOf(or)))
}

// meantName guesses the name that is meant in a source that does not compile: a dot in a name selects a
// field. It returns an empty text if there is no such name.
func (m *explainer) meantName() (meant string) {
	ast.PostOrderVisit(m.Tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if meant == "" && e.Kind() == ast.SelectKind {
			if meant = dotted(steps(e)); meant != "" {
				m.instead(e, meant, suggest.DidYouMean(meant))
			}
		}
	}))
	return meant
}

// dotted guesses the meaning of secrets.db.ca.crt, which CEL parses as the field crt of a string.
func dotted(path []string) string {
	if len(path) == 0 {
		return ""
	}
	n, ok := map[string]int{expression.Secret: 1, expression.Secrets: 2, expression.Generated: 2,
		expression.Candidate: 2, expression.Previous: 2}[path[0]]
	if !ok || len(path) != n+2 || slices.Contains(lengths, path[n+1]) || slices.Contains(dataOfSecrets, path[n]) {
		return ""
	}
	return expression.PathText(path[0], append(path[1:n:n], strings.Join(path[n:], "."))...)
}

// dataOfSecrets are the fields of a Secret that contain its values.
var dataOfSecrets = []string{"data", "stringData"} //nolint:gochecknoglobals // a table

// forDefault is an example of a default.
const forDefault = "composite.spec.?host.orValue('none')"

// lengths are the names of the size of a value in other languages.
var lengths = []string{"length", "size", "len"} //nolint:gochecknoglobals // a table

// inputs are the variables that contain observed data.
var inputs = []string{ //nolint:gochecknoglobals // a table
	expression.Secret, expression.Secrets, expression.Resource, expression.Self, expression.Resources,
	expression.Sources, expression.Composite, expression.Env, expression.Context, expression.Generated,
	expression.Candidate, expression.Previous,
}

func isInput(name string) bool { return slices.Contains(inputs, name) }
