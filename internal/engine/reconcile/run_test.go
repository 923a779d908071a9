package reconcile_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// url is an input that makes a Secret of what db gives.
const url = `
secrets:
- name: url
  from: db
  data:
  - {key: host, value: resource.status.endpoint}
  - {key: user, value: secret.username}
`

// observedURL is the Secret of url as it may be observed, with what others added.
const observedURL = `
resources:
  url:
    object:
      apiVersion: v1
      kind: Secret
      metadata:
        name: xr-url
        namespace: team
        uid: u2
        resourceVersion: "7"
        labels: {crossplane.io/composite: xr, theirs: l}
        annotations: {crossplane.io/composition-resource-name: url, theirs: a}
        ownerReferences: [{controller: true, uid: u1}]
      type: Opaque
      data: {host: b2xkLWhvc3Q=, user: b2xkLXVzZXI=, more: bW9yZQ==}
`

// held is how observedURL is desired while it is held.
const held = "Secret team/xr-url {data: {host: old-host, more: more, user: old-user}, metadata: {annotations: " +
	"{theirs: a}, labels: {theirs: l}}}"

// db is observed beside observedURL, as in base, with other details or none.
func db(object, details string) string {
	return fmt.Sprintf("  db: {object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1}, status: %s}, "+
		"details: %s}\n", object, details)
}

