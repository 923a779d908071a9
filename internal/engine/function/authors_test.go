package function_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// An author's mistakes are one warning, however many there are, to the composite and
// its claim; and what the Composition's author has to know is said before.
func TestAuthorsAreToldOfMistakes(t *testing.T) {
	const n = limits.MessageItems + 3
	asking := strings.Replace(functiontest.Asking(n), "[{name: wrong", "[{name: a-good-one, key: k, value: \"'v'\"}, {name: wrong", 1) // it has no message
	rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, asking+functiontest.AuthorInput), nil)

	var warnings []*fnv1.Result
	for _, r := range rsp.GetResults() {
		if strings.Contains(r.GetMessage(), "wrong-") {
			warnings = append(warnings, r)
		}
	}
	if len(warnings) != 1 || warnings[0].GetSeverity() != fnv1.Severity_SEVERITY_WARNING || warnings[0].GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
		t.Fatalf("want one warning to the composite and its claim, got %v", rsp.GetResults())
	}
	if want := "spec.exports.configMapExpressions[1].value:1:1: there is no variable nope"; !strings.Contains(warnings[0].GetMessage(), want) {
		t.Errorf("want the place in the composite, %q, got %q", want, warnings[0].GetMessage())
	}

	c := rsp.GetConditions()[0]
	if c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM || !strings.HasPrefix(c.GetMessage(), `Secret "own" (team-a/orders-own) is not created`) {
		t.Errorf("want the condition on both, and the Composition's own message first, got %v", c)
	}
	if status := strings.Index(c.GetMessage(), "status.later is not written"); status < 0 || status > strings.Index(c.GetMessage(), "wrong-") {
		t.Errorf("want what the Composition's status waits for before an author's messages, got %q", c.GetMessage())
	}
	if want := "and 4 more messages for the composite author"; !strings.Contains(c.GetMessage(), want+"; see: kubectl describe ") || strings.Count(c.GetMessage(), "wrong-") != limits.MessageItems {
		t.Errorf("want %d of an author's messages and %q, got %q", limits.MessageItems, want, c.GetMessage())
	}
}

// authorsInput exports a ConfigMap of its own, and what the composite's author asks for.
const authorsInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  configMaps: [{name: values, data: [{key: values.yaml, value: "'auth:\\n  existingSecret: export-creds\\n'"}]}]
  generators: [{name: login, resource: {manifest: {apiVersion: example.org/v1, kind: AccessKey, spec: {writeConnectionSecretToRef: {name: generator-creds}}}}}]
  fromComposite: {fieldPath: spec.exports}
