package function_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

const rotateKey = functiontest.Prefix + "rotate"

// secretInput is the start of an input with one Secret.
const secretInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets:
  - name: connection
    from: db
    data:
`

// canaryRequest has a value in every place of a request that can contain a secret.
const canaryRequest = `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: Database
      metadata:
        name: orders
        namespace: team-a
        uid: "1"
        annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}
      spec:
        exports:
          secretExpressions:
          - {name: theirs, key: url, value: "'x://' + secret.password", labels: {app: theirs}}
          - {name: theirs-failed, key: a, value: "string(int(secret.password)) + {'a': 'b'}[secret.username]"}
          - {name: theirs-failed, value: "{secret.password + '/': 'x'}"}
          configMapExpressions:
          - {name: theirs, key: everything, value: "json.encode([composite, resources, environment])"}
          - {name: theirs-refused, key: password, value: secret.password}
    connectionDetails: {legacy: CANARY}
  resources:
    db:
      resource:
        apiVersion: rds.aws.m.upbound.io/v1beta1
        kind: Instance
        metadata:
          name: orders-db
          namespace: team-a
          annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY, kapp.k14s.io/original: CANARY}
        spec:
          manifest:
            apiVersion: v1
            kind: Secret
            stringData: {k: CANARY}
            metadata: {annotations: {kopf.zalando.org/last-handled-configuration: CANARY}}
        status:
          endpoint: db.example.org
          port: 5432
          manifest: {apiVersion: v1, kind: Secret, data: {k: CANARY}}
          list: {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, data: {k: CANARY}}]}
      connectionDetails: {username: CANARY, password: CANARY}
    held:
      resource: {apiVersion: v1, kind: Secret, metadata: {name: orders-held, namespace: team-a}, data: {old: CANARY}}
context:
  step: {apiVersion: v1, kind: Secret, data: {k: CANARY}}
  copied: {objectset.rio.cattle.io/applied: CANARY, banzaicloud.com/last-applied: CANARY}
  apiextensions.crossplane.io/environment:
    secret: {apiVersion: v1, kind: Secret, stringData: {k: CANARY}}
    pod: {metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}}
requiredResources:
  others:
    items:
    - resource: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}, data: {k: CANARY}}
    - resource:
        apiVersion: example.org/v1
        kind: Object
        metadata: {name: o, annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}
`

// canaryInput exports from each of these places.
const canaryInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  sources:
  - {name: ca, apiVersion: v1, kind: Secret}
  variables:
  - {name: url, value: "'x://' + secrets.db.password"}
  - {name: all, value: secrets}
  - {name: seen, value: "[context, environment, resources, sources, composite.metadata]"}
  environment:
    set:
    - {fieldPath: everything, value: variables.seen}
    - {fieldPath: failed, value: "context.step.data.k"}
  fromComposite: {fieldPath: spec.exports, allow: {secrets: [db], resources: [db], environment: true}}
  secrets:
  - name: ok
    from: db
    metadata: {annotationsExpression: "{'host': resource.status.endpoint, 'all': json.encode(variables.seen)}"}
    data:
    - {key: url, value: variables.url}
    - {key: ca, value: "secrets.ca['tls.crt']"}
    - {valueMap: secret}
  - name: failed
    from: db
    data:
    - {key: a, value: "string(int(secret.password))"}
    - {key: b, value: "{'a': 'b'}[secret.password]"}
    - {key: c, value: "string(timestamp(secret.username + variables.url))"}
    - {key: d, value: "json.decode(secrets.ca['tls.crt']).x"}
    - {valueMap: "{secret.password + '/': 'x'}"}
    - {valueMap: "secret.transformMapEntry(k, v, {v: k})"}
  - name: held
    data:
    - {key: old, value: secrets.gone.password}
  - name: empty
    data:
    - {key: x, value: "resources[secrets.db.password].x"}
  configMaps:
  - {name: everything, data: [{key: seen, value: json.encode(variables.seen)}]}
  status:
  - {fieldPath: everything, value: variables.seen}
`

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// objectOf returns a stored object.
func objectOf(c *functiontest.ControlPlane, kind, name string) *structpb.Struct {
	for key, o := range c.Stored {
		if strings.Contains(key, "|"+kind+"|") && strings.HasSuffix(key, "|"+name) {
			return o
		}
	}
	return nil
}

// stateOf returns the state of a generation, by the names of the fields.
func stateOf(o *structpb.Struct) map[string]any {
	var out struct{ State map[string]any }
	_ = json.Unmarshal([]byte(world.Meta(o, "annotations", functiontest.Prefix+"generator-state")), &out)
	return out.State
}

// reconcileRequest calls a new function as Crossplane does.
func reconcileRequest(t *testing.T, request string) (condition string, texts []string) {
	t.Helper()
	rsp := functiontest.Reconcile(t, functiontest.New(t), functiontest.Request(t, request), nil)
	condition = rsp.GetConditions()[0].GetReason() + " " + rsp.GetConditions()[0].GetMessage()
	texts = []string{condition}
	for _, r := range rsp.GetResults() {
		texts = append(texts, r.GetSeverity().String()+" "+r.GetTarget().String()+" "+r.GetMessage())
	}
	return condition, texts
}
