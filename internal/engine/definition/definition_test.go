package definition

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"
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
		if diff := cmp.Diff(names, slices.Sorted(slices.Values(s.Names)), cmp.Transformer("", func(n []string) string { return strings.Join(n, " ") })); diff != "" {
			t.Errorf("%s: -fields, +names:\n%s", at, diff)
		}
	})
}

// The CLI of Crossplane reads the numbers of an input in a Composition as floats. A rule that reads an integer then fails,
// because Kubernetes declares it as an int.
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
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%s: want an error, because an unknown keyword is not checked; got %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		reason, input string
		want          []string
	}{
		"Nothing": {"an empty input breaks no rule", `{}`, nil},
		"Order": {
			"fields in the order of the Go types, each with one diagnostic",
			`{ttl: 1ms, secrets: [{}, {name: "", data: [{value: "", key: ..}]}], sources: [{name: "", apiVersion: v1, kind: Secret, namespace: ""}]}`,
			[]string{
				"sources[0].name: must not be empty: set a value",
				"sources[0].namespace: must not be empty: leave it out, or set a value",
				"secrets[0].name: must be set",
				"secrets[0].data: must have at least one item, unless dataFrom is set",
				"secrets[1].name: must not be empty: set a value",
				"secrets[1].data[0].key: must not be '.' or begin with '..'",
				`secrets[1].data[0].value: must not be empty: in an expression, write an empty text as "''"`,
				"ttl: must be 0s, or from 1s to 24h",
			},
		},
		"Present": {
			"rules about the presence of fields",
			`{secrets: [{name: a, data: [{key: k}, {key: l, value: v, valueMap: v}, {value: v}, {key: m, valueMap: v}], dataFrom: [{}, {find: {}}]}], generators: [{name: a}]}`,
			[]string{
				"generators[0]: must have password, uuid, sshKey, certificate, bcrypt, htpasswd, pkcs12, jks or resource",
				"secrets[0].data[0]: must have value or valueMap",
				"secrets[0].data[1].valueMap: must not be set together with value: keep one of them",
				"secrets[0].data[2].key: must be set, because value is the value of one key",
				"secrets[0].data[3].key: must not be set together with valueMap, which returns the keys",
				"secrets[0].dataFrom[0]: must have extract, find or valueMap: write for example extract: {key: db}",
				"secrets[0].dataFrom[1].find: must have path, name or tags",
			},
		},
		"Bounds": {
			"lists, maps, texts, numbers and enumerations",
			`{sources: [{name: a, apiVersion: v1, kind: ConfigMap, matchLabels: {}, scope: None}, {name: a, apiVersion: v1, kind: ConfigMap}],
fromComposite: {fieldPath: spec.a, allow: {labels: [a, a]}}, generators: [{name: a, password: {length: 0}}, {name: b, bcrypt: {cost: 13, secretExpression: "` +
				strings.Repeat("x", 4097) + `"}}], status: [` + strings.Repeat("{}, ", 64) + `{}]}`,
			[]string{
				"sources[0].scope: must be Namespaced or Cluster",
				"sources[0].matchLabels: must not be empty: leave it out, or add an item",
				`sources[1].name: "a" is also the name of sources[0]: rename one of them`,
				"generators[0].password.length: is 0: must be 1 to 1024",
				"generators[1].bcrypt.secretExpression: has 4097 characters, over the limit of 4096: split it into variables",
				"generators[1].bcrypt.cost: is 13: must be 4 to 12",
				"status: has 65 items, over the limit of 64: split the input into several pipeline steps",
				`fromComposite.allow.labels[1]: "a" is listed twice`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &structpb.Struct{}
			text, err := yaml.YAMLToJSON([]byte(c.input))
			if err != nil || protojson.Unmarshal(text, in) != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range Check(in) {
				got = append(got, d.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