`

// authorAsks is functiontest.ObservedDatabase, whose author asks for objects of a name and of another
// one that is free.
func authorAsks(name string) string {
	entries := fmt.Sprintf(`[{name: %s, key: k, value: "'evil'"}, {name: free-name, key: k, value: "'v'"}]`, name)
	return strings.Replace(functiontest.ObservedDatabase, "spec: {size: 3}", "spec: {exports: {secretExpressions: "+entries+", configMapExpressions: "+entries+"}}", 1)
}

// composes is an earlier step that composes a resource named other.
func composes(manifest string) string {
	return "\ndesired: {resources: {other: {resource: " + manifest + "}}}\n"
}

// observedOther is a resource that is observed.
const observedOther = "    other: {resource: {apiVersion: example.org/v1, kind: Thing, SPEC}}\n"

// A name that something in the Composition refers to cannot be taken by the author of a
// composite, whatever the form of the reference.
func TestAuthorsTakeNoNamesInUse(t *testing.T) {
	const v1 = "apiVersion: example.org/v1, kind: Thing, metadata: {name: thing}, "
	for name, c := range map[string]struct{ state, path string }{
		"FluxValuesFrom":            {composes(`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {valuesFrom: [{kind: Secret, name: team-creds}, {kind: ConfigMap, name: team-creds}]}}`), "spec.valuesFrom[0].name"},
		"FluxSubstituteFrom":        {composes(`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {postBuild: {substituteFrom: [{kind: ConfigMap, name: x}, {kind: Secret, name: team-creds}]}}}`), "spec.postBuild.substituteFrom[1].name"},
		"ExternalSecretTarget":      {composes(`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: es}, spec: {target: {name: team-creds}}}`), "spec.target.name"},
		"ExternalSecretOfThatName":  {composes(`{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: team-creds}}`), "metadata.name"},
		"SealedSecret":              {composes(`{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, metadata: {name: team-creds}}`), "metadata.name"},
		"KafkaUser":                 {composes(`{apiVersion: kafka.strimzi.io/v1beta2, kind: KafkaUser, metadata: {name: team-creds}}`), "metadata.name"},
		"VaultStaticSecret":         {composes(`{apiVersion: secrets.hashicorp.com/v1beta1, kind: VaultStaticSecret, spec: {destination: {name: team-creds, create: true}}}`), "spec.destination.name"},
		"GatewayCertificateRefs":    {composes(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, spec: {listeners: [{tls: {certificateRefs: [{name: team-creds}]}}]}}`), "spec.listeners[0].tls.certificateRefs[0].name"},
		"PrometheusBasicAuth":       {composes(`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, spec: {endpoints: [{basicAuth: {password: {name: team-creds, key: p}}}]}}`), "spec.endpoints[0].basicAuth.password.name"},
		"PasswordRef":               {composes(`{` + v1 + `spec: {passwordRef: {name: team-creds}}}`), "spec.passwordRef.name"},
		"PasswordSecret":            {composes(`{` + v1 + `spec: {passwordSecret: team-creds}}`), "spec.passwordSecret"},
		"PlainField":                {composes(`{` + v1 + `spec: {credentials: team-creds}}`), "spec.credentials"},
		"ListOfNames":               {composes(`{` + v1 + `spec: {pull: [a, team-creds]}}`), "spec.pull[1]"},
		"Annotation":                {composes(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {annotations: {nginx.ingress.kubernetes.io/auth-secret: team-a/team-creds}}}`), "metadata.annotations[nginx.ingress.kubernetes.io/auth-secret]"},
		"MapKey":                    {composes(`{` + v1 + `spec: {values: {secrets: {team-creds: {mount: /x}}}}}`), "spec.values.secrets.team-creds"},
		"HelmValues":                {composes(`{` + v1 + `spec: {forProvider: {values: {auth: {existingSecret: team-creds}}}}}`), "spec.forProvider.values.auth.existingSecret"},
		"HelmValuesText":            {composes(`{` + v1 + `spec: {values: "auth:\n  existingSecret: team-creds\n  user: x\n"}}`), "spec.values"},
		"Arguments":                 {composes(`{` + v1 + `spec: {args: ["--set=auth.existingSecret=team-creds"]}}`), "spec.args[0]"},
		"Path":                      {composes(`{` + v1 + `spec: {path: secret/team-creds}}`), "spec.path"},
		"NamespaceAndName":          {composes(`{` + v1 + `spec: {from: "team-a/team-creds#key"}}`), "spec.from"},
		"NameAndNamespace":          {composes(`{apiVersion: getambassador.io/v3alpha1, kind: TLSContext, spec: {tls: team-creds.team-a}}`), "spec.tls"},
		"NamespaceDotName":          {composes(`{` + v1 + `spec: {from: "secret team-a.team-creds"}}`), "spec.from"},
		"Sentence":                  {composes(`{` + v1 + `spec: {note: "It reads team-creds."}}`), "spec.note"},
		"Manifest":                  {composes(`{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: Object, spec: {forProvider: {manifest: {apiVersion: v1, kind: Pod, spec: {volumes: [{secret: {secretName: team-creds}}]}}}}}`), "spec.forProvider.manifest.spec.volumes[0].secret.secretName"},
		"ManifestOfOne":             {composes(`{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: Object, spec: {forProvider: {manifest: {apiVersion: v1, kind: Secret, metadata: {name: team-creds, namespace: team-a}}}}}`), "spec.forProvider.manifest.metadata.name"},
		"ManifestAsJSON":            {composes(`{` + v1 + `spec: {manifest: '{"kind":"Pod","spec":{"secretName":"team-creds"}}'}}`), "spec.manifest"},
		"ManifestAsJSONInJSON":      {composes(`{` + v1 + `spec: {manifest: '{"values":"x:\nteam-creds\n"}'}}`), "spec.manifest"},
		"ManifestAsJSONWithEscapes": {composes(`{` + v1 + `spec: {manifest: '{"values":"\u0022team-creds\u0022"}'}}`), "spec.manifest"},
		"ConfigMapData":             {composes(`{apiVersion: v1, kind: ConfigMap, metadata: {name: values}, data: {values.yaml: "existingSecret: team-creds"}}`), "data[values.yaml]"},
		"SecretLabels":              {composes(`{apiVersion: v1, kind: Secret, metadata: {name: x, labels: {uses: team-creds}}}`), "metadata.labels.uses"},
	} {
		t.Run(name, func(t *testing.T) {
			for where, state := range map[string]string{
				"desired":  authorAsks("team-creds") + c.state,
				"observed": strings.Replace(authorAsks("team-creds"), "  resources:\n", "  resources:\n    other: "+strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(c.state), "desired: {resources: {other: "), "}}")+"\n", 1),
			} {
				rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, state+authorsInput), nil)
				refusesName(t, rsp, "team-creds", where, `the composed resource "other" refers to that name in `+c.path+": choose another name in spec.exports.secretExpressions[0].name")
			}
		})
	}
	t.Run("ThisInput", func(t *testing.T) {
		refusesName(t, functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, authorAsks("export-creds")+authorsInput), nil), "export-creds", "exported", `the composed resource "values" refers to that name in data[values.yaml]`)
		refusesName(t, functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, authorAsks("generator-creds")+authorsInput), nil), "generator-creds", "generated", `the composed resource "generated/login/1" refers to that name in spec.writeConnectionSecretToRef.name`)
	})
}

// refusesName looks whether a Secret is not made, that it is said why, and that the other
// objects are made.
func refusesName(t *testing.T, rsp *fnv1.RunFunctionResponse, name, where, why string) {
	t.Helper()
	got := rsp.GetDesired().GetResources()
	if got["fromComposite/Secret/"+name] != nil || got["fromComposite/Secret/free-name"] == nil || got["fromComposite/ConfigMap/free-name"] == nil {
		t.Errorf("%s: want the objects of the free name only, got %v", where, got)
	}
	if c := rsp.GetConditions()[0]; c.GetReason() != "Conflict" || !strings.Contains(c.GetMessage(), why) {
		t.Errorf("%s: want a conflict that says %q, got %v", where, why, c)
	}
}

// Metadata that Crossplane writes into each composed resource, the data of Secrets, other
// namespaces and parts of longer names are not references.
func TestAuthorsMayTakeOtherNames(t *testing.T) {
	for name, c := range map[string]struct{ name, state string }{
		"LabelOfCrossplane": {"orders", composes(`{metadata: {labels: {crossplane.io/composite: orders, crossplane.io/claim-name: orders}, annotations: {crossplane.io/composition-resource-name: orders}, generateName: orders-, ownerReferences: [{name: orders}]}}`)},
		"LongerName":        {"orders", composes(`{metadata: {name: orders-1}, spec: {a: my-orders, b: orders.example.org, c: orders_v2, d: "https://orders.example.org/orders-2"}}`)},
		"SecretData":        {"hunter2", composes(`{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {password: hunter2}, data: {k: hunter2}}`)},
		"OtherNamespace":    {"orders", composes(`{spec: {ref: {name: orders, namespace: team-b}, secretRef: {namespace: team-b, name: orders}}}`)},
		"Status":            {"orders-app", strings.Replace(observedOther, "SPEC", `status: {conditions: [{message: "Secret orders-app is read"}], credentials: orders-app}`, 1)},
		"FieldName":         {"password", composes(`{spec: {password: {length: 3}}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			state := authorAsks(c.name) + c.state
			if strings.HasPrefix(c.state, observedOther[:8]) {
				state = strings.Replace(authorAsks(c.name), "  resources:\n", "  resources:\n"+c.state, 1)
			}
			rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, state+authorsInput), nil)
			if got := rsp.GetDesired().GetResources(); got["fromComposite/Secret/"+c.name] == nil || got["fromComposite/ConfigMap/"+c.name] == nil {
				t.Errorf("want both objects, got %v", rsp.GetConditions())
			}
		})
	}
}

