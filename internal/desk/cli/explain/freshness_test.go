package explain

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
)

func TestPrintFreshness(t *testing.T) {
	const own, secret = "composite: at once, because Crossplane watches it", "Secret team/ca"
	noticed := func(input string, how inspect.How, within, older inspect.Within) inspect.Noticed {
		return inspect.Noticed{Input: input, How: how, Within: within, Older: older}
	}
	composite := noticed("composite", inspect.Watched, inspect.AtOnce, "")
	for name, tc := range map[string]struct {
		reason string
		inputs []inspect.Noticed
		next   inspect.NextCall
		want   []string
	}{
		"Groups": {
			reason: "Inputs with the same answer have one line. Objects of the Composition are not among those of the function.",
			inputs: []inspect.Noticed{
				composite, noticed("resources.db", inspect.Watched, inspect.AtOnce, ""),
				noticed(secret, inspect.Required, inspect.AtOnce, "60s"), noticed("Secret team/s", inspect.Required, inspect.AtOnce, "60s"),
				noticed("sources.zones", inspect.Declared, inspect.AtOnce, "60s"),
				noticed("environment", inspect.FromEarlierStep, "60s", ""),
				noticed("generated.a", inspect.Scheduled, inspect.AtOnce, ""), noticed("generated.b", inspect.Scheduled, inspect.AtOnce, ""),
			},
			next: inspect.NextCall{Within: "10m", Older: "60s", Environment: "60s", Generators: true},
			want: []string{
				"composite, resources.db: at once, because Crossplane watches them",
				"all objects that Crossplane must read: at once if Crossplane is v2.4 or later, otherwise after 60s",
				"sources.zones: at once if Crossplane is v2.4 or later, otherwise after 60s",
				"environment from earlier steps: at once if Crossplane watches the objects that these steps read, otherwise after 60s",
				"generated.a, generated.b: at once, because the function itself changes them, and asks Crossplane to call again in time",
				"without a change, Crossplane calls again after 10m (60s if it is older than v2.4, or if an earlier step sets the environment), " +
					"or earlier for a generator, or for another step of the pipeline",
			},
		},
		"Never": {
			reason: "With ttl: 0s, an input that is not watched is not noticed by itself.",
			inputs: []inspect.Noticed{
				composite, noticed(secret, inspect.Required, inspect.AtOnce, inspect.Never),
			},
			next: inspect.NextCall{Within: inspect.Never},
			want: []string{
				own,
				"all objects that Crossplane must read: at once if Crossplane is v2.4 or later, " +
					"otherwise never, unless Crossplane calls for another reason (ttl is 0s)",
				"without a change, Crossplane does not call again, except for another step of the pipeline",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, want bytes.Buffer
			(&printer{w: &out}).freshness(&inspect.Explanation{Freshness: tc.inputs, NextCall: tc.next})
			p := &printer{w: &want}
			p.section("How changes are noticed")
			for _, line := range tc.want {
				p.line(1, "%s", line)
			}
			if diff := cmp.Diff(want.String(), out.String()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
