package function_test

import (
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// fromSource is an input that requires a Secret.
const fromSource = `
sources: [{name: login, apiVersion: v1, kind: Secret}]
secrets: [{name: a, data: [{key: p, value: secrets.login.password}]}]
`

// withLogin returns a control plane with the Secret that fromSource reads.
func withLogin(t *testing.T, input string) *functiontest.ControlPlane {
	t.Helper()
	c := functiontest.NewControlPlane(t, input)
	c.Stored["v1|Secret|team-a|login"] = functiontest.Parse(t, "{apiVersion: v1, kind: Secret, "+
		"metadata: {name: login, namespace: team-a}, data: {password: aHVzaA==}}")
	return c
}

// The default TTL is long only if Crossplane watches what was required. A version that does so sends the required
// objects of the last reconcile with the first call of the next one.
func TestFreshnessByCrossplane(t *testing.T) {
	const open = "type: Responsive, status: 'False', reason: WatchCircuitOpen"
	const unsourced = `secrets: [{name: a, data: [{key: p, value: composite.spec.role}]}]`
	const poll, watch = plan.PollTTL, plan.WatchTTL
	fails := strings.Replace(fromSource, "secrets.login.password", "string(int(secrets.login.password))", 1)
	for name, tc := range map[string]struct {
		reason  string
		input   string
		forgets bool
		is      string          // a condition of the composite
		want    []time.Duration // of the first reconcile, and of those after it
		calls   int             // of the last reconcile
	}{
		"Watches": {
			"From the second reconcile on, Crossplane shows that it remembers what was required.",
			fromSource, false, "", []time.Duration{poll, watch}, 1,
		},
		"Forgets": {"It never does.", fromSource, true, "", []time.Duration{poll, poll}, 2},
		"Nothing": {
			"Once the export exists, nothing is required: all versions watch composites and composed resources.",
			unsourced, true, "", []time.Duration{poll, watch}, 1,
		},
		"Open": {
			"Crossplane drops events while a circuit breaker is " +
				"open.", fromSource, false, open, []time.Duration{poll, poll}, 1,
		},
		"OpenForAll": {
			"It also drops those of composed resources.", unsourced, false, open, []time.Duration{poll, poll}, 1,
		},
		"Unsynced": {
			"Crossplane could not apply an object. No event says when it can.", fromSource, false,
			"type: Synced, status: 'False', reason: ReconcileError", []time.Duration{poll, poll}, 1,
		},
		"Failed": {
			"An evaluation failed, perhaps because the machine is busy.", fails, false, "", []time.Duration{poll, poll}, 1,
		},
		"Set": {
			"The time that the input sets is used.", "ttl: 3m" + fromSource, true, open,
			[]time.Duration{3 * time.Minute, 3 * time.Minute}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := withLogin(t, tc.input)
			c.Forgets = tc.forgets
			if tc.is != "" {
				c.XR.Fields["status"] = functiontest.Parse(t, "{a: {conditions: [{"+tc.is+"}]}}").GetFields()["a"]
			}
			calls := 0
			for i, want := range append(tc.want, tc.want[1]) {
				before := c.Calls
				c.Reconcile()
				if got := c.Response.GetMeta().GetTtl().AsDuration(); got != want {
					t.Errorf("%s\nreconcile %d: want TTL %s, got %s: %s", tc.reason, i+1, want, got, c.Condition())
				}
				calls = c.Calls - before
			}
			if calls != tc.calls {
				t.Errorf("%s\nwant %d calls of the last reconcile, got %d", tc.reason, tc.calls, calls)
			}
		})
	}
}
