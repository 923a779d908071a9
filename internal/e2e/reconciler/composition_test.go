package reconciler_test

import (
	"errors"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
)

// The composite of all histories, and its objects.
const (
	namespace = "team-a"
	composite = "shop"
)

const xrManifest = `{apiVersion: faults.example.org/v1alpha1, kind: Shop, metadata: {name: shop, namespace: team-a},
  spec: {crossplane: {compositionRef: {name: shops.faults.example.org}}}}`

// The grace period of all generators, and the interval of the periodic one.
const (
	gracePeriod = 3 * time.Second
	interval    = time.Minute
)

// compositionManifest is the Composition of TestFaults with a hash that is derived from a generated password, and a
// rotation that is verified: the export setter has the password for the provider, and login has the one that the
// provider has accepted.
const compositionManifest = `
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
      - {name: db, apiVersion: v1, kind: Secret, matchName: db-connection}
      generators:
      - {name: admin, gracePeriod: 3s, password: {length: 20, symbols: 2, symbolCharacters: "-_", secretKeys: [password,
          token]}}
      - {name: id, gracePeriod: 3s, uuid: {}}
      - {name: hash, gracePeriod: 3s, bcrypt: {secretExpression: generated.admin.password, cost: 4}}
      - {name: clock, gracePeriod: 3s, refreshPolicy: Periodic, refreshInterval: 60s, password: {length: 20}}
      - {name: user, gracePeriod: 3s, password: {length: 20},
          readyExpression: secrets.db.password == candidate.user.password}
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
      - name: hashed
        data:
        - {key: password, value: generated.admin.password}
        - {key: hash, value: generated.hash.hash}
      - name: setter
        data: [{key: password, value: candidate.user.password}]
      - name: login
        data:
        - {key: password, value: generated.user.password}
        - {key: former, value: "previous.?user.?password"}
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

// newHistory describes the exports of the Composition above, and their rotation.
func newHistory() *laws.History {
	of := func(generator, name string) laws.Output { return laws.Output{Generator: generator, Name: name} }
	admin, clock, user := of("admin", "password"), of("clock", "password"), of("user", "password")
	source := func(name string) laws.Shape {
		return laws.Shape{Keys: []string{"user", "password", "both"}, Whole: laws.WholeSource, Source: name,
			Moment: laws.Moment}
	}
	type outputs = map[string]laws.Output
	return &laws.History{
		Composites: []string{composite}, Grace: gracePeriod,
		Generators: map[string]laws.Rotates{
			"admin": {}, "id": {}, "hash": {With: "admin"}, "clock": {Every: interval}, "user": {}, "ca": {},
			"server": {With: "ca"},
		},
		Exports: map[string]laws.Shape{
			"connection": {
				Generated: outputs{"password": admin, "token": of("admin", "token"), "id": of("id", "uuid"),
					"clock": clock},
				Former: outputs{"former": admin, "former-clock": clock}, Keys: []string{"url"},
				Whole: laws.WholeConnection,
			},
			"app": {Generated: outputs{"password": admin}, Former: outputs{"former": admin},
				Keys: []string{"digest"}, Whole: laws.WholeDigest},
			"hashed": {Generated: outputs{"password": admin, "hash": of("hash", "hash")}, Whole: wholeHash},
			"login": {Generated: outputs{"password": user}, Former: outputs{"former": user},
				Whole: func(map[string]string) error { return nil }},
			"tls": {
				Generated: outputs{"tls.crt": of("server", "tls.crt"), "tls.key": of("server", "tls.key")},
				Keys:      []string{"ca.crt"}, Whole: laws.WholeTLS,
			},
			"account": source("account"), "settings": source("settings"),
		},
	}
}

func wholeHash(data map[string]string) error {
	if bcrypt.CompareHashAndPassword([]byte(data["hash"]), []byte(data["password"])) != nil {
		return errors.New("hash is of another password")
	}
	return nil
}
