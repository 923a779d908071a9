package function_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
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
	c.Stored["v1|Secret|team-a|login"] = functiontest.Parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: team-a}, data: {password: aHVzaA==}}")
	return c
}

// The default TTL is long only if Crossplane watches what was required. A version that does so sends the required
// objects of the last reconcile with the first call of the next one.
func TestFreshnessByCrossplane(t *testing.T) {
	const open = "type: Responsive, status: 'False', reason: WatchCircuitOpen"
	const unsourced = `secrets: [{name: a, data: [{key: p, value: composite.spec.role}]}]`
	for name, tc := range map[string]struct {
		reason  string
		input   string
		forgets bool
		is      string // a condition of the composite
		want    []time.Duration
		calls   int // of the last reconcile
	}{
		"Watches":    {"From the second reconcile on, Crossplane shows that it remembers what was required.", fromSource, false, "", []time.Duration{plan.PollTTL, plan.WatchTTL, plan.WatchTTL}, 1},
		"Forgets":    {"It never does.", fromSource, true, "", []time.Duration{plan.PollTTL, plan.PollTTL, plan.PollTTL}, 2},
		"Nothing":    {"Once the export exists, nothing is required: all versions watch composites and composed resources.", unsourced, true, "", []time.Duration{plan.PollTTL, plan.WatchTTL, plan.WatchTTL}, 1},
		"Open":       {"Crossplane drops events while a circuit breaker is open.", fromSource, false, open, []time.Duration{plan.PollTTL, plan.PollTTL, plan.PollTTL}, 1},
		"OpenForAll": {"It also drops those of composed resources.", unsourced, false, open, []time.Duration{plan.PollTTL, plan.PollTTL, plan.PollTTL}, 1},
		"Forged":     {"Only the condition of Crossplane says so.", fromSource, false, "type: Mine, status: 'False', reason: WatchCircuitOpen", []time.Duration{plan.PollTTL, plan.WatchTTL, plan.WatchTTL}, 1},
		"Unsynced":   {"Crossplane could not apply an object. No event says when it can.", fromSource, false, "type: Synced, status: 'False', reason: ReconcileError", []time.Duration{plan.PollTTL, plan.PollTTL, plan.PollTTL}, 1},
		"Synced":     {"It could.", fromSource, false, "type: Synced, status: 'True', reason: ReconcileSuccess", []time.Duration{plan.PollTTL, plan.WatchTTL, plan.WatchTTL}, 1},
		"Failed":     {"An evaluation failed, perhaps because the machine is busy.", strings.Replace(fromSource, "secrets.login.password", "secrets.login.password + string(int(secrets.login.password))", 1), false, "", []time.Duration{plan.PollTTL, plan.PollTTL, plan.PollTTL}, 1},
		"Set":        {"The time that the input sets is used.", "ttl: 3m" + fromSource, true, open, []time.Duration{3 * time.Minute, 3 * time.Minute, 3 * time.Minute}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := withLogin(t, tc.input)
			c.Forgets = tc.forgets
			if tc.is != "" {
				c.XR.Fields["status"] = functiontest.Parse(t, "{a: {conditions: [{"+tc.is+"}]}}").GetFields()["a"]
			}
			calls := 0
			for i, want := range tc.want {
				before := c.Calls
				if c.Reconcile(); c.TTL() != want {
					t.Errorf("%s\nreconcile %d: want TTL %s, got %s: %s", tc.reason, i+1, want, c.TTL(), c.Condition())
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
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: x, namespace: team, uid: u}, spec: {crossplane: {}}, status: {conditions: []}}}
  resources: {db: {resource: {apiVersion: example.org/v1, kind: DB, metadata: {name: db, namespace: team, uid: d}}}}
required_resources: {export.fn.crossplane.io/v1/Secret/team/name=x-a: {}}
input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, secrets: [{name: a, from: db, data: [{key: p, value: resource.status.host}]}]}
`)
		conditions := req.GetObserved().GetComposite().GetResource().GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue()
		conditions.Values = append(conditions.Values, structpb.NewStructValue(functiontest.Parse(t, fmt.Sprintf("{type: ExportsReady, status: 'False', reason: %s, message: %q}", reason, message))))
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
		"First":   {"The composite has another condition: a field that it waits for may be misspelled.", "Waiting", "other", 1},
		"Again":   {"The same condition was checked before.", "Waiting", said.GetMessage(), 0},
		"Warned":  {"The last check added a warning, which must stay.", "Waiting", said.GetMessage() + "; secrets[0].data[0].value:1:10: there is no field host", 1},
		"Reason":  {"It was kept before, and now it waits.", "Held", said.GetMessage(), 1},
		"Unknown": {"There was a fatal error in between.", "FatalError", "", 1},
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

// A request never combines two versions of a Secret. What depends on it is kept, even an optional key. Everything else
// goes on, and Crossplane calls again at once.
func TestTwoVersionsOfASecret(t *testing.T) {
	const (
		byName   = "export.fn.crossplane.io/v1/Secret/team/name=victim-conn"
		byLabels = "export.fn.crossplane.io/v1/Secret/team/labels=a=b"
		changed  = "Secret team/victim-conn (it changed while Crossplane read it)"
		readers  = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  sources: [{name: s, apiVersion: v1, kind: Secret, matchLabels: {a: b}}]
  secrets:
  - {name: details, from: db, data: [{key: k, value: "'v'"}, {key: p, value: secret.password, optional: true}]}
  - {name: source, data: [{key: u, value: secrets.s.username}, {key: p, value: "secrets.?s.?password", optional: true}]}
  - {name: other, data: [{key: k, value: composite.metadata.name}]}
  - {name: found, dataFrom: [{find: {path: s/}, optional: true}]}
  status: [{fieldPath: user, value: secret.username, nonSensitive: [composite.username]}]
`
	)
	secret := func(version, value string) string {
		return strings.NewReplacer("team, owner", "team, labels: {a: b}, resourceVersion: '"+version+"', owner").Replace(connectionSecretOf(ownedByDB, value))
	}
	kept := `{resource: {apiVersion: v1, kind: Secret, metadata: {name: victim-source, namespace: team, uid: u9, annotations: {crossplane.io/composition-resource-name: source}, ` +
		`ownerReferences: [{apiVersion: example.org/v1, kind: App, name: victim, uid: u-victim, controller: true}]}, type: Opaque, data: {u: b2xk, p: b2xk}}}`
	for name, tc := range map[string]struct {
		reason                 string
		sent, byName, byLabels string
		changed                bool
	}{
		"One":     {"All have one version.", "two", secret("2", "two"), secret("2", "two"), false},
		"Newer":   {"It was read by its labels after it changed.", "one", secret("1", "one"), secret("2", "two"), true},
		"Older":   {"It was read by its labels before it changed.", "two", secret("2", "two"), secret("1", "one"), true},
		"Labels":  {"Only its metadata changed.", "two", secret("1", "two"), secret("2", "two"), false},
		"Details": {"It changed after Crossplane read the resource, whose status may belong to the former credential.", "one", secret("2", "two"), secret("2", "two"), true},
	} {
		t.Run(name, func(t *testing.T) {
			req := functiontest.Request(t, strings.Replace(victim(tc.sent), "  resources:\n", "  resources:\n    source: "+kept+"\n", 1)+readers+`
required_resources:
  `+byName+`: {items: [{resource: `+tc.byName+`}]}
  `+byLabels+`: {items: [{resource: `+tc.byLabels+`}]}
  export.fn.crossplane.io/v1/Secret/team/name=victim-details: {}
  export.fn.crossplane.io/v1/Secret/team/name=victim-other: {}
  export.fn.crossplane.io/v1/Secret/team/name=victim-found: {}
`)
			rsp, err := functiontest.New(t).RunFunction(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if got := world.FatalOf(rsp); got != "" {
				t.Errorf("%s\nthe result is fatal: %s", tc.reason, got)
			}
			var made []string
			for _, name := range []string{"details", "source", "other", "found"} {
				o := rsp.GetDesired().GetResources()[name].GetResource()
				if o != nil && !strings.Contains(o.String(), "b2xk") {
					made = append(made, name)
				}
			}
			want := []string{"details", "source", "other", "found"}
			if tc.changed {
				want = []string{"other"}
			}
			if diff := cmp.Diff(want, made); diff != "" {
				t.Errorf("%s\nmade: -want, +got:\n%s", tc.reason, diff)
			}
			if rsp.GetDesired().GetResources()["source"] == nil {
				t.Errorf("%s\nthe observed export is not kept", tc.reason)
			}
			condition := rsp.GetConditions()[0]
			if ttl := rsp.GetMeta().GetTtl().AsDuration(); (ttl > 0 && ttl <= 5*time.Second) != tc.changed ||
				strings.Contains(condition.GetMessage(), changed) != tc.changed {
				t.Errorf("%s\nTTL %s, condition %v", tc.reason, ttl, condition)
			}
			if strings.Contains(condition.String(), "one\"") || strings.Contains(condition.String(), "two") {
				t.Errorf("%s\nthe condition contains a value", tc.reason)
			}
		})
	}
}

