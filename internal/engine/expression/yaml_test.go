package expression_test

import (
	"context"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// YAML is indented: what is nested a thousand deep is a million spaces.
func TestYAMLDepth(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want string
	}{
		"Deep":    {"yaml.encode(json.decode('" + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100) + "'))", ""},
		"TooDeep": {"yaml.encode(json.decode('" + strings.Repeat(`[{"a":`, 50) + "[]" + strings.Repeat("}]", 50) + "'))", "here:1:12: cannot encode YAML with more than 100 levels"},
		"Quoted":  {"yaml.encode({'a': '" + strings.Repeat("[{", 200) + `\\"\\` + strings.Repeat("[{", 200) + "'})", ""},
		"NoYAML":  {"yaml.encode(dyn({1: 2}))", "here:1:12: returns a map whose keys are int, which JSON cannot represent: wrap them in string(...)"},
	} {
		t.Run(name, func(t *testing.T) {
			x, faults := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			_, err := x.Evaluate(context.Background(), (&observation.Observation{}).Scope("", nil), budget.New(context.Background()))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
