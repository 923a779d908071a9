package expression

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file explains variables and functions that do not exist.

// noVariable returns the message for a variable that does not exist, and suggests another one. parent
// is the node that contains the variable, or nil. at is the offset of the variable.
func (m mismatch) noVariable(name string, parent ast.NavigableExpr, at int) string {
	local := strings.TrimLeft(name, ".")
	text := fmt.Sprintf("there is no variable %s", local)
	for _, spelling := range m.declared {
		if meant := spelling(name); meant != "" {
			return fmt.Sprintf("%s: write %s", text, meant)
		}
	}
	names, list := m.env.variables(m.source)
	if isInput(local) || slices.Contains([]string{Generation, Variables, Item}, name) {
		return fmt.Sprintf("%s here: %s", text, list)
	}
	isText := parent == nil || isCall(parent, operators.Add)
	if !isText && constants[strings.ToLower(local)] != "" {
		return fmt.Sprintf("there is no %s: write %s", local, constants[strings.ToLower(local)])
	}
	meant := suggest.Nearest(local, names)
	if foreign := translated(cmp.Or(m.text.pathAt(at), local)); meant == "" && slices.Contains(names, root(foreign)) {
		meant = foreign
	}
	if meant == "" && slices.Contains(names, Resources) && isOfObject(parent) {
		meant = Resources + "." + m.text.pathAt(at) // a composed resource
	}
	if meant != "" {
		return text + suggest.DidYouMean(meant)
	}
	return text + ": " + m.insteadOfVariable(local, parent, isText)
}

// isOfObject reports whether a node selects a field that objects have.
func isOfObject(e ast.Expr) bool {
	return e != nil && e.Kind() == ast.SelectKind && slices.Contains([]string{"spec", "status", "metadata"}, e.AsSelect().FieldName())
}

// mapOfTwoNames matches a map whose first two arguments are names.
var mapOfTwoNames = regexp.MustCompile(`\.map(\()\s*[A-Za-z_]\w*\s*,\s*([A-Za-z_]\w*)\s*,`)

// mapOfTwo returns the offsets of a map whose second argument is the name, or nil.
func (c *script) mapOfTwo(name string) []int {
	for _, m := range mapOfTwoNames.FindAllStringSubmatchIndex(c.text, -1) {
		if c.text[m[4]:m[5]] == name {
			return m
		}
	}
	return nil
}

// insteadOfVariable returns what to write instead of a variable that does not exist, if no other variable is
// meant. isText reports whether the variable may be a text without quotes.
func (m mismatch) insteadOfVariable(local string, parent ast.NavigableExpr, isText bool) string {
	names, list := m.env.variables(m.source)
	switch {
	case foreignHint(local) != "" && !isText:
		return foreignHint(local)
	case parent != nil && parent.Kind() == ast.MapKind:
		return fmt.Sprintf("write a key in quotes, '%s'", local)
	case parent != nil && parent.Kind() == ast.SelectKind && slices.Contains(names, Resources):
		return fmt.Sprintf("%s; a composed resource is resources.%s", list, local)
	case len(names) > 1 && isText:
		return "write " + textInQuotes + "\"'some text'\""
	}
	return list
}

// variables returns the names of all variables that a source sees, sorted, and a text that lists them.
func (e *Environment) variables(s Source) (names []string, text string) {
	for _, v := range e.env.Variables() {
		if v.Type().Kind() != types.TypeKind && v.Value() == nil && e.sees(s, v.Name()) { // no type, such as int
			names = append(names, v.Name())
		}
	}
	if len(names) == 1 {
		return names, "the only variable is " + names[0]
	}
	slices.Sort(names)
	return names, "the variables are " + strings.Join(names, ", ")
}

// noFunction returns the message for a function that does not exist, and suggests another one. It is empty for a
// method of the result of such a function. at is the offset of its name.
func (m mismatch) noFunction(call ast.CallExpr, at int) string {
	if m.ofUnknownCall(call) {
		return ""
	}
	name := m.fullName(call)
	text := fmt.Sprintf("there is no function %s", name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	hint := cmp.Or(foreignHint(name), foreignHint(last))
	if hint == forReplace && len(call.Args()) > 0 && isPattern(call.Args()[0]) {
		hint = forPattern
	}
	if strings.HasSuffix(hint, forDefault) && call.IsMemberFunction() {
		hint = "for a default write " + m.text.withDefaultBefore(at-1, "")
	}
	if hint != "" {
		return text + ": " + hint
	}
	var names, namespaced []string
	for fn := range m.env.env.Functions() {
		if isOperator(fn) || strings.Contains(fn, "@") {
			continue
		}
		names = append(names, fn)
		if strings.HasSuffix(fn, "."+last) {
			namespaced = append(namespaced, fn)
		}
	}
	for _, macro := range m.env.env.Macros() {
		if macro.Function() == last {
			return macroForm(last)
		}
		names = append(names, macro.Function())
	}
	slices.Sort(names)
	slices.Sort(namespaced)
	if meant := cmp.Or(suggest.Nearest(name, names), strings.Join(namespaced, " or ")); meant != "" {
		return text + suggest.DidYouMean(meant)
	}
	return text + ": https://github.com/crossplane-contrib/function-export/tree/main/input lists all functions"
}

// macroForm describes the arguments of a macro.
func macroForm(name string) string {
	switch name {
	case "has":
		return "has takes one field: write for example has(resource.status.host)"
	case "bind":
		return "bind takes a name, a value and an expression that uses the name: " +
			"write for example cel.bind(x, secret.host, x + ':' + x)"
	}
	hint := ""
	if name == "exists" {
		hint = ", or has(composite.spec.host) to test a field"
	}
	return fmt.Sprintf("%s takes a name for each element and an expression that uses the name: "+
		"write for example list.%s(x, x.name)%s", name, name, hint)
}

// fullName returns the name of an unknown function, with the unknown variable before it, as in json.loads.
func (m mismatch) fullName(call ast.CallExpr) string {
	if call.IsMemberFunction() && m.isUnknown(call.Target()) {
		return strings.TrimLeft(call.Target().AsIdent(), ".") + "." + call.FunctionName()
	}
	return call.FunctionName()
}

// isUnknown reports whether a node is a variable that does not exist.
func (m mismatch) isUnknown(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && m.typeOf(e).Kind() == types.ErrorKind
}

// ofUnknownCall reports whether a call is a method of the result of a function that does not exist.
func (m mismatch) ofUnknownCall(call ast.CallExpr) bool {
	return call.IsMemberFunction() && call.Target().Kind() == ast.CallKind &&
		m.env.env.Functions()[call.Target().AsCall().FunctionName()] == nil
}

// ofUnknown reports whether a variable only exists for a function that does not exist: the namespace of the
// function, or the name for each element, as in list.reduce(x, x.name).
func (m mismatch) ofUnknown(e, parent ast.NavigableExpr) bool {
	for p, ok := parent, parent != nil; ok; p, ok = p.Parent() {
		if p.Kind() != ast.CallKind {
			continue
		}
		call := p.AsCall()
		if m.env.env.Functions()[call.FunctionName()] != nil || !call.IsMemberFunction() {
			continue
		}
		if call.Target().ID() == e.ID() {
			return true
		}
		if len(call.Args()) > 1 && slices.ContainsFunc(call.Args(), func(a ast.Expr) bool {
			return m.isUnknown(a) && a.AsIdent() == e.AsIdent()
		}) {
			return true
		}
	}
	return false
}
