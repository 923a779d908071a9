package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// Kinds of Kubernetes itself that are composed: a Deployment as db, a Service as db-1.
const (
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: $(name)-web, namespace: $(namespace), labels: {app: web, example.org/tier: front}, annotations: {example.org/note: text}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
        env: [{name: A, value: b}, {name: C, valueFrom: {configMapKeyRef: {name: zone, key: host}}}]
        ports: [{name: http, containerPort: 8080}]
        resources: {limits: {cpu: "1", memory: 64Mi, example.org/gpu: "2"}, requests: {cpu: 500m}}
        livenessProbe: {httpGet: {path: /, port: http}}
        securityContext: {runAsUser: 1000, readOnlyRootFilesystem: true}
      volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}, {name: zone, configMap: {name: zone, items: [{key: host, path: host}]}}]
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}}
      tolerations: [{key: a, operator: Exists, tolerationSeconds: 60, effect: NoExecute}]
`
	service = `
apiVersion: v1
kind: Service
metadata: {name: $(name)-web, namespace: $(namespace)}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}, {name: https, port: 443, targetPort: 8443}]
`
)

// rightExpressions are correct expressions and their results.
var rightExpressions = map[string]string{
	// The fields of every object.
	"resources['db'].metadata.name": "shop-web",
	"resources.db.metadata.labels['example.org/tier'] + resources.db.metadata.labels.app":                                                    "frontweb",
	"resources.db.metadata.annotations['example.org/note']":                                                                                  "text",
	"resources.db.metadata.?annotations[?'none'].orValue('none')":                                                                            "none",
	"has(resources.db.metadata.labels.none) ? 'a' : 'b'":                                                                                     "b",
	"'app' in resources.db.metadata.labels ? 'a' : 'b'":                                                                                      "a",
	"resources.db.metadata.ownerReferences.filter(o, o.controller)[0].kind":                                                                  "Shop",
	"resources.db.metadata.ownerReferences[0].uid == composite.metadata.uid ? 'a' : 'b'":                                                     "a",
	"resources.db.metadata.managedFields.exists(m, m.manager == 'live') ? 'a' : 'b'":                                                         "a",
	"string(resources.db.metadata.managedFields.exists(m, has(m.fieldsV1) && 'f:spec' in m.fieldsV1 && has(m.fieldsV1['f:spec'].anything)))": "false",
	"timestamp(resources.db.metadata.creationTimestamp).getFullYear() > 2000 ? 'a' : 'b'":                                                    "a",
	"string(resources.db.metadata.generation)":                                                                                               "1",
	"has(resources.db.metadata.deletionTimestamp) ? 'a' : 'b'":                                                                               "b",
	"resources.db.metadata.?finalizers.orValue([]).join(',') + 'x'":                                                                          "x",
	"resources.db.metadata.?deletionGracePeriodSeconds.orValue(3) + 1 == 4 ? 'a' : 'b'":                                                      "a",
	"resources.db.apiVersion + resources.db.kind":                                                                                            "apps/v1Deployment",
	// Deployment.
	"string(resources.db.spec.replicas + 1)":                                                                                                                    "3",
	"resources.db.status.observedGeneration == resources.db.metadata.generation ? 'a' : 'b'":                                                                    "a",
	"resources.db.status.conditions.filter(c, c.type == 'Available')[0].status":                                                                                 "True",
	"resources.db.status.conditions.exists(c, c.type == 'Available' && c.status == 'True') ? 'a' : 'b'":                                                         "a",
	"resources.db.spec.template.spec.containers[0].image":                                                                                                       "nginx",
	"resources.db.spec.template.spec.containers.map(c, c.name).join(',')":                                                                                       "web",
	"string(resources.db.spec.template.spec.containers[0].ports[0].containerPort)":                                                                              "8080",
	"resources.db.spec.template.spec.containers[0].resources.limits.memory":                                                                                     "64Mi",
	"resources.db.spec.template.spec.containers[0].resources.limits['example.org/gpu']":                                                                         "2",
	"resources.db.spec.template.spec.containers[0].resources.limits.cpu == '1' ? 'a' : 'b'":                                                                     "a",
	"resources.db.spec.template.spec.containers[0].resources.requests.map(k, k + '=' + resources.db.spec.template.spec.containers[0].resources.requests[k])[0]": "cpu=500m",
	"resources.db.spec.template.spec.containers[0].env.filter(e, e.name == 'A')[0].value":                                                                       "b",
	"resources.db.spec.template.spec.containers[0].env.filter(e, has(e.valueFrom))[0].valueFrom.configMapKeyRef.key":                                            "host",
	"resources.db.spec.template.spec.containers[0].?env.orValue([]).map(e, e.?value.orValue('')).join(',')":                                                     "b,",
	"string(resources.db.spec.template.spec.containers[0].livenessProbe.httpGet.port)":                                                                          "http",
	"string(resources.db.spec.template.spec.containers[0].livenessProbe.periodSeconds)":                                                                         "10",
	"string(resources.db.spec.template.spec.containers[0].securityContext.runAsUser)":                                                                           "1000",
	"resources.db.spec.template.spec.containers[0].securityContext.readOnlyRootFilesystem ? 'a' : 'b'":                                                          "a",
	"resources.db.spec.template.spec.volumes.filter(v, has(v.emptyDir))[0].emptyDir.sizeLimit":                                                                  "1Gi",
	"resources.db.spec.template.spec.volumes[1].configMap.items[0].path":                                                                                        "host",
	"resources.db.spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]":   "b",
	"string(resources.db.spec.template.spec.tolerations[0].tolerationSeconds)":                                                                                  "60",
	"resources.db.spec.strategy.rollingUpdate.maxSurge":                                                                                                         "25%",
	"string(resources.db.spec.strategy.rollingUpdate.maxUnavailable)":                                                                                           "1",
	"resources.db.spec.strategy.type == 'Recreate' ? 'a' : 'b'":                                                                                                 "b",
	"resources.db.spec.selector.matchLabels.map(k, k + resources.db.spec.selector.matchLabels[k]).join(',')":                                                    "appweb",
	"resources.db.spec.selector.matchLabels == {'app': 'web'} ? 'a' : 'b'":                                                                                      "a",
	"resources.db.spec.selector.?matchExpressions.orValue([]).size() == 0 ? 'a' : 'b'":                                                                          "a",
	"resources.db.spec.?paused.orValue(false) ? 'a' : 'b'":                                                                                                      "b",
	"resources.db.spec.?minReadySeconds.orValue(0) == 0 ? 'a' : 'b'":                                                                                            "a",
	"resources.db.spec.template.metadata.?creationTimestamp.orValue('') == '' ? 'a' : 'b'":                                                                      "a",
	"json.encode(resources.db.spec.strategy)":                                                                                                                   `{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1},"type":"RollingUpdate"}`,
	"resources.db.spec.map(k, k).exists(k, k == 'replicas') ? 'a' : 'b'":                                                                                        "a",
	// Service.
	"string(resources['db-1'].spec.ports[0].port)":                                                                                        "80",
	"resources['db-1'].spec.ports[0].targetPort":                                                                                          "http",
	"string(resources['db-1'].spec.ports[1].targetPort)":                                                                                  "8443",
	"resources['db-1'].spec.ports.filter(p, p.name == 'https').map(p, string(p.port)).join()":                                             "443",
	"string(math.greatest(resources['db-1'].spec.ports.map(p, p.port)))":                                                                  "443",
	"resources['db-1'].spec.ports[0].protocol == 'TCP' ? 'a' : 'b'":                                                                       "a",
	"resources['db-1'].spec.type == 'ClusterIP' ? 'a' : resources['db-1'].spec.type":                                                      "LoadBalancer",
	"resources['db-1'].spec.clusterIP == resources['db-1'].spec.clusterIPs[0] ? 'a' : 'b'":                                                "a",
	"resources['db-1'].status.loadBalancer.ingress[0].hostname":                                                                           "lb.example.org",
	"resources['db-1'].?status.?loadBalancer.?ingress[?0].?hostname.orValue('none')":                                                      "lb.example.org",
	"resources['db-1'].status.loadBalancer.ingress.map(i, i.?ip.orValue(i.hostname))[0]":                                                  "lb.example.org",
	"resources['db-1'].status.loadBalancer.?ingress[?1].?ip.orValue('none')":                                                              "none",
	"'%s:%d'.format([resources['db-1'].metadata.name, resources['db-1'].spec.ports[0].port])":                                             "shop-web:80",
	"resources['db-1'].spec.?sessionAffinityConfig.?clientIP.?timeoutSeconds.orValue(0) == 0 ? 'a' : 'b'":                                 "a",
	"resources['db-1'].spec.ports.filter(p, p.targetPort == 8443).map(p, p.name)[0]":                                                      "https",
	"string(resources.db.spec.strategy.rollingUpdate.maxUnavailable + 1)":                                                                 "2",
	"resources.db.spec.template.spec.containers.exists(c, c.resources.limits.cpu in ['1', 1]) ? 'a' : 'b'":                                "a",
	"(resources.db.spec.template.spec.containers + resources.db.spec.template.spec.?initContainers.orValue([])).map(c, c.name).join(',')": "web",
	// ConfigMap.
	"sources.zone.data.host":    "one",
	"sources.zone.data['host']": "one",
	"sources.zone.data.map(k, k + '=' + sources.zone.data[k]).join(',')": "host=one",
	"sources.zone.?data[?'port'].orValue('5432')":                        "5432",
	"sources.zone.?binaryData.orValue({}).size() == 0 ? 'a' : 'b'":       "a",
	"sources.zone.?immutable.orValue(false) ? 'a' : 'b'":                 "b",
	"json.encode(sources.zone.data)":                                     `{"host":"one"}`,
	// The composite.
	"composite.spec.size":             "small",
	"string(composite.spec.port * 2)": "10864",
	"string(composite.spec.ratio)":    "0.5",
	"composite.spec.target == 'http' || composite.spec.target == 80 ? 'a' : 'b'":                                                     "a",
	"composite.spec.?maybe.orValue('none')":                                                                                          "none",
	"!has(composite.spec.maybe) || composite.spec.maybe == null ? 'a' : 'b'":                                                         "a",
	"composite.spec.tags.tier + composite.spec.tags['tier']":                                                                         "frontfront",
	"composite.spec.zones.map(z, z + '!').join(',')":                                                                                 "a!,b!",
	"composite.spec.open.at.all ? 'a' : 'b'":                                                                                         "a",
	"composite.spec.open.?any.?thing.orValue('none')":                                                                                "none",
	"composite.spec.embedded.data.a + composite.spec.embedded.metadata.name":                                                         "binner",
	"composite.spec.crossplane.compositionRef.name":                                                                                  "live-types-core-kinds",
	"composite.spec.crossplane.?compositionRevisionRef.?name.orValue('').startsWith('live-') ? 'a' : 'b'":                            "a",
	"composite.spec.crossplane.compositionUpdatePolicy":                                                                              "Automatic",
	"composite.spec.crossplane.?resourceRefs.orValue([]).exists(r, r.kind == 'Deployment' && r.apiVersion == 'apps/v1') ? 'a' : 'b'": "a",
	"composite.status.conditions.filter(c, c.type == 'Synced')[0].reason":                                                            "ReconcileSuccess",
	"composite.status.conditions.exists(c, timestamp(c.lastTransitionTime) > timestamp('2000-01-01T00:00:00Z')) ? 'a' : 'b'":         "a",
	"composite.metadata.labels.team + composite.metadata.annotations['example.org/zone']":                                            "ab",
	// A custom resource, through other variables.
	"variables.host": "one",
	"resources['db-2'].status.conditions.filter(c, c.type == 'Ready').map(c, c.status)[0]": "True",
	"cel.bind(s, resources['db-2'].status.atProvider, s.host + ':' + string(s.port))":      "one:5432",
	"optional.of(resources['db-2'].status).atProvider.host.value()":                        "one",
	"[resources['db-2'].spec, composite.spec].map(s, s.size).join(',')":                    "small,small",
	"dyn(resources['db-2']).status.?anything.orValue('none')":                              "none",
	"resources.map(n, resources[n].kind).filter(k, k == 'Server')[0]":                      "Server",
	"resources['db-' + string(2)].kind":                                                    "Server",
}

// letsRightBe checks that the schemas that Crossplane sends do not refuse a correct expression.
func letsRightBe(ctx context.Context, t *testing.T, s typed) error {
	var data []string

	want, i := map[string]string{}, 0

	for _, expression := range slices.Sorted(maps.Keys(rightExpressions)) {
		key := fmt.Sprintf("k%03d", i)
		want[key], i = rightExpressions[expression], i+1
		data = append(data, fmt.Sprintf("{key: %s, value: %q}", key, expression))
	}

	return first(
		func() error {
			return s.open(ctx, "Shop", `
