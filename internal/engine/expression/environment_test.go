package expression_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

var update = flag.Bool("update", false, "write the golden files")

// The vocabulary of expressions is a promise. This test fails if a new version of cel-go adds, changes or removes a
// function, an overload or a macro, or if a variable is added or removed. The cost of a new function must also be added
// to the table of checks.
func TestEnvironmentIsFrozen(t *testing.T) {
	const golden = "testdata/environment.txt"
	got := describe(t, env.CEL())
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	has, had := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for _, line := range had {
		if !slices.Contains(has, line) {
			t.Errorf("the %s is missing: inputs of users depend on it, so keep this name and this signature", line)
		}
	}
	for _, line := range has {
		if !slices.Contains(had, line) {
			t.Errorf(
				"the %s is new: if it is meant, run go test ./internal/engine/expression -run IsFrozen -update", line,
			)
		}
	}
}

// Each scope has its own variables of generators. If a scope does not have a variable, its use is
// a diagnostic at its position when the input is compiled.
func TestVariablesOfGenerators(t *testing.T) {
	const (
		tenants = "the variables are composite, environment, resource, resources, secret, secrets, self"
		all     = "the variables are candidate, composite, context, environment, generated, previous, resource, " +
			"resources, revisions, secret, secrets, self, sources, variables"
	)
	undeclared := func(variable, others string) diagnostic.List {
		return diagnostic.List{
			{
				Path: "here", Line: 1, Column: 1, Rule: diagnostic.Expression,
				Message: "there is no variable " + variable + " here: " + others,
			},
		}
	}
	cases := map[string]struct {
		reason string
		scope  expression.Scope
		text   string
		want   diagnostic.List
	}{
		"Generated": {"an export reads outputs", expression.InputScope, "generated.db.password", nil},
		"Generation": {
			"which one it is, only the manifest of a generator knows", expression.InputScope, "generation.number",
			undeclared("generation", all),
		},
		"GenerationsGenerated": {
			"with all else: a generator may read another one", expression.GenerationScope,
			"generated.db.password + variables.x + sources.y.z + context.w", nil,
		},
		"AuthorsGenerated": {
			"the composite's author has no generators", expression.AuthorScope, "generated.db.password",
			undeclared("generated", tenants),
		},
		"AuthorsAbsolute": {
			"a dot in front is no way around", expression.AuthorScope, ".generated.db.password",
			diagnostic.List{
				{
					Path: "here", Line: 1, Column: 2, Rule: diagnostic.Expression,
					Message: "there is no variable generated here: " + tenants,
				},
			},
		},
		"AuthorsUnused": {
			"also if its value is not used", expression.AuthorScope, "cel.bind(x, generated, 1)",
			diagnostic.List{
				{
					Path: "here", Line: 1, Column: 13, Rule: diagnostic.Expression,
					Message: "there is no variable generated here: " + tenants,
				},
			},
		},
		"KeysGenerated": {
			"a key is made of a key alone", expression.KeyScope, "generated.db.password",
			undeclared("generated", "the only variable is key"),
		},
		"GeneratedIsText": {
			"its outputs are strings, as those of a Secret are", expression.InputScope, "generated.db.password + 1",
			diagnostic.List{{Path: "here", Line: 1, Column: 23, Rule: diagnostic.Expression,
				Message: "+ does not accept string and int: wrap the operand that is not a string in string(...)",
				Edits:   []diagnostic.Edit{{Path: "here", Text: "generated.db.password + string(1)"}}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := env.Compile(expression.Source{Text: tc.text, Path: "here", Scope: tc.scope})
			if diff := cmp.Diff(tc.want, faults); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

func describe(t *testing.T, e *cel.Env) string {
	t.Helper()
	var lines []string
	for _, v := range e.Variables() {
		lines = append(lines, fmt.Sprintf("variable %s: %s", v.Name(), cel.FormatCELType(v.Type())))
	}
	for _, m := range e.Macros() {
		lines = append(lines, "macro "+m.MacroKey())
	}
	for name, f := range e.Functions() {
		for _, o := range f.OverloadDecls() {
			args := make([]string, 0, len(o.ArgTypes()))
			for _, a := range o.ArgTypes() {
				args = append(args, cel.FormatCELType(a))
			}
			target := ""
			if o.IsMemberFunction() {
				target, args = args[0]+".", args[1:]
			}
			lines = append(
				lines,
				fmt.Sprintf(
					"function %s%s(%s) -> %s", target, name, strings.Join(args, ", "),
					cel.FormatCELType(o.ResultType()),
				),
			)
		}
	}
	for _, l := range e.Libraries() {
		lines = append(lines, "library "+l)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n") + "\n"
}
