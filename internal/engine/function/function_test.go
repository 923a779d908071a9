package function_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// A want is what a response has to say and to desire.
type want struct {
	condition string // status, reason, message
	results   []string
	desired   string // YAML of the desired resources, or empty for none
	notReady  bool   // the composite is explicitly not ready
}

func TestRunFunction(t *testing.T) {
	cases := map[string]struct {
		reason  string
		request string
		found   map[string]string
		want    want
	}{
		"Available": {
			reason: "All keys resolve: the Secret is created as a whole, and is ready.",
			request: functiontest.ObservedDatabase + secretInput + "    - {key: url, value: " +
				"\"'postgres://%s@%s:%d'.format([secret.username, resource.status.endpoint, resource.status.port])\"}",
			want: want{
				condition: "STATUS_CONDITION_FALSE Waiting Secret \"connection\" (team-a/orders-connection) is " +
					"created in this reconcile",
				notReady: true,
				desired: `
connection:
  ready: READY_FALSE
  resource:
    apiVersion: v1
    kind: Secret
    type: Opaque
    metadata: {name: orders-connection, namespace: team-a, annotations: {export.fn.crossplane.io/revision: "1"}}
    data: {url: cG9zdGdyZXM6Ly9hcHBAZGIuZXhhbXBsZS5vcmc6NTQzMg==}
`,
			},
		},
		"Waiting": {
			reason: "A missing key: nothing is created half, and the composite is not ready.",
			request: functiontest.ObservedDatabase + secretInput + "    - {key: username, value: " +
				"secret.username}\n    - {key: token, value: secret.token}",
			want: want{
				condition: `STATUS_CONDITION_FALSE Waiting Secret "connection" (team-a/orders-connection) is not ` +
					`created: key "token" waits for secrets.db.token (Instance orders-db exists, and has the keys ` +
					`password, username); see: kubectl describe instance.rds.aws.m.upbound.io orders-db ` +
					`--namespace team-a`,
				notReady: true,
			},
		},
		"Foreign": {
			reason:  "A Secret of that name that is not ours is not touched.",
			request: functiontest.ObservedDatabase + secretInput + "    - {key: username, value: secret.username}",
			found: map[string]string{"team-a/orders-connection": "{apiVersion: v1, kind: Secret, metadata: " +
				"{name: orders-connection, namespace: team-a}}"},
			want: want{
				condition: `STATUS_CONDITION_FALSE Conflict Secret "connection": Secret team-a/orders-connection ` +
					`exists and has no controller: delete it, or set secrets[0].metadata.name to another name; ` +
					`see: kubectl describe secret orders-connection --namespace team-a`,
				results: []string{`SEVERITY_WARNING Secret "connection": Secret team-a/orders-connection exists ` +
					`and has no controller: delete it, or set secrets[0].metadata.name to another name`},
				notReady: true,
			},
		},
		"Fatal": {
			reason:  "A fault of the input is fatal, and nothing but it is said.",
			request: functiontest.ObservedDatabase + secretInput + "    - {key: username, value: secrt.username}",
			want: want{
				condition: `STATUS_CONDITION_FALSE InvalidInput invalid input: secrets[0].data[0].value:1:1: there ` +
					`is no variable secrt: did you mean secret?`,
				results: []string{`SEVERITY_FATAL invalid input: secrets[0].data[0].value:1:1: there is no ` +
					`variable secrt: did you mean secret?`},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, tc.request), tc.found)
			tc.want.check(t, tc.reason, rsp)
		})
	}
}