// Labels and annotations that other controllers act on are the Composition's to allow.
func TestAuthorsLabels(t *testing.T) {
	ask := func(field, key string) string {
		return strings.Replace(functiontest.ObservedDatabase, "spec: {size: 3}", fmt.Sprintf(`spec: {exports: {secretExpressions: [{name: a, key: k, value: "'v'", %s: {%q: "x"}}]}}`, field, key), 1)
	}
	const refused, made = false, true
	for key, want := range map[string]struct{ label, annotation, allowed bool }{
		"app":                         {made, refused, made},
		"app.kubernetes.io/name":      {made, refused, made},
		"example.org/team":            {refused, refused, made},
		"example.org":                 {refused, refused, refused},
		"sub.example.org/team":        {refused, refused, refused},
		"team":                        {refused, refused, made},
		"teams":                       {refused, refused, refused},
		"owner":                       {refused, refused, refused},
		"grafana_datasource":          {refused, refused, refused},
		"crossplane.io/external-name": {refused, refused, refused},
		"crossplane.io/composite":     {refused, refused, refused},
		"pkg.crossplane.io/revision":  {refused, refused, refused},
		"argocd.argoproj.io/hook":     {refused, refused, refused},
		"kubernetes.io/description":   {refused, refused, refused},
		"policy.k8s.io/x":             {refused, refused, refused},
		"replicator.v1.mittwald.de/x": {refused, refused, refused},
		"reflector.v1.k8s.emberstack.com/reflection-allowed": {refused, refused, refused},
		"app.kubernetes.io.evil.org/x":                       {refused, refused, refused},
	} {
		for allow, fields := range map[string]map[string]bool{
			"": {"labels": want.label, "annotations": want.annotation},
			", allow: {labels: [example.org/, team], annotations: [app, app.kubernetes.io/, example.org/, team]}": {"labels": want.allowed, "annotations": want.allowed},
		} {
			input := strings.Replace(authorsInput, "{fieldPath: spec.exports}", "{fieldPath: spec.exports"+allow+"}", 1)
			for field, want := range fields {
				rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, ask(field, key)+input), nil)
				if got := rsp.GetDesired().GetResources()["fromComposite/Secret/a"] != nil; got != want {
					t.Errorf("%s %s with %q: want made to be %v, got %v", field, key, allow, want, rsp.GetConditions())
				}
			}
		}
	}
}

