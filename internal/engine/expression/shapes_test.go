package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func TestNeverExists(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"Details":    {"connection details are no field", "resources.db.connectionDetails.password", "here:1:13: a resource has no field connectionDetails: write secrets.db.password"},
		"Own":        {"nor of the resource itself", "resource.connectionDetails.password", "here:1:9: a resource has no field connectionDetails: write secret.password"},
		"Brackets":   {"a name in brackets is the same", "resources['a-b'].connectionDetails.x", "here:1:17: a resource has no field connectionDetails: write secrets['a-b'].password"},
		"Resource":   {"a template selects the resource", "resources.db.resource.status.host", "here:1:13: resources.db is the resource itself: leave .resource out"},
		"Below":      {"a field of this name may be anywhere else", "resources.db.spec.resource.connectionDetails", ""},
		"Named":      {"or be the name of a resource", "resources.resource.status.host", ""},
		"Secret":     {"or of a connection detail", "secret.connectionDetails", ""},
		"Escaped":    {"only the CEL of Kubernetes escapes names", "resource.metadata.labels.a__dash__b", "here:1:25: names are not escaped here: write resource.metadata.labels['a-b']"},
		"Underscore": {"two underscores are no escape", "resource.metadata.labels.a__b", ""},
		"Map":        {"conditions are a list", "resource.status.conditions.Ready.status", "here:1:27: resource.status.conditions is a list: write resource.status.conditions.filter(c, c.type == 'Ready')[0]"},
		"Bool":       {"their status is a text", "resource.status.conditions.exists(c, c.type == 'Ready' && c.status == true) ? 'a' : 'b'", "here:1:68: the status of a condition is a string: write 'True'"},
		"Not":        {"also after !=", "resource.status.conditions.filter(c, false != c.status)[0].type", "here:1:44: the status of a condition is a string: write 'False'"},
		"Filtered":   {"and in the result of filter", "resource.status.conditions.filter(c, c.type == 'Ready')[0].status == true ? 'a' : 'b'", "here:1:67: the status of a condition is a string: write 'True'"},
		"Others":     {"the status of something else may be true", "resource.status.parts.exists(c, c.status == true) ? 'a' : 'b'", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, wrong := env.Compile(expression.Source{Path: "here", Text: tc.text, Want: expression.WantText})
			got := ""
			for _, d := range wrong {
				got += d.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}
