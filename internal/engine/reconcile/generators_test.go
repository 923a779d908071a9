package reconcile_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// generationOf is a generation of generator admin, as it is observed after it was
// adopted: more is in its record.
func generationOf(number int, more string) string {
	value := func(of string) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%s%d", canary, of, number))
	}
	return fmt.Sprintf(`
  generated/admin/%[1]d:
    object:
      apiVersion: v1
      kind: Secret
      metadata:
        name: xr-admin-%[1]d
        namespace: team
        uid: g%[1]d
        labels: {export.fn.crossplane.io/generator: admin, export.fn.crossplane.io/generation: "%[1]d", export.fn.crossplane.io/composite: u1}
        annotations:
          crossplane.io/composition-resource-name: generated/admin/%[1]d
          created: "2026-01-0%[1]dT00:00:00Z"
          spec: s
          export.fn.crossplane.io/generator-state: '{"state":{"kind":"password","gracePeriod":"1h"}}'
          %[2]s
        ownerReferences: [{controller: true, uid: u1}]
      type: Opaque

      data: {password: %[3]s, user: %[4]s}
`, number, more, value("pass"), value("user"))
}

// Run takes what a generator gives where the input asks for it, and says so on what
// it exports, for else the generation could be dropped under it.
func TestRunGeneratedInputs(t *testing.T) {
	const (
		db      = `{object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1}}, details: {name: canary-db}}`
		flagged = `flagged: "2026-01-03T00:00:00Z"`
		waits   = `Waiting nothing | Secret "s" (team/xr-s) is not created: secrets[0].dataFrom[0] waits for `
		bare    = `, rewrite: [{regexp: {source: "^generated.admin/", target: ""}}]`
	)
	none := "resources:\n  db: " + db
	one := none + generationOf(1, "")
	two := none + generationOf(1, flagged) + generationOf(2, "")
	of := func(data string, n int) string {
		return fmt.Sprintf(`Available Secret team/xr-s {data: {%s}, metadata: {annotations: {export.fn.crossplane.io/export-state: {"generators":{"admin":{"generation":%d,"uid":"g%[2]d"}}}}}}`, data, n)
	}
	for name, c := range map[string]struct {
		reason   string
		dataFrom string
		objects  string
		want     string
	}{
		"ExtractUnmarked": {
			reason:   "what is exported is in use, whatever its annotations say",
			dataFrom: `{extract: {key: generated.admin}}`, objects: none + unmarked(generationOf(1, ""), "state") + exportedFrom(`{"admin":{"generation":1,"uid":"g1"}}`),
			want: of("password: canary-pass1, user: canary-user1", 1),
		},
		"FindSome": {
			reason:   "of all generators, those keys that match",
			dataFrom: `{find: {path: generated., name: {regexp: word}}` + bare + `}`, objects: one,
			want: of("password: canary-pass1", 1),
		},
		"FindNothingYet": {
			reason:   "what is not stored is not exported, and not left out either",
			dataFrom: `{find: {path: generated.admin/}, optional: true}`, objects: none,
			want: waits + "generated.admin (its generation 1 is created in this reconcile)",
		},
		"FindByName": {
			reason:   "who wants the keys of all resources does not mean each password beside them",
			dataFrom: `{find: {name: {regexp: "."}}, rewrite: [{regexp: {source: ".*/", target: ""}}]}`, objects: two,
			want: "Available Secret team/xr-s {data: {name: canary-db}}",
		},
		"ValueMap": {
			reason:   "the same in CEL",
			dataFrom: `{valueMap: generated.admin}`, objects: two,
			want: of("password: canary-pass2, user: canary-user2", 2),
		},
		"AsResource": {
			reason:   "a generation is no resource of the Composition's, by a computed name neither",
			dataFrom: `{valueMap: "secrets['generated/admin/' + '1']"}`, objects: one,
			want: waits + "secrets['generated/admin/1']",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports("generators: [{name: admin, password: {secretKeys: [password, user]}, gracePeriod: 1h}]\nsecrets: [{name: s, dataFrom: ["+c.dataFrom+"]}]"), c.objects)
			s.req.Now, s.req.Random = time.Date(2026, 1, 3, 0, 30, 0, 0, time.UTC), bytes.NewReader(make([]byte, 1<<12))
			result := s.run(t)
			if diff := cmp.Diff(c.want, show(result)[0]); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
			if text := s.text(t, result); strings.Contains(text, canary) {
				t.Errorf("Run(...): %s: public data contains a secret:\n%s", c.reason, text)
			}
		})
	}
}

// unmarked is text of generations without what says whose they are.
func unmarked(text string, what ...string) string {
	for _, w := range what {
		text = map[string]func(string) string{
			"labels": func(s string) string { return strings.ReplaceAll(s, "labels: {export", "others: {export") },
			"state": func(s string) string {
				return strings.ReplaceAll(s, "\n          export.fn.crossplane.io/generat", "\n          example.org/generat")
			},
			"name": func(s string) string {
				return strings.ReplaceAll(s, "crossplane.io/composition-resource-name", "example.org/name")
			},
			"owner": func(s string) string { return strings.ReplaceAll(s, "uid: u1}]", "uid: u2}]") },
		}[w](text)
	}
	return text
}

// exportedFrom is export s, as it is observed with values of generations.
func exportedFrom(generations string) string {
	return "\n  s: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-s, namespace: team, annotations: {export.fn.crossplane.io/export-state: '{\"generators\":" + generations + "}'}}, data: {k: eA==}}}"
}

// A generation is made where Crossplane can compose it, or not at all.
func TestRunGeneratorsInNamespaces(t *testing.T) {
	const cluster = "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, uid: u1}, spec: {crossplane: {}}}"
	for name, c := range map[string]struct {
		reason    string
		generator string
		objects   string
		want      string
	}{
		"OtherManifest": {"by whichever field", "resource: {manifest: {apiVersion: example.org/v1, kind: User, metadata: {namespace: other}}}", "", `generators[0].resource.manifest.metadata.namespace: is "other", but a composite in namespace "team" can compose only into its own namespace: leave it out`},
		"Cluster":       {"a Secret needs a namespace", "uuid: {}", cluster, "generators[0].namespace: must be set, because the composite is cluster scoped and has no claim: write the namespace of the object, for example namespace: default"},
		"ClusterSet":    {"and any will do", "namespace: other, uuid: {}", cluster, ""},
		"ClusterWide":   {"a resource may also be cluster-scoped", "resource: {manifest: {apiVersion: example.org/v1, kind: User}}", cluster, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newScene(t, plantest.Exports("generators: [{name: a, "+c.generator+"}]"), c.objects).call(t)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
