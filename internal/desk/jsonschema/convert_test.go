package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
)

func TestConvert(t *testing.T) {
	cases := map[string]struct {
		reason string
		schema string
		want   string
		err    string
	}{
		"Object": {
			reason: "Fields that are not listed are refused.",
			schema: `{type: object, required: [a], properties: {a: {type: string}}}`,
			want:   `{type: object, required: [a], properties: {a: {type: string}}, additionalProperties: false}`,
		},
		"NoField": {
			reason: "Also of an object that has none.",
			schema: `{type: object}`,
			want:   `{type: object, additionalProperties: false}`,
		},
		"Open": {
			reason: "What the definition preserves is left open.",
			schema: `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
			want:   `{type: object}`,
		},
		"Embedded": {
			reason: "An object of Kubernetes has what each has.",
			schema: `{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}`,
			want:   `{type: object, required: [apiVersion, kind], properties: {apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}}}`,
		},
		"Map": {
			reason: "A map has any names.",
			schema: `{type: object, minProperties: 1, maxProperties: 2, additionalProperties: {type: string}}`,
			want:   `{type: object, minProperties: 1, maxProperties: 2, additionalProperties: {type: string}}`,
		},
		"Set": {
			reason: "The items of a set are unique.",
			schema: `{type: array, minItems: 1, maxItems: 2, x-kubernetes-list-type: set, items: {type: string}}`,
			want:   `{type: array, minItems: 1, maxItems: 2, uniqueItems: true, items: {type: string}}`,
		},
		"ListMap": {
			reason: "That names are unique cannot be said.",
			schema: `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: string}}`,
			want:   `{type: array, items: {type: string}}`,
		},
		"Text": {
			reason: "All that is said of a text is kept, a default that is empty as well.",
			schema: `{type: string, default: "", enum: [a, b], pattern: ^a, minLength: 0, maxLength: 9}`,
			want:   `{type: string, default: "", enum: [a, b], pattern: ^a, minLength: 0, maxLength: 9}`,
		},
		"Number": {
			reason: "All that is said of a number is kept, but for the size that it has in Go.",
			schema: `{type: integer, format: int64, default: 0, minimum: 0, maximum: 8}`,
			want:   `{type: integer, default: 0, minimum: 0, maximum: 8}`,
		},
		"IntOrString": {
			reason: "Which has no type in a definition.",
			schema: `{x-kubernetes-int-or-string: true}`,
			want:   `{type: [integer, string]}`,
		},
		"Description": {
			reason: "An editor breaks lines itself, and shows paragraphs.",
			schema: `{type: string, description: "a\nb\nc\n\nd\ne"}`,
			want:   `{type: string, description: "a b c\n\nd e"}`,
		},
		"Expression": {
			reason: "A field is told to be CEL, where its language is described, and its text is no Markdown.",
			schema: `{type: object, properties: {nameExpression: {type: string, maxLength: 4096, description: "of <a>"}}}`,
			want: `{type: object, additionalProperties: false, properties: {nameExpression: {type: string, maxLength: 4096, description: "of <a>\n\nIt is a CEL expression.",
  markdownDescription: "of \\<a\\>\n\nIt is a [CEL expression](https://github.com/crossplane-contrib/function-export/blob/main/input/README.md#what-an-expression-sees)."}}}`,
		},
		"Rule": {
			reason: "A rule is said in draft-07, and in its own words where it is broken.",
			schema: `{type: string, x-kubernetes-validations: [{rule: "!self.startsWith('generated/')", message: must not}]}`,
			want:   `{type: string, allOf: [{if: {type: string, pattern: ^generated/}, then: {type: "null", errorMessage: must not}}]}`,
		},
		"RuleField": {
			reason: "A field that must not be there is where the words are told.",
			schema: `{type: object, x-kubernetes-validations: [{rule: "!(has(self.name) && has(self.nameExpression))", message: must not}]}`,
			want:   `{type: object, additionalProperties: false, allOf: [{if: {required: [name]}, then: {properties: {nameExpression: false}, errorMessage: must not}}]}`,
		},
		"RuleLost": {
			reason: "A rule that draft-07 cannot say is left out.",
			schema: `{type: object, x-kubernetes-validations: [{rule: "!has(self.secrets) || !has(self.configMaps) || !self.secrets.exists(s, self.configMaps.exists(c, c.name == s.name))"}]}`,
			want:   `{type: object, additionalProperties: false}`,
		},
		"Keyword":     {reason: "An unknown keyword would be lost.", schema: `{type: string, nullable: true}`, err: `unknown field "nullable"`},
		"RuleKeyword": {reason: "Nor one of a rule.", schema: `{type: string, x-kubernetes-validations: [{rule: a, messageExpression: b}]}`, err: `unknown field "messageExpression"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := yaml.YAMLToJSON([]byte(tc.schema))
			if err != nil {
				t.Fatal(err)
			}
			var s schema
			_, err = definition.Parse(raw)
			if err == nil {
				if err := json.Unmarshal(raw, &s); err != nil {
					t.Fatal(err)
				}
				err = convert(s, "")
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(documents(t, tc.want)[0], documents(t, string(got))[0]); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGenerateRefuses(t *testing.T) {
	cases := map[string]struct {
		reason, crd, want string
	}{
		"NoYAML":      {"It is no YAML.", "a: [", "cannot read CustomResourceDefinition"},
		"NoVersion":   {"There is nothing to write.", "spec: {versions: []}", "has 0 of them"},
		"TwoVersions": {"Which of them an editor should know is for somebody to say.", "spec: {versions: [{name: v1}, {name: v2}]}", "has 2 of them"},
		"NoSchema":    {"A version has a schema.", "spec: {versions: [{name: v1}]}", "cannot read schema"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, _, err := generate([]byte(tc.crd)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// Every field that is CEL by its name says so, and no other: but for the value of a label.
func TestExpressionsAreDescribed(t *testing.T) {
	m := newMutator(t)
	named := regexp.MustCompile(`/(value|valueMap|\w*[eE]xpression|outputs/\*)$`)
	described := 0
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		text, _ := s["markdownDescription"].(string)
		got := strings.Contains(text, "It is a [CEL expression](")
		if want := named.MatchString(at) && !strings.HasSuffix(at, "matchLabels/*/value"); got != want {
			t.Errorf("%s: want described as CEL %v, got %v", at, want, got)
		}
		if got {
			described++
		}
		fields, _ := s["properties"].(map[string]any)
		for name, f := range fields {
			below, _ := f.(map[string]any)
			walk(at+"/"+name, below)
		}
		for _, items := range []string{"items", "additionalProperties"} {
			if below, ok := s[items].(map[string]any); ok {
				walk(at+"/*", below)
			}
		}
	}
	walk("", m.schema)
	if described < 20 {
		t.Errorf("want at least 20 expressions, got %d", described)
	}
}

// Characters with a meaning in Markdown are escaped, except in code.
func TestEscape(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"Plain":  {"a_b <c> *d*", `a\_b \<c\> \*d\*`},
		"Code":   {"as `secrets.<name>`, or `a_b`, not a_b", "as `secrets.<name>`, or `a_b`, not a\\_b"},
		"Double": {"``~`_``, _", "``~`_``, \\_"},
		"Open":   {"one ` and _", "one ` and \\_"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := escape(tc.text); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}
