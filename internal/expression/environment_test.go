package expression_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// What an expression may say is a promise: a function, a macro or a variable that
// comes or goes with a new version of cel-go, or with its overloads, shows here
// first. A new function also needs a look at what it costs, in the table of
// checks.
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
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("-want, +got (go test ./internal/expression -update, if it is meant):\n%s", diff)
	}
}

// A tenant's environment lacks variables, and nothing else.
func TestTenantsEnvironmentIsFrozen(t *testing.T) {
	all := strings.Split(describe(t, env.CEL()), "\n")
	lacks := map[string]bool{"variable context: map(string, dyn)": true, "variable sources: map(string, dyn)": true, "variable variables: map(string, dyn)": true}
	want := slices.DeleteFunc(all, func(line string) bool { return lacks[line] })
	if diff := cmp.Diff(want, strings.Split(describe(t, env.Tenants().CEL()), "\n")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if n := len(strings.Split(describe(t, env.CEL()), "\n")) - len(want); n != len(lacks) {
		t.Errorf("want %d variables fewer, got %d", len(lacks), n)
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
			lines = append(lines, fmt.Sprintf("function %s%s(%s) -> %s", target, name, strings.Join(args, ", "), cel.FormatCELType(o.ResultType())))
		}
	}
	for _, l := range e.Libraries() {
		lines = append(lines, "library "+l)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n") + "\n"
}
