package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestHistoriesAtLimits runs histories that are too long to be files.
func TestHistoriesAtLimits(t *testing.T) {
	const large = `
input:
  generators:
  - name: user
    resource:
      manifest: {apiVersion: example.org/v1, kind: User}
      set: [{fieldPath: spec.a, value: "lists.range(composite.spec.count).map(i, composite.spec.text)"}]
change:
  composite: {spec: {count: COUNT, text: TEXT}}
want: |
`
	withCount := func(count string) string {
		return strings.NewReplacer("COUNT", count, "TEXT", strings.Repeat("x", 1024)).Replace(large)
	}
	rotations := `
input:
  generators: [{name: admin, gracePeriod: 24h, password: {}}]
  secrets: [{name: s, data: [{key: pass, value: "generated.admin.password == '' ? '' : 'made-up'"}]}]
want: |
`
	for i := range 16 { // each rotation takes three reconciles
		rotations += fmt.Sprintf(`---
change:
  composite: {metadata: {annotations: {export.fn.crossplane.io/rotate: admin=%d}}}
times: 3
want: |
`, i)
	}

	for name, c := range map[string]struct{ reason, history, want string }{
		"LargeManifest": {
			"a manifest is stored in an annotation", withCount("63"),
			`Waiting | generator "user": its generation 1 is created in this reconcile`,
		},
		"TooLargeManifest": {
			"a manifest over the limit is refused", withCount("64"),
			`Held! | generator "user" creates no generation: generators[0].resource.set: ` +
				`creates a manifest over the limit of 65536 bytes`,
		},
		"LongName": {
			"the name of the composite is part of the names of generations",
			"input:\n  generators: [{name: " + strings.Repeat("a", 60) + ", uuid: {}}]\n" +
				"composite: {apiVersion: example.org/v1, kind: App, metadata: {name: " + strings.Repeat("x", 200) + ", namespace: team, uid: u1}}\nwant: |\n",
			`creates no generation: generators[0].name: cannot use name "` + strings.Repeat("x", 80) +
				`"…: it has 263 characters; use at most 253`,
		},
		"ManyGenerations": {
			"no more than 16 generations exist at once", rotations,
			`Waiting | generator "admin" creates no generation: it waits for one of its 16 generations to be deleted ` +
				"(no more are kept at once): wait for the end of a gracePeriod, or delete a previous one; generation 16 stays in use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := runHistory(t, c.history)
			rounds := strings.Split(got, betweenRounds)
			if last := rounds[len(rounds)-1]; !strings.Contains(last, c.want) || strings.Contains(last, "generated/admin/17") {
				t.Errorf("%s: got %s, want %s", c.reason, last, c.want)
			}
		})
	}
}
