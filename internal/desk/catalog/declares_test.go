package catalog

import (
	"strings"
	"testing"
)

func TestDeclares(t *testing.T) {
	const head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: a, versions: " +
		"[{name: v1, schema: {openAPIV3Schema: {}}}]"
	for name, c := range map[string]struct {
		reason, in string
		want       bool
	}{
		"Wanted": {"YAML", file(t, "crd-rds-instance.yaml"), true},
		"JSON": {"as kubectl prints it",
			`{"kind":"CustomResourceDefinition","spec":{"names":{"kind":"Instance"}}}`, true},
		"Claim": {"the kind of a claim counts", strings.Replace(file(t, "xrd-database-v1.yaml"), "kind: "+
			"Database", "kind: Instance", 1), true},
		"Quoted":    {"a key can have quotes", head + ", names: {'kind' : \"Instance\"}}", true},
		"Other":     {"another kind is declared", file(t, "xrd-postgres.yaml"), false},
		"Object":    {"an object of the kind is no definition", "apiVersion: a/v1\nkind: Instance\nspec: {}", false},
		"OtherWord": {"the kind is a whole word", head + ", names: {kind: InstanceClass}}", false},
		"Text":      {"other text is not the kind", head + ", names: {kind: A}}\n# an Instance of some kind\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Declares(c.in, func(kind string) bool { return kind == "Instance" }); got != c.want {
				t.Errorf("%s: want %t, got %t", c.reason, c.want, got)
			}
		})
	}
}
