package live_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A claim has two Secrets: the exported Secret and its connection Secret.
func exportsToClaims(ctx context.Context, s scenario) error {
	given, later := login(), login()
	claim := live.Ref{APIVersion: group, Kind: "Order", Namespace: s.ns, Name: "order"}
	both := func(data map[string]string) error {
		return first(
			func() error { return s.becomes(ctx, "Secret", "order-login", data) },
			func() error { return s.becomes(ctx, "Secret", "order-details", data) },
		)
	}

	return first(
		func() error {
			return s.open(ctx, "XOrder", `
sources: [{name: login, apiVersion: v1, kind: Secret, namespace: `+s.ns+`}]
secrets:
- name: connection
  metadata: {nameExpression: composite.spec.claimRef.name + '-login'}
  data: [{valueMap: "{'username': secrets.login.username, 'password': secrets.login.password}"}]
  connectionDetails: true
`)
		},
		func() error {
			return s.Apply(ctx, fmt.Sprintf(`{apiVersion: %s, kind: Order, metadata: {name: order, namespace: %s},
  spec: {size: small, compositionRef: {name: %[2]s}, writeConnectionSecretToRef: {name: order-details}}}`, group, s.ns))
		},
		func() error { return s.says(ctx, claim, "Waiting", "login") },
		func() error { return s.absent(ctx, s.core("Secret", "order-login")) },
		func() error { return s.write(ctx, "Secret", "login", given) },
		func() error { return both(given) },
		func() error { return s.says(ctx, claim, "Available") },
		func() error {
			// Crossplane copies them to the claim when the composite has a new time of publication, which has a
			// resolution of seconds.
			time.Sleep(1100 * time.Millisecond)
			return nil
		},
		func() error { return s.write(ctx, "Secret", "login", later) },
		func() error { return both(later) },
		func() error { return s.Delete(ctx, s.core("Secret", "login")) },
		func() error { return s.says(ctx, claim, "Held", "login") },
		func() error { return both(later) },
	)
}

// A cluster-scoped composite exports to the namespace that its input names.
func exportsFromClusterScope(ctx context.Context, s scenario) error {
	given, later := login(), login()
	site := live.Ref{APIVersion: group, Kind: "Site", Name: s.ns}

	return first(
		func() error {
			return s.open(ctx, "Site", `
sources: [{name: login, apiVersion: v1, kind: Secret, namespace: `+s.ns+`}]
generators: [{name: admin, namespace: `+s.ns+`, password: {length: 24, symbols: 0, prefix: hush-}}]
secrets:
- name: connection
  metadata: {name: connection, namespace: `+s.ns+`}
  data: [{valueMap: "{'username': secrets.login.username, 'password': secrets.login.password}"}]
- name: admin
  metadata: {name: admin, namespace: `+s.ns+`}
  data: [{key: password, value: generated.admin.password}]
configMaps:
- name: settings
  metadata: {name: settings, namespace: `+s.ns+`}
  data: [{key: size, value: composite.spec.size}]
`)
		},
		func() error { return s.write(ctx, "Secret", "login", given) },
		func() error {
			return s.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: Site, metadata: {name: %[2]s}, spec: {size: small, crossplane: {compositionRef: {name: %[2]s}}}}", group, s.ns))
		},
		func() error { return s.says(ctx, site, "Available") },
		func() error { return s.becomes(ctx, "Secret", "connection", given) },
		func() error { return s.becomes(ctx, "ConfigMap", "settings", map[string]string{"size": "small"}) },
		func() error {
			stored, err := s.data(ctx, "Secret", s.ns+"-admin-1")
			if err != nil {
				return err
			}

			return s.becomes(ctx, "Secret", "admin", stored)
		},
		func() error { return s.write(ctx, "Secret", "login", later) },
		func() error { return s.becomes(ctx, "Secret", "connection", later) },
	)
}

