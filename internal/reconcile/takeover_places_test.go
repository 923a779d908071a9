package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

// named is a Secret with another name.
func named(composed, name string) former {
	return former{composed: composed, rest: formerData, metadata: "name: " + name + ", namespace: team, " + ownedByComposite}
}

// An export that has an object already cannot take over the object at its place in the input. Both objects are kept.
func TestWantedPlaces(t *testing.T) {
	wanted := urlWith("metadata: {name: wanted}")
	const swapped = `secrets: [{name: a, metadata: {name: two}, data: [{key: k, value: "'two'"}]}, {name: b, metadata: {name: one}, data: [{key: k, value: "'one'"}]}]`
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    []string
	}{
		"TwoObjects": {
			reason:  "the export composed an object of its own before it got the name of the former one, which is not deleted",
			input:   wanted,
			objects: formers(named("url", "xr-url"), named("old", "wanted")),
			want: []string{
				"old: Held Secret team/wanted {data: {host: old-host, user: old-user}}",
				`url: Held! Secret team/xr-url {data: {host: db.example.org, user: canary-user}} | Secret "url" keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it created as team/wanted; until then, the composed resource "old" is kept unchanged there`,
			},
		},
		"KeptOnce": {
			reason:  "an export whose name is unknown may also take it over, and it is kept once",
			input:   wanted + `- {name: later, metadata: {nameExpression: composite.spec.later}, data: [{key: k, value: "'v'"}]}`,
			objects: formers(named("url", "xr-url"), named("old", "wanted")),
			want: []string{
				"old: Held Secret team/wanted {data: {host: old-host, user: old-user}}",
				`url: Held! Secret team/xr-url {data: {host: db.example.org, user: canary-user}} | Secret "url" ` +
					`keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it ` +
					`created as team/wanted; until then, the composed resource "old" is kept unchanged there`,
				`later: Waiting nothing | Secret "later" is not created: secrets[1].metadata.nameExpression waits ` +
					`for composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for ` +
					`a default)`,
			},
		},
		"TwoWantIt": {
			reason:  "two exports want it, and it is kept once",
			input:   wanted + `- {name: other, metadata: {name: wanted}, data: [{key: k, value: "'v'"}]}`,
			objects: formers(named("url", "xr-url"), named("other", "xr-other"), named("old", "wanted")),
			want: []string{
				"old: Held Secret team/wanted {data: {host: old-host, user: old-user}}",
				`url: Held! Secret team/xr-url {data: {host: db.example.org, user: canary-user}} | Secret "url" ` +
					`keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it ` +
					`created as team/wanted; until then, the composed resource "old" is kept unchanged there`,
				`other: Held! Secret team/xr-other {data: {k: v}} | Secret "other" keeps the name team/xr-other, ` +
					`because a composed resource cannot be renamed: delete it to have it created as team/wanted`,
			},
		},
		"OneObject": {
			reason:  "once its own object is deleted, the export takes over the former one",
			input:   wanted,
			objects: formers(named("old", "wanted")),
			want:    []string{"old: Available Secret team/wanted {data: {host: db.example.org, user: canary-user}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"url\"}}}}"},
		},
		"NotFree": {
			reason:  "an object of an earlier step is kept by that step",
			input:   wanted,
			objects: "desired: {old: {apiVersion: v1, kind: Secret}}\n" + formers(named("url", "xr-url"), named("old", "wanted")),
			want:    []string{`url: Held! Secret team/xr-url {data: {host: db.example.org, user: canary-user}} | Secret "url" keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it created as team/wanted`},
		},
		"TakenByAnother": {
			reason:  "another export takes it over",
			input:   wanted + `- {name: other, metadata: {name: wanted}, data: [{key: host, value: "'h'"}, {key: user, value: "'u'"}]}`,
			objects: formers(named("url", "xr-url"), named("old", "wanted")),
			want: []string{
				`url: Held! Secret team/xr-url {data: {host: db.example.org, user: canary-user}} | Secret "url" keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it created as team/wanted`,
				"old: Available Secret team/wanted {data: {host: h, user: u}, metadata: {annotations: {export.fn.crossplane.io/export-state: {\"export\":\"other\"}}}}",
			},
		},
		"OtherKind": {
			reason:  "the composition resource name of the export belongs to an object of another kind",
			input:   strings.Replace(url, "name: url", "name: db", 1),
			objects: formers(named("old", "xr-db")),
			want: []string{
				"old: Held Secret team/xr-db {data: {host: old-host, user: old-user}}",
				`db: Conflict! nothing | Secret "db": the composed resource with that name has the kind DB: give the Secret another name in secrets[0].name; until then, the composed resource "old" is kept unchanged there`,
			},
		},
		"Swapped": {
			reason:  "no export writes its data into the object that must have the data of another one",
			input:   swapped,
			objects: formers(named("a", "one"), named("b", "two")),
			want: []string{
				`a: Conflict! Secret team/one {data: {host: old-host, user: old-user}} | Secret "a": Secret team/one must have the data of secrets[1], and a composed resource cannot be renamed: give the exports their previous names, or delete both objects`,
				`b: Conflict! Secret team/two {data: {host: old-host, user: old-user}} | Secret "b": Secret team/two must have the data of secrets[0], and a composed resource cannot be renamed: give the exports their previous names, or delete both objects`,
			},
		},
		"SwappedNamesOfTheirOwn": {
			reason:  "with the names that they had, nothing changes",
			input:   strings.NewReplacer("name: two", "name: one", "name: one", "name: two").Replace(swapped),
			objects: formers(named("a", "one"), named("b", "two")),
			want:    []string{"a: Available Secret team/one {data: {k: two}}", "b: Available Secret team/two {data: {k: one}}"},
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