// check a response.
func (w want) check(t *testing.T, reason string, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	c := rsp.GetConditions()
	if len(c) != 1 || c[0].GetType() != "ExportsReady" || c[0].GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
		t.Fatalf("%s\nwant just the condition ExportsReady, on composite and claim, got %v", reason, c)
	}
	got := strings.TrimSpace(c[0].GetStatus().String() + " " + c[0].GetReason() + " " + c[0].GetMessage())
	if diff := cmp.Diff(w.condition, got); diff != "" {
		t.Errorf("%s\ncondition: -want, +got:\n%s", reason, diff)
	}
	var results []string
	for _, r := range rsp.GetResults() {
		results = append(results, r.GetSeverity().String()+" "+r.GetMessage())
	}
	if diff := cmp.Diff(w.results, results); diff != "" {
		t.Errorf("%s\nresults: -want, +got:\n%s", reason, diff)
	}
	desired := functiontest.Request(t, "desired: {resources: {}}").GetDesired()
	if w.desired != "" {
		desired = functiontest.Request(t, "desired:\n  resources:\n"+indent(w.desired)).GetDesired()
	}
	if diff := cmp.Diff(desired.GetResources(), rsp.GetDesired().GetResources(), protocmp.Transform()); len(
		desired.GetResources(),
	)+len(
		rsp.GetDesired().GetResources(),
	) > 0 && diff != "" {
		t.Errorf("%s\ndesired: -want, +got:\n%s", reason, diff)
	}
	if got := rsp.GetDesired().GetComposite().GetReady() == fnv1.Ready_READY_FALSE; got != w.notReady {
		t.Errorf("%s\nwant composite not ready %v, got %v", reason, w.notReady, got)
	}
}

// Two steps of one pipeline share the condition: the last one says what all of
// them have to, once, however often each is called.
func TestStepsShareTheCondition(t *testing.T) {
	f := functiontest.New(t)
	first := functiontest.Request(t, functiontest.ObservedDatabase+secretInput+"    - {key: token, value: "+
		"secret.token}")
	rsp := functiontest.Reconcile(t, f, first, nil)

	second := functiontest.Request(t, functiontest.ObservedDatabase+strings.Replace(secretInput, "name: "+
		"connection", "name: other", 1)+"    - {key: username, value: secret.username}")
	second.Context, second.Desired = rsp.GetContext(), rsp.GetDesired()
	rsp = functiontest.Reconcile(t, f, second, nil)
	c := rsp.GetConditions()[0]
	want := `Waiting Secret "connection" (team-a/orders-connection) is not created: key "token" waits for ` +
		`secrets.db.token (Instance orders-db exists, and has the keys password, username); Secret "other" ` +
		`(team-a/orders-other) is created in this reconcile; see: kubectl describe instance.rds.aws.m.upbound.io ` +
		`orders-db --namespace team-a`
	if got := c.GetReason() + " " + c.GetMessage(); got != want || len(rsp.GetConditions()) != 1 {
		t.Errorf("the second step: want %q, got %q", want, got)
	}
	if rsp.GetDesired().GetResources()["other"] == nil ||
		rsp.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE {
		t.Error("the second step: want its Secret, and a composite that is not ready")
	}

	// Called again with its own context: also once.
	first.Context = rsp.GetContext()
	rsp = functiontest.Reconcile(t, f, first, nil)
	if got := rsp.GetConditions()[0].GetMessage(); strings.Count(got, `Secret "connection"`) != 1 {
		t.Errorf("called again: want its own message once, got %q", got)
	}
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

// The law: secret data leaves the function only in the data of a Secret.
func TestSecretsFlowIntoSecretsOnly(t *testing.T) {
	const canary = "canary-7f3a9"
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	req := functiontest.Request(t, strings.ReplaceAll(canaryRequest, "CANARY", encoded)+canaryInput)
	found := map[string]string{"team-a/ca": "{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: " +
		"team-a}, data: {tls.crt: " + encoded + "}}"}
	log := &functiontest.Log{}
	f, err := function.New(log, nil)
	if err != nil {
		t.Fatal(err)
	}
	rsp := functiontest.Reconcile(t, f, req, found)
	if logged := log.String(); !strings.Contains(logged, "Ran "+
		"function") || strings.Contains(logged, canary[:9]) || strings.Contains(logged, encoded) {
		t.Errorf("want a line for each call, and no value in it:\n%s", logged)
	}

	ok := rsp.GetDesired().GetResources()["ok"].GetResource().GetFields()["data"].GetStructValue().GetFields()
	if len(ok) != 4 || ok["ca"].GetStringValue() != encoded || ok["password"].GetStringValue() != encoded {
		t.Fatalf("the Secret lacks its data: %d keys; %v", len(ok), rsp.GetConditions())
	}
	for _, name := range []string{"everything", "held", "fromComposite/Secret/theirs", "fromComposite/ConfigMap/theirs"} {
		if rsp.GetDesired().GetResources()[name] == nil {
			t.Fatalf("%s is missing: %v", name, rsp.GetConditions())
		}
	}
	out := proto.Clone(rsp).(*fnv1.RunFunctionResponse)
	set := environmentOf(rsp).GetFields()["everything"]
	if set == nil {
		t.Fatalf("the environment lacks what was set: %v", rsp.GetConditions())
	}
	out.Context = &structpb.Struct{
		Fields: map[string]*structpb.Value{"set": set},
	} // the rest is passed through as it came
	for _, r := range out.GetDesired().GetResources() {
		if r.GetResource().GetFields()["kind"].GetStringValue() == "Secret" {
			delete(r.GetResource().GetFields(), "data")
		}
	}
	text, err := protojson.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]string{"value": canary, "base64": encoded, "part": canary[:9]} {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("the response holds the %s outside of the data of a Secret:\n%s", what, text)
		}
	}
}

