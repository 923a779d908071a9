package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// hint guesses what a source that does not compile was meant to be: a dash or a
// dot in a name is an operator of CEL. It is empty if nothing looks like that.
func hint(a *ast.AST) (meant string) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case meant != "":
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "_-_" && len(e.AsCall().Args()) == 2:
			meant = dashed(e.AsCall().Args())
		case e.Kind() == ast.SelectKind:
			meant = dotted(selected(e))
		}
	}))
	return meant
}

// withHint says what was meant, instead of what was understood.
func withHint(faults []Fault, meant string) []Fault {
	if meant == "" {
		return faults
	}
	hint := ": did you mean " + meant + "?"
	if !strings.HasPrefix(faults[0].Message, "- does not take") {
		faults[0].Message += hint
		return faults
	}
	faults[0].Message = "- is a minus here" + hint
	if len(faults) > 1 && strings.HasPrefix(faults[1].Message, "there is no variable ") {
		faults = append(faults[:1], faults[2:]...) // what stands behind the dash
	}
	return faults
}

// dashed is what secrets.my-db.password was meant to be, which is secrets.my minus
// db.password.
func dashed(operands []ast.Expr) string {
	before := operands[0]
	for before.Kind() == ast.CallKind && before.AsCall().FunctionName() == "_+_" {
		before = before.AsCall().Args()[1] // 'x' + secrets.my is one operand
	}
	left, right := selected(before), selected(operands[1])
	if len(left) < 2 || len(right) == 0 || !isInput(left[0]) {
		return ""
	}
	name := left[len(left)-1] + "-" + right[0]
	return PathText(left[0], append(append(left[1:len(left)-1:len(left)-1], name), right[1:]...)...)
}

// dotted is what secrets.db.ca.crt was meant to be, which is the field crt of a
// string.
func dotted(path []string) string {
	depth := map[string]int{Secret: 1, Secrets: 2, Generated: 2, Previous: 2}
	n, ok := depth[strings.Join(path[:min(1, len(path))], "")]
	if !ok || len(path) != n+2 || slices.Contains(lengths, path[n+1]) {
		return ""
	}
	return PathText(path[0], append(path[1:n:n], strings.Join(path[n:], "."))...)
}

// selected is a chain of plain selections, from its variable on; nothing for
// anything else.
func selected(e ast.Expr) []string {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{e.AsIdent()}
	case ast.SelectKind:
		if path := selected(e.AsSelect().Operand()); path != nil && !e.AsSelect().IsTestOnly() {
			return append(path, e.AsSelect().FieldName())
		}
	}
	return nil
}

func isInput(variable string) bool {
	switch variable {
	case Secret, Secrets, Resource, Self, Resources, Sources, Composite, Env, Context, Generated, Previous:
		return true
	}
	return false
}
