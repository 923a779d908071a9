package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file explains variables and functions that do not exist.

// noVariable returns the message for a variable that does not exist, and suggests another one. It is empty if another
// message is about the same mistake.
func (m *explainer) noVariable(err *expression.Error) string {
	parent, local, at := parentOf(err.Node), err.Name, m.at(err)
	if m.ofUnknown(parent) {
		return ""
	}
	text := "there is no variable " + local
	if meant := m.Declared(err.Node.AsIdent()); meant != "" {
		return text + m.script().replace(at, at+len(local), meant, ": write "+meant)
	}
	if isInput(local) || slices.Contains([]string{expression.Generation, expression.Variables, expression.Item},
		local) {
		return fmt.Sprintf("%s here: %s", text, m.listed())
	}
	isText := parent == nil || celast.IsCall(parent, operators.Add)
	if !isText && constants[strings.ToLower(local)] != "" {
		return fmt.Sprintf("there is no %s: write %s", local, constants[strings.ToLower(local)])
	}
	if wrong, meant := m.meantVariable(err, parent); meant != "" {
		return text + m.script().replace(at, at+len(wrong), meant, suggest.DidYouMean(meant))
	}
	return text + ": " + m.insteadOfVariable(local, parent, isText)
}

// meantVariable returns the variable, or the path, that is probably meant, and the text that it replaces.
func (m *explainer) meantVariable(err *expression.Error, parent ast.Expr) (wrong, meant string) {
	path := m.script().pathAt(m.at(err))
	foreign := translated(cmp.Or(path, err.Name))
	switch {
	case err.Nearest() != "":
		return err.Name, err.Nearest()
	case slices.Contains(err.Names, root(foreign)):
		return cmp.Or(path, err.Name), foreign
	case slices.Contains(err.Names, expression.Resources) && isOfObject(parent):
		return path, expression.Resources + "." + path // a composed resource
	}
	return "", ""
}

// isOfObject reports whether a node selects a field that objects have.
func isOfObject(e ast.Expr) bool {
	return e != nil && e.Kind() == ast.SelectKind && slices.Contains([]string{"spec", "status", "metadata"},
		e.AsSelect().FieldName())
}

// insteadOfVariable returns what to write instead of a variable that does not exist, if no other variable is
// meant. isText reports whether the variable may be a text without quotes.
func (m *explainer) insteadOfVariable(local string, parent ast.NavigableExpr, isText bool) string {
	names := m.Environment.Names(m.Source)
	switch {
	case foreignHint(local) != "" && !isText:
		return foreignHint(local)
	case parent != nil && parent.Kind() == ast.MapKind:
		return fmt.Sprintf("write a key in quotes, '%s'", local)
	case parent != nil && parent.Kind() == ast.SelectKind && slices.Contains(names, expression.Resources):
		return fmt.Sprintf("%s; a composed resource is resources.%s", m.listed(), local)
	case len(names) > 1 && isText:
		return "write " + textInQuotes + "\"'some text'\""
	}
	return m.listed()
}

// listed lists the variables that the source sees.
func (m *explainer) listed() string {
	names := m.Environment.Names(m.Source)
	if len(names) == 1 {
		return "the only variable is " + names[0]
	}
	return "the variables are " + strings.Join(names, ", ")
}

// noItem returns the message for a variable of an item that a source does not see.
func (m *explainer) noItem(variable string) string {
	text := fmt.Sprintf("there is no variable %s here: ", variable)
	if m.Source.Items == expression.ItemKey || m.Source.Items == expression.ItemList {
		return text + "write it in the fields below forEachExpression and keyExpression, which return the items and " +
			"their keys"
	}
	if m.Tree.Expr().Kind() == ast.IdentKind {
		text += fmt.Sprintf("write %s\"'%s'\"; ", textInQuotes, variable)
	}
	return text + "only an export or a generator with forEachExpression and keyExpression has one"
}

// noFunction returns the message for a function that does not exist, and suggests another one. at is the offset
// of its name.
func (m *explainer) noFunction(e ast.Expr, at int) string {
	call := e.AsCall()
	name := call.FunctionName()
	if call.IsMemberFunction() && m.isUnknown(call.Target()) { // a namespace, as in json.loads
		name = strings.TrimLeft(call.Target().AsIdent(), ".") + "." + name
	}
	text := "there is no function " + name
	last := name[strings.LastIndexByte(name, '.')+1:]
	hint := cmp.Or(foreignHint(name), foreignHint(last))
	if hint == forReplace && len(call.Args()) > 0 && isPattern(call.Args()[0]) {
		hint = forPattern
	}
	if strings.HasSuffix(hint, forDefault) && call.IsMemberFunction() {
		hint = "for a default write " + m.script().withDefaultBefore(at-1, "")
	}
	if hint != "" {
		return text + ": " + hint
	}
	if form, ok := macroForms[last]; ok {
		return form
	}
	switch meant := m.meantFunction(name, last); {
	case strings.Contains(meant, " "):
		return text + suggest.DidYouMean(meant)
	case meant != "":
		return text + m.script().replace(at+len(last)-len(name), at+len(last), meant, suggest.DidYouMean(meant))
	}
	return text + ": https://github.com/crossplane-contrib/function-export/tree/main/input lists all functions"
}

// meantFunction returns the existing function that is probably meant: the nearest one, or those with the same name in
// a namespace.
func (m *explainer) meantFunction(name, last string) string {
	var names, namespaced []string
	for fn := range m.Environment.CEL().Functions() {
		if isOperator(fn) || strings.Contains(fn, "@") {
			continue
		}
		names = append(names, fn)
		if strings.HasSuffix(fn, "."+last) {
			namespaced = append(namespaced, fn)
		}
	}
	for _, macro := range m.Environment.CEL().Macros() {
		names = append(names, macro.Function())
	}
	slices.Sort(names)
	slices.Sort(namespaced)
	return cmp.Or(suggest.Nearest(name, names), strings.Join(namespaced, " or "))
}

// macroForms describe the arguments of macros, which are no functions if they have other arguments.
var macroForms = func() map[string]string { //nolint:gochecknoglobals // a table
	out := map[string]string{
		"has":  "has takes one field: write for example has(resource.status.host)",
		"bind": "bind takes a name, a value and an expression: write for example cel.bind(x, secret.host, x + ':' + x)",
	}
	for name := range strings.FieldsSeq("all exists exists_one existsOne map filter sortBy optMap optFlatMap " +
		"transformList transformMap transformMapEntry") {
		out[name] = fmt.Sprintf("%s takes a name for each element and an expression that uses the name: "+
			"write for example list.%s(x, x.name)", name, name)
	}
	out["exists"] += ", or has(composite.spec.host) to test a field"
	return out
}()

// isUnknown reports whether a node is a variable that does not exist.
func (m *explainer) isUnknown(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && m.typeOf(e).Kind() == types.ErrorKind
}

// ofUnknown reports whether one of the nodes around a node is a method that does not exist: the node may be its
// namespace, or the name for each element, as in list.reduce(x, x.name).
func (m *explainer) ofUnknown(parent ast.NavigableExpr) bool {
	for p, ok := parent, parent != nil; ok; p, ok = p.Parent() {
		if p.Kind() == ast.CallKind && p.AsCall().IsMemberFunction() &&
			m.Environment.CEL().Functions()[p.AsCall().FunctionName()] == nil {
			return true
		}
	}
	return false
}
