package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// forEach is an input with an object for each item of a list.
func forEach(list, key, value string) string {
	return `{secrets: [{name: users, from: db, forEachExpression: "` + list + `", keyExpression: "` + key + `", data: [{key: k, value: "` + value + `"}]}]}`
}

func TestExplainForEach(t *testing.T) {
	p, diagnostics := plantest.Compile(t, plantest.Exports(forEach("composite.spec.users", "item.name", "secret.password + key")))
	if diagnostics != nil {
		t.Fatal(diagnostics)
	}
	x := inspect.Explain(p, nil)
	o := x.Objects[0]
	got := []string{o.Name, o.ForEach, o.ObjectName.Expression, x.Asks[len(x.Asks)-1].Name.Expression}
	for _, k := range append(o.Metadata, o.Keys...) {
		for _, in := range k.Inputs {
			got = append(got, k.Names[0]+" "+in.Name)
		}
	}
	want := []string{
		"users/<key>", "composite.spec.users", "composite.metadata.name + '-users-' + key", "composite.metadata.name + '-users-' + key",
		"forEachExpression composite.spec.users", "keyExpression item.name", "k secrets.db.password",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Explain(...): -want, +got:\n%s", diff)
	}
}