// The law: the same request gives the same response, byte for byte, from any
// replica, and is not changed.
func TestSameRequestSameResponse(t *testing.T) {
	req := functiontest.Request(t, strings.ReplaceAll(canaryRequest, "CANARY", "Y2FuYXJ5")+canaryInput)
	before := proto.Clone(req)
	var first []byte
	for range 20 {
		f := functiontest.New(t)
		for range 2 {
			rsp, err := f.RunFunction(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(rsp)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b
			}
			if !bytes.Equal(first, b) {
				t.Fatal("two responses to one request differ")
			}
		}
	}
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
}

// The law: requirements are the same on every call of one reconcile.
func TestRequirementsAreStable(t *testing.T) {
	f := functiontest.New(t)
	req := functiontest.Request(t, strings.ReplaceAll(canaryRequest, "CANARY", "Y2FuYXJ5")+canaryInput)
	first, err := f.RunFunction(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.GetRequirements().GetResources()) == 0 {
		t.Fatal("nothing is required")
	}
	last := functiontest.Reconcile(t, f, req, nil)
	if diff := cmp.Diff(first.GetRequirements(), last.GetRequirements(), protocmp.Transform()); diff != "" {
		t.Errorf("requirements differ between calls: -first, +last:\n%s", diff)
	}
}

// FuzzRunFunctionNeverPanics takes any bytes for a request: the function answers,
// the same each time, and with just one condition.
func FuzzRunFunctionNeverPanics(f *testing.F) {
	for _, text := range []string{
		functiontest.ObservedDatabase + secretInput + "    - {key: url, value: secret.username}",
		strings.ReplaceAll(canaryRequest, "CANARY", "Y2FuYXJ5") + canaryInput,
		"input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}",
		"{}",
	} {
		b, err := proto.Marshal(functiontest.Request(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	fn := functiontest.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		req := &fnv1.RunFunctionRequest{}
		if proto.Unmarshal(b, req) != nil {
			return
		}
		var answers [2][]byte
		for i := range answers {
			rsp, err := fn.RunFunction(context.Background(), req)
			if err != nil || len(rsp.GetConditions()) != 1 {
				t.Fatalf("want an answer with one condition, got %v, %v", rsp.GetConditions(), err)
			}
			if answers[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(rsp); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(answers[0], answers[1]) {
			t.Error("two responses to one request differ")
		}
	})
}

// The Secret of a legacy composite, which its author chooses, is only asked for if an expression reads it.
func TestSecretOfTheComposite(t *testing.T) {
	for value, want := range map[string]bool{
		"secret.password": true, "secrets.db.password": false, "secrets[composite.spec.name].password": false,
	} {
		rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: XDatabase
      metadata: {name: orders, uid: "1"}
      spec: {name: db, writeConnectionSecretToRef: {name: connection, namespace: theirs}}
  resources: {db: {connectionDetails: {password: eA==}}}
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets: [{name: a, metadata: {namespace: ours}, data: [{key: k, value: "`+value+`"}]}]
`), nil)
		got := false
		for _, r := range rsp.GetRequirements().GetResources() {
			got = got || r.GetMatchName() == "connection"
		}
		if got != want {
			t.Errorf("%s: the Secret of the composite is asked for: %t, want %t", value, got, want)
		}
	}
}
