package function_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// This file tries to read objects of the namespace shared without consent. Requests go to a server over gRPC. Each call
// is checked by a second implementation of ReferenceGrants, which reads what the request has.

const (
	grantsOfShared = functiontest.Prefix + "gateway.networking.k8s.io/v1/ReferenceGrant/shared/labels="
	grantsCRD      = functiontest.Prefix +
		"apiextensions.k8s.io/v1/CustomResourceDefinition//name=referencegrants.gateway.networking.k8s.io"
)

// A referenceGrant has the fields of a ReferenceGrant that permit something.
type referenceGrant struct {
	APIVersion string
	Metadata   struct {
		Namespace         string
		DeletionTimestamp *string
	}
	Spec struct {
		From []struct{ Group, Kind, Namespace *string }
		To   []struct{ Group, Kind, Name *string }
	}
}

func grantOf(t testing.TB, o *structpb.Struct) (g referenceGrant) {
	t.Helper()
	b, err := protojson.Marshal(o)
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// permits reports whether the grant permits an XDatabase of a namespace to read an object. For labels, name is empty.
func (g referenceGrant) permits(namespace, group, kind, name string) bool {
	is := func(s *string, want string) bool { return s != nil && *s == want }
	var from, to bool
	for _, f := range g.Spec.From {
		from = from ||
			is(f.Group, "example.org") && is(f.Kind, "XDatabase") && namespace != "" && is(f.Namespace, namespace)
	}
	for _, o := range g.Spec.To {
		to = to || is(o.Group, group) && is(o.Kind, kind) && (o.Name == nil || name != "" && *o.Name == name)
	}
	return from && to && g.APIVersion == "gateway.networking.k8s.io/v1" && g.Metadata.Namespace == "shared" &&
		g.Metadata.DeletionTimestamp == nil
}

// provenNamespace returns the namespace of the composite, or that of its claim, if the request proves it.
func provenNamespace(req *fnv1.RunFunctionRequest) string {
	xr := req.GetObserved().GetComposite().GetResource().AsMap()
	meta, _ := xr["metadata"].(map[string]any)
	spec, _ := xr["spec"].(map[string]any)
	if namespace, ok := meta["namespace"].(string); ok {
		return namespace
	}
	ref, _ := spec["claimRef"].(map[string]any)
	key := fmt.Sprintf(
		"%s%v/%v/%v/name=%v",
		functiontest.Prefix,
		ref["apiVersion"],
		ref["kind"],
		ref["namespace"],
		ref["name"],
	)
	for _, r := range req.GetRequiredResources()[key].GetItems() {
		claim, _ := r.GetResource().AsMap()["spec"].(map[string]any)
		of, _ := claim["resourceRef"].(map[string]any)
		if namespace, ok := ref["namespace"].(string); ok && of["name"] == meta["name"] && of["kind"] == xr["kind"] &&
			of["apiVersion"] == xr["apiVersion"] {
			return namespace
		}
	}
	return ""
}

// A guard checks each call of a control plane.
type guard struct {
	fnv1.FunctionRunnerServiceClient

	t       testing.TB
	between func() // what happens between two calls of a reconcile
	value   string // in the namespace shared, until the next call
	reads   int    // requirements of objects of that namespace
	permits int    // of its grants
}

// guarded lets a control plane call a server, and checks each call.
func guarded(c *functiontest.ControlPlane) *guard {
	g := &guard{FunctionRunnerServiceClient: overGRPC(c).Client, t: c.T, between: func() {}, value: "none"}
	c.Client = g
	return g
}

// RunFunction calls the function. The grants in the request must permit all that the response requires and desires.
func (g *guard) RunFunction(
	ctx context.Context,
	req *fnv1.RunFunctionRequest,
	opts ...grpc.CallOption,
) (*fnv1.RunFunctionResponse, error) {
	rsp, err := g.FunctionRunnerServiceClient.RunFunction(ctx, req, opts...)
	if err != nil {
		return rsp, err
	}
	var grants []referenceGrant
	for _, r := range req.GetRequiredResources()[grantsOfShared].GetItems() {
		grants = append(grants, grantOf(g.t, r.GetResource()))
	}
	crd := len(req.GetRequiredResources()[grantsCRD].GetItems()) > 0
	own := provenNamespace(req)
	permitted := func(kind, name string) bool {
		permits := func(g referenceGrant) bool { return g.permits(own, "", kind, name) }
		return own == "shared" || crd && slices.ContainsFunc(grants, permits)
	}
	for key, s := range rsp.GetRequirements().GetResources() {
		if s.GetKind() == "ReferenceGrant" && s.GetNamespace() == "shared" {
			if g.permits++; !crd {
				g.t.Errorf("it lists grants before it knows that their kind exists")
			}
			continue
		}
		if s.GetNamespace() == own || s.GetKind() == "Claim" || s.GetNamespace() == "" && s.GetMatchLabels() == nil {
			continue
		}
		if g.reads++; s.GetNamespace() != "shared" || !permitted(s.GetKind(), s.GetMatchName()) {
			g.t.Errorf("it requires %s without a grant", key)
		}
	}
	if !permitted("Secret", "loot") && !permitted("ConfigMap", "loot") {
		b, _ := protojson.Marshal(rsp)
		if bytes.Contains(b, []byte(g.value)) || bytes.Contains(b, []byte(inBase64(g.value))) {
			g.t.Errorf("the response has a value of the namespace without a grant")
		}
	}
	g.between()
	return rsp, err
}

const (
	validCRD = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` +
		`referencegrants.gateway.networking.k8s.io}, spec: {versions: [{name: v1, served: true}]}}`
	validGrant = `{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: NAME, ` +
		`namespace: shared}, ` +
		`spec: {from: [{group: example.org, kind: XDatabase, namespace: team-a}], to: [{group: "", kind: KIND, ` +
		`name: loot}]}}`
)

// hostileEdits turn a grant that permits a read into one that does not.
var hostileEdits = [][2]string{
	{"namespace: shared}", "namespace: team-a}"}, {"namespace: shared}", "namespace: shared2}"},
	{"namespace: team-a}", "namespace: shared}"}, {"namespace: team-a}", "namespace: '*'}"}, {"namespace: " +
		"team-a}", "namespace: ''}"},
	{"namespace: team-a}", "namespace: team-a/shared}"}, {", namespace: team-a}", "}"},
	{"kind: XDatabase,", "kind: Database,"}, {"kind: XDatabase,", "kind: xdatabase,"}, {"kind: XDatabase,", "kind: " +
		"'*',"},
	{"kind: XDatabase, ", ""}, {"kind: XDatabase,", "kind: Deployment,"},
	{"group: example.org,", "group: example.org/v1,"}, {"group: example.org,", "group: '',"}, {"group: " +
		"example.org,", "group: '*',"}, {"group: example.org, ", ""},
	{"group: \"\",", "group: v1,"}, {"group: \"\",", "group: core,"}, {"group: \"\",", "group: '*',"}, {"group: " +
		"\"\", ", ""},
	{"kind: KIND,", "kind: Service,"}, {"kind: KIND,", "kind: '*',"}, {"kind: KIND,", "kind: KINDList,"}, {"kind: " +
		"KIND, ", ""},
	{"name: loot}", "name: ''}"}, {"name: loot}", "name: '*'}"}, {"name: loot}", "name: loot2}"}, {"name: " +
		"loot}", "name: shared/loot}"}, {"name: loot}", "name: LOOT}"},
	{"metadata: {", "metadata: {deletionTimestamp: '2026-11-21T12:00:00Z', "},
	{"io/v1,", "io/v1beta1,"}, {"apiVersion: gateway.networking.k8s.io", "apiVersion: " +
		"gateway.example.org"}, {"kind: ReferenceGrant", "kind: ReferencePolicy"},
	{"from: [", "from: [], ignored: ["}, {"to: [", "to: [], ignored: ["},
}

// hostileInputs read the object loot of the namespace shared in many ways. A composite author can set all fields of
// spec.
var hostileInputs = []string{
	`sources: [SECRET] ; secrets: [{name: out, data: [{key: k, value: secrets.loot.k}]}]`,
	`sources: [SECRET] ; secrets: [{name: out, data: [{valueMap: secrets.loot}]}]`,
	`sources: [SECRET] ; secrets: [{name: out, data: [{key: k, value: "secrets.map(n, secrets[n].k).join('')"}]}]`,
	`sources: [SECRET] ; secrets: [{name: out, data: [{key: k, value: "secrets[composite.spec.name].k", optional: ` +
		`true}]}]`,
	`sources: [SECRET] ; secrets: [{name: out, dataFrom: [{find: {path: ''}}]}]`,
	`sources: [SECRET] ; secrets: [{name: out, dataFrom: [{extract: {key: loot}}]}]`,
	`sources: [LABELED] ; secrets: [{name: out, data: [{key: k, value: secrets.loot.k}]}]`,
	`sources: [CONFIG] ; configMaps: [{name: out, data: [{key: k, value: sources.loot.data.k}]}] ; status: ` +
		`[{fieldPath: host, value: sources.loot.data.k}]`,
	`sources: [CONFIG] ; secrets: [{name: out, metadata: {labelsExpression: "{'a': sources.loot.data.k}"}, data: ` +
		`[{key: k, value: "'v'"}]}]`,
	`sources: [{name: loot, apiVersion: v1, kind: ConfigMap, namespace: shared, nameExpression: ` +
		`composite.spec.name}] ; configMaps: [{name: out, data: [{key: k, value: sources.loot.data.k}]}]`,
	`sources: [{name: loot, apiVersion: v1, kind: ConfigMap, nameExpression: composite.spec.name}] ; configMaps: ` +
		`[{name: out, data: [{key: k, value: sources.loot.data.k}]}]`,
	`sources: [{name: loot, apiVersion: v1, kind: Secret, nameExpression: composite.spec.name}] ; secrets: [{name: ` +
		`out, data: [{key: k, value: secrets.loot.k}]}]`,
	`sources: [{name: loot, apiVersion: v1, kind: ConfigMap, scope: Cluster, matchLabels: {a: b}}] ; configMaps: ` +
		`[{name: out, data: [{key: k, value: "sources.loot.map(s, s.data.k).join('')"}]}]`,
	`sources: [{name: loot, apiVersion: v1, kind: SecretList, namespace: shared, matchLabels: {a: b}}] ; ` +
		`configMaps: [{name: out, data: [{key: k, value: json.encode(sources.loot)}]}]`,
	`sources: [CONFIG] ; generators: [{name: g, uuid: {}, refreshPolicy: OnChange, keepersExpression: ` +
		`sources.loot.data.k}] ; secrets: [{name: out, data: [{key: k, value: generated.g.uuid}]}]`,
	`sources: [SECRET] ; secrets: [{name: own, data: [{key: k, value: secrets.loot.k}]}] ; fromComposite: ` +
		`{fieldPath: spec.exports, allow: {secrets: [db], resources: [db], environment: true}}`,
	`sources: [CONFIG] ; configMaps: [{name: own, data: [{key: k, value: sources.loot.data.k}]}] ; fromComposite: ` +
		`{fieldPath: spec.exports, allow: {secrets: [db, out], resources: [db, own]}}`,
}

// hostileSpecs are what composite authors write.
var hostileSpecs = []string{
	`{name: loot}`, `{name: ../shared/loot}`, `{name: shared/loot}`, `{name: ''}`, `{name: [loot]}`,
	`{name: loot, claimRef: {apiVersion: example.org/v1, kind: Claim, namespace: shared, name: loot}}`,
	`{name: loot, crossplane: {compositionRef: {name: x}}, resourceRefs: [{apiVersion: v1, kind: Secret, ` +
		`namespace: shared, name: loot}]}`,
	`{name: loot, writeConnectionSecretToRef: {namespace: shared, name: loot}}`,
	`{name: loot, exports: {secretExpressions: [{name: a, key: k, value: secrets.loot.k}, {name: b, key: k, value: ` +
		`"secrets['lo' + 'ot'].k"}, {name: c, key: k, value: "json.encode(secrets)"}]}}`,
	`{name: loot, exports: {configMapExpressions: [{name: a, key: k, value: sources.loot.data.k}, {name: b, key: ` +
		`k, value: "json.encode(resources)"}]}}`,
}

// A hostileCase is an input, what its composite's author wrote, and the grants at each moment. The second one is
// between two calls.
type hostileCase struct {
	input, spec string
	grants      [3][]string
	crd         bool
	claim       string // the claim that a composite of the v1 style names, or empty
}

// hostileClaims are claims whose namespace does not count: they name other composites, or do not exist.
var hostileClaims = []string{
	`{apiVersion: example.org/v1, kind: Claim, metadata: {name: loot, namespace: shared}, spec: {resourceRef: ` +
		`{apiVersion: example.org/v1, kind: XDatabase, name: other}}}`,
	`{apiVersion: example.org/v1, kind: Claim, metadata: {name: loot, namespace: shared}, spec: {resourceRef: ` +
		`{apiVersion: example.org/v1, kind: Other, name: shop}}}`,
	`{apiVersion: example.org/v1, kind: Claim, metadata: {name: loot, namespace: shared}, spec: {resourceRef: ` +
		`{apiVersion: example.com/v1, kind: XDatabase, name: shop}}}`,
	`{apiVersion: example.org/v1, kind: Claim, metadata: {name: loot, namespace: shared}, spec: {resourceRef: ` +
		`{name: shop}}}`,
	`{apiVersion: example.org/v1, kind: Claim, metadata: {name: loot, namespace: shared}}`,
	`{apiVersion: example.org/v1, kind: Claim, metadata: {name: loot2, namespace: shared}, spec: {resourceRef: ` +
		`{apiVersion: example.org/v1, kind: XDatabase, name: shop}}}`,
}

func newHostileCase(t testing.TB, random *rand.Rand) hostileCase {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	c := hostileCase{spec: pick(hostileSpecs), crd: random.IntN(8) > 0}
	c.input = strings.NewReplacer(
		" ; ", "\n", "SECRET", "{name: loot, apiVersion: v1, kind: Secret, namespace: shared, optional: "+
			"true}", "LABELED",
		"{name: loot, apiVersion: v1, kind: Secret, namespace: shared, matchLabels: {a: b}}", "CONFIG",
		"{name: loot, apiVersion: v1, kind: ConfigMap, namespace: shared, optional: "+
			"true}").Replace("requireGrants: true ; " + pick(hostileInputs))
	if random.IntN(4) == 0 {
		c.claim = pick(hostileClaims)
		c.spec = `{name: loot, claimRef: {apiVersion: example.org/v1, kind: Claim, namespace: shared, name: loot}}`
	}
	for at := range c.grants {
		for n := range random.IntN(4) {
			text := validGrant
			for range 1 + random.IntN(2) {
				edit := hostileEdits[random.IntN(len(hostileEdits))]
				text = strings.Replace(text, edit[0], edit[1], 1)
			}
			kind := pick([]string{"Secret", "ConfigMap"})
			text = strings.NewReplacer("KIND", kind, "NAME", fmt.Sprint("g", n)).Replace(text)
			if !grantOf(
				t,
				functiontest.Parse(t, text),
			).permits("team-a", "", kind, "loot") { // unless one edit canceled the other
				c.grants[at] = append(c.grants[at], text)
			}
		}
	}
	return c
}

// play reconciles twice. Between both, and between two calls of each, there are other grants and other values.
func (h hostileCase) play(c *functiontest.ControlPlane, g *guard) {
	moment := 0
	set := func() {
		for key := range c.Stored {
			if strings.Contains(key, "|shared|") || strings.Contains(key, "ReferenceGrant") {
				delete(c.Stored, key)
			}
		}
		store := func(text string) { o := functiontest.Parse(c.T, text); c.Stored[world.KeyOf(o)] = o }
		g.value = fmt.Sprintf("loot-%06d", moment)
		store(`{apiVersion: v1, kind: ConfigMap, metadata: {name: loot, namespace: shared, labels: {a: b}}, data: ` +
			`{k: ` + g.value + `}}`)
		store(`{apiVersion: v1, kind: Secret, metadata: {name: loot, namespace: shared, labels: {a: b}}, data: ` +
			`{k: ` + inBase64(g.value) + `}}`)
		for _, text := range h.grants[moment%len(h.grants)] {
			store(text)
		}
		if h.crd {
			store(validCRD)
		}
		if h.claim != "" {
			store(h.claim)
		}
	}
	c.SetInput(h.input)
	c.XR = functiontest.Parse(c.T, functiontest.ControlPlaneXR)
	if h.claim != "" {
		delete(c.XR.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	}
	c.XR.Fields["spec"] = structpb.NewStructValue(functiontest.Parse(c.T, h.spec))
	g.between = func() { moment++; set() }
	set()
	c.Reconcile()
	g.between()
	c.Reconcile()
}

func TestHostileGrants(t *testing.T) {
	for name, flaps := range map[string]bool{"Never": false, "Flapping": true} {
		t.Run(name, func(t *testing.T) {
			c := functiontest.NewControlPlane(t, "secrets: []")
			g := guarded(c)
			random := rand.New(rand.NewPCG(1, 2))
			n := proof.Count("FUNCTION_EXPORT_HOSTILE_GRANTS", 200, 10_000)
			for i := range n {
				c.Stored, c.Listed = map[string]*structpb.Struct{}, nil
				c.Restart()
				h := newHostileCase(t, random)
				if flaps { // a grant exists at one moment
					valid := strings.NewReplacer("NAME", "valid", "KIND", "Secret").Replace(validGrant)
					h.grants[i%3] = append(h.grants[i%3], valid)
				}
				if h.play(c, g); t.Failed() || g.reads > 0 && !flaps {
					t.Fatalf("case %d, after %d reads: %+v", i, g.reads, h)
				}
			}
			if uint64(g.permits) < n*3/4 || flaps && g.reads == 0 {
				t.Errorf("%d requirements of grants, and %d reads: the cases test nothing", g.permits, g.reads)
			}
			t.Logf("%d cases, %d requirements of grants, %d reads", n, g.permits, g.reads)
		})
	}
}

// The model has three kinds of events, in all orders: the owner gives or takes consent, the source changes or is
// deleted, and the password rotates. Without consent, the export keeps each value that it has, and the generation that
// it uses. With consent, it has the values of the source and of the current generation.
func TestConsentModel(t *testing.T) {
	const input = `
