package reconcile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A former is a Secret at the place of url that the composite lists under another composition resource name.
type former struct{ composed, metadata, rest string }

const (
	ownedByComposite = "ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]"
	formerData       = "data: {host: b2xkLWhvc3Q=, user: b2xkLXVzZXI=}" // old-host, old-user
	moreData         = "data: {host: b2xkLWhvc3Q=, more: bW9yZQ==, extra: ZXh0cmE=}"
)

// appliedAs is the metadata of a Secret whose keys host and more were applied by Crossplane in a field.
func appliedAs(field string) string {
	return `name: xr-url, namespace: team, ` + ownedByComposite + `,
        managedFields: [{manager: apiextensions.crossplane.io/composed/x, operation: Apply,
          fieldsV1: {"f:` + field + `": {"f:host": {}, "f:more": {}}}}]`
}

// object returns the Secret as it is observed.
func (f former) object() string {
	metadata := "name: xr-url, namespace: team, annotations: {crossplane.io/composition-resource-name: " + f.composed +
		"}, " + ownedByComposite
	if f.metadata != "" {
		metadata = f.metadata
	}
	return "{apiVersion: v1, kind: Secret, metadata: {" + metadata + "}, " + f.rest + "}"
}

// formers returns the resources with these Secrets, and db.
func formers(all ...former) string {
	out := "resources:\n" + db("{endpoint: db.example.org, conditions: [{type: Ready}]}", "{username: canary-user}")
	for _, f := range all {
		out += fmt.Sprintf("  %s: {object: %s}\n", f.composed, f.object())
	}
	return out
}

// urlWith is url with another field of the export.
func urlWith(field string) string {
	return strings.Replace(url, "  from: db\n", "  from: db\n  "+field+"\n", 1)
}

// showNamed is show with the composition resource names of the objects.
func showNamed(s *scene, t *testing.T) []string {
	t.Helper()
	s.req.Now, s.req.Random = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), bytes.NewReader(make([]byte, 1<<12))
	r := s.run(t)
	out := show(r)
	for i, o := range r.Objects {
		out[i] = o.Name + ": " + out[i]
	}
	return out
}

