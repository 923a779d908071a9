package functiontest

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
