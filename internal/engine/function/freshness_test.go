package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

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
			"Crossplane drops events while a circuit breaker is open.", fromSource, false, open, []time.Duration{poll, poll}, 1,
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

// While a composite waits, schemas can only add warnings. If the composite has the same condition as before, they were
// already checked, and Crossplane is not called for them again.
func TestSchemasAreRequiredOnce(t *testing.T) {
	request := func(reason, message string) *fnv1.RunFunctionRequest {
		req := functiontest.Request(t, `
meta: {capabilities: [CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_SCHEMAS]}
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: App
      metadata: {name: x, namespace: team, uid: u}
      spec: {crossplane: {}}
      status: {conditions: []}
  resources: {db: {resource: {apiVersion: example.org/v1, kind: DB, metadata: {name: db, namespace: team, uid: d}}}}
required_resources: {export.fn.crossplane.io/v1/Secret/team/name=x-a: {}}
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets: [{name: a, from: db, data: [{key: p, value: resource.status.host}]}]
`)
		const status = "{conditions: [{type: ExportsReady, status: 'False', reason: %s, message: %q}]}"
		req.GetObserved().GetComposite().GetResource().GetFields()["status"] =
			structpb.NewStructValue(functiontest.Parse(t, fmt.Sprintf(status, reason, message)))
		return req
	}
	call := func(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
		rsp, err := functiontest.New(t).RunFunction(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return rsp
	}
	said := call(request("Waiting", "other")).GetConditions()[0]
	for name, tc := range map[string]struct {
		reason, is, message string
		want                int
	}{
		"First": {"A field that the composite waits for may be misspelled.", "Waiting", "other", 1},
		"Again": {"The same condition was checked before.", "Waiting", said.GetMessage(), 0},
		"Warned": {
			"The last check added a warning, which must stay.", "Waiting",
			said.GetMessage() + "; secrets[0].data[0].value:1:10: there is no field host", 1,
		},
		"Reason": {"It was kept before, and now it waits.", "Held", said.GetMessage(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			rsp := call(request(tc.is, tc.message))
			if got := len(rsp.GetRequirements().GetSchemas()); got != tc.want {
				t.Errorf("%s\nwant %d schemas, got %d: %v", tc.reason, tc.want, got, rsp.GetConditions())
			}
			if got := rsp.GetConditions()[0].GetMessage(); got != said.GetMessage() {
				t.Errorf("%s\nwant the message %q, got %q", tc.reason, said.GetMessage(), got)
			}
			_, again := rsp.GetContext().GetFields()["export.fn.crossplane.io/exports"]
			if !again {
				t.Errorf("%s\nthe report is not in the context", tc.reason)
			}
		})
	}
}
