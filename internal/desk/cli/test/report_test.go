package test_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// The password that must not be in any output.
const canary = "not-real-canary"

const (
	composition = `
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
      resources:
      - {name: db, base: {apiVersion: example.org/v1, kind: Database, spec: {writeConnectionSecretToRef: {name: db}}}}
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      secrets: [{name: url, data: [{key: url,
        value: "'db://%s:%s@host'.format([secrets.db.username, secrets.db.password])"}]}]
`
	swapped = `
apiVersion: test.export.fn.crossplane.io/v1alpha1
kind: ExportsTest
metadata: {name: apps}
spec:
  inputs:
    composition: composition.yaml
    xr: {apiVersion: example.org/v1, kind: App, metadata: {name: demo, namespace: default}, spec: {}}
  tests:
  - name: passes
    moments: [{expect: {absent: [url]}}]
  - name: has the password, and the user
    moments:
    - name: created
      observe: {db: {ready: true, connectionDetails: {username: app, password: not-real-canary}}}
      expect:
        objects: {url: {data: {url: 'db://not-real-canary:app@host'}}}
        changed: [url]
  - name: cannot be right
    moments: [{expect: {assert: ["objects.url.data.url == 'x'", "size(conditions) == 1"]}}]
`
)

func swappedFolder(t testing.TB) string {
	return folder(t, map[string]string{"composition.yaml": composition, "test.yaml": swapped})
}

func TestText(t *testing.T) {
	dir := swappedFolder(t)
	stdout, _, code := run(t.Context(), t, &test.Command{Paths: []string{dir}})
	want := `^ok    \S+test.yaml: passes \(1 moment, \ds\)
FAIL  \S+test.yaml: has the password, and the user \(1 moment, \ds\)
    line 17, moment 1 \(created\), expect.objects.url.data.url: differs
        - \[29 bytes, label (\w+)\]
        \+ \[29 bytes, label (\w+)\]
FAIL  \S+test.yaml: cannot be right \(1 moment, \ds\)
    line 20, moment 1, expect.assert\[0\]: cannot be evaluated: no such key: url
        - objects.url.data.url == 'x'
1 passed, 2 failed \(\d+\.\ds\)
$`
	m := regexp.MustCompile(want).FindStringSubmatch(stdout)
	if m == nil || m[1] == m[2] || code != 1 || strings.Contains(stdout, canary) {
		t.Errorf("want exit code 1, two labels, and\n%s\ngot %d:\n%s", want, code, stdout)
	}
	stdout, _, _ = run(t.Context(), t, &test.Command{Paths: []string{dir}, ShowSecrets: true})
	if !strings.Contains(stdout, `+ "db://app:not-real-canary@host"`) {
		t.Errorf("want the value with --show-secrets, got:\n%s", stdout)
	}
}

func TestRunAndFailFast(t *testing.T) {
	dir := swappedFolder(t)
	if stdout, _, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, Only: "pass(es|ed)$"}); code != 0 ||
		!strings.Contains(stdout, "1 passed, 0 failed") {
		t.Errorf("want one test, got %d: %s", code, stdout)
	}
	if _, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, Only: "nothing"}); code != 2 ||
		!strings.Contains(stderr, "no test matches") {
		t.Errorf("want no test, got %d: %s", code, stderr)
	}
}

