package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A move is a Composition whose Secret changes from another function to this one.
type move struct {
	name       string
	composites int
	former     func(stage string, secret bool) string // the step that composes the Database and, if asked, the Secret
}

// moves have 20 composites. Each former pipeline composes a Secret <composite>-login with three keys.
var moves = []move{
	{"patch-and-transform", 10, func(stage string, secret bool) string {
		return stepOf(stage, secret, patchAndTransformInput, patchAndTransformDetails)
	}},
	{"go-templating", 10, func(stage string, secret bool) string {
		return stepOf(stage, secret, goTemplatingInput, goTemplatingSecret)
	}},
}

func stepOf(stage string, secret bool, input, details string) string {
	if !secret {
		details = ""
	}

	return fmt.Sprintf(input, stage) + details
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
          data:
            username: {{ .username }}
            password: {{ .password }}
            extra: {{ printf "app://%s:%s@db" (b64dec .username) (b64dec .password) | b64enc }}
          {{ end }}{{ end }}{{ end }}
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
func (s scenario) migrate() []string {
	file := state("former.yaml")
	s.must(os.WriteFile(file, []byte(takeOver{stage: "former"}.compositions()), 0o600))

	out, err := exec.CommandContext(s.Context(), state("function-export"), "migrate", file).Output()
	s.must(err)

	steps := strings.Split(strings.ReplaceAll("\n"+string(out), "\n", "\n  "), "\n  ---\n") // as items of a pipeline
	if len(steps) != len(moves) {
		s.Fatalf("there are %d steps for %d Compositions:\n%s", len(steps), len(moves), out)
	}

	return steps
}

// installNeighbors installs the functions that compose the Secrets before this function does: stand-ins, because the Go
// proxy refuses their modules.
func installNeighbors(t *testing.T) {
	t.Helper()

	for _, name := range []string{"function-patch-and-transform", "function-go-templating"} {
		if err := installComposer(t.Context(), name, state("function-compose")); err != nil {
			t.Fatal(err)
		}
	}
}
