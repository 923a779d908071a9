package files

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
)

// steps in a text, which has just one document.
func stepsIn(t testing.TB, text string) []Step {
	t.Helper()
	docs, faults := document.Parse(text)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	steps, unread := FindSteps(File{Name: "file", docs: docs})
	if len(unread) > 0 {
		t.Fatal(unread[0].Message)
	}
	return steps
}

// Which inputs there are, and where.
func TestFindSteps(t *testing.T) {
	const exports = "{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}"
	const composition = "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec:\n  compositeTypeRef: " +
		"{apiVersion: example.org/v1, kind: App}\n  mode: Pipeline\n  pipeline:\n"
	type step struct {
		Name   string
		At     []any
		Input  bool
		Closed bool // it is in a Composition that could be read
	}
	for name, c := range map[string]struct {
		reason string
		text   string
		want   []step
	}{
		"Alone": {"an input by itself", exports, []step{{"", nil, true, false}}},
		"OtherGroup": {"one of another function is none", "{apiVersion: other.fn.crossplane.io/v1beta1, kind: " +
			"Exports}", nil},
		"List": {"in a list of objects", "{apiVersion: v1, kind: List, items: [{kind: Other}, " +
			"" + exports + ", " + exports + "]}", []step{{"", []any{"items", 1}, true, false}, {"", []any{"items",
			2}, true, false}}},
		"Steps": {"in a list of steps", "- {step: a, functionRef: {name: other}}\n- {step: b, functionRef: " +
			"{name: function-export}, input: " + exports + "}", []step{{"b", []any{1, "input"}, true, false}}},
		"NoInput": {"a step without an input, by the name of the function", "- {step: a, functionRef: {name: " +
			"example-function-export}}", []step{{"a", []any{0}, false, false}}},
		"Composition": {"in a Composition", composition + "  - {step: a, functionRef: {name: function-export}, " +
			"input: " + exports + "}", []step{{"a", []any{"spec", "pipeline", 0, "input"}, true, true}}},
		"OtherKind": {"in no other kind of object", "{apiVersion: example.org/v1, kind: Composition, spec: " +
			"{pipeline: [{step: a, functionRef: {name: function-export}, input: " + exports + "}]}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []step
			for _, s := range stepsIn(t, c.text) {
				got = append(got, step{s.Name, s.at, s.Input != nil, s.composition != nil})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// An error is about one document: the documents after it are read.
func TestFindStepsErrors(t *testing.T) {
	const bad = "{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, spec: {compositeTypeRef: 5, " +
		"pipeline: [{step: a, functionRef: {name: function-export}}]}}\n"
	docs, faults := document.Parse(bad + "---\n" + bad + "---\n{apiVersion: export.fn.crossplane.io/v1beta1, kind: " +
		"Exports}\n")
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}
	steps, unread := FindSteps(File{Name: "file", docs: docs})
	lines := []int{}
	for _, f := range unread {
		lines = append(lines, f.Line)
	}
	if diff := cmp.Diff([]int{1, 3}, lines); diff != "" || len(steps) != 1 {
		t.Errorf("findSteps(...): want one step, got %d; lines of errors: -want, +got:\n%s", len(steps), diff)
	}
}