requireGrants: true
sources: [{name: loot, apiVersion: v1, kind: Secret, namespace: shared}]
generators: [{name: admin, gracePeriod: 0s, password: {}}]
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: ca, value: secrets.loot.k}
`
	source := func(c *functiontest.ControlPlane, value string) {
		o := functiontest.Parse(c.T, `{apiVersion: v1, kind: Secret, metadata: {name: loot, namespace: shared}, `+
			`data: {k: `+inBase64(value)+`}}`)
		c.Stored[world.KeyOf(o)] = o
	}
	const sourceKey, grantKey = "v1|Secret|shared|loot", "gateway.networking.k8s.io/v1|ReferenceGrant|shared|g"
	events := map[string]func(c *functiontest.ControlPlane, at int){
		"grant": func(c *functiontest.ControlPlane, _ int) {
			c.Stored[grantKey] = functiontest.Parse(
				c.T,
				strings.NewReplacer("NAME", "g", "KIND", "Secret").Replace(validGrant),
			)
		},
		"revoke": func(c *functiontest.ControlPlane, _ int) { delete(c.Stored, grantKey) },
		"change": func(c *functiontest.ControlPlane, at int) { source(c, fmt.Sprint("loot-", at)) },
		"delete": func(c *functiontest.ControlPlane, _ int) { delete(c.Stored, sourceKey) },
		"rotate": func(c *functiontest.ControlPlane, at int) { c.Annotate(rotateKey, fmt.Sprint("admin=", at)) },
	}
	names := []string{"change", "delete", "grant", "revoke", "rotate"}
	for i := 0; i < 2*len(names)*len(names)*len(names); i += proof.Step(11) {
		order := []string{names[i/2%5], names[i/10%5], names[i/50]}
		t.Run(fmt.Sprint(i%2 == 1, order), func(t *testing.T) {
			c := functiontest.NewControlPlane(t, input)
			guarded(c)
			crd := functiontest.Parse(t, validCRD)
			c.Stored[world.KeyOf(crd)] = crd
			source(c, "loot-first")
			if i%2 == 1 {
				events["grant"](c, 0)
			}
			c.Settle()
			for at, name := range order {
				before := exportOf(c)
				events[name](c, at)
				c.Settle()
				checkConsent(t, c, before, c.Stored[grantKey] != nil, c.Stored[sourceKey])
			}
			if c.Stored[grantKey] == nil && !strings.Contains(c.Condition(), `no ReferenceGrant in namespace `+
				`"shared" permits`) {
				t.Errorf("the condition does not say what is missing: %s", c.Condition())
			}
		})
	}
}

func exportOf(c *functiontest.ControlPlane) map[string]*structpb.Value {
	return objectOf(c, "Secret", "shop-connection").GetFields()["data"].GetStructValue().GetFields()
}

// checkConsent checks the export after an event.
func checkConsent(
	t *testing.T,
	c *functiontest.ControlPlane,
	before map[string]*structpb.Value,
	granted bool,
	source *structpb.Struct,
) {
	t.Helper()
	is := exportOf(c)
	stored, current := false, ""
	for key, o := range c.Stored {
		if strings.Contains(key, "|team-a|shop-admin-") {
			password := o.GetFields()["data"].GetStructValue().GetFields()["password"].GetStringValue()
			stored, current = stored || password == is["password"].GetStringValue(), max(current, key+" "+password)
		}
	}
	switch {
	case is != nil && !stored:
		t.Error("the generation that is exported was deleted")
	case granted && source != nil:
		want := source.GetFields()["data"].GetStructValue().GetFields()["k"].GetStringValue()
		if is["ca"].GetStringValue() != want || !strings.HasSuffix(current, " "+is["password"].GetStringValue()) {
			t.Error("the export has not all values that it may have")
		}
	default:
		if len(is) != len(before) || is["ca"].GetStringValue() != before["ca"].GetStringValue() ||
			is["password"].GetStringValue() != before["password"].GetStringValue() {
			t.Error("the export changed without its source, or without consent")
		}
	}
}
