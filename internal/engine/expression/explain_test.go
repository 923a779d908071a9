package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func TestReads(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string
	}{
		{
			"resource.status.host + secret.password",
			[]string{"resources.db.status.host required", "secrets.db.password required"},
		},
		{
			"resource['status']['a.b'] + resource.list[0]",
			[]string{"resources.db.status['a.b'] required", "resources.db.list[0] required"},
		},
		{"composite.spec.?region.orValue('eu')", []string{"composite.spec.region optional", "composite.spec required"}},
		{"secrets.?ca[?'ca.crt']", []string{"secrets.ca['ca.crt'] optional"}},
		{"resource.?status.?host.orValue('')", []string{"resources.db.status.host optional", "resources.db required"}},
		{
			"resource.?status.?host.orValue('') + secret.password",
			[]string{"resources.db.status.host optional", "secrets.db.password required"},
		},
		{"has(composite.spec.size) ? 'a' : 'b'", []string{"composite.spec.size optional", "composite.spec required"}},
		{
			"has(composite.spec.size) ? composite.spec.size : 3",
			[]string{"composite.spec.size optional", "composite.spec required"},
		},
		{"composite.spec.a ? resource.b : 'c'", []string{"composite.spec.a required", "resources.db.b conditional"}},
		{"composite.a ? composite.b : composite.a", []string{"composite.a required", "composite.b conditional"}},
		{"composite.a || composite.b", []string{"composite.a conditional", "composite.b conditional"}},
		{
			"composite.a ? [composite.b] : [composite.c]",
			[]string{"composite.a required", "composite.b conditional", "composite.c conditional"},
		},
		{"composite.?a.orValue(composite.b)", []string{"composite.a optional", "composite.b conditional"}},
		{
			"resource.list.map(x, x.name)",
			[]string{"resources.db.list required", "resources.db.list[*].name conditional"},
		},
		{
			"(composite.a ? resource : composite.b).host",
			[]string{"composite.a required", "resources.db.host conditional", "composite.b.host conditional"},
		},
		{"cel.bind(x, resource.spec, x.port)", []string{"resources.db.spec.port required"}},
		{"[1].map(secret, secret)", nil},
	} {
		t.Run(tc.text, func(t *testing.T) {
			var got []string
			x := compile(t, tc.text, expression.WantAny, "db")
			for _, r := range x.Reads() {
				got = append(got, x.TextOf(r)+" "+r.Need.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpelled(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []expression.SpelledKey
		all  bool
	}{
		"Literal": {"{'a': secret.password, 'b': 'x'}", []expression.SpelledKey{{Name: "a"}, {Name: "b"}}, true},
		"Optional": {
			"{'a': 'x', ?'b': secret.?password}", []expression.SpelledKey{{Name: "a"}, {Name: "b", Optional: true}},
			true,
		},
		"Computed": {"{'a': 'x', 'b' + 'c': 'y'}", []expression.SpelledKey{{Name: "a"}}, false},
		"NoMap":    {"secret", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, all := compile(t, tc.text, expression.WantTextMap, "db").Spelled()
			if diff := cmp.Diff(tc.want, got); diff != "" || all != tc.all {
				t.Errorf("all: %t\n%s", all, diff)
			}
		})
	}
}
