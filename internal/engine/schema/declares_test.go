package schema

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestDeclares(t *testing.T) {
	const head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a, versions: [{name: v1, schema: {openAPIV3Schema: {}}}]"
	cases := map[string]struct {
		reason string
		in     string
		want   bool
	}{
		"Wanted":        {"as everybody writes it", file(t, "crd-rds-instance.yaml"), true},
		"JSON":          {"as kubectl prints it", `{"kind":"CustomResourceDefinition","spec":{"names":{"kind":"Instance"}}}`, true},
		"Claim":         {"a claim's kind counts", strings.Replace(file(t, "xrd-database-v1.yaml"), "kind: Database", "kind: Instance", 1), true},
		"Other":         {"another kind is declared", file(t, "xrd-postgres.yaml"), false},
		"Object":        {"an object of the kind is no definition", "apiVersion: a/v1\nkind: Instance\nspec: {}", false},
		"OtherWord":     {"the kind is a whole word", head + ", names: {kind: InstanceClass}}", false},
		"OtherKey":      {"the key is a whole word", head + ", names: {listkind: Instance}}", false},
		"Text":          {"other text is not the kind", head + ", names: {kind: A}}\n# an Instance of some kind\n", false},
		"Quoted":        {"a key may be quoted", head + ", names: {'kind' : \"Instance\"}}", true},
		"NextLine":      {"a value may stand below a comment", head + ", names: {kind: # which?\n Instance}}", true},
		"Explicit":      {"a key may stand alone", head + ", names: {? kind # which?\n : Instance}}", true},
		"Alias":         {"a value may stand elsewhere", head + ", x: &x Instance, names: {kind: *x}}", true},
		"AliasOfKey":    {"a key may stand elsewhere", head + ", x: &x # key\n kind, names: {*x : Instance}}", true},
		"AliasAfter#":   {"a comment is none in quotes", head + ", \"#\": &x kind, names: {*x : Instance}}", true},
		"Block":         {"a value may be a block", "kind: CustomResourceDefinition\nspec:\n  names:\n    kind: |-\n      Instance\n", true},
		"Escaped":       {"letters may be escaped", head + `, names: {"\u006bind": Instance}}`, true},
		"EscapedValue":  {"letters may be escaped", head + `, names: {kind: "\x49nstance"}}`, true},
		"Escaped8":      {"letters may be escaped", head + `, names: {kind: "I\U0000006Estance"}}`, true},
		"Folded":        {"a word may go on in the next line", head + ", names: {kind: \"Inst\\\n  ance\"}}", true},
		"FoldedText":    {"text that goes on hides nothing", head + ", names: {kind: A}, x: \"text \\\n  \\ that goes on\"}", false},
		"Binary":        {"base64 can be anything", head + ", names: {!!binary a2luZA==: Instance}}", true},
		"Harmless":      {"what JSON escapes for HTML hides nothing", head + `, names: {kind: A}, x: "a \u003c b\n\t\"c\" \\d"}`, false},
		"Patterns":      {"a pattern's backslash hides nothing", head + `, names: {kind: A}, x: '^\d+\.[\w-]\u00zz*$'}`, false},
		"SchemaOfKinds": {"a field called kind is none", head + ", names: {kind: A}, x:\n {kind:\n  {type: string}, required: [kind]}}", false},
		"ListOfKinds":   {"a list is no kind", "kind: CustomResourceDefinition\nkind:\n- Instance\n", false},
		"Nothing":       {"nothing is declared", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Declares(tc.in, func(kind string) bool { return kind == "Instance" }); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// A definition that declares a wanted kind is never passed over.
func FuzzDeclaresMissesNoKind(f *testing.F) {
	for _, name := range []string{"crd-rds-instance.yaml", "xrd-postgres.yaml", "xrd-database-v1.yaml"} {
		f.Add(file(f, name))
	}
	head := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a, versions: [{name: v1, schema: {openAPIV3Schema: {}}}], "
	for _, names := range []string{
		"names: {kind: A}", "names: {'kind' : \"A\"}", "names: {kind: # which?\n A}", "names: {? kind # which?\n : A}", "x: &x A, names: {kind: *x}",
		"x: &x # key\n kind, names: {*x : A}", "\"#\": &x kind, names: {*x : A}", `names: {"\u006bind": A}`, "names: {kind: \"A\\\n  b\"}",
		"names: {!!binary a2luZA==: A}", "names: {!<tag:yaml.org,2002:binary> a2luZA==: A}", "n: &n {kind: A}, names: {<<: *n}", "names: {\"kind\": !x A}",
	} {
		f.Add(head + names + "}")
	}
	f.Add("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nspec:\n  group: a\n  names:\n    kind: |-\n      A\n  versions:\n  - {name: v1, schema: {openAPIV3Schema: {}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]any
		if yaml.Unmarshal([]byte(text), &object) != nil {
			return
		}
		c := NewCatalog()
		if err := c.Add(object); err != nil && len(c.kinds) > 0 {
			t.Errorf("added, with %v", err)
		}
		for k := range c.kinds {
			if c.Find(k) == nil {
				t.Errorf("%s is not found", k)
			}
			if !Declares(text, func(kind string) bool { return kind == k.Kind }) {
				t.Errorf("%s was passed over", k)
			}
		}
	})
}

// provider is the definitions of a large provider, each of some 100 KiB, of which one
// in a hundred is wanted.
func provider(b testing.TB) []string {
	text := file(b, "crd-rds-instance.yaml")
	var fields strings.Builder
	for i := range 700 {
		fmt.Fprintf(&fields, "                  field%03d:\n                    description: 'Reference to a kind: %s'\n                    type: string\n", i, strings.Repeat("text ", 12))
	}
	text = strings.Replace(text, "                  engine:\n", fields.String()+"                  engine:\n", 1)
	out := make([]string, 300)
	for i := range out {
		out[i] = text
		if i%100 > 0 {
			out[i] = strings.Replace(text, "kind: Instance\n", fmt.Sprintf("kind: Instance%d\n", i), 1)
		}
	}
	return out
}

func BenchmarkDeclares(b *testing.B) {
	documents := provider(b)
	wanted := func(kind string) bool { return kind == "Instance" }
	b.SetBytes(int64(len(documents) * len(documents[0])))
	for b.Loop() {
		n := 0
		for _, d := range documents {
			if Declares(d, wanted) {
				n++
			}
		}
		if n != 3 {
			b.Fatalf("%d definitions may be wanted", n)
		}
	}
}

// What it is for: the same by decoding three of them, to compare.
func BenchmarkAdd(b *testing.B) {
	documents := provider(b)[98:101]
	b.SetBytes(int64(len(documents) * len(documents[0])))
	for b.Loop() {
		c := NewCatalog()
		for _, d := range documents {
			if err := c.Add(decoded(b, d)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
