package definition

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// walk visits a schema and those below it.
func walk(at string, s *Schema, visit func(at string, s *Schema)) {
	visit(at, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		walk(at+"."+name, s.Properties[name], visit)
	}
	for _, below := range []*Schema{s.Items, s.AdditionalProperties} {
		if below != nil {
			walk(at+"[]", below, visit)
		}
	}
}

// Each rule and each pattern compiles, and each field has a place in the order of its Go type.
func TestExports(t *testing.T) {
	walk("", Exports(), func(at string, s *Schema) {
		for _, r := range s.Rules {
			if r.once.Do(r.compile); r.err != nil {
				t.Errorf("%s: %v", at, r.err)
			}
		}
		if _, err := regexp.Compile(s.Pattern); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		names := slices.Sorted(maps.Keys(s.Properties))
		if diff := cmp.Diff(names, slices.Sorted(slices.Values(s.Names)), cmp.Transformer("",
			func(n []string) string { return strings.Join(n, " ") })); diff != "" {
			t.Errorf("%s: -fields, +names:\n%s", at, diff)
		}
	})
}

// The CLI of Crossplane reads the numbers of an input in a Composition as floats. A rule that reads an integer then
// fails, because Kubernetes declares it as an int.
func TestRulesReadNoNumbers(t *testing.T) {
	presence, numbers := regexp.MustCompile(`has\([^)]*\)`), 0
	walk("", Exports(), func(at string, s *Schema) {
		walk("", s, func(below string, number *Schema) {
			if number.Type != "integer" {
				return
			}
			numbers++
			name := below[strings.LastIndexByte(below, '.')+1:]
			for _, r := range s.Rules {
				if name == "" || regexp.MustCompile(`\.`+name+`\b`).MatchString(presence.ReplaceAllString(r.Text, "")) {
					t.Errorf("%s: a rule reads the number %s: check it in the plan: %s", at, name, r.Text)
				}
			}
		})
	})
	if numbers < 5 {
		t.Errorf("want the integers of the input, got %v", numbers)
	}
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"Keyword":     `{"type": "string", "nullable": true}`,
		"RuleKeyword": `{"type": "string", "x-kubernetes-validations": [{"rule": "a", "messageExpression": "b"}]}`,
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%s: want an error, because an unknown keyword is not checked; got %v", name, err)
		}
	}
}