func TestRunObjects(t *testing.T) {
	const (
		waits = "Waiting nothing | "
		never = " (the composite never has connection details: set from to a composed resource, or read it as secrets.<name>)"
	)
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"Optional": {
			reason: "what is missing, null, empty or none is left out; what fails is not",
			input: `
secrets:
- name: url
  from: db
  data:
  - {key: a, value: secret.missing, optional: true}
  - {key: b, value: composite.spec.nothing, optional: true}
  - {key: c, value: secret.empty, optional: true}
  - {key: d, value: "secret.?missing"}
  - {key: e, value: resources.other.x, optional: true}
  - {valueMap: "{'f': secret.empty, 'g': composite.metadata.name, 'h': secret.?missing}", optional: true}
  - {valueMap: "resource.status.zones", optional: true}
  - {valueMap: "resource.status.?zones"}
  - {key: i, value: secret.username}`,
			want: []string{"Available Secret team/xr-url {data: {g: xr, i: canary-user}}"},
		},
		"NotCreatedHalf": {
			reason: "one key waits, so that there is no object; the message names each key and what it waits for",
			input: `
secrets:
- name: url
  from: db
  data:
  - {key: user, value: secret.username}
  - {key: port, value: secret.port}
  - {key: host, value: "resource.status.hostname + secret.token"}
  - {valueMap: "{'a': resource.status.?zone}"}
  - {valueMap: resource.status.zones}`,
			want: []string{waits +
				`Secret "url" (team/xr-url) is not created: key "port" waits for secrets.db.port (DB db-1 is not ` +
				`ready, and has the keys empty, password, username); key "host" waits for ` +
				`resources.db.status.hostname (DB db-1 is not ready), secrets.db.token; secrets[0].data[3].valueMap ` +
				`waits for its expression to return a key; secrets[0].data[4].valueMap waits for ` +
				`resources.db.status.zones`},
		},
		"Updated": {
			reason:  "a composed object changes as a whole, and needs no look-up",
			input:   url,
			objects: observedURL + db("{endpoint: new-host}", "{username: canary-new}"),
			want:    []string{"Available Secret team/xr-url {data: {host: new-host, user: canary-new}}"},
		},
		"HeldKeyMissing": {
			reason:  "one key is gone, and the other has a new value that is not used",
			input:   url,
			objects: observedURL + db("{endpoint: new-host}", "{}"),
			want: []string{`Held! ` + held +
				` | Secret "url" (team/xr-url) is kept unchanged: key "user" waits for secrets.db.username (DB db-1 ` +
				`exists, and has no spec.writeConnectionSecretToRef: add it to db in the Composition)`},
		},
		"TypeChanged": {
			reason:  "a type is fixed: the object is held, and the message says what to do",
			input:   `secrets: [{name: url, type: example.org/x, data: [{key: k, value: "'v'"}]}]`,
			objects: observedURL,
			want: []string{`Held! ` + held +
				` | Secret "url" (team/xr-url) is kept unchanged: secrets[0].type: is "example.org/x", but the ` +
				`Secret was created as "Opaque", which is fixed: delete Secret team/xr-url so that it is created ` +
				`again`},
		},
		"ImmutableChanged": {
			reason: "an immutable object is held while its values differ",
			input:  `configMaps: [{name: c, immutable: true, data: [{key: k, value: "'new'"}]}]`,
			objects: `{resources: {c: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-c, namespace: ` +
				`team}, immutable: true, data: {k: old}}}}}`,
			want: []string{`Held! ConfigMap team/xr-c {data: {k: old}, immutable: true} | ConfigMap "c" ` +
				`(team/xr-c) is kept unchanged: configMaps[0].immutable: its data changed, but the ConfigMap is ` +
				`immutable: delete ConfigMap team/xr-c so that it is created again`},
		},
		"ConnectionDetails": {
			reason: "those of an available Secret, and of a held one those that were published before",
			input: `
secrets:
- {name: new, connectionDetails: true, data: [{key: k, value: "'v'"}]}
- {name: url, connectionDetails: true, data: [{key: k, value: secret.missing}]}
- {name: not-yet, connectionDetails: true, data: [{key: k, value: secret.missing}]}`,
			objects: observedURL,
			want: []string{
				"Available Secret team/xr-new {data: {k: v}} details={k: v}",
				`Held! ` + held + ` details={host: old-host, more: more, user: old-user} | Secret "url" ` +
					`(team/xr-url) is kept unchanged: key "k" waits for secret.missing` + never,
				waits + `Secret "not-yet" (team/xr-not-yet) is not created: key "k" waits for secret.missing` + never,
				"Available! | secrets[0].connectionDetails: " + plan.DetailsIgnored,
				"Available! | secrets[1].connectionDetails: " + plan.DetailsIgnored,
				"Available! | secrets[2].connectionDetails: " + plan.DetailsIgnored,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := show(newScene(t, plantest.Exports(c.input), c.objects).run(t))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// found is an object at the place of url.
func found(metadata string) string {
	return "cluster: [{apiVersion: v1, kind: Secret, metadata: {name: xr-url, namespace: team" + metadata +
		"}, type: Opaque, data: {host: dGhlaXJz}}]"
}

func TestRunPlaces(t *testing.T) {
	const (
		available = "Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}}"
		tookOver  = `Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: ` +
			`{annotations: {record: url}}}`
		at    = " | Secret \"url\": "
		owned = ", ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]"
	)
	composedAs := func(name string) string {
		return ", annotations: {crossplane.io/composition-resource-name: " + name + "}"
	}
	listed := func(refs string) string {
		return "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, " +
			"spec: {crossplane: {resourceRefs: [" + refs + "]}}}\n"
	}
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"NoController": {
			reason:  "Crossplane would adopt it, overwrite it, and delete it with the composite",
			input:   url,
			objects: found(""),
			want: []string{"Conflict! nothing" + at + "Secret team/xr-url exists and has no controller: delete " +
				"it, or set secrets[0].metadata.name to another name"},
		},
		"OtherController": {
			reason: "it belongs to another owner",
			input:  url,
			objects: found(", ownerReferences: [{controller: true, uid: u9, kind: App, name: other}], annotations: " +
				"{crossplane.io/composition-resource-name: url}"),
			want: []string{`Conflict! nothing` + at +
				`Secret team/xr-url exists and is controlled by App "other": set secrets[0].metadata.name to another ` +
				`name`},
		},
		"NoCompositionResourceName": {
			reason:  "any client can create an object that the composite controls",
			input:   url,
			objects: found(owned),
			want: []string{
				`Conflict! nothing` + at + `Secret team/xr-url of this composite has no composition resource name: ` +
					`delete it, or set secrets[0].metadata.name to another name`,
			},
		},
		"NameOfAGeneration": {
			reason: "any client can create an object with the composition resource name of a generation, and all of " +
				"it is written",
			input:   url,
			objects: found(owned + composedAs("generated/admin/1")),
			want:    []string{available},
		},
		"PlaceOfAGeneration": {
			reason: "the name of the object says that it is a generation, which needs a proof, and it is no export",
			input: `{generators: [{name: admin, password: {}}], secrets: [{name: url, metadata: {name: ` +
				`xr-admin-1}, data: [{key: k, value: "'v'"}]}]}`,
			objects: listed("{apiVersion: v1, kind: Secret, name: xr-admin-1}") + strings.Replace(
				found(owned+composedAs("generated/admin/1")), "xr-url", "xr-admin-1", 1,
			),
			want: []string{
				`Conflict! nothing` + at + `Secret team/xr-admin-1 is the composed resource "generated/admin/1" of ` +
					`this composite: set secrets[0].metadata.name to another name`,
				`Held! | generator "admin" creates no generation: generators[0].name: ` +
					`Secret team/xr-admin-1 is another generation: use generation.number or generation.id, and the ` +
					`generator's own name`,
			},
		},
		"StaleCache": {
			reason: "it is ours: the composite just does not say so yet",
			input:  url,
			objects: found(", ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}], annotations: " +
				"{crossplane.io/composition-resource-name: url}"),
			want: []string{available},
		},
		"Renamed": {
			reason:  "a composed resource cannot be renamed: it stays, and the result says so",
			input:   "secrets: [{name: url, metadata: {name: new}, data: [{key: k, value: \"'v'\"}]}]",
			objects: observedURL,
			want: []string{`Held! Secret team/xr-url {data: {k: v}} | Secret "url" keeps the name team/xr-url, ` +
				`because a composed resource cannot be renamed: delete it to have it created as team/new`},
		},
		"OtherKind": {
			reason:  "the name belonged to a ConfigMap, which stays as it is",
			input:   "configMaps: [{name: url, data: [{key: k, value: \"'v'\"}]}]",
			objects: observedURL,
			want: []string{`Conflict! ` + held +
				` | ConfigMap "url": the composed resource with that name has the kind Secret: give the ConfigMap ` +
				`another name in configMaps[0].name`},
		},
		"TwoExports": {
			reason: "both are named, and none is made; one of another kind is none of them",
			input: `
secrets:
- {name: a, metadata: {nameExpression: "'x-' + composite.spec.region"}, data: [{key: k, value: "'v'"}]}
- {name: b, metadata: {name: x-eu}, data: [{key: k, value: "'v'"}]}
configMaps: [{name: c, metadata: {name: x-eu}, data: [{key: k, value: "'v'"}]}]`,
			want: []string{
				`Conflict! nothing | Secret "a": secrets[0] and secrets[1] compose the same Secret team/x-eu: give ` +
					`each a name of its own`,
				`Conflict! nothing | Secret "b": secrets[0] and secrets[1] compose the same Secret team/x-eu: give ` +
					`each a name of its own`, `Available ConfigMap team/x-eu {data: {k: v}}`,
			},
		},
		"EarlierStep": {
			reason: "an earlier step composes the object, and its name has an and in it",
			input:  url,
			objects: `desired: {a and b: {apiVersion: v1, kind: Secret, metadata: {name: xr-url}}, c and d: ` +
				`{apiVersion: v1, kind: Secret, metadata: {name: xr-url, namespace: other}}, e: {apiVersion: v1, ` +
				`kind: Secret}}`,
			want: []string{`Conflict! nothing` + at +
				`composed resource "a and b" of an earlier step and secrets[0] compose the same Secret team/xr-url: ` +
				`give each a name of its own`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input), c.objects)
			s.req.Random = bytes.NewReader(make([]byte, 1<<12))
			got := show(s.run(t))
			for i, text := range got { // tests of the generators compare all of this warning
				got[i], _, _ = strings.Cut(text, ", but the composite does not list it, so it is left unchanged")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// Each object can be kept as it was observed if the response is too large. Connection details count a second time.
func TestKeepObjects(t *testing.T) {
	const why = "bytes the response is larger than the 4194304 that Crossplane accepts: export fewer keys, or export " +
		"it in another composite"
	s := newScene(t, plantest.Exports(url+"- {name: b, from: db, connectionDetails: true, data: [{key: k, value: "+
		"resource.status.endpoint}]}"),
		observedURL+db("{endpoint: "+strings.Repeat("x", 1000)+"}", "{username: canary-new}"))
	r := s.run(t)
	if !r.Keep(1 << 20) {
		t.Error("Keep(...): want all objects to be kept")
	}
	var got []string
	var sizes []int
	for _, text := range show(r)[:2] {
		before, after, _ := strings.Cut(text, "with its ")
		number, message, _ := strings.Cut(after, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		got, sizes = append(got, before+message), append(sizes, n)
	}
	want := []string{
		`Held! ` + held + ` | Secret "url" (team/xr-url) is kept unchanged: ` + why,
		`Held! nothing | Secret "b" (team/xr-b) is not created: ` + why,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Keep(...): -want, +got:\n%s", diff)
	}
	if sizes[0] < 1000 || sizes[1] < 2000 {
		t.Errorf("Keep(...): want the value of 1000 bytes once and twice, got sizes of %v bytes", sizes)
	}
}

// Before the answer is there nothing is made.
func TestRunLookUpFirst(t *testing.T) {
	s := newScene(t, plantest.Exports(url))
	got, err := s.call(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Waiting nothing | Secret "url" (team/xr-url) is not created: it waits for the lookup of Secret ` +
		`team/xr-url`}
	if diff := cmp.Diff(want, show(got)); diff != "" {
		t.Errorf("Run(...): before the look-up was answered: -want, +got:\n%s", diff)
	}
	if len(got.Drop) > 0 {
		t.Errorf("Run(...): no composite author requests an object: want to drop nothing, got %q", got.Drop)
	}
	if n := got.OK + got.Waiting + got.Failed; n != 0 {
		t.Errorf("Run(...): %d evaluations of unused data", n)
	}
}

func TestRunRefusesInputs(t *testing.T) {
	const cluster = "composite: {metadata: {name: xr}}\n"
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"GeneratorOtherNamespace": {
			reason: "a generation is composed like any other object",
			input:  "generators: [{name: a, uuid: {}, namespace: team}, {name: b, uuid: {}, namespace: other}]",
			want: []string{
				`generators[1].namespace: is "other", but a composite in namespace "team" can compose only into its ` +
					`own namespace: leave it out`,
			},
		},
		"NoNamespace": {
			reason: "a cluster-scoped composite without a claim has no namespace, even if an object is observed",
			input: `
sources: [{name: s, apiVersion: v1, kind: ConfigMap}, {name: t, apiVersion: v1, kind: Node, scope: Cluster},
  {name: unused, apiVersion: v1, kind: ConfigMap}]
secrets:
- {name: url, data: [{key: k, value: sources.s.x + sources.t.x}]}
- {name: b, metadata: {namespace: ns}, data: [{key: k, value: "'v'"}]}
- {name: c, metadata: {namespaceExpression: "'ns'"}, data: [{key: k, value: "'v'"}]}`,
			objects: cluster + observedURL,
			want: []string{
				"sources[0].namespace: must be set, because the composite is cluster scoped and has no claim: write " +
					"the namespace of the object, for example namespace: default",
				"secrets[0].metadata.namespace: must be set, because the composite is cluster scoped and has no " +
					"claim: write the namespace of the object, for example namespace: default",
			},
		},
		"NameOfEarlierStep": {
			reason:  "a composition resource name has one writer",
			input:   url,
			objects: `desired: {url: {apiVersion: example.org/v1, kind: Other}}`,
			want: []string{`secrets[0].name: another step of the pipeline also composes a resource named "url": ` +
				`rename one of them`},
		},
		"SecretSourceIsAResource": {
			reason: "secrets.db would be ambiguous; a source that is unused, or is not a Secret, does not matter",
			input: `
sources: [{name: db, apiVersion: v1, kind: Secret}, {name: later, apiVersion: v1, kind: Secret}, {name: unused,
  apiVersion: v1, kind: Secret}, {name: cm, apiVersion: v1, kind: ConfigMap}]
secrets: [{name: a, data: [{key: k, value: secrets.db.x + secrets.later.x + sources.cm.x}]}]`,
			objects: `desired: {later: {}, unused: {}, cm: {}}`,
			want: []string{
				`sources[0].name: "db" is also the name of a composed resource, so that secrets.db would mean two ` +
					`things: rename the source`,
				`sources[1].name: "later" is also the name of a composed resource, so that secrets.later would mean ` +
					`two things: rename the source`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input), c.objects)
			s.req.Elsewhere = map[string]bool{"earlier": true, "list/item": true}
			r, err := s.call(t)
			if err == nil {
				t.Fatalf("Run(...): %s: want an error, got %v", c.reason, show(r))
			}
			if diff := cmp.Diff(c.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestRunStatus(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"Conflict": {
			reason: "an earlier step writes the field, something below it, or something that has nothing below it",
			input: `status: [{fieldPath: a.b, value: "1"}, {fieldPath: c, value: "1"}, {fieldPath: d.e, value: ` +
				`"1"}, {fieldPath: f.g, value: "1"}, {fieldPath: h, value: "1"}]`,
			objects: `desiredStatus: {a: {b: x}, c: {d: x}, d: x, f: {x: y}}`,
			want: []string{
				"Conflict! a.b=nothing | status.a.b: an earlier step of the pipeline also writes it: keep one of them",
				"Conflict! c=nothing | status.c: an earlier step of the pipeline also writes it: keep one of them",
				"Conflict! d.e=nothing | status.d.e: an earlier step of the pipeline also writes it: keep one of them",
				"Available f.g=1",
				"Available h=1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := show(newScene(t, plantest.Exports(c.input), c.objects).run(t))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// keys of requirements, without the look-ups of targets.
func requirementKeys(keys []string) []string {
	var out []string
	for _, k := range keys {
		if !strings.Contains(k, "=xr-out") {
			out = append(out, strings.TrimPrefix(k, "export.fn.crossplane.io/"))
		}
	}
	return out
}

func TestRunSources(t *testing.T) {
	const cluster = `
cluster:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: team}, data: {x: by-name}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: team, labels: {a: b}}, data: {x: "2"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team, labels: {a: b, c: d}}, data: {x: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: other}, data: {x: other-namespace}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-eu, namespace: team}, data: {x: by-expression}}
- {apiVersion: v1, kind: Node, metadata: {name: s}, data: {x: cluster}}
- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team}, data: {x: Y2FuYXJ5LXNlY3JldA==}}
- {apiVersion: v1, kind: Secret, metadata: {name: s1, namespace: team, labels: {a: b, c: d}},
    data: {x: Y2FuYXJ5LWxhYmVs}}
- {apiVersion: v1, kind: Secret, metadata: {name: s2, namespace: team, labels: {a: b}}, data: {x: Y2FuYXJ5LWxhYmVs}}
- {apiVersion: v1, kind: Secret, metadata: {name: broken, namespace: team}, data: {x: "canary!"}}
- {apiVersion: v1, kind: Secret, metadata: {name: empty, namespace: team}}
`
	for name, c := range map[string]struct {
		reason   string
		sources  string
		value    string
		objects  string
		requires []string
		want     string
	}{
		"Expression": {"a name that is computed",
			`[{name: l, apiVersion: v1, kind: ConfigMap, nameExpression: "composite.metadata.name + '-' + ` +
				`variables.region"}]`, `sources.l.data.x`, "", []string{"v1/ConfigMap/team/name=xr-eu"},
			"by-expression"},
		"Labels": {"a list, in the order of names", `[{name: l, apiVersion: v1, kind: ConfigMap, matchLabels: {a: b}}]`,
			`sources.l.map(s, s.data.x).join('')`, "", []string{"v1/ConfigMap/team/labels=a=b"}, "12"},
		"NameIllegal": {"nothing that leads elsewhere",
			`[{name: z, apiVersion: v1, kind: Secret, nameExpression: "'../' + composite.spec.region"}]`, `secrets.z.x`,
			"", nil,
			`secrets[0].data[0].value:1:10: reads secrets.z, which cannot be used: sources[0].nameExpression: ` +
				`returns a name that is not a valid name of an object: it may not contain '/'`},
		"CompositionSecret": {
			"a Secret among them is hidden", `[]`, `json.encode(sources.own) + sources.own[0].data.x`,
			`seeded: {own: [{apiVersion: v1, kind: Secret, data: {x: Y2FuYXJ5}}]}`, nil,
			"secrets[0].data[0].value:1:47: reads the data of a v1 Secret, which is hidden here: read it as " +
				"secrets.<name>, by a source of kind Secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(fmt.Sprintf(`
sources: %s
variables: [{name: region, value: composite.spec.region}, {name: u, value: secrets.unused.x}, {name: x,
  value: sources.cm.data.x}]
secrets: [{name: out, data: [{key: k, value: "%s"}]}]`, c.sources, c.value)), cluster, c.objects)
			r := s.run(t)
			var keys []string
			for _, q := range r.Requirements {
				keys = append(keys, q.Key())
			}
			if diff := cmp.Diff(c.requires, requirementKeys(keys)); diff != "" {
				t.Errorf("Run(...): %s: requirements: -want, +got:\n%s", c.reason, diff)
			}
			got := show(r)[0]
			got = strings.TrimSuffix(strings.TrimPrefix(got, "Available Secret team/xr-out {data: {k: "), "}}")
			_, message, _ := strings.Cut(got, `Secret "out" (team/xr-out) is not created: `)
			if message != "" {
				got = message
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
