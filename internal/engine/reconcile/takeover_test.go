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
	longAgo          = "creationTimestamp: '2020-01-01T00:00:00Z', "
	formerData       = "data: {host: b2xkLWhvc3Q=, user: b2xkLXVzZXI=}" // old-host, old-user
	moreData         = "data: {host: b2xkLWhvc3Q=, more: bW9yZQ==, extra: ZXh0cmE=}"
)

// appliedAs is the metadata of a Secret whose keys host and more were applied by Crossplane in a field.
func appliedAs(field string) string {
	return `name: xr-url, namespace: team, ` + ownedByComposite + `,
        managedFields: [{manager: apiextensions.crossplane.io/composed/x, operation: Apply, fieldsV1: {"f:` + field + `": {"f:host": {}, "f:more": {}}}}]`
}

// object returns the Secret as it is observed.
func (f former) object() string {
	metadata := "name: xr-url, namespace: team, annotations: {crossplane.io/composition-resource-name: " + f.composed + "}, " + ownedByComposite
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
		written  = "old: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"
		kept     = "Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"
		tookOver = "name: xr-url, namespace: team, annotations: {crossplane.io/composition-resource-name: old, export.fn.crossplane.io/export-state: '{\"export\":\"url\"}'}, " + ownedByComposite
		rename   = "set secrets[0].metadata.name to another name"
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
			want:    []string{"old: Held! " + kept + ` | Secret "url" keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it created as team/new`},
		},
		"KeyLeaves": {
			reason:  "a key that the export wrote after it took the object over does not stay",
			input:   url,
			objects: formers(former{composed: "old", rest: moreData, metadata: strings.Replace(tookOver, `"url"`, `"url","keptKeys":["more"]`, 1)}),
			want: []string{"old: Available! " + strings.NewReplacer("user: canary-user", "more: more, user: canary-user", `"url"`, `"url","keptKeys":["more"]`).Replace(kept) +
				` | Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export does not write ("more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"NameUnknown": {
			reason:  "its name in the input need not be known",
			input:   urlWith("metadata: {nameExpression: composite.spec.later}"),
			objects: formers(former{composed: "old", rest: formerData, metadata: tookOver}),
			want:    []string{"old: Held! " + kept + ` | Secret "url" keeps the name team/xr-url, because its name is unknown: secrets[0].metadata.nameExpression waits for composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for a default)`},
		},
		"TakenOverByAnother": {
			reason:  "an export that was renamed takes over what it took over before",
			input:   url,
			objects: formers(former{composed: "old", rest: formerData, metadata: strings.Replace(tookOver, `"url"`, `"before"`, 1)}),
			want:    []string{written},
		},
		"AnnotationInAnotherNamespace": {
			reason:  "an annotation does not lead the data of an export to another namespace",
			input:   "secrets: [{name: url, metadata: {namespace: team}, data: [{key: k, value: \"'v'\"}]}]",
			objects: "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}}\n" + formers(former{composed: "old", rest: formerData, metadata: strings.Replace(tookOver, "namespace: team", "namespace: theirs", 1)}),
			want:    []string{"url: Available Secret team/xr-url {data: {k: v}}"},
		},
		"Type": {
			reason:  "a type cannot change, so the object keeps it",
			input:   url,
			objects: formers(former{composed: "old", rest: "type: connection.crossplane.io/v1alpha1, " + formerData}),
			want:    []string{"old: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}, type: connection.crossplane.io/v1alpha1}"},
		},
		"TypeOfInput": {
			reason:  "another type in the input has no effect, which is said; the object is still available",
			input:   urlWith("type: example.org/x"),
			objects: formers(former{composed: "old", rest: formerData}),
			want:    []string{"old: Available! Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}} | " + `Secret "url" (team/xr-url) took over the composed resource "old", and keeps the type "Opaque", which cannot change: set secrets[0].type to it`},
		},
		"KeepsKeys": {
			reason:  "keys that only the object has stay, and the warning says what to write",
			input:   url,
			objects: formers(former{composed: "old", rest: moreData}),
			want: []string{"old: Available! Secret team/xr-url {data: {extra: extra, host: db.example.org, more: more, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\",\"keptKeys\":[\"extra\",\"more\"]}}}} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export does not write ("extra", "more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"KeepsText": {
			reason:  "keys that Crossplane applied as stringData are the composite's, and are not lost",
			input:   url,
			objects: formers(former{composed: "old", rest: moreData, metadata: appliedAs("stringData")}),
			want: []string{"old: Available! Secret team/xr-url {data: {host: db.example.org, more: more, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\",\"keptKeys\":[\"more\"]}}}} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export does not write ("more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"PruneOfText": {
			reason:  "a key that was applied as stringData has no owner: if it were not desired once more, no apply could remove it",
			input:   urlWith("prune: true"),
			objects: formers(former{composed: "old", rest: moreData, metadata: appliedAs("stringData")}),
			want:    []string{"old: Available Secret team/xr-url {data: {host: db.example.org, more: more, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"},
		},
		"NamedKeys": {
			reason:  "a key that the input names is not kept if it is optional and has no value",
			input:   `secrets: [{name: url, data: [{key: more, value: "composite.spec.?later", optional: true}, {valueMap: "{'host': 'h', ?'extra': composite.spec.?later}"}]}]`,
			objects: formers(former{composed: "old", rest: moreData}),
			want:    []string{"old: Available Secret team/xr-url {data: {host: h}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"},
		},
		"Waits": {
			reason:  "while an input is missing, it is kept as any other object",
			input:   `secrets: [{name: url, data: [{key: k, value: composite.spec.later}]}]`,
			objects: formers(former{composed: "old", rest: moreData}),
			want:    []string{`old: Held! Secret team/xr-url {data: {extra: extra, host: old-host, more: more}} | Secret "url" (team/xr-url) is kept unchanged: key "k" waits for composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for a default)`},
		},
		"Immutable": {
			reason:  "an immutable object cannot change",
			input:   urlWith("immutable: true"),
			objects: formers(former{composed: "old", rest: "immutable: true, " + formerData}),
			want:    []string{`old: Held! Secret team/xr-url {data: {host: old-host, user: old-user}, immutable: true} | Secret "url" (team/xr-url) is kept unchanged: secrets[0].immutable: its data changed, but the Secret is immutable: delete Secret team/xr-url so that it is created again`},
		},
		"ConnectionDetails": {
			reason:  "the keys that only the object has may be those of a later step, and are not published",
			input:   urlWith("connectionDetails: true"),
			objects: "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {claimRef: {namespace: team}}}\n" + formers(former{composed: "old", rest: moreData}),
			want: []string{"old: Available! Secret team/xr-url {data: {extra: extra, host: db.example.org, more: more, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\",\"keptKeys\":[\"extra\",\"more\"]}}}} details={host: db.example.org, user: canary-user} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export does not write ("extra", "more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"ConfigMap": {
			reason:  "a ConfigMap also keeps its binary keys",
			input:   `configMaps: [{name: c, data: [{key: k, value: "'v'"}]}]`,
			objects: "resources: {old: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-c, namespace: team, " + ownedByComposite + "}, data: {more: text}, binaryData: {b: /w==}}}}",
			want: []string{"old: Available! ConfigMap team/xr-c {binaryData: {b: /w==}, data: {k: v, more: text}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"c\",\"keptKeys\":[\"b\",\"more\"]}}}} | " +
				`ConfigMap "c" (team/xr-c) took over the composed resource "old", and keeps keys that the export does not write ("b", "more"): write them in configMaps[0].data, or set configMaps[0].prune: true to remove them`},
		},
		"EarlierStep": {
			reason:  "an earlier step still composes it",
			input:   url,
			objects: "desired: {old: {apiVersion: v1, kind: Secret, metadata: {name: xr-url, namespace: team}}}\n" + formers(former{composed: "old", rest: formerData}) + "cluster: [" + former{composed: "old", rest: formerData}.object() + "]",
			want:    []string{`url: Conflict! nothing | Secret "url": Secret team/xr-url is the composed resource "old", and an earlier step still composes it: remove it there`},
		},
		"NameOfAGeneration": {
			reason:  "any client can give an object the composition resource name of a generation, and Crossplane would delete it",
			input:   url,
			objects: formers(former{composed: "generated/gone/1", rest: formerData}),
			want:    []string{"generated/gone/1: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}}"},
		},
		"AuthorOfThatName": {
			reason:  "the object of a composite author is deleted first",
			input:   url,
			objects: formers(former{composed: "fromComposite/Secret/xr-url", rest: formerData}) + "cluster: [" + former{composed: "fromComposite/Secret/xr-url", rest: formerData}.object() + "]",
			want:    []string{`url: Waiting nothing | Secret "url" (team/xr-url) is not created: it waits for Secret team/xr-url, which a composite author requests, to be deleted`},
		},
		"CopiedAnnotation": {
			reason: "the object gets the export's name: with its own name, Crossplane would write to the observed object",
			input:  url,
			objects: formers(former{composed: "old", rest: formerData, metadata: "name: other, namespace: team, " + ownedByComposite}) +
				"cluster: [" + former{composed: "old", rest: formerData}.object() + "]",
			want: []string{"url: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"},
		},
		"Unlisted": {
			reason:  "it gets the export's name",
			input:   url,
			objects: "cluster: [" + former{composed: "old", rest: formerData}.object() + "]",
			want:    []string{"url: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"},
		},
		"UnlistedKeys": {
			reason:  "the warning has its former name",
			input:   url,
			objects: "cluster: [" + former{composed: "old", rest: moreData}.object() + "]",
			want: []string{"url: Available! Secret team/xr-url {data: {extra: extra, host: db.example.org, more: more, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\",\"keptKeys\":[\"extra\",\"more\"]}}}} | " +
				`Secret "url" (team/xr-url) took over the composed resource "old", and keeps keys that the export does not write ("extra", "more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
		},
		"TookOverOwnName": {
			reason:  "an object that got the export's name when it was taken over keeps these keys",
			input:   url,
			objects: formers(former{composed: "url", rest: moreData, metadata: strings.Replace(tookOver, `"url"`, `"url","keptKeys":["more"]`, 1)}),
			want: []string{"url: Available! " + strings.NewReplacer("user: canary-user", "more: more, user: canary-user", `"url"`, `"url","keptKeys":["more"]`).Replace(kept) +
				` | Secret "url" (team/xr-url) took over the composed resource "url", and keeps keys that the export does not write ("more"): write them in secrets[0].data, or set secrets[0].prune: true to remove them`},
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

func TestTakeOverNeedsNoLookup(t *testing.T) {
	s := newScene(t, plantest.Exports(url), formers(former{composed: "old", rest: formerData}))
	if r := s.run(t); len(r.Requirements) != 0 {
		t.Errorf("Run(...): requirements: want none, got %v", r.Requirements)
	}
}

func TestUnknownNames(t *testing.T) {
	const (
		later   = `secrets: [{name: a, metadata: {nameExpression: composite.spec.later}, data: [{key: k, value: "'v'"}]}]`
		waiting = `a: Waiting nothing | Secret "a" is not created: secrets[0].metadata.nameExpression waits for composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for a default)`
	)
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"Kept": {
			reason:  "each Secret that may be the object is kept, in the order of the names, and the composite says why",
			input:   later,
			objects: formers(former{composed: "old", rest: formerData}, former{composed: "last", rest: moreData, metadata: "name: other, namespace: team, " + ownedByComposite}),
			want: []string{
				"last: Held Secret team/other {data: {extra: extra, host: old-host, more: more}}",
				"old: Held Secret team/xr-url {data: {host: old-host, user: old-user}}",
				waiting,
				`Held! | the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: composed resource "last", composed resource "old"`,
			},
		},
		"List": {
			reason: "an item of a list that is waited for may have the object",
			input: `secrets: [{name: users, forEachExpression: composite.spec.users, keyExpression: item, metadata: {nameExpression: "'xr-' + key"},
  data: [{key: user, value: item}]}]`,
			objects: formers(former{composed: "old", rest: formerData}),
			want: []string{
				"old: Held Secret team/xr-url {data: {host: old-host, user: old-user}}",
				`Waiting | Secret "users" is not composed for each item: it waits for composite.spec.users (correct it, set it in App xr, or write .?users.orValue([]) for an empty list)`,
				`Held! | the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: composed resource "old"`,
			},
		},
		"ItemTakesOver": {
			reason: "an item takes over an object of a template, and one whose item had another key",
			input: `secrets: [{name: users, forEachExpression: "['url', 'two']", keyExpression: item, metadata: {nameExpression: "'xr-' + key"},
  data: [{key: user, value: item}, {key: host, value: item}]}]`,
			objects: formers(former{composed: "old", rest: formerData}, former{composed: "users/old", rest: formerData, metadata: "name: xr-two, namespace: team, " + ownedByComposite}),
			want: []string{
				"users/old: Available Secret team/xr-two {data: {host: two, user: two}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"users/two\"}}}}",
				"old: Available Secret team/xr-url {data: {host: url, user: url}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"users/url\"}}}}",
			},
		},
		"OwnObserved": {
			reason:  "an export whose object is observed may take over another one, once its own is deleted",
			input:   strings.Replace(later, "name: a", "name: url", 1),
			objects: strings.Replace(observedURL, "resources:", "resources:\n  old: {object: "+former{composed: "old", rest: formerData, metadata: "name: former, namespace: team, " + ownedByComposite}.object()+"}", 1),
			want: []string{
				"old: Held Secret team/former {data: {host: old-host, user: old-user}}",
				`url: Held! Secret team/xr-url {data: {k: v}} | Secret "url" keeps the name team/xr-url, because its name is unknown: secrets[0].metadata.nameExpression waits for composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for a default)`,
				`Held! | the name of secrets[0] is unknown, so each Secret that it may take over is kept unchanged: composed resource "old"`,
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

// A later step knows which objects are only kept, and may take them over.
func TestPossibleObjects(t *testing.T) {
	const input = `secrets: [{name: a, metadata: {nameExpression: composite.spec.later}, data: [{key: k, value: ` +
		`"'v'"}]}, {name: b, data: [{key: k, value: "'v'"}]}]`
	r := newScene(t, plantest.Exports(input), formers(former{composed: "old", rest: formerData})).run(t)
	var got []string
	for _, o := range r.Objects {
		got = append(got, fmt.Sprintf("%s %s %v", o.Kind, o.Name, o.Possible))
	}
	if diff := cmp.Diff([]string{"Secret old true", "Secret a false", "Secret b false"}, got); diff != "" {
		t.Errorf("Run(...): kinds, names, and whether the object is only kept: -want, +got:\n%s", diff)
	}
	if o := r.Others[0]; !o.Ready {
		t.Errorf("Run(...): the composite is not ready because of %q", o.Message)
	}
}

// An earlier step may keep an object only because it may take the object over once it knows its names.
func TestTakeOverFromEarlierStep(t *testing.T) {
	const (
		kept = "{apiVersion: v1, kind: Secret, metadata: {name: xr-url, namespace: team}, type: Opaque, data: " +
			"{host: b2xkLWhvc3Q=, user: b2xkLXVzZXI=}}"
		conflict = `url: Conflict! nothing | Secret "url": Secret team/xr-url is the composed resource "old", and an ` +
			`earlier step still composes it: remove it there`
		written = "old: Available Secret team/xr-url {data: {host: db.example.org, user: canary-user}, metadata: " +
			"{annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"
	)
	for name, tc := range map[string]struct {
		reason, desired string
		possible        string // the name of the resource that the earlier step may take over
		want            string
	}{
		"Possible": {"the earlier step only keeps it", kept, "old", written},
		"Other":    {"the earlier step may take over another object", kept, "other", conflict},
		"Changed": {
			"a step in between has changed it, which then composes it",
			strings.Replace(kept, "b2xkLWhvc3Q=", "bmV3", 1), "old", conflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			observed := former{composed: "old", rest: "type: Opaque, " + formerData}
			s := newScene(t, plantest.Exports(url), formers(observed)+"desired: {old: "+tc.desired+"}\ncluster: ["+observed.object()+"]")
			s.req.Possible = map[string]bool{tc.possible: true}
			if diff := cmp.Diff([]string{tc.want}, showNamed(s, t)); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
			if _, ok := s.req.Desired["old"]; !ok {
				t.Errorf("Run(...): %s: it changed its request", tc.reason)
			}
		})
	}
}
