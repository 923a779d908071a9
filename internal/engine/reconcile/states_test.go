package reconcile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Later steps read which generations there are. If the one in use is missing from that state, a step that refers to it
// leaves out its resource, and Crossplane deletes the resource.
func TestRunSavesState(t *testing.T) {
	const (
		admin    = "generators: [{name: admin, password: {secretKeys: [password, user]}, gracePeriod: 1h}]\nsecrets: [{name: s, data: [{key: k, value: generated.admin.password}]}]"
		verified = "generators: [{name: admin, refreshPolicy: OnChange, keepersExpression: composite.spec.size, readyExpression: secrets.db.password == candidate.admin.password, password: {secretKeys: [password, user]}}]\nsecrets: [{name: s, data: [{key: k, value: generated.admin.password}]}]"
		none     = `secrets: [{name: s, data: [{key: k, value: "'x'"}]}]`
		flagged  = `flagged: "2026-01-03T00:00:00Z"`
		gone     = `{"admin":{"generation":4,"uid":"g4","apiVersion":"v1","kind":"Secret","namespace":"team","name":"xr-admin-4"}}`
		used     = `{"admin":{"generation":1,"uid":"g1","apiVersion":"v1","kind":"Secret","namespace":"team","name":"xr-admin-1"}}`
		listed   = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {crossplane: {resourceRefs: [" +
			"{apiVersion: v1, kind: Secret, name: xr-admin-2}, {apiVersion: v1, kind: Secret, name: xr-admin-7}, {apiVersion: v1, kind: Secret, name: xr-admin-3}]}}}\n"
	)
	pending := strings.Replace(generationOf(2, "keepers: two"), `"kind"`, `"stage":"pending","kind"`, 1)
	const (
		earlier = "\ndesired: {generated/admin/1: {apiVersion: v1, kind: Secret, metadata: {name: xr-admin-1, namespace: team}}}"
		key     = "6c214cf401b03abc275f1e243b3b2c9e" // a hash of the generator and the number
		spec    = ", specHash: s"                    // of all generations
	)
	entry := func(number int, flag, more string) string {
		return fmt.Sprintf("{apiVersion: v1, %[2]sgeneratedAt: 2026-01-0%[1]dT00:00:00Z, generation: %[1]d, kind: Secret, name: xr-admin-%[1]d, "+
			"namespace: team, resourceName: generated/admin/%[1]d%[3]s}", number, flag, more)
	}
	keepers := func(entry, hash string) string {
		return strings.Replace(entry, "kind:", "keepersHash: "+hash+", kind:", 1)
	}
	missing := func(generator string, number int, name string) string {
		return fmt.Sprintf("{apiVersion: v1, generation: %[2]d, kind: Secret, name: %[3]s, namespace: team, resourceName: generated/%[1]s/%[2]d}",
			generator, number, name)
	}
	for name, c := range map[string]struct {
		reason  string
		input   string
		objects string
		want    string
	}{
		"Pending": {
			reason: "and so is the next one until it is in use, here one that is given up because its input has changed",
			input:  verified, objects: generationOf(1, "keepers: one") + pending,
			want: "admin: {input: ID, latest: " + keepers(entry(1, "", spec), "one") + ", pending: " + keepers(entry(2, "flaggedForGCTime: 2026-01-03T00:30:00Z, ", spec), "two") + "}\ngenerated/admin/1\ngenerated/admin/2 flagged",
		},
		"Recorded": {
			reason: "the one that exports use counts while it is missing",
			input:  admin, objects: exportedFrom(gone),
			want: "admin: {input: ID, latest: " + missing("admin", 4, "xr-admin-4") + "}\ngenerated/admin/5 unready",
		},

		"RetiredBefore": {
			reason: "and deleted after its grace period: the function must be called then",
			input:  none, objects: strings.Replace(generationOf(1, flagged), `"kind"`, `"stage":"retired","kind"`, 1),
			want: "admin: {gc: {" + key + ": " + entry(1, "flaggedForGCTime: 2026-01-03T00:00:00Z, ", spec) + "}}\ngenerated/admin/1 flagged\ndue 2026-01-03T01:00:00Z",
		},
		"RetiredMissing": {
			reason: "nothing stays in use after the generator",
			input:  none, objects: exportedFrom(gone),
			want: "",
		},

		"RetiredExportedElsewhere": {
			reason: "also if an earlier step has it",
			input:  none, objects: generationOf(1, "") + exportedFrom(used) + earlier,
			want: "admin: {gc: {" + key + ": " + entry(1, "", spec) + "}}\ngenerated/admin/1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := "resources:" + c.objects
			if c.objects == "" || strings.HasPrefix(c.objects, "composite") {
				objects = c.objects + "resources: {}"
			}
			s := newScene(t, plantest.Exports(c.input), objects)
			s.plan, _, _ = plan.NewCache(plantest.Env).Get(wire.Of(plantest.Parse(t, plantest.Exports(c.input))))
			s.req.Now, s.req.Random = time.Date(2026, 1, 3, 0, 30, 0, 0, time.UTC), bytes.NewReader(make([]byte, 1<<12))
			result := s.run(t)
			var got []string
			for _, name := range []string{"admin", "root"} {
				if v := result.GeneratorState[name]; v != nil {
					got = append(got, name+": "+strings.ReplaceAll(showValue(v), s.plan.ID(), "ID"))
				}
			}
			for _, g := range result.Generations {
				line := g.Name
				if isFlagged(g) {
					line += " flagged"
				}
				if !g.Ready {
					line += " unready"
				}
				got = append(got, line)
			}
			if !result.Due.IsZero() {
				got = append(got, "due "+result.Due.Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// isFlagged reports whether the grace period of a generation has begun.
func isFlagged(g generations.Composed) bool {
	text := showObject(g.Desired)
	return strings.Contains(text, `"since"`) && !strings.Contains(text, `"stage":"pending"`)
}
