package test_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
)

// A list of exports, one with a password, and a status with which tests play.
const listed = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources: [{name: db, base: {apiVersion: example.org/v1, kind: Database,
        spec: {writeConnectionSecretToRef: {name: db}}}}]
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      generators: [{name: admin, password: {length: 16}}]
      secrets:
      - name: user
        forEachExpression: FOREACH
        keyExpression: item
        data: [{key: password, value: "secrets.db.password + item"}, {key: own, value: generated.admin.password}]
`

// playing returns a test with moments, whose database reports two users.
func playing(always, moments string) string {
	return `
apiVersion: test.export.fn.crossplane.io/v1alpha1
kind: ExportsTest
metadata: {name: apps}
spec:
  inputs:
    composition: composition.yaml
    xr: {apiVersion: example.org/v1, kind: App, metadata: {name: demo, namespace: default}, spec: {users: [anna, bert]}}
  tests:
  - name: plays
    always: [` + always + `]
    moments:
    - name: created
      at: 2026-01-01T09:00:00Z
      observe: {db: {ready: true, status: {users: [anna, bert]}, connectionDetails: {password: ` + canary + `}}}
` + moments
}

// TestListLaws is about objects of a list: they may go if the composite changes, and not because a source has vanished.
func TestListLaws(t *testing.T) {
	const fromStatus = "\"resources.?db.?status.?users.orValue([])\""
	for name, tc := range map[string]struct{ forEach, moment, want string }{
		"Vanishes": {fromStatus, "{observe: {db: {gone: true}}}", "the law noLostValue is broken .* the object of " +
			"user/anna is deleted"},
		"Kept":       {"resources.db.status.users", "{observe: {db: {gone: true}}}", ""},
		"Edited":     {"composite.spec.users", "{do: [{edit: {patch: {spec: {users: [bert]}}}}]}", ""},
		"Reported":   {fromStatus, "{observe: {db: {status: {users: [bert]}}}}", ""},
		"Unobserved": {fromStatus, "{until: Reconciled, observe: {db: {gone: true}}}", "the object of user/anna is deleted"},
	} {
		dir := folder(t, map[string]string{
			"composition.yaml": strings.Replace(listed, "FOREACH", tc.forEach, 1), "test.yaml": playing("noLostValue, neverHalf",
				"    - "+tc.moment),
		})
		stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}})
		if failed := code == 1; failed != (tc.want != "") || !regexp.MustCompile(tc.want).MatchString(stdout) {
			t.Errorf("%s: want %q, got %d:\n%s%s", name, tc.want, code, stdout, stderr)
		}
	}
}

// TestComposedAnew is about a new Composition: keys and exports that it does not have may go.
func TestComposedAnew(t *testing.T) {
	users := strings.Replace(listed, "FOREACH", "composite.spec.users", 1)
	dir := folder(t, map[string]string{
		"composition.yaml": users,
		"other.yaml":       strings.Replace(users, ", {key: own, value: generated.admin.password}", "", 1),
		"test.yaml":        playing("noLostValue", "    - {composition: other.yaml, expect: {changed: [user/anna]}}"),
	})
	if stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}}); code != 0 {
		t.Errorf("want no lost value, got %d:\n%s%s", code, stdout, stderr)
	}
}

// TestUnknownNames has the messages of names that do not exist. Without them, these tests would pass, or say nothing.
func TestUnknownNames(t *testing.T) {
	for moment, want := range map[string]string{
		"{do: [{rotate: admn}]}": `no generator has the name "admn": did you mean admin?`,
		"{do: [{provider: {resource: db, accepts: candidate.root.password}}]}": `no generator has the name "root"`,
		"{do: [{provider: {resource: dbs, accepts: candidate.admin.password}}]}": `no object has the composition resource ` +
			`name "dbs"`,
		"{do: [{provider: {accepts: candidate.root.password}}]}": `no generator has the name "root"`,
		"{expect: {gone: [{generation: root/1}]}}":               `no generator has the name "root"`,
		"{do: [{edit: {patch: {status: {password: x}}}}], " +
			"expect: {assert: [composite.status.passwd == 'x']}}": "cannot be evaluated: no such key: passwd",
		"{do: [{loseWrite: usr/anna}]}": `no write of "usr/anna" is lost, because there is none`,
		"{do: [{delete: user/ann}]}": `no object has the composition resource name "user/ann": did you ` +
			`mean user/anna?`,
		"{do: [{edit: {object: usr, patch: {a: b}}}]}": `no object has the composition resource name "usr"`,
		"{do: [{restore: creatd}]}":                    `no earlier moment has the name "creatd"`,
		"{do: [{late: Secret}]}":                       "late must not be Secret",
		"{observe: {dbs: {ready: true}}}":              `no object has the composition resource name "dbs": did you mean db?`,
		"{expect: {absent: [usr]}}": `nothing in the test has the composition resource name "usr": did ` +
			`you mean user?`,
		"{expect: {gone: [usr/anna]}}":        `nothing in the test has the composition resource name "usr/anna"`,
		"{expect: {kept: [user/ann]}}":        "user/ann does not exist: did you mean user/anna?",
		"{expect: {objects: {user/anna: x}}}": "expect.objects[user/anna]: must be an object, but is a string",
		"{}\n    - {at: 2025-01-01T00:00:00Z}": "moments[2].at: is before the moment above, which is at " +
			"2026-01-01T09:00:00Z",
		"{at: 2026-02-01T00:00:00Z, after: 1h}":         "moments[1].after: cannot be set beside at",
		"{after: 1h}\n    - {at: 2026-01-01T09:30:00Z}": "moments[2].at: is before the moment above",
	} {
		dir := folder(t, map[string]string{
			"composition.yaml": strings.Replace(listed, "FOREACH", "composite.spec.users", 1), "test.yaml": playing("", "    - "+
				moment),
		})
		stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}})
		if code == 0 || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: want %q, got %d:\n%s%s", moment, want, code, stdout, stderr)
		}
	}
	dir := folder(t, map[string]string{
		"composition.yaml": strings.Replace(listed, "FOREACH", "composite.spec.users", 1),
		"test.yaml":        playing("overlap: {of: admn, atLeast: 24h}", ""),
	})
	stdout, _, code := run(t.Context(), t, &test.Command{Paths: []string{dir}})
	if want := `no generator has the name "admn": did you mean admin?`; code != 1 || !strings.Contains(stdout, want) {
		t.Errorf("want %q, got %d:\n%s", want, code, stdout)
	}
}

// TestNoLeak prints failures about each place that can have a value of a Secret. No output has it, in any form.
func TestNoLeak(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(canary + "anna"))
	leaks := `    - name: leaks
      do:
      - annotate: {example.org/last: 'before ` + canary + ` after'}
      - edit: {patch: {status: {password: ` + canary + `}}}
      - edit: {object: db, patch: {metadata: {annotations: {example.org/applied: '{"data":{"password":"` + encoded + `"}}'}}, status: {token: ` + canary + `}}}
      - edit: {object: user/anna, patch: {metadata: {annotations: {example.org/applied: ` + canary + `}}}}
      expect:
        composite: {metadata: {annotations: {example.org/last: x}}, status: {password: {matches: '^x'}}}
        objects:
          db: {metadata: {annotations: {example.org/applied: x}}, status: {token: {absent: true}}}
          user/anna: {metadata: {annotations: {example.org/applied: x}}, data: {password: {matches: '^` + canary + `('},
            own: {matches: x}}}
          user/bert: {data: x}
          generated/admin/1: {exactly: {data: x}}
        results: [{message: x}]
        assert:
        - objects['user/anna'].data.password == '` + canary + `'
        - int(objects['user/anna'].data.password) == 1
