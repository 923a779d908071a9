package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

// The rules of the definition.
func texts(t testing.TB) []string {
	t.Helper()
	var all struct{ Spec any }
	if err := yaml.Unmarshal([]byte(read(t, crd)), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, v := range value {
				walk(v)
			}
		case map[string]any:
			if rule, ok := value["rule"].(string); ok {
				found[rule] = true
			}
			for _, v := range value {
				walk(v)
			}
		}
	}
	walk(all.Spec)
	return slices.Sorted(maps.Keys(found))
}

// translated are so many rules. Only the function checks the others.
const translated = 60

// Of a duration the schema only checks the form.
var weaker = regexp.MustCompile(`duration\(self\)`)

// A translation says what its rule says, of all values that the rule could tell apart; if
// something of it is lost, it refuses nothing that the rule lets pass.
func TestTranslationsAgreeWithRules(t *testing.T) {
	found := 0
	for _, rule := range texts(t) {
		t.Run(rule, func(t *testing.T) {
			says := translate(&definition.Rule{Text: rule})
			if says == nil {
				return
			}
			evaluate, holds := celRule(t, rule), schemaOf(t, says)
			found++
			passed, faults := 0, 0
			for _, value := range values("self", rule) {
				want, ok := evaluate(value)
				if !ok {
					continue // of another type
				}
				if want {
					passed++
				} else {
					faults++
				}
				if got := holds.Validate(value) == nil; got != want && (want || !weaker.MatchString(rule)) {
					t.Fatalf("%v: want %v, got %v: %v", value, want, got, says)
				}
			}
			if faults == 0 || passed == 0 {
				t.Errorf("want values of both kinds, got %d that pass and %d that do not", passed, faults)
			}
		})
	}
	if found != translated {
		t.Errorf("want %d rules with a translation, got %d", translated, found)
	}
}

// celRule evaluates a rule. It is not ok of a value of a type that the rule is not for.
func celRule(t *testing.T, rule string) func(any) (holds, ok bool) {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("self", cel.DynType), cel.EnableIdentifierEscapeSyntax(), ext.Strings(), cel.CrossTypeNumericComparisons(true))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(strings.ReplaceAll(rule, "__namespace__", "`namespace`"))
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	return func(self any) (bool, bool) {
		out, _, err := program.Eval(map[string]any{"self": self})
		if err != nil {
			return false, false
		}
		holds, ok := out.Value().(bool)
		return holds, ok
	}
}

func schemaOf(t *testing.T, s schema) *jsonschema.Schema {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("rule.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("rule.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

var (
	literals = regexp.MustCompile(`'([^']*)'`)
	numbers  = regexp.MustCompile(`\b\d+\b`)
)

// values that a rule could tell apart at a path: objects of all fields that it has, each
// with each of its values and without it, or else texts, numbers and booleans.
func values(path, rule string) []any {
	fields := map[string]bool{}
	for _, m := range regexp.MustCompile(regexp.QuoteMeta(path)+`\.(\w+)\b([^(\w]|$)`).FindAllStringSubmatch(rule, -1) {
		fields[m[1]] = true
	}
	if len(fields) == 0 {
		return leaves(path, rule)
	}
	all := []any{map[string]any{}}
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		below := values(path+"."+f, rule)
		if onlyHas := regexp.MustCompile(regexp.QuoteMeta(path+"."+f) + `[^)\w]`); !onlyHas.MatchString(rule) {
			below = []any{"any"}
		}
		for _, object := range slices.Clone(all) {
			for _, v := range below {
				more := maps.Clone(object.(map[string]any))
				more[strings.Trim(f, "_")] = v
				all = append(all, more)
			}
		}
	}
	return all
}

func leaves(path, rule string) []any {
	out := []any{"", "zz", true, false}
	if path == "self" {
		out = append(out, ".", "..", "..a", ".a", "spec", "spec.a", "specs", "conditions", "conditions.a", "conditionsa", "crossplane",
			"0s", "5s", "1m", "61m", "1h30m", "1.5h", "24h", "0", "-1s", "30d", "1", "876000h", "876001h", "500ms", "90000h", "+1h", ".5h")
		for _, key := range []string{"a", "", "a b", ".", "..", "..a", ".a", strings.Repeat("a", 253), strings.Repeat("a", 254)} {
			out = append(out, map[string]any{key: "x"})
		}
		out = append(out, map[string]any{"a": ""}, map[string]any{"a": strings.Repeat("x", 4096)}, map[string]any{"a": strings.Repeat("x", 4097)})
	}
	for _, m := range literals.FindAllStringSubmatch(rule, -1) {
		out = append(out, m[1], m[1]+"x", "x"+m[1])
	}
	if strings.Contains(rule, " in "+path) {
		out = append(out, []any{"zz"}, []any{})
	}
	if strings.Contains(rule, path+" in (") {
		for _, n := range numbers.FindAllString(rule, -1) {
			var i int
			if _, err := fmt.Sscan(n, &i); err == nil {
				out = append(out, i)
			}
		}
	}
	return out
}