sources: [{name: zone, apiVersion: v1, kind: ConfigMap}]
variables: [{name: host, value: "resources['db-2'].status.atProvider.host"}]
`+settings("Strict", data...), deployment, service, server)
		},
		func() error { return s.write(ctx, "ConfigMap", "zone", map[string]string{"host": "one"}) },
		func() error { return s.applyShop(ctx) },
		func() error { return s.run(ctx, "shop-db") },
		func() error {
			return s.setStatus(ctx, live.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: s.ns, Name: "shop-web"}, `{"status": {"observedGeneration": 1, "conditions": [
{"type": "Available", "status": "True", "reason": "A", "message": "m"}, {"type": "Ready", "status": "True", "reason": "A", "message": "m"}]}}`)
		},
		func() error {
			return s.setStatus(ctx, s.core("Service", "shop-web"), `{"status": {"loadBalancer": {"ingress": [{"hostname": "lb.example.org"}]},
"conditions": [{"type": "Ready", "status": "True", "reason": "A", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`)
		},
		func() error { return s.says(ctx, s.shop(), "Available") },
		func() error { return s.becomes(ctx, "ConfigMap", "shop-settings", want) },
		func() error { return s.force(ctx, s.shop(), 10) },
		func() error { return s.shapes(t) },
	)
}

// shapes checks the structures on which the function relies in schemas that Crossplane sends.
func (s typed) shapes(t *testing.T) error {
	t.Helper()

	var last *fnv1.RunFunctionRequest // with schemas
	for _, c := range s.recorder.of(s.ns, 0) {
		if len(c.req.GetRequiredSchemas()) > 0 {
			last = c.req
		}
	}

	t.Logf("%d KiB of request, %d KiB of it schemas", proto.Size(last)>>10, proto.Size(&fnv1.RunFunctionRequest{RequiredSchemas: last.GetRequiredSchemas()})>>10)

	for key, schema := range last.GetRequiredSchemas() {
		b, err := json.Marshal(schema.GetOpenapiV3().AsMap())
		if err != nil {
			return err
		}

		t.Logf("%s: %d KiB, as JSON %d KiB", key, proto.Size(schema)>>10, len(b)>>10)

		if strings.Contains(string(b), `"$ref"`) {
			return brokenf("%s has references", key)
		}

		if at(schema.GetOpenapiV3(), "properties", "metadata", "properties", "labels", "additionalProperties", "type").GetStringValue() != "string" {
			return brokenf("%s has no fields of metadata", key)
		}
	}

	return nil
}

func at(s *structpb.Struct, path ...string) *structpb.Value {
	for _, name := range path[:len(path)-1] {
		s = s.GetFields()[name].GetStructValue()
	}

	return s.GetFields()[path[len(path)-1]]
}

// measuresTypes measures type checking with a composite, a Deployment and a correct input. It measures the time of
// the function's step in a reconcile, including Crossplane's work between calls.
func measuresTypes(ctx context.Context, t *testing.T, s typed) error {
	const reconciles = 20

	const right = `{key: size, value: composite.spec.size}, {key: image, value: "resources.db.spec.template.spec.containers[0].image"}`

	if err := first(
		func() error { return s.open(ctx, "Shop", settings("Warn", right), deployment) },
		func() error { return s.applyShop(ctx) },
		func() error {
			return s.becomes(ctx, "ConfigMap", "shop-settings", map[string]string{"size": "small", "image": "nginx"})
		},
	); err != nil {
		return err
	}

	for _, mode := range []string{"Warn", "Strict"} {
		if err := first(
			func() error { return s.input(ctx, "Shop", settings(mode, right), deployment) },
			func() error { return s.force(ctx, s.shop(), 3) },
		); err != nil {
			return err
		}

		since := len(s.recorder.of(s.ns, 0))
		if err := s.force(ctx, s.shop(), reconciles); err != nil {
			return err
		}

		t.Log(mode + ": " + timesOf(s.recorder.of(s.ns, since)))
	}

	return nil
}

// timesOf returns the times of calls. The first call of a reconcile has no schemas.
func timesOf(calls []call) string {
	var all, function, schemas []time.Duration

	kib := 0

	for i, c := range calls {
		kib = max(kib, proto.Size(c.req)>>10)

		if len(c.req.GetRequiredSchemas()) == 0 {
			all, function = append(all, c.ended.Sub(c.began)), append(function, c.ended.Sub(c.began))
			continue
		}

		if n := len(all) - 1; n >= 0 {
			all[n] = c.ended.Sub(calls[i-1].began)
			function[n] += c.ended.Sub(c.began)
			schemas = append(schemas, c.began.Sub(calls[i-1].ended))
		}
	}

	return fmt.Sprintf("%d calls of %d reconciles, of up to %d KiB; the step takes %s, the function has %s of it, and to read schemas %s",
		len(calls), len(all), kib, median(all), median(function), median(schemas))
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}

	slices.Sort(d)

	return d[len(d)/2].Round(100 * time.Microsecond)
}
