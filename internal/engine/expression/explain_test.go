package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func TestReads(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Strict":      {"What is selected is needed.", "resource.status.host + secret.password", []string{"resources.db.status.host required", "secrets.db.password required"}},
		"Index":       {"An index is a select.", "resource['status']['a.b'] + resource.list[0]", []string{"resources.db.status['a.b'] required", "resources.db.list[0] required"}},
		"Optional":    {"What leads to an optional step is needed.", "composite.spec.?region.orValue('eu')", []string{"composite.spec.region optional", "composite.spec required"}},
		"OptionalTop": {"A step below a map of inputs needs nothing.", "secrets.?ca[?'ca.crt']", []string{"secrets.ca['ca.crt'] optional"}},
		"From":        {"The resource itself is needed.", "resource.?status.?host.orValue('')", []string{"resources.db.status.host optional", "resources.db required"}},
		"FromKnown":   {"But it is no input by itself beside what needs it.", "resource.?status.?host.orValue('') + secret.password", []string{"resources.db.status.host optional", "secrets.db.password required"}},
		"Has":         {"What has tests may be absent, not what holds it.", "has(composite.spec.size) ? 'a' : 'b'", []string{"composite.spec.size optional", "composite.spec required"}},
		"HasThenRead": {"What was tested is not waited for.", "has(composite.spec.size) ? composite.spec.size : 3", []string{"composite.spec.size optional", "composite.spec required"}},
		"Branch":      {"A branch may not be taken.", "composite.spec.a ? resource.b : 'c'", []string{"composite.spec.a required", "resources.db.b conditional"}},
		"BranchBoth":  {"What is needed anyway is needed.", "composite.a ? composite.b : composite.a", []string{"composite.a required", "composite.b conditional"}},
		"Or":          {"Either side decides.", "composite.a || composite.b", []string{"composite.a conditional", "composite.b conditional"}},
		"InBranch":    {"Also what is not the value of the branch.", "composite.a ? [composite.b] : [composite.c]", []string{"composite.a required", "composite.b conditional", "composite.c conditional"}},
		"Default":     {"The default is read if it is needed.", "composite.?a.orValue(composite.b)", []string{"composite.a optional", "composite.b conditional"}},
		"Loop":        {"The list is needed; its elements if there are any.", "resource.list.map(x, x.name)", []string{"resources.db.list required", "resources.db.list[*].name conditional"}},
		"Chosen":      {"So is what is below what a condition chooses.", "(composite.a ? resource : composite.b).host", []string{"composite.a required", "resources.db.host conditional", "composite.b.host conditional"}},
		"Bind":        {"A local variable is what it stands for.", "cel.bind(x, resource.spec, x.port)", []string{"resources.db.spec.port required"}},
		"Shadow":      {"A local variable of the name of another one is not that.", "[1].map(secret, secret)", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range compile(t, tc.text, expression.WantAny, "db").Reads() {
				got = append(got, r.Text+" "+r.Need.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
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
		"Literal":  {"{'a': secret.password, 'b': 'x'}", []expression.SpelledKey{{Name: "a"}, {Name: "b"}}, true},
		"Optional": {"{'a': 'x', ?'b': secret.?password}", []expression.SpelledKey{{Name: "a"}, {Name: "b", Optional: true}}, true},
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
