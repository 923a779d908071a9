package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// neighbors is the environment variable with the folder of the programs function-patch-and-transform and
// function-go-templating. If it is not set, TestTakeOver uses stand-ins, because the Go proxy refuses the modules.
const neighbors = "LIVE_NEIGHBORS"

// A move is a Composition whose Secret changes from another function to this one.
type move struct {
	name       string
	composites int
	former     func(stage string, secret bool) string // the step that composes the Database and, if asked, the Secret
}

// moves have 20 composites. Each former pipeline composes a Secret <composite>-login with three keys.
var moves = []move{
	{"patch-and-transform", 10, patchAndTransformStep},
	{"go-templating", 5, goTemplatingStep(dataTemplate)},
	{"go-templating-text", 5, goTemplatingStep(stringDataTemplate)},
}

const (
	patchAndTransformInput = `
  - step: compose
    functionRef: {name: function-patch-and-transform}
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
      resources:
      - name: db
        base: {apiVersion: live.example.org/v1, kind: Database, metadata: {labels: {stage: %s}}}
        patches:
        - fromFieldPath: metadata.name
          toFieldPath: metadata.name
          transforms: [{type: string, string: {type: Format, fmt: "%%s-db"}}]
        - fromFieldPath: metadata.name
          toFieldPath: spec.writeConnectionSecretToRef.name
          transforms: [{type: string, string: {type: Format, fmt: "%%s-db-details"}}]
`
	patchAndTransformDetails = `
        connectionDetails:
        - {type: FromConnectionSecretKey, name: username, fromConnectionSecretKey: username}
        - {type: FromConnectionSecretKey, name: password, fromConnectionSecretKey: password}
        - {type: FromConnectionSecretKey, name: extra, fromConnectionSecretKey: endpoint}
`
	goTemplatingInput = `
  - step: compose
    functionRef: {name: function-go-templating}
    input:
      apiVersion: gotemplating.fn.crossplane.io/v1beta1
      kind: GoTemplate
      source: Inline
      inline:
        template: |
          {{ $composite := .observed.composite.resource.metadata.name }}
          apiVersion: live.example.org/v1
          kind: Database
          metadata:
            name: {{ $composite }}-db
            labels: {stage: %s}
            annotations:
              gotemplating.fn.crossplane.io/composition-resource-name: db
              gotemplating.fn.crossplane.io/ready: "True"
          spec: {writeConnectionSecretToRef: {name: {{ $composite }}-db-details}}
`
	goTemplatingSecret = `
          {{ with .observed.resources }}{{ with .db }}{{ with .connectionDetails }}
          ---
          apiVersion: v1
          kind: Secret
          metadata:
            name: {{ $composite }}-login
            annotations:
              gotemplating.fn.crossplane.io/composition-resource-name: login-secret
              gotemplating.fn.crossplane.io/ready: "True"
%s
          {{ end }}{{ end }}{{ end }}
`
	dataTemplate = `
          data:
            username: {{ .username }}
            password: {{ .password }}
            extra: {{ printf "app://%s:%s@db" (b64dec .username) (b64dec .password) | b64enc }}
`
	stringDataTemplate = `
          stringData:
            username: {{ b64dec .username }}
            password: {{ b64dec .password }}
            extra: {{ b64dec .endpoint }}
`
	exportStep = `
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      secrets:
      - name: connection
        metadata: {nameExpression: composite.spec.writeConnectionSecretToRef.name}
        from: db
        data: [{valueMap: "{'username': secret.username, 'password': secret.password}"}]
`
)

func patchAndTransformStep(stage string, secret bool) string {
	step := fmt.Sprintf(patchAndTransformInput, stage)
	if secret {
		step += patchAndTransformDetails
	}

	return step
}

func goTemplatingStep(template string) func(stage string, secret bool) string {
	return func(stage string, secret bool) string {
		step := fmt.Sprintf(goTemplatingInput, stage)
		if secret {
			step += fmt.Sprintf(goTemplatingSecret, template)
		}

		return step
	}
}

// A takeOver is a stage of the test: the pipelines of all moves change at once.
type takeOver struct {
	stage   string
	exports bool // the function composes the Secrets, otherwise the former one
	prune   bool

	migrated []string // the step of each move that fn migrate wrote
}

func (s takeOver) compositions() string {
	var out strings.Builder

	for i, m := range moves {
		steps := m.former(s.stage, !s.exports)

		switch {
		case s.migrated != nil:
			steps += s.migrated[i]
		case s.exports:
			steps += exportStep
			if s.prune {
				steps += "        prune: true\n"
			}
		}

		fmt.Fprintf(&out, `---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: takeover-%s}
spec:
  compositeTypeRef: {apiVersion: live.example.org/v1, kind: App}
  mode: Pipeline
  pipeline:%s
`, m.name, steps)
	}

	return out.String()
}

// names returns the names of the composites.
func (m move) names() []string {
	out := make([]string, m.composites)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", m.name, i)
	}

	return out
}

func allComposites() (out []string) {
	for _, m := range moves {
		out = append(out, m.names()...)
	}

	return out
}

// migrate runs fn migrate for the former pipelines. It returns the step of each move.
func migrate(ctx context.Context) ([]string, error) {
	file := state("former.yaml")
	if err := os.WriteFile(file, []byte(takeOver{stage: "former"}.compositions()), 0o600); err != nil {
		return nil, err
	}

	out, err := exec.CommandContext(ctx, state("function-export"), "migrate", file).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot migrate: %w", err)
	}

	steps := strings.Split(strings.ReplaceAll("\n"+string(out), "\n", "\n  "), "\n  ---\n") // as items of a pipeline
	if len(steps) != len(moves) {
		return nil, fmt.Errorf("there are %d steps for %d Compositions:\n%s", len(steps), len(moves), out)
	}

	return steps, nil
}

// installNeighbors installs the functions that compose the Secrets before this function does.
func installNeighbors(ctx context.Context, t *testing.T) {
	t.Helper()

	for _, name := range []string{"function-patch-and-transform", "function-go-templating"} {
		program := state("function-compose")

		if dir := os.Getenv(neighbors); dir != "" {
			program = state(name)
			// They have no command and no flag for metrics, and their debug log contains secrets.
			script := fmt.Sprintf("#!/bin/sh\nexec %q \"$3\" \"$4\"\n", filepath.Join(dir, name))

			if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		}

		if err := installComposer(ctx, name, program); err != nil {
			t.Fatal(err)
		}
	}
}