// No text of the composite's author, or of the input, brings a control character into a
// condition, a result, or what later steps report.
func TestMessagesAreOneLine(t *testing.T) {
	const evil = "\n\tAll is \x1b[31mwell\r\u2028\u202e\x00"
	quoted := strings.NewReplacer("\x00", `\u0000`, "\x1b", `\u001b`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\u2028", `\u2028`, "\u202e", `\u202e`).Replace(evil)
	for name, state := range map[string]string{
		"EntryField":   strings.Replace(functiontest.ObservedDatabase, "size: 3", `exports: {secretExpressions: [{name: a, key: k, value: "'v'", "`+quoted+`": 1}]}`, 1) + authorsInput,
		"LabelKey":     strings.Replace(functiontest.ObservedDatabase, "size: 3", `exports: {secretExpressions: [{name: a, key: k, value: "'v'", labels: {"`+quoted+`": 1}}]}`, 1) + authorsInput,
		"ListField":    strings.Replace(functiontest.ObservedDatabase, "size: 3", `exports: {"secretExpression\n": [{name: a}]}`, 1) + authorsInput,
		"Expression":   strings.Replace(functiontest.ObservedDatabase, "size: 3", `exports: {secretExpressions: [{name: a, key: k, value: "self['`+quoted+`']"}]}`, 1) + authorsInput,
		"ComposedPath": authorAsks("team-creds") + composes(`{spec: {"`+quoted+`": team-creds}}`) + authorsInput,
		"Composed":     authorAsks("team-creds") + strings.Replace(composes(`{spec: {a: team-creds}}`), "other:", `"`+quoted+`":`, 1) + authorsInput,
		"Input":        functiontest.ObservedDatabase + strings.Replace(authorsInput, "fromComposite:", `"`+quoted+`": 1`+"\n  fromComposite:", 1),
		"Context":      functiontest.ObservedDatabase + "\ncontext: {export.fn.crossplane.io/exports: {other: {state: 2, messages: [\"" + quoted + "\"]}}}\n" + authorsInput,
	} {
		t.Run(name, func(t *testing.T) {
			rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, state), nil)
			texts := []string{rsp.GetConditions()[0].GetMessage()}
			if texts[0] == "" {
				t.Errorf("want a message")
			}
			for _, r := range rsp.GetResults() {
				texts = append(texts, r.GetMessage())
			}
			for _, text := range texts {
				if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("byte %d is a control character: %q", i, text)
				}
			}
		})
	}
}