// A ConfigMap, and a field of the composite's status.
func exportsConfigMaps(ctx context.Context, s scenario) error {
	settings := func(host, size string) map[string]string { return map[string]string{"host": host, "size": size} }

	return first(
		func() error {
			return s.open(ctx, "App", `
sources: [{name: zone, apiVersion: v1, kind: ConfigMap}]
configMaps:
- name: settings
  data:
  - {key: host, value: sources.zone.data.host}
  - {key: size, value: composite.spec.size}
status: [{fieldPath: host, value: sources.zone.data.host}]
`)
		},
		func() error { return s.applyApp(ctx, "size: small") },
		func() error { return s.says(ctx, s.app(), "Waiting", "zone") },
		func() error { return s.absent(ctx, s.core("ConfigMap", "app-settings")) },
		func() error { return s.write(ctx, "ConfigMap", "zone", map[string]string{"host": "one"}) },
		func() error { return s.becomes(ctx, "ConfigMap", "app-settings", settings("one", "small")) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.write(ctx, "ConfigMap", "zone", map[string]string{"host": "two"}) },
		func() error { return s.becomes(ctx, "ConfigMap", "app-settings", settings("two", "small")) },
		func() error { return s.applyApp(ctx, "size: big") },
		func() error { return s.becomes(ctx, "ConfigMap", "app-settings", settings("two", "big")) },
		func() error {
			o, err := s.Get(ctx, s.app())
			if err != nil {
				return err
			}

			if got, _, _ := unstructured.NestedString(o.Object, "status", "host"); got != "two" {
				return brokenf("the status has host %q", got)
			}

			return nil
		},
		func() error { return s.Delete(ctx, s.core("ConfigMap", "zone")) },
		func() error { return s.says(ctx, s.app(), "Held", "zone") },
		func() error { return s.becomes(ctx, "ConfigMap", "app-settings", settings("two", "big")) },
	)
}

// If an EnvironmentConfig changes, its exported values also change, even in Secrets.
func exportsEnvironments(ctx context.Context, s scenario) error {
	given := login()
	config := func(region string) error {
		return s.Apply(ctx, fmt.Sprintf("{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: %s}, data: {region: %s, zones: {a: 1}}}", s.ns, region))
	}
	exported := func(region string) error {
		return first(
			func() error {
				return s.becomes(ctx, "ConfigMap", "app-settings", map[string]string{"region": region, "stage": "test"})
			},
			func() error {
				return s.becomes(ctx, "Secret", "app-connection", map[string]string{"url": "app://" + given["password"] + "@" + region})
			},
			func() error { return s.says(ctx, s.app(), "Available") },
		)
	}

	return first(
		func() error {
			return s.open(ctx, "App", loginSource+`
environment:
  defaultData: {region: nowhere, stage: test}
  environmentConfigs: [{ref: {name: `+s.ns+`}}]
configMaps: [{name: settings, data: [{valueMap: "{'region': environment.region, 'stage': environment.stage}"}]}]
secrets: [{name: connection, data: [{key: url, value: "'app://%s@%s'.format([secrets.login.password, environment.region])"}]}]
`)
		},
		func() error { return s.write(ctx, "Secret", "login", given) },
		func() error { return config("north") },
		func() error { return s.applyApp(ctx) },
		func() error { return exported("north") },
		func() error { return config("south") },
		func() error { return exported("south") },
	)
}

// eachObject calls a function for each object of a namespace, or of the whole API server if the namespace is empty.
func eachObject(ctx context.Context, namespace string, do func(o *unstructured.Unstructured)) error {
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig())
	if err != nil {
		return err
	}

	config.QPS, config.Burst, config.WarningHandler = 1000, 1000, rest.NoWarnings{}

	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}

	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}

	lists, err := disco.ServerPreferredResources()
	if err != nil {
		return err
	}

	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return err
		}

		for _, r := range l.APIResources {
			if !strings.Contains(r.Verbs.String(), "list") || namespace != "" && !r.Namespaced {
				continue
			}

			items, err := client.Resource(gv.WithResource(r.Name)).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if live.IsNotFound(err) {
				continue // its CRD was deleted in the meantime
			}

			if err != nil {
				return fmt.Errorf("cannot list %s: %w", r.Name, err)
			}

			for i := range items.Items {
				do(&items.Items[i])
			}
		}
	}

	return nil
}