`
	dir := folder(t, map[string]string{"composition.yaml": strings.Replace(listed, "FOREACH", "composite.spec.users", 1),
		"test.yaml": playing("", leaks)})
	for _, output := range []string{"text", "json", "junit", "github"} {
		shows := output == "junit" || output == "github"
		stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, Output: output, ShowSecrets: shows})
		out := stdout + stderr
		if code != 1 || strings.Count(out, "bytes, label") < 7 || !strings.Contains(out, "is no regular expression: "+
			"missing closing )") {
			t.Errorf("%s: want failures with labels, got %d:\n%s", output, code, out)
		}
		if strings.Contains(out, canary) || strings.Contains(out, encoded[:20]) {
			t.Errorf("%s: the output has a value of a Secret:\n%s", output, out)
		}
	}
}

// TestFailFast ends with the exit code of a failure: tests that were running are not cut off.
func TestFailFast(t *testing.T) {
	all := strings.Replace(swapped, "  - name: passes", `  - name: fails
    moments: [{expect: {gone: [db]}}]
  - name: is long
    moments: [{}, {after: 100h}, {after: 100h}]
  - name: passes`, 1)
	dir := folder(t, map[string]string{"composition.yaml": composition, "test.yaml": all})
	for range 5 {
		if stdout, _, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, FailFast: true}); code != 1 ||
			strings.Contains(stdout, "cannot run") {
			t.Errorf("want exit code 1, got %d:\n%s", code, stdout)
		}
	}
}
