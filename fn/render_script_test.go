package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestRenderProgram runs the program itself, with a command line, an exit code and the real function.
func TestRenderProgram(t *testing.T) {
	bin := filepath.Join(programFolder(t), "fn")
	step := func(exports string) string {
		return strings.Replace(functiontest.TwoSteps[:strings.Index(functiontest.TwoSteps, "  - step: first")]+functiontest.Composition[strings.Index(functiontest.Composition, "  - step: export"):],
			"kind: Exports}", "kind: Exports, "+exports+"}", 1)
	}
	dir := functiontest.Folder(t, functiontest.Files{
		"composition.yaml":     step("secrets: [{name: connection, from: db, data: [{key: password, value: secret.password}]}]"),
		"observed.yaml":        functiontest.Database + "spec: {writeConnectionSecretToRef: {name: conn}}\n",
		"required.yaml":        functiontest.DatabaseSecret + "stringData: {password: hunter2}\n",
		"bad/xr.yaml":          functiontest.XR,
		"bad/composition.yaml": step("configMaps: [{name: settings, from: db, data: [{key: password, value: secret.password}]}]"),
	})
	const printed = `---
apiVersion: example.org/v1
kind: App
metadata:
  name: demo
  namespace: default
---
apiVersion: v1
data:
  password: '[7 bytes]'
kind: Secret
metadata:
  annotations:
    crossplane.io/composition-resource-name: connection
    export.fn.crossplane.io/revision: "1"
  name: demo-connection
  namespace: default
type: Opaque
`
	const skipped = `skipped step "compose" (function-patch-and-transform): only function-export runs here` + "\n"
	composite := printed[:strings.Index(printed, "---\napiVersion: v1\n")]
	cases := map[string]struct {
		reason string
		args   []string
		exit   int
		stdout string
		stderr string // a regular expression for the whole output
	}{
		"Folder": {
			args: []string{"."}, stdout: printed,
			stderr: regexp.QuoteMeta(skipped) + "ExportsReady=False Waiting: Secret \"connection\" .* is created in this reconcile\n",
		},
		"Files": {
			reason: "The same, in the order and with the flags of the real command.",
			args:   []string{"xr.yaml", "composition.yaml", "-o", "observed.yaml", "-e", "required.yaml"}, stdout: printed,
			stderr: regexp.QuoteMeta(skipped) + "ExportsReady=False Waiting: Secret \"connection\" .* is created in this reconcile\n",
		},
		"Shown": {
			args: []string{".", "--show-secrets"}, stdout: strings.Replace(printed, "'[7 bytes]'", "aHVudGVyMg==", 1),
			stderr: regexp.QuoteMeta(skipped) + "ExportsReady=False Waiting: Secret \"connection\" .* is created in this reconcile\n",
		},
		"Waiting": {
			reason: "To wait is no failure.",
			args:   []string{"xr.yaml", "composition.yaml", "-o", "observed.yaml"}, stdout: composite,
			stderr: regexp.QuoteMeta(skipped) + "ExportsReady=False Waiting:\n  Secret .*\n  see: kubectl describe .*\n",
		},
		"Fatal": {
			reason: "A fault in the input prints no object.",
			args:   []string{"bad", "-rcx"}, exit: 1,
			stderr: regexp.QuoteMeta(skipped) + `bad/composition.yaml:14:150: configMaps\[0\].data\[0\].value: uses secrets.db.password, .*\n` +
				"fatal: the input of pipeline step \"export\" has 1 error\nExportsReady=False InvalidInput\n",
		},
		"BadFile": {
			args: []string{"none"}, exit: 2,
			stderr: "fn: error: cannot read none: no such file or directory\n",
		},
		"NoArguments": {
			exit:   2,
			stderr: "(?s).*expected .*dir.*",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), bin, append([]string{"render"}, tc.args...)...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tc.exit {
				t.Errorf("%s\nexit code %d, want %d", tc.reason, got, tc.exit)
			}
			if diff := cmp.Diff(tc.stdout, stdout.String()); diff != "" {
				t.Errorf("%s\nstdout\n%s", tc.reason, diff)
			}
			if !regexp.MustCompile("^" + tc.stderr + "$").MatchString(stderr.String()) {
				t.Errorf("%s\nstderr is\n%swant\n%s", tc.reason, stderr.String(), tc.stderr)
			}
			if strings.Contains(stdout.String()+stderr.String(), "hunter2") {
				t.Error("the password is out")
			}
		})
	}
}
