package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// An accessKey is the only generation of generator token, with a connection Secret.
const accessKey = `
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: conn, ownerReferences: [{kind: AccessKey, name: xr-token-1, uid: u-key, controller: true}]}, data: {password: Y2FuYXJ5LWxpdmU=}}]
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
          export.fn.crossplane.io/generator-state: '{"generator":"token","generation":1,"state":{"stage":"current","kind":"resource"}}'
      spec: {writeConnectionSecretToRef: {name: conn}}
      status: {conditions: [{type: Ready, status: "True"}]}
    details: {password: canary-live}
`

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
		live  = `Available Secret team/xr-a {data: {p: canary-live}}`
		token = `
generators: [{name: token, resource: {manifest: {apiVersion: iam.example.org/v1, kind: AccessKey, spec: {writeConnectionSecretToRef: {name: conn}}}}}]
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
		"NoneYet":       {"there are none", replaced("name: conn, owner", "name: other, owner", "{password: canary-live}", "{}"), input, `Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for secrets.db.password (DB db-1 exists, and its connection Secret does not exist yet)`},
		"NoName":        {"nothing says where they are from", replaced("{name: conn}", "{}"), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": it names no Secret for them: set its spec.writeConnectionSecretToRef`},
		"BadName":       {"no Secret has such a name, and none is asked for", replaced("{name: conn}", `{name: "../../conn"}`), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": it names no Secret for them: set its spec.writeConnectionSecretToRef`},
		"File":          {"without a UID no Secret can refer to it", replaced(", uid: u-db}, spec", "}, spec"), input, live},
		"Cluster":       {"the reference of a cluster scoped one says where", replaced("name: db-1, namespace: team, uid", "name: db-1, uid", "{name: conn}", "{name: conn, namespace: other}", "namespace: team, name: conn", "namespace: other, name: conn"), input, live},
		"ClusterOthers": {"where it is not that Secret of the name", replaced("name: db-1, namespace: team, uid", "name: db-1, uid", "{name: conn}", "{name: conn, namespace: other}"), input, `Waiting nothing | Secret "a" (team/xr-a) is not created: key "p" waits for Secret other/conn (connection details of resource "db")`},
		"Broken":        {"it is not what an API server returns", replaced("Y2FuYXJ5LWxpdmU=", "'*'"), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": Secret team/conn: cannot decode key "password": its value is not what the API server returns`},
		"Quoted":        {"what others write into a controller is quoted", replaced("{kind: DB, name: db-1, uid: u-db", `{kind: "a\nb", name: c, uid: u`), input, `Held! nothing | Secret "a" (team/xr-a) is not created: secrets[0].data[0].value:1:7: cannot use the connection details of resource "db": Secret team/conn is controlled by "a\nb c", not by DB "db-1": name another Secret in spec.writeConnectionSecretToRef`},
		"NoController": {
			"an owner that is no controller may not be the provider", replaced(", controller: true", ""), input,
			refusedDB + noController,
		},
		"Former": {
			"the Secret belongs to a former resource of " +
				"the same name", replaced("uid: u-db, controller", "uid: u-former, controller"), input,
			refusedDB + `is controlled by "DB db-1" of UID "u-former", not by DB "db-1" of UID "u-db": wait until ` +
				`Kubernetes deletes it, or delete it`,
		},
		"Generation": {
			"the outputs of a generation are in its Secret", accessKey, token,
			`Available Secret team/xr-a {data: {p: canary-live}, metadata: {annotations: ` +
				`{export.fn.crossplane.io/export-state: {"generators":{"token":{"holds":"u-key"}}}}}}`,
		},
		"GenerationNoController": {
			"another client may have created the Secret", strings.Replace(accessKey, ", controller: true", "", 1),
			token, refusedToken + noController,
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
		none   = "(the composite never has connection details: "
		own    = "(an export of this step, whose data cannot be read: move the expression of the key to variables, and use the variable in both places)"
		waits  = `Waiting nothing | Secret "a" (team/xr-a) is not created: `
		legacy = `composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team}}}
details: {}`
	)
	for name, c := range map[string]struct {
		reason, objects, input, want string
	}{
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

// Secrets with connection details are required if an expression uses them, so that Crossplane watches them. Those of a
// resource that an earlier step composes are required before the resource exists.
func TestRequiredConnectionSecrets(t *testing.T) {
	const (
		used    = `secrets: [{name: a, metadata: {namespace: team}, from: db, data: [{key: p, value: secret.password}]}]`
		unused  = `secrets: [{name: a, from: db, data: [{key: p, value: resource.p}]}]`
		find    = `secrets: [{name: a, dataFrom: [{find: {path: db/, tags: {a: b}}}]}]`
		cluster = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {crossplane: {}}}\n"
		legacy  = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team}, " +
			"writeConnectionSecretToRef: {name: conn, namespace: refs}}}\n"
		inTeam = "v1/Secret/team/name=conn"
		inRefs = "v1/Secret/refs/name=conn"
	)
	db := func(metadata string) string {
		return "{apiVersion: example.org/v1, kind: DB, metadata: " + metadata + ", spec: {writeConnectionSecretToRef: {name: conn, namespace: refs}}}"
	}
	desired := func(metadata string) string { return "resources: {}\ndesired: {db: " + db(metadata) + "}" }
	observed := func(metadata string) string { return "resources: {db: {object: " + db(metadata) + "}}" }
	author := func(exports string) string {
		return "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, " +
			"spec: {exports: " + exports + "}}\n" + desired("{}")
	}
	for name, c := range map[string]struct {
		reason, objects, input string
		want                   []string
	}{
		"Observed":         {"the resource exists", observed("{name: db-1, namespace: team, uid: u2}"), used, []string{inTeam}},
		"DesiredUnused":    {"no expression uses its details", desired("{}"), unused, nil},
		"DesiredByFind":    {"a find reaches it", desired("{labels: {a: b}}"), find, []string{inTeam}},
		"DesiredNotByFind": {"it has other labels than a find selects", desired("{labels: {a: c}}"), find, nil},
		"DesiredByAuthor": {
			"an earlier step composes it for a composite author, whose objects no expression can read",
			strings.Replace(desired("{}"), "{db:", "{fromComposite/Secret/x:", 1), `secrets: [{name: a, data: [{key: ` +
				`p, value: "secrets.map(k, k).join(',')"}]}]`, nil,
		},
		"GenerationOfNoGenerator": {
			"the input has no such generator anymore", accessKey,
			`secrets: [{name: a, data: [{key: p, value: "'v'"}]}]`, nil,
		},
		"AuthorFrom": {
			"and names it secret", author("{secretExpressions: [{name: s, key: p, value: secret.password}]}"),
			`fromComposite: {fieldPath: spec.exports, from: db, allow: {secrets: [cache, db]}}`, []string{inTeam},
		},
		"AuthorObserved": {
			"also if the resource exists",
			strings.Split(
				author("{secretExpressions: [{name: s, key: p, value: secrets.db.password}]}"), "resources:",
			)[0] + observed("{name: db-1, namespace: team, uid: u2}"),
			`fromComposite: {fieldPath: spec.exports, allow: {secrets: [db]}}`, []string{inTeam},
		},
		"AuthorOther": {
			"the composite author uses another one, and secret would be this one",
			author("{secretExpressions: [{name: s, key: p, value: secrets.cache.password}]}"),
			`fromComposite: {fieldPath: spec.exports, from: db, allow: {secrets: [cache, db]}}`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range newScene(t, plantest.Exports(c.input), c.objects).run(t).Requirements {
				if strings.HasPrefix(r.Name, "conn") {
					got = append(got, strings.TrimPrefix(r.Key(), lookup.Prefix))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A request never combines two versions of a Secret.
func TestTwoVersionsOfASecret(t *testing.T) {
	const (
		changed = "Secret team/conn (it changed while Crossplane read it)"
		prefix  = lookup.Prefix
		own     = `secrets: [{name: a, from: db, data: [{key: p, value: secret.password}]}]`
		sources = `
sources: [{name: one, apiVersion: v1, kind: KIND, matchName: conn}, {name: two, apiVersion: v1, kind: KIND, matchLabels: {a: b}}]
secrets: [{name: a, data: [{key: p, value: FIRST}, {key: q, value: SECOND}]}]`
	)
	bothSecrets := strings.NewReplacer("KIND", "Secret", "FIRST", "secrets.one.password", "SECOND", "secrets.two.password").Replace(sources)
	bothConfigMaps := strings.NewReplacer(
		"KIND", "ConfigMap", "FIRST", "sources.one.data.password", "SECOND", "'sources.two[0].data.password'",
	).Replace(sources)
	stored := func(kind, name, version, value string) string {
		return "{apiVersion: v1, kind: " + kind + ", metadata: {namespace: team, name: " + name + ", resourceVersion: '" + version + "', labels: {a: b}, " +
			"ownerReferences: [{kind: DB, name: db-1, uid: u2, controller: true}]}, data: {password: " + value + "}}"
	}
	details := func(sent, stored string) string {
		return `
resources: {db: {object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, namespace: team, uid: u2}, spec: {writeConnectionSecretToRef: {name: conn}}}, details: ` + sent + `}}
seeded:
  ` + prefix + `v1/Secret/team/name=xr-a: []
  ` + prefix + "v1/Secret/team/name=conn: [" + stored + "]\n"
	}
	read := func(kind, first, second string) string {
		return "seeded:\n  " + prefix + "v1/Secret/team/name=xr-a: []\n" +
			"  " + prefix + "v1/" + kind + "/team/name=conn: [" + first + "]\n  " + prefix + "v1/" + kind + "/team/labels=a=b: [" + second + "]\n"
	}
	for name, c := range map[string]struct {
		reason, input, objects, want string
	}{
		"DetailsSame": {
			"the resource has the details of the Secret", own,
			details("{password: canary}", stored("Secret", "conn", "2", "Y2FuYXJ5")), "",
		},
		"DetailsEmptyRemoved": {
			"the Secret has lost a key without a value", own,
			details("{password: canary, user: ''}", stored("Secret", "conn", "2", "Y2FuYXJ5")), changed,
		},
		"DetailsUnused": {
			"no expression reads them", strings.Replace(own, "secret.password", "resource.kind", 1),
			details("{password: canary-old}", stored("Secret", "conn", "2", "Y2FuYXJ5")), "",
		},
		"DetailsOfOthers": {
			"the Secret of another owner is not used in any version", own,
			details("{password: canary-old}", strings.Replace(stored("Secret", "conn", "2", "Y2FuYXJ5"), "uid: u2", "uid: u3", 1)), "",
		},
		"SourcesNewer": {
			"the Secret changed before the second source read it", bothSecrets,
			read(
				"Secret", stored("Secret", "conn", "1", "Y2FuYXJ5"), stored("Secret", "conn", "2", "Y2FuYXJ5LW5ldw=="),
			),
			changed,
		},
		"SourcesLabels": {
			"only its metadata changed", bothSecrets,
			read("Secret", stored("Secret", "conn", "1", "Y2FuYXJ5"), stored("Secret", "conn", "2", "Y2FuYXJ5")), "",
		},
		"SourcesOneRead": {
			"one of them was not read yet", bothSecrets,
			strings.Split(
				read("Secret", stored("Secret", "conn", "1", "Y2FuYXJ5"), ""), "  "+prefix+"v1/Secret/team/labels",
			)[0],
			"",
		},
		"ConfigMaps": {
			"a ConfigMap has no credential", bothConfigMaps,
			read("ConfigMap", stored("ConfigMap", "conn", "1", "a"), stored("ConfigMap", "conn", "2", "b")), "",
		},
		"DetailsAndSource": {
			"a source has read another version than the connection details",
			"sources: [{name: two, apiVersion: v1, kind: Secret, matchLabels: {a: b}}]\nsecrets: [{name: a, from: " +
				"db, data: [{key: p, value: secret.password}, {key: q, value: secrets.two.password}]}]",
			details(
				"{password: canary}", stored("Secret", "conn", "2", "Y2FuYXJ5"),
			) + "  " + prefix + "v1/Secret/team/labels=a=b: [" + stored("Secret", "conn", "1", "Y2FuYXJ5LW9sZA==") + "]\n", changed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := newScene(t, plantest.Exports(c.input), c.objects).call(t)
			if err != nil {
				t.Fatal(err)
			}
			o := result.Objects[0]
			if waits := strings.Contains(o.Message, changed); waits != (c.want != "") || waits && o.Desired != nil {
				t.Errorf("Run(...): %s: want a key to wait for %q, got %q", c.reason, c.want, o.Message)
			}
		})
	}
}
