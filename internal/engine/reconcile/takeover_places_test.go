package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// named is a Secret with another name.
func named(composed, name string) former {
	return former{composed: composed, rest: formerData, metadata: "name: " + name + ", namespace: team, " + ownedByComposite}
}

// An export that has an object already cannot take over the object at its place in the input. Both objects are kept.
func TestWantedPlaces(t *testing.T) {
	wanted := urlWith("metadata: {name: wanted}")
	const swapped = `secrets: [{name: a, metadata: {name: two}, prune: true, data: [{key: host, value: "'two'"}]}, {name: b, metadata: {name: one}, prune: true, data: [{key: host, value: "'one'"}]}]`
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
				`url: Held! Secret team/xr-url {data: {host: db.example.org, user: canary-user}} | Secret "url" keeps the name team/xr-url, because a composed resource cannot be renamed: delete it to have it created as team/wanted`,
			},
		},
		"OtherKind": {
			reason:  "the composition resource name of the export belongs to an object of another kind",
			input:   strings.Replace(url, "name: url", "name: db", 1),
			objects: formers(named("old", "xr-db")),
			want: []string{
				"old: Held Secret team/xr-db {data: {host: old-host, user: old-user}}",
				`db: Conflict! nothing | Secret "db": the composed resource with that name has the kind DB: give the Secret another name in secrets[0].name`,
			},
		},
		"NameOfAnExport": {
			reason: "the export with that name has another object, which it took over before",
			input:  `secrets: [{name: a, metadata: {name: one}, prune: true, data: [{key: host, value: "'one'"}]}, {name: c, metadata: {name: two}, prune: true, data: [{key: host, value: "'two'"}]}]`,
			objects: formers(former{
				composed: "x", rest: formerData,
				metadata: "name: one, namespace: team, annotations: {export.fn.crossplane.io/export-state: '{\"export\":\"a\"}'}, " + ownedByComposite,
			}, named("a", "two"), named("c", "three")),
			want: []string{
				"a: Held Secret team/two {data: {host: old-host, user: old-user}}",
				`x: Available Secret team/one {data: {host: one}, metadata: {annotations: {export.fn.crossplane.io/export-state: {"export":"a"}}}}`,
				`c: Held! Secret team/three {data: {host: two}} | Secret "c" keeps the name team/three, because a composed resource cannot be renamed: ` +
					`delete it to have it created as team/two`,
			},
		},
		"Given": {
			reason:  "an export takes over the object of one that wants another place, which is created under a free name",
			input:   swapped,
			objects: formers(named("b", "two")),
			want: []string{
				`b: Available Secret team/two {data: {host: two}, metadata: {annotations: {export.fn.crossplane.io/export-state: {"export":"a"}}}}`,
				`b~2: Available Secret team/one {data: {host: one}}`,
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
