package live_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// faultsNamespace is the namespace of the composites of TestFaults.
const faultsNamespace = "faults"

const faultsDefinition = `
apiVersion: v1
kind: Namespace
metadata: {name: faults}
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: shops.faults.example.org}
spec:
  scope: Namespaced
  group: faults.example.org
  names: {kind: Shop, plural: shops}
  versions:
  - name: v1alpha1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
`

const faultsComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: shops.faults.example.org}
spec:
  compositeTypeRef: {apiVersion: faults.example.org/v1alpha1, kind: Shop}
  mode: Pipeline
  pipeline:
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      ttl: 10s
      sources:
      - {name: vault, apiVersion: v1, kind: Secret, nameExpression: "composite.metadata.name + '-account-source'"}
      - {name: config, apiVersion: v1, kind: ConfigMap, nameExpression: "composite.metadata.name + '-settings-source'"}
      generators:
      - name: admin
        gracePeriod: 3s
        password: {length: 20, symbols: 2, symbolCharacters: "-_", secretKeys: [password, token]}
      - {name: id, gracePeriod: 3s, uuid: {}}
      - {name: clock, gracePeriod: 3s, refreshPolicy: Periodic, refreshInterval: 60s, password: {length: 20}}
      - {name: ca, gracePeriod: 3s, certificate: {isCA: true, subject: {commonName: ca}, duration: 8760h}}
      - name: server
        gracePeriod: 3s
        refreshPolicy: OnChange
        certificate: {ca: ca, subject: {commonName: server.example.org}, dnsNames: [server.example.org], duration: 720h}
      secrets:
      - name: connection
        data:
        - {key: password, value: generated.admin.password}
        - {key: token, value: generated.admin.token}
        - {key: id, value: generated.id.uuid}
        - {key: clock, value: generated.clock.password}
        - {key: url, value: "'postgres://admin:%s@%s'.format([generated.admin.password, generated.id.uuid])"}
        - {key: former, value: "previous.?admin.?password"}
        - {key: former-clock, value: "previous.?clock.?password"}
      - name: app
        data:
        - {key: password, value: generated.admin.password}
        - {key: digest, value: sha256(generated.admin.password)}
        - {key: former, value: "previous.?admin.?password"}
      - name: tls
        type: kubernetes.io/tls
        data:
        - {key: tls.crt, value: "generated.server['tls.crt']"}
        - {key: tls.key, value: "generated.server['tls.key']"}
        - {key: ca.crt, value: "generated.server['ca.crt']"}
      - name: account
        data:
        - {key: user, value: secrets.vault.user}
        - {key: password, value: secrets.vault.password}
        - {key: both, value: "secrets.vault.user + ':' + secrets.vault.password"}
      - name: settings
        data:
        - {key: user, value: sources.config.data.user}
        - {key: password, value: sources.config.data.password}
        - {key: both, value: "'%s:%s'.format([sources.config.data.user, sources.config.data.password])"}
`

// faultsHistory describes the exports of the Composition above, and their rotation.
func faultsHistory(composites []string) *laws.History {
	admin, clock := laws.Output{Generator: "admin", Name: "password"}, laws.Output{Generator: "clock", Name: "password"}
	source := func(name string) laws.Shape {
		return laws.Shape{Keys: []string{"user", "password", "both"}, Whole: laws.WholeSource, Source: name,
			Moment: laws.Moment}
	}

	return &laws.History{
		Composites: composites, Grace: 3 * time.Second,
		Generators: map[string]laws.Rotates{"admin": {}, "id": {}, "clock": {Every: time.Minute}, "ca": {},
			"server": {With: "ca"}},
		Exports: map[string]laws.Shape{
			"connection": {
				Generated: map[string]laws.Output{"password": admin, "token": {Generator: "admin", Name: "token"},
					"id": {Generator: "id", Name: "uuid"}, "clock": clock},
				Former: map[string]laws.Output{"former": admin,
					"former-clock": clock}, Keys: []string{"url"}, Whole: laws.WholeConnection,
			},
			"app": {Generated: map[string]laws.Output{"password": admin},
				Former: map[string]laws.Output{"former": admin}, Keys: []string{"digest"}, Whole: laws.WholeDigest},
			// Generations of one CA have one ca.crt: whether it belongs there is for laws.WholeTLS.
			"tls": {Generated: map[string]laws.Output{"tls.crt": {Generator: "server", Name: "tls.crt"},
				"tls.key": {Generator: "server", Name: "tls.key"}}, Keys: []string{"ca.crt"}, Whole: laws.WholeTLS},

			"account": source("account"), "settings": source("settings"),
		},
	}
}

var shopDefinition = live.Ref{
	APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition", Name: "shops.faults.example.org",
}

func compositeRef(name string) live.Ref {
	return live.Ref{APIVersion: "faults.example.org/v1alpha1", Kind: "Shop", Namespace: faultsNamespace, Name: name}
}

func (w *world) create(ctx context.Context) error {
	if err := plane.Apply(ctx, faultsDefinition+"---"+faultsComposition); err != nil {
		return err
	}

	if err := plane.WaitForCondition(ctx, time.Minute, shopDefinition, "Established"); err != nil {
		return err
	}

	for _, c := range w.Composites {
		for name, kind := range map[string]string{"account": "Secret", "settings": "ConfigMap"} {
			s := &source{composite: c, name: name, kind: kind}
			w.sources[c+" "+name] = s
			w.write(ctx, s)
		}

		if err := plane.Apply(ctx, "{apiVersion: faults.example.org/v1alpha1, kind: Shop, "+
			"metadata: {name: "+c+", namespace: faults}, spec: {}}"); err != nil {
			return err
		}
	}

	return nil
}

// remove deletes the composites and their definition.
func (w *world) remove(ctx context.Context) {
	w.insist(ctx, "delete the composites", func(ctx context.Context) error {
		for _, c := range w.Composites {
			if err := plane.Delete(ctx, compositeRef(c)); err != nil {
				return err
			}
		}

		left, err := plane.List(ctx, "faults.example.org/v1alpha1", "Shop", faultsNamespace, "")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d are left", len(left))
		}

		return err
	})
	w.insist(ctx, "delete the definition", func(ctx context.Context) error {
		const name = "shops.faults.example.org"

		return errors.Join(
			plane.Delete(ctx, live.Ref{APIVersion: "apiextensions.crossplane.io/v1", Kind: "Composition", Name: name}),
			plane.Delete(ctx, shopDefinition),
			plane.Delete(ctx, live.Ref{APIVersion: "v1", Kind: "Namespace", Name: faultsNamespace}))
	})
}
