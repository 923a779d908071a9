package reconcile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// Each name of an object belongs to at most one generation.
func TestGenerationNamed(t *testing.T) {
	p, wrong := plantest.Compile(t, plantest.Exports("generators: [{name: users, forEachExpression: '[]', keyExpression: item, uuid: {}}, {name: one, uuid: {}}]"))
	if wrong != nil {
		t.Fatal(wrong)
	}
	list, c := &p.Generators[0], composite{name: "xr"}
	anna := list.For(&observation.Item{Key: "anna"})
	for name, want := range map[string]struct {
		of  *plan.Generator
		got string
	}{
		"xr-users-anna-1":                     {list, "users/anna 1"},
		"xr-users-anna-12":                    {list, "users/anna 12"},
		"xr-users-anna-1-0123456789":          {list, ""},
		"xr-users-anna-1-1":                   {list, "users/anna-1 1"},
		"xr-users-anna-1-abcdefgh-1":          {list, "users/anna-1-abcdefgh 1"},
		"xr-users-anna-1-abcdefgh-2-abcdef01": {list, ""},
		"xr-users-1":                          {list, ""},
		"xr-users-1-0123456789":               {list, ""},
		"xr-users-anna":                       {list, ""},
		"xr-users-anna-01":                    {list, ""},
		"xr-one-1":                            {list, ""},
		"xr-one-2":                            {&p.Generators[1], "one 2"},
		"xr-users-anna-2":                     {&anna, "users/anna 2"},
		"xr-users-anna-2-0123456789":          {&anna, ""},
		"xr-users-anna-2-abcdefgh-1":          {&anna, ""},
		"xr-users-anna-2-1":                   {&anna, ""},
		"xr-users-annas-1":                    {&anna, ""},
	} {
		got := ""
		if of, number, ok := c.generationNamed(want.of, name); ok {
			got = fmt.Sprintf("%s %d", of, number)
		}
		if diff := cmp.Diff(want.got, got); diff != "" {
			t.Errorf("generationNamed(%s): -want, +got:\n%s", name, diff)
		}
	}
}
