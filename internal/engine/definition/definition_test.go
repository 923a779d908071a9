package definition

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

// Each rule compiles, and each pattern.
func TestExports(t *testing.T) {
	var walk func(at string, s *Schema)
	walk = func(at string, s *Schema) {
		for _, r := range s.Rules {
			if r.once.Do(r.compile); r.err != nil {
				t.Errorf("%s: %v", at, r.err)
			}
		}
		if s.Pattern != nil {
			if _, err := s.Pattern.compile(); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
		for name, p := range s.Properties {
			walk(at+"."+name, p)
		}
		for _, below := range []*Schema{s.Items, s.AdditionalProperties} {
			if below != nil {
				walk(at+"[]", below)
			}
		}
	}
	walk("", Exports())
}

// The CLI of Crossplane reads the numbers of an input in a Composition as floats. A rule that reads an integer then fails,
// because Kubernetes declares it as an int.
func TestRulesReadNoNumbers(t *testing.T) {
	presence := regexp.MustCompile(`has\([^)]*\)`)
	var walk func(at string, s *Schema) (numbers []string)
	walk = func(at string, s *Schema) (numbers []string) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			below := walk(at+"."+name, s.Properties[name])
			if s.Properties[name].Type == "integer" {
				below = append(below, name)
			}
			numbers = append(numbers, below...)
		}
		if s.Items != nil {
			numbers = append(numbers, walk(at+"[]", s.Items)...)
		}
		for _, r := range s.Rules {
			text := presence.ReplaceAllString(r.Text, "")
			for _, name := range numbers {
				if regexp.MustCompile(`\.` + name + `\b`).MatchString(text) {
					t.Errorf("%s: a rule reads the number %s: check it in the plan: %s", at, name, r.Text)
				}
			}
		}
		return numbers
	}
	if numbers := walk("", Exports()); len(numbers) < 5 {
		t.Errorf("want the integers of the input, got %v", numbers)
	}
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"Keyword":     `{"type": "string", "nullable": true}`,
		"RuleKeyword": `{"type": "string", "x-kubernetes-validations": [{"rule": "a", "messageExpression": "b"}]}`,
		"Pattern":     `{"type": "string", "pattern": 1}`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%s: want an error, for what is not known is not checked; got %v", name, err)
		}
	}
}

func TestPlace(t *testing.T) {
	root := place{}
	list := place{above: &root, name: "generators"}
	item := place{above: &list, index: 2, item: true}
	outputs := place{above: &item, name: "outputs"}
	for want, p := range map[string]place{
		"input": root, "generators": list, "generators[2]": item, "generators[2].outputs": outputs,
		"generators[2].outputs[a.b]": {above: &outputs, name: "a.b", key: true}, "generators[2].outputs[]": {above: &outputs, key: true},
	} {
		if got := p.String(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func TestCheckNothing(t *testing.T) {
	if got := Check(nil); len(got) > 0 {
		t.Errorf("of no input nothing is said, got %v", got)
	}
	if got := Check(&structpb.Struct{}); len(got) > 0 {
		t.Errorf("of an empty one neither, got %v", got)
	}
}

// An empty field can be left out only if it is not required.
func TestEmpty(t *testing.T) {
	in, err := structpb.NewStruct(map[string]any{
		"sources": []any{map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "", "namespace": ""}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range Check(in) {
		got[f.Path] = f.Message
	}
	for path, want := range map[string]string{
		"sources[0].name":      "must not be empty: set a value",
		"sources[0].namespace": "must not be empty: leave it out, or set a value",
	} {
		if got[path] != want {
			t.Errorf("%s: want %q, got %q", path, want, got[path])
		}
	}
}
