package reconcile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

// TestRunRevisions tests which object the revision of an export belongs to.
func TestRunRevisions(t *testing.T) {
	const (
		one    = "secrets: [{name: db-copy, metadata: {name: one}, data: [{key: a, value: composite.spec.region}]}]"
		two    = "secrets: [{name: a, metadata: {name: two}, data: [{key: a, value: '\"a\"'}]}, {name: b, metadata: {name: one}, data: [{key: a, value: '\"b\"'}]}]"
		owned  = "ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]"
		seven  = "export.fn.crossplane.io/revision: '7'"
		listed = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {region: eu, crossplane: {resourceRefs: [{apiVersion: v1, kind: Secret, name: one}]}}}\n"
	)
	object := func(kind, name, annotations string) string {
		return "{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + ", namespace: team, annotations: {" + annotations + "}, " + owned + "}, data: {a: YQ==}}"
	}
	cases := map[string]struct {
		reason, input string
		overlay       string
		want          map[string]int64
	}{
		"None":     {"nothing exists", one, "", map[string]int64{"db-copy": 0}},
		"Observed": {"the object is observed", one, "resources: {db-copy: {object: " + object("Secret", "one", seven) + "}}", map[string]int64{"db-copy": 7}},
		"Kept": {
			"an object that is kept has its revision", "secrets: [{name: db-copy, data: [{key: a, value: composite.spec.later}]}]",
			"resources: {db-copy: {object: " + object("Secret", "one", seven) + "}}", map[string]int64{"db-copy": 7},
		},
		"OtherKind": {"the ConfigMap of that name is not the Secret", one, "resources: {db-copy: {object: " + object("ConfigMap", "one", seven) + "}}", map[string]int64{"db-copy": 0}},
		"Foreign":   {"the Secret belongs to another owner", one, "cluster: [{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: team, annotations: {" + seven + "}}}]", map[string]int64{"db-copy": 0}},
		"Unlisted": {
			"any client can create an object that the composite does not list", one,
			"cluster: [" + object("Secret", "one", "crossplane.io/composition-resource-name: db-copy, "+seven) + "]", map[string]int64{"db-copy": 0},
		},
		"Listed": {
			"the composite lists the object that is looked up", one,
			listed + "cluster: [" + object("Secret", "one", "crossplane.io/composition-resource-name: db-copy, "+seven) + "]", map[string]int64{"db-copy": 7},
		},
		"TakenOver":                {"the export has the object of an export that left the input", one, "resources: {old: {object: " + object("Secret", "one", seven) + "}}", map[string]int64{"db-copy": 7}},
		"TakenOverFromAnotherStep": {"the object exists, so a workload that uses it is not removed", one, "resources: {old: {object: " + object("Secret", "one", "example.org/a: b") + "}}", map[string]int64{"db-copy": 1}},
		"Swapped": {
			"objects in conflict are kept with their revisions", two,
			"resources: {a: {object: " + object("Secret", "one", seven) + "}, b: {object: " + object("Secret", "two", "export.fn.crossplane.io/revision: '3'") + "}}",
			map[string]int64{"a": 7, "b": 3},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newScene(t, plantest.Exports(tc.input), tc.overlay).run(t)
			want := map[string]observation.Revision{}
			for export, n := range tc.want {
				want[export] = observation.Revision{Number: n}
			}
			if diff := cmp.Diff(want, r.Revisions); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnlistedObjectWithARevision checks that an object of an export is kept while the cache has an older composite, which
// does not list the object. Each object has a revision, which is no reason to distrust it.
func TestUnlistedObjectWithARevision(t *testing.T) {
	const input = "configMaps: [{name: db-copy, metadata: {name: one}, data: [{key: a, value: composite.spec.later}]}]"
	for composed, want := range map[string]string{
		"db-copy": `Held! ConfigMap team/one {data: {a: a}} | ConfigMap "db-copy" (team/one) is kept unchanged: key "a" waits for composite.spec.later (correct it, set it in App xr, or write .?later.orValue('none') for a default)`,
		"old":     `Held! ConfigMap team/one {data: {a: a}} | ConfigMap "db-copy" (team/one) is kept unchanged: it waits for the composite to list ConfigMap team/one as its composed resource "old"`,
	} {
		object := "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team, annotations: {crossplane.io/composition-resource-name: " + composed +
			", export.fn.crossplane.io/revision: '7'}, ownerReferences: [{controller: true, uid: u1, kind: App, name: xr}]}, data: {a: a}}"
		got := show(newScene(t, plantest.Exports(input), "cluster: ["+object+"]").run(t))
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("the composed resource %q: -want, +got:\n%s", composed, diff)
		}
	}
}
