package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

// Where connection details come from, by what is observed of a resource and in the cluster.
func TestConnectionDetails(t *testing.T) {
	const (
		input = `secrets: [{name: a, from: db, data: [{key: p, value: secret.password}]}]`
		named = `
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: DB, name: db-1, uid: u-db, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, namespace: team, uid: u-db}, spec: {writeConnectionSecretToRef: {name: conn}}}
    details: {password: canary-live}
`
		live = `Available Secret team/xr-a {data: {p: canary-live}}`
	)
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(named) }
	for name, c := range map[string]struct {
		reason, objects, input, want string
	}{
		"Own":           {"what its Secret holds", named, input, live},
		"NotSent":       {"also while nothing was sent: the Secret is younger", replaced("{password: canary-live}", "{}"), input, live},
		"Added":         {"the provider has added a key since the resource was read", replaced("{password: canary-live}", "{}", "data: {", "data: {more: bQ==, "), input, live},
		"Gone":          {"what was sent is not used without its Secret", replaced("name: conn, owner", "name: other, owner"), input, `Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for Secret team/conn (connection details of resource "db")`},
		"NoneYet":       {"there are none", replaced("name: conn, owner", "name: other, owner", "{password: canary-live}", "{}"), input, `Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for secrets.db.password (DB db-1 exists, and has no connection details)`},
		"NoName":        {"nothing says where they are from", replaced("{name: conn}", "{}"), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": it names no Secret for them: set its spec.writeConnectionSecretToRef`},
		"BadName":       {"no Secret has such a name, and none is asked for", replaced("{name: conn}", `{name: "../conn"}`), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": it names no Secret for them: set its spec.writeConnectionSecretToRef`},
		"File":          {"without a UID no Secret can refer to it", replaced(", uid: u-db}, spec", "}, spec"), input, live},
		"Elsewhere":     {"a namespaced resource has its Secret in its own namespace, whatever the reference says", replaced("{name: conn}", "{name: conn, namespace: other}"), input, live},
		"Cluster":       {"the reference of a cluster scoped one says where", replaced("name: db-1, namespace: team, uid", "name: db-1, uid", "{name: conn}", "{name: conn, namespace: other}", "namespace: team, name: conn", "namespace: other, name: conn"), input, live},
		"ClusterOthers": {"where it is not that Secret of the name", replaced("name: db-1, namespace: team, uid", "name: db-1, uid", "{name: conn}", "{name: conn, namespace: other}"), input, `Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for Secret other/conn (connection details of resource "db")`},
		"Broken":        {"it is not what an API server returns", replaced("Y2FuYXJ5LWxpdmU=", "'*'"), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": Secret team/conn: cannot decode key "password": its value is not what the API server returns`},
		"Quoted":        {"what others write into a controller is quoted", replaced("{kind: DB, name: db-1, uid: u-db", `{kind: "a\nb", name: c, uid: u`), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": Secret team/conn is controlled by "a\nb c", not by DB "db-1": name another Secret in spec.writeConnectionSecretToRef`},
		"Legacy": {
			"the author of a legacy composite writes its reference: another one's Secret is not the composite's",
			`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team}, writeConnectionSecretToRef: {namespace: team, name: conn}}}
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: DB, name: db-1, uid: u-db, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
`,
			`secrets: [{name: a, data: [{key: p, value: secret.password}]}]`,
			`Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of composite "xr": Secret team/conn is controlled by "DB db-1", not by App "xr": name another Secret in spec.writeConnectionSecretToRef`,
		},
		"LegacyDisguised": {
			"the author writes a field that only other composites have",
			`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {crossplane: {}, writeConnectionSecretToRef: {namespace: team, name: conn}}}
details: {password: canary-of-others}
`,
			`secrets: [{name: a, metadata: {namespace: team}, data: [{key: p, value: secret.password}]}]`,
			`Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for secret.password (the composite never has connection details: set from: db)`,
		},
		"LegacyOwn": {
			"the Secret that Crossplane publishes them to",
			`
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team}, writeConnectionSecretToRef: {namespace: team, name: conn}}}
details: {password: canary-live}
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: App, name: xr, uid: u1, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
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
	s := newScene(t, plantest.Exports(`secrets: [{name: a, from: db, data: [{key: p, value: secret.password}, {key: q, value: "secret.?q", optional: true}]}]`), `
resources:
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, namespace: team, uid: u-db}, spec: {writeConnectionSecretToRef: {name: conn}}}
    details: {password: canary-sent}
  a: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-a, namespace: team}, type: Opaque, data: {p: Y2FuYXJ5}}}
`)
	r, err := s.call(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Held! Secret team/xr-a {data: {p: canary}} | Secret "a" (team/xr-a) is kept unchanged: key "p" waits for the lookup of Secret team/conn`}
	if diff := cmp.Diff(want, show(r)); diff != "" || !r.Unread {
		t.Errorf("Run(...): before the Secret was read: unread %v: -want, +got:\n%s", r.Unread, diff)
	}
}

