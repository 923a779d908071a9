package functiontest

import (
	"fmt"
	"strings"
	"time"
)

// EnvironmentInput finds an EnvironmentConfig, and increments a count in it.
const EnvironmentInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  environment:
    defaultData: {count: 1}
    environmentConfigs: [{ref: {name: base}}]
    set:
    - {fieldPath: count, value: environment.count + 1}
    - {fieldPath: zone, value: composite.metadata.name + environment.region}
  configMaps:
  - name: seen
    data: [{key: context, value: json.encode(context)}, {key: count, value: string(environment.count)}]
`

// Cluster is the EnvironmentConfig that EnvironmentInput finds.
var Cluster = map[string]string{"/base": `{apiVersion: apiextensions.crossplane.io/v1beta1, kind: EnvironmentConfig, metadata: {name: base}, data: {region: eu}}`}

// ObservedDatabase is a composite, and its database with connection details.
const ObservedDatabase = `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: Database
      metadata: {name: orders, namespace: team-a, uid: "1"}
      spec: {size: 3}
  resources:
    db:
      resource:
        apiVersion: rds.aws.m.upbound.io/v1beta1
        kind: Instance
        metadata: {name: orders-db, namespace: team-a}
        status: {endpoint: db.example.org, port: 5432}
      connectionDetails: {username: YXBw, password: Y2FuYXJ5LXBhc3N3b3Jk}
`

// SecretInput is the start of an input with one Secret.
const SecretInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets:
  - name: connection
    from: db
    data:
`

// CanaryRequest has a value in every place of a request that can contain a secret.
const CanaryRequest = `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: Database
      metadata: {name: orders, namespace: team-a, uid: "1", annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}
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
        metadata: {name: orders-db, namespace: team-a, annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY, kapp.k14s.io/original: CANARY}}
        spec: {manifest: {apiVersion: v1, kind: Secret, stringData: {k: CANARY}, metadata: {annotations: {kopf.zalando.org/last-handled-configuration: CANARY}}}}
        status: {endpoint: db.example.org, port: 5432, manifest: {apiVersion: v1, kind: Secret, data: {k: CANARY}}, list: {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, data: {k: CANARY}}]}}
      connectionDetails: {username: CANARY, password: CANARY}
    held:
      resource: {apiVersion: v1, kind: Secret, metadata: {name: orders-held, namespace: team-a}, data: {old: CANARY}}
context:
  step: {apiVersion: v1, kind: Secret, data: {k: CANARY}}
  copied: {objectset.rio.cattle.io/applied: CANARY, banzaicloud.com/last-applied: CANARY}
  apiextensions.crossplane.io/environment: {secret: {apiVersion: v1, kind: Secret, stringData: {k: CANARY}}, pod: {metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}}}
requiredResources:
  others: {items: [{resource: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team-a}, data: {k: CANARY}}}, {resource: {apiVersion: example.org/v1, kind: Object, metadata: {name: o, annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}}}]}
`

// CanaryInput exports from each of these places.
const CanaryInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  sources:
  - {name: ca, apiVersion: v1, kind: Secret}
  variables:
  - {name: url, value: "'x://' + secrets.db.password"}
  - {name: all, value: secrets}
  environment:
    set:
    - {fieldPath: everything, value: "[context, environment, resources, sources, composite.metadata]"}
    - {fieldPath: failed, value: "context.step.data.k"}
  fromComposite: {fieldPath: spec.exports, allow: {secrets: [db], resources: [db], environment: true}}
  secrets:
  - name: ok
    from: db
    metadata: {annotationsExpression: "{'host': resource.status.endpoint, 'all': json.encode(context) + json.encode(environment) + json.encode(resources) + json.encode(sources)}"}
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
  - name: everything
    data:
    - {key: context, value: json.encode(context)}
    - {key: environment, value: json.encode(environment)}
    - {key: resources, value: json.encode(resources)}
    - {key: sources, value: json.encode(sources)}
    - {key: composite, value: json.encode(composite.metadata)}
  status:
  - {fieldPath: everything, value: "[context, environment, resources, sources, composite.metadata]"}
`

// RotatedPassword is an input with a password that is renewed each month.
const RotatedPassword = `
generators:
- name: admin
  password: {length: 32, symbols: 4, symbolCharacters: "-_"}
  refreshPolicy: Periodic
  refreshInterval: 720h
  gracePeriod: 24h
`

// ConnectionOfAdmin exports that password, and the one before.
const ConnectionOfAdmin = `
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: former, value: "previous.?admin.?password", optional: true}
`

// The periods of RotatedPassword.
const (
	Interval = 720 * time.Hour
	Grace    = 24 * time.Hour
)

// TokenOfResource is an input with a credential that a resource creates.
const TokenOfResource = `
generators:
- name: token
  refreshPolicy: OnChange
  gracePeriod: 1h
  resource:
    manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {forProvider: {user: app}}}
    set:
    - {fieldPath: spec.writeConnectionSecretToRef.name, value: "'shop-token-' + generation.id"}
    - {fieldPath: spec.forProvider.role, value: composite.spec.role}
    outputs: {id: resource.status.atProvider.id}
secrets:
- name: aws
  data:
  - {key: id, value: generated.token.id}
  - {key: secret, value: generated.token.secret}
  - {key: former, value: "previous.?token.?id", optional: true}
`

// Misspelt is an input that reads a field that DatabaseSchema does not have.
const Misspelt = `
apiVersion: export.fn.crossplane.io/v1beta1
kind: Exports
secrets:
- name: connection
  from: db
  data: [{key: host, value: resource.status.hsot}]
`

// DatabaseSchema is the schema of a database with a host.
const DatabaseSchema = `
type: object
properties:
  status: {type: object, properties: {host: {type: string}}}
`

// AuthorInput allows exports of the composite author, and waits for an input of its own.
const AuthorInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets: [{name: own, from: db, data: [{key: k, value: secret.later}]}]
  status: [{fieldPath: later, value: resources.later.status.x}]
  fromComposite: {fieldPath: spec.exports}
`

// Asking returns ObservedDatabase with n wrong ConfigMap exports of its author.
func Asking(n int) string {
	var entries []string
	for i := range n {
		entries = append(entries, fmt.Sprintf(`{name: wrong-%02d, key: k, value: nope}`, i))
	}
	return strings.Replace(ObservedDatabase, "spec: {size: 3}",
		"spec: {exports: {configMapExpressions: ["+strings.Join(entries, ", ")+"]}}", 1)
}
