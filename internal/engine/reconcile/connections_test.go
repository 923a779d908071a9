package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// An accessKey is the only generation of generator token, with a connection Secret.
const accessKey = `
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: AccessKey,
  name: xr-token-1, uid: u-key, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
resources:
  generated/token/1:
    object:
      apiVersion: iam.example.org/v1
      kind: AccessKey
      metadata:
        name: xr-token-1
        namespace: team
        uid: u-key
        ownerReferences: [{controller: true, uid: u1}]
        annotations:
          crossplane.io/composition-resource-name: generated/token/1
          export.fn.crossplane.io/generator-state: >-
            {"generator":"token","generation":1,"state":{"stage":"current","kind":"resource"}}
      spec: {writeConnectionSecretToRef: {name: conn}}
      status: {conditions: [{type: Ready, status: "True"}]}
    details: {password: canary-live}
`

// Where connection details come from, by what is observed of a resource and in the cluster.
func TestConnectionDetails(t *testing.T) {
	const (
		input = `secrets: [{name: a, from: db, data: [{key: p, value: secret.password}]}]`
		named = `
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: DB,
  name: db-1, uid: u-db, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, namespace: team, uid: u-db},
      spec: {writeConnectionSecretToRef: {name: conn}}}
    details: {password: canary-live}
`
		live  = `Available Secret team/xr-a {data: {p: canary-live}}`
		token = `
generators: [{name: token, resource: {manifest: {apiVersion: iam.example.org/v1, kind: AccessKey,
  spec: {writeConnectionSecretToRef: {name: conn}}}}}]
secrets: [{name: a, data: [{key: p, value: generated.token.password}]}]`
		refusedDB = `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot ` +
			`use the connection details of resource "db": Secret team/conn `
		refusedToken = `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:16: cannot ` +
			`use the connection details of generation 1 of generator "token": Secret team/conn `
		noController = "has no controller: delete it so that the provider creates it, or read it as a source of kind Secret"
	)
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(named) }
	for name, c := range map[string]struct {
		reason, objects, input, want string
	}{
		"NoController": {
			"an owner that is no controller may not be the provider", replaced(", controller: true", ""), input,
			refusedDB + noController,
		},
		"Generation": {
			"the outputs of a generation are in its Secret", accessKey, token,
			`Available Secret team/xr-a {data: {p: canary-live}, metadata: {annotations: {record: token=u-key}}}`,
		},
		"GenerationOfOthers": {
			"another resource controls the Secret", strings.Replace(
				accessKey, "name: xr-token-1, uid: u-key", "name: evil, uid: u-evil", 1,
			), token,
			refusedToken + `is controlled by "AccessKey evil", not by AccessKey "xr-token-1": name another Secret in ` +
				`spec.writeConnectionSecretToRef`,
		},
		"Legacy": {
			"the author of a legacy composite writes its reference: another one's Secret is not the composite's",
			`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team},
  writeConnectionSecretToRef: {namespace: team, name: conn}}}
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: DB,
  name: db-1, uid: u-db, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
`,
			`secrets: [{name: a, data: [{key: p, value: secret.password}]}]`,
			`Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the ` +
				`connection details of composite "xr": Secret team/conn is controlled by "DB db-1", not by App "xr": ` +
				`name another Secret in spec.writeConnectionSecretToRef`,
		},
		"LegacyDisguised": {
			"the author writes a field that only other composites have",
			`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {crossplane: {},
  writeConnectionSecretToRef: {namespace: team, name: conn}}}
details: {password: canary-of-others}
`,
			`secrets: [{name: a, metadata: {namespace: team}, data: [{key: p, value: secret.password}]}]`,
			`Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for secret.password (the ` +
				`composite never has connection details: set from to db, or read it as secrets.db)`,
		},
		"LegacyOwn": {
			"the Secret that Crossplane publishes them to",
			`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team},
  writeConnectionSecretToRef: {namespace: team, name: conn}}}
details: {password: canary-live}
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: App, name: xr,
  uid: u1, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
`,
			`secrets: [{name: a, data: [{key: p, value: secret.password}]}]`, live,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input), c.objects)
			if diff := cmp.Diff([]string{c.want}, show(s.run(t))); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A Secret that was not read yet is waited for, also where a key is optional.
func TestConnectionSecretUnread(t *testing.T) {
	s := newScene(t, plantest.Exports(`secrets: [{name: a, from: db, data: [
  {key: p, value: secret.password}, {key: q, value: "secret.?q", optional: true}]}]`), `
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, namespace: team, uid: u-db},
      spec: {writeConnectionSecretToRef: {name: conn}}}
    details: {password: canary-sent}
  a: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-a, namespace: team}, type: Opaque,
    data: {p: Y2FuYXJ5}}}
`)
	r, err := s.call(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Held! Secret team/xr-a {data: {p: canary}} | Secret "a" (team/xr-a) is kept unchanged: key "p" ` +
		`waits for the lookup of Secret team/conn`}
	if diff := cmp.Diff(want, show(r)); diff != "" || !r.Unread {
		t.Errorf("Run(...): before the Secret was read: unread %v: -want, +got:\n%s", r.Unread, diff)
	}
}
