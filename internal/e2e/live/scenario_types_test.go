package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// typesManifests are kinds whose schemas are complete, except where they allow unknown fields.
const typesManifests = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: shops.live.example.org}
spec:
  scope: Namespaced
  group: live.example.org
  names: {kind: Shop, plural: shops}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, properties: {
      size: {type: string, enum: [small, big]}, port: {type: integer}, ratio: {type: number}, target: {x-kubernetes-int-or-string: true},
      maybe: {type: string, nullable: true}, tags: {type: object, additionalProperties: {type: string}}, zones: {type: array, items: {type: string}},
      open: {type: object, x-kubernetes-preserve-unknown-fields: true}, embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}},
    status: {type: object, properties: {host: {type: string}, handled: {type: string}}}}}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servers.live.example.org}
spec:
  scope: Namespaced
  group: live.example.org
  names: {kind: Server, listKind: ServerList, plural: servers, singular: server}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, properties: {size: {type: string}}},
    status: {type: object, properties: {
      atProvider: {type: object, properties: {host: {type: string}, port: {type: integer}}},
      conditions: {type: array, items: {type: object, properties: {
        type: {type: string}, status: {type: string}, reason: {type: string}, lastTransitionTime: {type: string, format: date-time}}}}}}}}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: live-types, labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}}
rules:
- {apiGroups: [live.example.org], resources: [servers, servers/status], verbs: ["*"]}
`

// server is the composed resource db.
const server = `{apiVersion: live.example.org/v1, kind: Server, metadata: {name: $(name)-db, namespace: $(namespace)}, spec: {size: small}}`

// TestTypeChecking misspells fields of objects whose schemas Crossplane sends.
func TestTypeChecking(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	if err := plane.Apply(t.Context(), typesManifests); err != nil {
		t.Fatal(err)
	}

	for _, r := range []live.Ref{
		{APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition", Name: "shops.live.example.org"},
		{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "servers.live.example.org"},
	} {
		if err := plane.WaitForCondition(t.Context(), time.Minute, r, "Established"); err != nil {
			t.Fatal(err)
		}
	}

	const name = "function-export-recorded"
	r := record(t.Context(), t, name)

	for test, play := range map[string]func(ctx context.Context, t *testing.T, s typed) error{
		"misspelled": warnsOfMisspelt,
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()

			s := typed{scenario{ControlPlane: plane, function: name, ns: "live-types-" + test}, r}
			if err := play(t.Context(), t, s); err != nil {
				t.Errorf("%v\n%s", err, events(s.ns))
			}
		})
	}
}

// A typed scenario uses schemas.
type typed struct {
	scenario

	*recorder
}

func (s typed) shop() live.Ref {
	return live.Ref{APIVersion: group, Kind: "Shop", Namespace: s.ns, Name: "shop"}
}

func (s typed) applyShop(ctx context.Context) error {
	return s.Apply(ctx, fmt.Sprintf(`
apiVersion: %s
kind: Shop
metadata: {name: shop, namespace: %s, labels: {team: a}, annotations: {example.org/zone: b}}
spec:
  crossplane: {compositionRef: {name: %[2]s}}
  size: small
  port: 5432
  ratio: 0.5
  target: http
  tags: {tier: front}
  zones: [a, b]
  open: {at: {all: true}}
  embedded: {apiVersion: v1, kind: ConfigMap, metadata: {name: inner}, data: {a: b}}
`, group, s.ns))
}

// run acts as the provider of a Server.
func (s typed) run(ctx context.Context, name string) error {
	ref := live.Ref{APIVersion: group, Kind: "Server", Namespace: s.ns, Name: name}

	return s.setStatus(ctx, ref, `{"status": `+readyStatus(`"atProvider": {"host": "one", "port": 5432},`)+`}`)
}

// setStatus sets the status of an object after it exists. Composed resources are applied in any order.
func (s typed) setStatus(ctx context.Context, ref live.Ref, patch string) error {
	return first(
		func() error {
			return eventually(ctx, soon, ref.String(), func() error { _, err := s.Get(ctx, ref); return err })
		},
		func() error { return s.Patch(ctx, ref, patch, "status") },
	)
}

// event waits until a warning in a namespace contains some texts.
func (s typed) event(ctx context.Context, namespace string, texts ...string) error {
	return eventually(ctx, soon, "an event", func() error {
		list, err := s.List(ctx, "v1", "Event", namespace, "")
		if err != nil {
			return err
		}

		for _, e := range list {
			message := textAt(e.Object, "message")
			if textAt(e.Object, "type") == "Warning" && !slices.ContainsFunc(texts, func(t string) bool { return !strings.Contains(message, t) }) {
				return nil
			}
		}

		return errors.New("there is none")
	})
}

const (
	rightShop     = `{key: size, value: composite.spec.size}`
	misspeltShop  = `{key: size, value: composite.spec.sise}`
	rightServer   = `{key: host, value: resources.db.status.atProvider.host}`
	wrongServer   = `{key: host, value: resources.db.status.atProvider.hsot}`
	refusedShop   = "configMaps[0].data[0].value:1:15: Shop of live.example.org/v1 has no field spec.sise: did you mean size?"
	refusedServer = "configMaps[0].data[1].value:1:31: Server of live.example.org/v1 has no field status.atProvider.hsot: did you mean host?"
)

func settings(data ...string) string {
	return "configMaps: [{name: settings, data: [" + strings.Join(data, ", ") + "]}]"
}

// By default, a message explains that an export waits for a misspelled field. After all inputs exist, no schemas are
// required.
func warnsOfMisspelt(ctx context.Context, t *testing.T, s typed) error {
	since := 0

	return first(
		func() error { return s.open(ctx, "Shop", settings(misspeltShop, wrongServer), server) },
		func() error { return s.applyShop(ctx) },
		func() error { return s.run(ctx, "shop-db") },
		func() error { return s.says(ctx, s.shop(), "Waiting", refusedShop, refusedServer) },
		func() error { return s.event(ctx, s.ns, refusedShop) },
		func() error { return s.event(ctx, s.ns, refusedServer) },
		func() error { return s.absent(ctx, s.core("ConfigMap", "shop-settings")) },
		func() error { return s.input(ctx, "Shop", settings(rightShop, rightServer), server) },
		func() error { return s.says(ctx, s.shop(), "Available") },
		func() error {
			return s.becomes(ctx, "ConfigMap", "shop-settings", map[string]string{"size": "small", "host": "one"})
		},
		// The status of the scenario reads an annotation that exists from now on.
		func() error { return s.force(ctx, s.shop(), 1) },
		func() error { since = len(s.recorder.of(s.ns, 0)); return s.force(ctx, s.shop(), 5) },
		func() error {
			calls := s.recorder.of(s.ns, since)
			t.Logf("%d calls for 5 reconciles while all is there", len(calls))

			for _, c := range calls {
				if len(c.req.GetRequiredSchemas())+len(c.rsp.GetRequirements().GetSchemas()) > 0 {
					return brokenf("schemas are asked for while nothing waits")
				}
			}

			return wantText(len(calls) > 0, "there was no call")
		},
	)
}
