package vocabulary

import (
	"maps"
	"slices"
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// Each function and each macro of expressions has one entry, and each entry has a function or a macro.
func TestComplete(t *testing.T) {
	env, v := environment(t)
	left := map[string]bool{}
	for name := range env.CEL().Functions() {
		left[name] = true
	}
	for _, m := range env.CEL().Macros() {
		left[m.MacroKey()] = true
	}
	described := v.Hidden
	for _, g := range v.Groups {
		for _, e := range g.Entries {
			described = slices.Concat(described, e.Names, e.Macros)
		}
	}
	for _, name := range described {
		if !left[name] {
			t.Errorf("%s does not exist, or is described twice", name)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("write entries into vocabulary.yaml: %v", slices.Sorted(maps.Keys(left)))
	}
}

// Each example has the result that its entry shows.
func TestExamples(t *testing.T) {
	env, v := environment(t)
	vars, err := cel.NewActivation(map[string]any{expression.Secret: v.Secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range v.Groups {
		for _, e := range g.Entries {
			if e.Does == "" || len(e.Signatures) == 0 {
				t.Errorf("%v: it needs does and signatures", e.Names)
			}
			x, wrong := env.Compile(expression.Source{Text: "(" + e.Example + ") == (" + e.Result + ")",
				Path: "example"})
			if len(wrong) > 0 {
				t.Errorf("%v: %v", e.Names, wrong)
				continue
			}
			if equal, err := x.Evaluate(t.Context(), vars, budget.New(t.Context())); err != nil || equal.Value() != true {
				t.Errorf("%s is not %s: %v", e.Example, e.Result, err)
			}
		}
	}
}

func environment(t *testing.T) (*expression.Environment, vocabulary) {
	t.Helper()
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return env, read()
}