// A Secret with its record stays the author's when its data must change. Without the record it is the author's as long
// as its data is that of the entry.
func TestAuthorsRecord(t *testing.T) {
	const secret, record = "v1|Secret|team-a|team-creds", functiontest.Prefix + "export-state"
	ask := func(c *functiontest.ControlPlane, value string) {
		c.XR.Fields["spec"] = structpb.NewStructValue(functiontest.Parse(t, "exports: {secretExpressions: [{name: team-creds, value: \""+value+"\"}]}"))
	}
	const conflict = `Conflict Secret "team-creds": Secret team-a/team-creds is not proven to be the object of this entry, and has other data: ` +
		`delete it, or, if another step composes it, correct its annotation crossplane.io/composition-resource-name; ` +
		`see: kubectl describe secret team-creds --namespace team-a`
	c := functiontest.NewControlPlane(t, "fromComposite: {fieldPath: spec.exports}")
	for _, step := range []struct {
		reason    string
		do        func()
		value     string
		condition string
	}{
		{"it is created", func() { ask(c, "{'k': 'a'}") }, "a", "Available"},
		{"the record fits", func() { ask(c, "{'k': 'b'}") }, "b", "Available"},
		{"the record is put back", func() { c.AnnotateSecret("team-creds", map[string]string{record: ""}) }, "b", "Available"},
		{"it fits again", func() { ask(c, "{'k': 'c'}") }, "c", "Available"},
		{"a changed record is put back", func() { c.AnnotateSecret("team-creds", map[string]string{record: "{}"}) }, "c", "Available"},
		{"keys of others are not in it", func() {
			c.Edit(secret, func(o *structpb.Struct) { world.Set(o, "eA==", "data", "other") })
			ask(c, "{'k': 'd'}")
		}, "d", "Available"},
		{"the record is gone, and the data differ", func() {
			c.AnnotateSecret("team-creds", map[string]string{record: ""})
			ask(c, "{'k': 'e'}")
		}, "d", conflict},
		{"it is created again", func() { delete(c.Stored, secret) }, "e", "Available"},
		{"the record does not fit data of others", func() {
			c.Edit(secret, func(o *structpb.Struct) { world.Set(o, "eA==", "data", "k") })
		}, "x", conflict},
	} {
		step.do()
		c.Settle()
		if diff := cmp.Diff([]string{step.value, step.condition}, []string{c.Value("team-creds", "k"), c.Condition()}); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", step.reason, diff)
		}
		if step.condition == "Available" && len(world.Meta(c.Stored[secret], "annotations", record)) < 64 {
			t.Errorf("%s: want a sealed record", step.reason)
		}
	}
}