// victim is a composite whose Instance writes its connection details to Secret victim-conn. Crossplane reads the
// details from there, even if another client created the Secret. Each of them has the given value.
func victim(value string) string {
	return strings.ReplaceAll(victimManifest, "DETAILS", base64.StdEncoding.EncodeToString([]byte(value)))
}

const victimManifest = `
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: victim, namespace: team, uid: u-victim}, spec: {operatorSpec: {secretExpressions: [{name: theirs, key: p, value: secret.password}]}}}
  resources:
    db:
      resource:
        apiVersion: example.org/v1
        kind: Instance
        metadata: {name: victim-db, namespace: team, uid: u-db}
        spec: {writeConnectionSecretToRef: {name: victim-conn}}
      connectionDetails: {username: DETAILS, password: DETAILS}
`

// connectionSecretOf is Secret victim-conn of an owner, with one value for both keys.
func connectionSecretOf(owner, value string) string {
	v := base64.StdEncoding.EncodeToString([]byte(value))
	return `{apiVersion: v1, kind: Secret, metadata: {name: victim-conn, namespace: team, ownerReferences: [` + owner + `]}, data: {username: ` + v + `, password: ` + v + `}}`
}

const ownedByDB = `{apiVersion: example.org/v1, kind: Instance, name: victim-db, uid: u-db, controller: true}`