// An expression that waits for connection details that never exist says so.
func TestNeverThere(t *testing.T) {
	const (
		none  = "(the composite never has connection details: "
		own   = "(an export of this step, whose data cannot be read: move the expression of the key to variables, and use the variable in both places)"
		waits = `Waiting nothing | Secret "a" (team/xr-a) is not created: `
		two   = `
desired: {cache: {apiVersion: example.org/v1, kind: DB, spec: {writeConnectionSecretToRef: {name: conn}}}, bucket: {apiVersion: example.org/v1, kind: Bucket}}
`
		legacy = `composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team}}}
details: {}`
	)
	for name, c := range map[string]struct {
		reason, objects, input, want string
	}{
		"Export":   {"a namespaced composite has none", "{}", `secrets: [{name: a, data: [{key: p, value: secret.token}]}]`, waits + `key "p" waits for secret.token ` + none + "set from: db)"},
		"Writers":  {"the resources that write details come first", two, `secrets: [{name: a, data: [{key: p, value: secret.token}]}]`, waits + `key "p" waits for secret.token ` + none + "set from: cache)"},
		"Variable": {"through a variable of an export with from", "{}", `{variables: [{name: p, value: secret.token}], secrets: [{name: a, from: db, data: [{key: p, value: variables.p}]}]}`, waits + `key "p" waits for secret.token ` + none + "set from: db)"},
		"OfDB":     {"another resource may have it later", "{}", `secrets: [{name: a, from: db, data: [{key: p, value: secret.token}]}]`, waits + `key "p" waits for secrets.db.token (DB db-1 is not ready, and has the keys empty, password, username)`},
		"Optional": {"what is optional is left out, as before", "{}", `secrets: [{name: a, data: [{key: p, value: "secret.?token.orValue('x')"}, {key: q, value: secret.q, optional: true}]}]`, "Available Secret team/xr-a {data: {p: x}}"},
		"Legacy":   {"a legacy composite may have it later", legacy, `secrets: [{name: a, data: [{key: p, value: secret.token}]}]`, waits + `key "p" waits for secret.token`},
		"Status":   {"a status field has no from", "{}", `status: [{fieldPath: a, value: secret.host, nonSensitive: [composite.host]}]`, "Waiting a=nothing | status.a is not written: it waits for secret.host " + none + "write secrets.db)"},
		"OwnData":  {"the data of an own export cannot be read", "resources: {b: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-b, namespace: team}, data: {k: dg==}}}}", `secrets: [{name: a, data: [{key: p, value: secrets.b.k}]}, {name: b, data: [{key: k, value: "'v'"}]}]`, waits + `key "p" waits for secrets.b.k ` + own},
		"OwnLater": {"an own export exists once it is composed", "desired: {other: {}}", `secrets: [{name: a, data: [{key: p, value: resources.b.metadata.name}]}, {name: b, data: [{key: k, value: "'v'"}]}]`, waits + `key "p" waits for resources.b (an export of this step, which does not exist yet)`},
	} {
		t.Run(name, func(t *testing.T) {
			got := show(newScene(t, plantest.Exports(c.input), c.objects).run(t))
			if diff := cmp.Diff(c.want, got[0]); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