// TestJUnit reads the report as test reports do. Values are in no report, also with --show-secrets.
func TestJUnit(t *testing.T) {
	stdout, _, code := run(t.Context(), t, &test.Command{Paths: []string{swappedFolder(t)}, Output: "junit",
		ShowSecrets: true})
	var report struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string  `xml:"name,attr"`
				Class   string  `xml:"classname,attr"`
				Time    float64 `xml:"time,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(stdout), &report); err != nil || code != 1 {
		t.Fatalf("cannot read the report: %v, %d:\n%s", err, code, stdout)
	}
	cases := report.Suites[0].Cases
	if report.Tests != 3 || report.Failures != 2 || len(cases) != 3 || cases[0].Failure != nil || cases[1].Failure == nil {
		t.Fatalf("want three tests with two failures, got:\n%s", stdout)
	}
	if !strings.Contains(cases[1].Failure.Text, "expect.objects.url.data.url") || strings.Contains(stdout, canary) {
		t.Errorf("want the field and no value, got:\n%s", stdout)
	}
}

// TestGitHub compares the output with the format of workflow commands.
func TestGitHub(t *testing.T) {
	stdout, _, _ := run(t.Context(), t, &test.Command{Paths: []string{swappedFolder(t)}, Output: "github",
		ShowSecrets: true})
	want := regexp.MustCompile(`(?m)^::error file=\S+test\.yaml,line=17,col=1,title=has the password%2C and the ` +
		`user::line 17, .*%0A- \[29 bytes`)
	if !want.MatchString(stdout) || strings.Contains(stdout, canary) {
		t.Errorf("want %s and no value, got:\n%s", want, stdout)
	}
}

func TestJSON(t *testing.T) {
	stdout, _, _ := run(t.Context(), t, &test.Command{Paths: []string{swappedFolder(t)}, Output: "json"})
	var got []struct {
		Name     string
		Passed   bool
		Line     int
		Failures []struct {
			Line    int
			Field   string
			Message string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || len(got) != 3 || got[1].Passed ||
		got[1].Failures[0].Line != 17 {
		t.Errorf("want three tests, got %v:\n%s", err, stdout)
	}
}

// TestUpdate writes expected values in place, and keeps the rest of the file.
func TestUpdate(t *testing.T) {
	t.Setenv("CI", "")
	dir := swappedFolder(t)
	stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, Only: "has the password",
		Update: true})
	if code != 0 || !strings.Contains(stdout, "differs") || !strings.Contains(stdout, "wrote ") {
		t.Errorf("want the difference and the file, got %d:\n%s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "test.yaml"))
	want := strings.Replace(swapped, "'db://not-real-canary:app@host'", "'db://app:not-real-canary@host'", 1)
	if err != nil || string(text) != want {
		t.Errorf("want one other value, got:\n%s", text)
	}
	t.Setenv("CI", "true")
	if _, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, Update: true}); code != 2 ||
		!strings.Contains(stderr, "--update in CI") {
		t.Errorf("want no update in CI, got %d: %s", code, stderr)
	}
}

// TestUpdateValues updates each kind of expected value. Comments and quotes stay.
func TestUpdateValues(t *testing.T) {
	t.Setenv("CI", "")
	const before = `
    - name: changes
      observe: {db: {connectionDetails: {username: app, password: not-real-1}}}
      do: [{edit: {patch: {status: {text: "one\ntwo\n", list: [a, {b: 1}], lines: "x\ny", port: 5432}}}}]
      expect:
        condition: {reason: Held} # of the export
        composite:
          status:
            # A block.
            text: |
              one
            list: # of two
            - a
            port: 1
            lines: x
            gone: x
        objects:
          url:
            exactly:
              apiVersion: v1
              kind: Secret
              data: {url: 'db://x', other: x} # the URL
              metadata: {name: demo-url, namespace: default, labels: {a: b}}
`
	after := strings.NewReplacer(
		"reason: Held", "reason: Available", "|\n              one\n", "\"one\\ntwo\\n\"\n",
		"# of two\n            - a\n", "# of two\n            - \"a\"\n            - {\"b\":1}\n", "port: 1", "port: 5432",
		"lines: x", `lines: "x\ny"`,
		"gone: x", `gone: {"absent":true}`, "{url: 'db://x', other: x}", "{url: 'db://app:not-real-1@host'}",
		", labels: {a: b}}", "}\n              type: \"Opaque\"").Replace(before)
	text := strings.Replace(swapped, "    moments: [{expect: {absent: [url]}}]", "    moments:"+before, 1)
	dir := folder(t, map[string]string{"composition.yaml": composition, "test.yaml": text})
	stdout, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}, Only: "passes", Update: true})
	got, err := os.ReadFile(filepath.Join(dir, "test.yaml"))
	if diff := cmp.Diff(strings.Replace(text, before, after, 1), string(got)); diff != "" || err != nil || code != 0 {
		t.Errorf("want other values, got %d:\n%s%s\n-want, +got:\n%s", code, stdout, stderr, diff)
	}
	if stdout, stderr, code = run(t.Context(), t, &test.Command{Paths: []string{dir}, Only: "passes"}); code != 0 {
		t.Errorf("the updated test fails with %d:\n%s%s", code, stdout, stderr)
	}
}

// TestAnotherField: the value of a field that is not expected is shown.
func TestAnotherField(t *testing.T) {
	t.Setenv("CI", "")
	dir := folder(t, map[string]string{"composition.yaml": composition, "xr.yaml": functiontest.XR})
	expected := filepath.Join(dir, "expected.yaml")
	rendered := functiontest.XR + "\nstatus: {conditions: [{type: ExportsReady, status: 'False', reason: Waiting}]}\n"
	if err := os.WriteFile(expected, []byte(rendered), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _, _ := run(t.Context(), t, &test.Command{Paths: []string{dir}})
	if !regexp.MustCompile(`ExportsReady: has another field message\n +\+ ".+"`).MatchString(stdout) {
		t.Errorf("the message is not shown:\n%s", stdout)
	}
}

// TestFolder is about a folder with an expected.yaml.
func TestFolder(t *testing.T) {
	t.Setenv("CI", "")
	dir := folder(t, map[string]string{"composition.yaml": composition, "xr.yaml": functiontest.XR,
		"expected.yaml": functiontest.XR})
	stdout, _, code := run(t.Context(), t, &test.Command{Paths: []string{dir}})
	if code != 1 || !strings.Contains(stdout, "composite.status.conditions: has another field ExportsReady") {
		t.Errorf("want a failure, got %d:\n%s", code, stdout)
	}
	if stdout, _, code = run(t.Context(), t, &test.Command{Paths: []string{dir}, Update: true}); code != 0 {
		t.Errorf("want an update, got %d:\n%s", code, stdout)
	}
	if stdout, _, code = run(t.Context(), t, &test.Command{Paths: []string{dir}}); code != 0 {
		t.Errorf("want no difference after the update, got %d:\n%s", code, stdout)
	}
}

// TestUnreadable has the messages of files that are not valid tests.
func TestUnreadable(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"Unknown": {"moments: [{expect: {absent: [url]}}]", "moment: []",
			`test.yaml:11:5: spec.tests[0].moment: is an unknown field: did you mean moments?`},
		"Type": {"absent: [url]", "absent: url", "spec.tests[0].moments[0].expect.absent: must be a list, but is a " +
			"string"},
		"Required": {"- name: passes\n    moments", "- moments", "spec.tests[0].name: must be set"},
		"Duration": {"[{expect: {absent", "[{after: 1 day, expect: {absent", "spec.tests[0].moments[0].after: must be a " +
			"duration, for example 60s or 1h30m; a day is 24h"},
		"Time": {"[{expect: {absent", "[{at: yesterday, expect: {absent", "spec.tests[0].moments[0].at: must be a " +
			"time, for example 2026-01-31T09:00:00Z"},
		"Enum": {"[{expect: {absent", "[{until: Done, expect: {absent", "spec.tests[0].moments[0].until: must be " +
			"Settled or Reconciled"},
		"Law": {"moments: [{expect: {absent", "always: [neverHlf]\n    moments: [{expect: {absent",
			"spec.tests[0].always[0]: is an unknown law: did you mean neverHalf?"},
		"Action": {"[{expect: {absent", "[{do: [{rotate: a, restart: true}], expect: {absent",
			"spec.tests[0].moments[0].do[0]: must have one field, but has 2: write each action as an item of its own"},
		"Assertion": {"size(conditions) == 1", "size(condition) == 1", "undeclared reference to 'condition'"},
		"SameName": {"name: passes", "name: cannot be right", "spec.tests[2].name: is also the name of spec.tests[0]: " +
			"rename one of them"},
		"Recorded": {"  tests:\n", "  steps: {compose: {resources: {db: nope.yaml}}}\n  tests:\n",
			"spec.steps[compose].resources[db]: cannot read"},
		"Exactly": {"{url: {data: {url: 'db://not-real-canary:app@host'}}}", "{url: {exactly: true}}",
			"expect.objects.url: exactly must be an object, and the only field"},
		"NotYAML": {"kind: ExportsTest", "kind: {ExportsTest", "test.yaml:"},
	} {
		dir := folder(t, map[string]string{"composition.yaml": composition, "test.yaml": strings.Replace(swapped, tc.from,
			tc.to, 1)})
		_, stderr, code := run(t.Context(), t, &test.Command{Paths: []string{dir}})
		if code != 2 || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, canary) {
			t.Errorf("%s: want %q, got %d:\n%s", name, tc.want, code, stderr)
		}
	}
}

// TestRealCredentials warns about fixtures that look real.
func TestRealCredentials(t *testing.T) {
	text := strings.ReplaceAll(swapped, "not-real-canary", "AKIA"+"IOSFODNN7EXAMPLE")
	dir := folder(t, map[string]string{"composition.yaml": composition, "test.yaml": text})
	_, stderr, _ := run(t.Context(), t, &test.Command{Paths: []string{dir}})
	if strings.Contains(stderr, "IOSFODNN7") || !strings.Contains(stderr, "test.yaml:15: warning: looks like a real "+
		"credential") {
		t.Errorf("want a warning, got:\n%s", stderr)
	}
}

// TestWatch runs the tests again within 200 ms after a file has changed, and the time that the tests need.
func TestWatch(t *testing.T) {
	dir := swappedFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out writer
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.watch(ctx, t, dir)
	}()
	out.wait(t, 1)
	if err := os.WriteFile(filepath.Join(dir, "test.yaml"), []byte(strings.Replace(swapped, "passes", "passes again", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	out.wait(t, 2)
	if !strings.Contains(out.String(), "passes again") {
		t.Errorf("want the changed test, got:\n%s", out.String())
	}
	cancel()
	<-done
}
