package expression

import (
	"testing"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"github.com/google/go-cmp/cmp"
)

// Today, no macro of CEL reads an input before its loop, in the condition of the loop, or after the loop. A macro that is
// added to CEL may do so, and then the analysis still finds what it reads.
func TestReferencesOfAnyMacro(t *testing.T) {
	f := ast.NewExprFactory()
	last := int64(0)
	id := func() int64 { last++; return last }
	secret := func(key string) ast.Expr { return f.NewSelect(id(), f.NewIdent(id(), Secret), key) }
	around := f.NewIdent(id(), "around")
	loop := f.NewComprehension(id(), secret("list"), "x", "result",
		secret("before"), secret("condition"), secret("step"), f.NewList(id(), []ast.Expr{secret("after"), around}, nil))
	bind := f.NewComprehension(id(), f.NewList(id(), nil, nil), "#unused", "around",
		secret("around"), f.NewLiteral(id(), types.False), f.NewIdent(id(), "around"), loop)
	var got []string
	for _, r := range findReferences(ast.NewAST(bind, nil)) {
		got = append(got, r.text(""))
	}
	want := []string{"secret.list", "secret.before", "secret.condition", "secret.step", "secret.after", "secret.around"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("References: -want, +got:\n%s", diff)
	}
}