func TestTakeOver(t *testing.T) {
	const (
		written = "old: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: " +
			"{annotations: {record: url}}}"
		kept = "Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: " +
			"{record: url}}}"
		tookOver = "name: xr-url, namespace: team, annotations: {crossplane.io/composition-resource-name: old, " +
			"export.fn.crossplane.io/export-state: '{\"export\":\"url\"}'}, " + ownedByComposite
		rename = "set secrets[0].metadata.name to another name"
	)
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"Renamed": {
			reason:  "an object that was taken over cannot be renamed either",
			input:   urlWith("metadata: {name: new}"),
			objects: formers(former{composed: "old", rest: formerData, metadata: tookOver}),
			want: []string{"old: Held! " + kept +
				` | Secret "url" keeps the name team/xr-url, because a composed resource cannot be renamed: delete ` +
				`it to have it created as team/new`},
		},
		"KeyLeaves": {
			reason: "a key that the export wrote after it took the object over does not stay",
			input:  url,
			objects: formers(former{composed: "old", rest: moreData, metadata: strings.Replace(tookOver, `"url"`,
				`"url","keptKeys":["more"]`, 1)}),
			want: []string{"old: Available! " + strings.NewReplacer("user: canary-user",
				"more: more, user: canary-user", "record: url", "record: url more").Replace(kept) +
				` | Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export ` +
				`does not write ("more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"AnnotationInAnotherNamespace": {
			reason: "an annotation does not lead the data of an export to another namespace",
			input:  "secrets: [{name: url, metadata: {namespace: team}, data: [{key: k, value: \"'v'\"}]}]",
			objects: "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}}\n" +
				formers(former{composed: "old", rest: formerData, metadata: strings.Replace(tookOver, "namespace: team",
					"namespace: theirs", 1)}),
			want: []string{"url: Available Secret team/xr-url {data: {k: v}}"},
		},
		"Type": {
			reason:  "a type cannot change, so the object keeps it",
			input:   url,
			objects: formers(former{composed: "old", rest: "type: connection.crossplane.io/v1alpha1, " + formerData}),
			want: []string{"old: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, " +
				"metadata: {annotations: {record: url}}, type: connection.crossplane.io/v1alpha1}"},
		},
		"KeepsKeys": {
			reason:  "keys that only the object has stay, and the warning says what to write",
			input:   url,
			objects: formers(former{composed: "old", rest: moreData}),
			want: []string{"old: Available! Secret team/xr-url {data: {extra: extra, host: db.example.org, more: " +
				"more, user: canary-user}, metadata: {annotations: {record: url extra more}}} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export ` +
				`does not write ("extra", "more"): write them in secrets[0].data, or set secrets[0].prune: true to ` +
				`remove them`},
		},
		"KeepsText": {
			reason:  "keys that Crossplane applied as stringData are the composite's, and are not lost",
			input:   url,
			objects: formers(former{composed: "old", rest: moreData, metadata: appliedAs("stringData")}),
			want: []string{"old: Available! Secret team/xr-url {data: {host: db.example.org, more: more, user: " +
				"canary-user}, metadata: {annotations: {record: url more}}} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export ` +
				`does not write ("more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"NamedKeys": {
			reason: "a key that the input names is not kept if it is optional and has no value",
			input: `secrets: [{name: url, data: [{key: more, value: "composite.spec.?later", optional: true}, ` +
				`{valueMap: "{'host': 'h', ?'extra': composite.spec.?later}"}]}]`,
			objects: formers(former{composed: "old", rest: moreData}),
			want:    []string{"old: Available Secret team/xr-url {data: {host: h}, metadata: {annotations: {record: url}}}"},
		},
		"ConnectionDetails": {
			reason: "the keys that only the object has may be those of a later step, and are not published",
			input:  urlWith("connectionDetails: true"),
			objects: "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: " +
				"{claimRef: {namespace: team}}}\n" + formers(former{composed: "old", rest: moreData}),
			want: []string{"old: Available! Secret team/xr-url {data: {extra: extra, host: db.example.org, more: " +
				"more, user: canary-user}, metadata: {annotations: {record: url extra more}}} details={host: " +
				"db.example.org, user: canary-user} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export ` +
				`does not write ("extra", "more"): write them in secrets[0].data, or set secrets[0].prune: true to ` +
				`remove them`},
		},
		"ConfigMap": {
			reason: "a ConfigMap also keeps its binary keys",
			input:  `configMaps: [{name: c, data: [{key: k, value: "'v'"}]}]`,
			objects: "resources: {old: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-c, namespace: " +
				"team, " + ownedByComposite + "}, data: {more: text}, binaryData: {b: /w==}}}}",
			want: []string{"old: Available! ConfigMap team/xr-c {binaryData: {b: /w==}, data: {k: v, more: text}, " +
				"metadata: {annotations: {record: c b more}}} | " +
				`ConfigMap "c" (team/xr-c) took over the composed resource "old", and keeps keys that the export ` +
				`does not write ("b", "more"): write them in configMaps[0].data, or set configMaps[0].prune: true to ` +
				`remove them`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := showNamed(newScene(t, plantest.Exports(c.input), c.objects), t)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestUnknownNames(t *testing.T) {
	const (
		later = `secrets: [{name: a, metadata: {nameExpression: composite.spec.later}, data: [{key: k, value: ` +
			`"'v'"}]}]`
		waiting = `a: Waiting nothing | Secret "a" is not created: secrets[0].metadata.nameExpression waits for ` +
			`composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for a default)`
	)
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"Kept": {
			reason: "each Secret that may be the object is kept, in the order of the names, and the composite says why",
			input:  later,
			objects: formers(former{composed: "old", rest: formerData},
				former{composed: "last", rest: moreData, metadata: "name: other, namespace: team, " +
					ownedByComposite}),
			want: []string{
				"last: Held Secret team/other {data: {extra: extra, host: old-host, more: more}}",
				"old: Held Secret team/xr-url {data: {host: old-host, user: old-user}}",
				waiting,
				`Held! | the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: ` +
					`composed resource "last", composed resource "old"`,
			},
		},
		"List": {
			reason: "an item of a list that is waited for may have the object",
			input: `secrets: [{name: users, forEachExpression: composite.spec.users, keyExpression: item,
  metadata: {nameExpression: "'xr-' + key"},
  data: [{key: user, value: item}]}]`,
			objects: formers(former{composed: "old", rest: formerData}),
			want: []string{
				"old: Held Secret team/xr-url {data: {host: old-host, user: old-user}}",
				`Waiting | Secret "users" is not composed for each item: it waits for composite.spec.users (correct ` +
					`it, set it in App xr, or write .?users.orValue([]) for an empty list)`,
				`Held! | the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: ` +
					`composed resource "old"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := showNamed(newScene(t, plantest.Exports(c.input), c.objects), t)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
