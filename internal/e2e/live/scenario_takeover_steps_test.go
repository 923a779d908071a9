package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A move is a Composition whose Secret changes from another function to this one.
type move struct {
	name            string
	composites      int
	compose, secret string // the step that composes the Database, and the part of it that composes the Secret
}

// moves have 20 composites. Each former pipeline composes a Secret <composite>-login with three keys.
var moves = []move{
	{"patch-and-transform", 10, composeByPatch, `
      connectionDetails:
      - {type: FromConnectionSecretKey, name: username, fromConnectionSecretKey: username}
      - {type: FromConnectionSecretKey, name: password, fromConnectionSecretKey: password}
      - {type: FromConnectionSecretKey, name: extra, fromConnectionSecretKey: endpoint}
`},
	{"go-templating", 10, composeByTemplate, `
        {{ with .observed.resources }}{{ with .db }}{{ with .connectionDetails }}
        ---
        apiVersion: v1
        kind: Secret
        metadata:
          name: {{ $name }}-login
          annotations:
            gotemplating.fn.crossplane.io/composition-resource-name: login-secret
            gotemplating.fn.crossplane.io/ready: "True"
        data:
          username: {{ .username }}
          password: {{ .password }}
          extra: {{ printf "app://%s:%s@db" (b64dec .username) (b64dec .password) | b64enc }}
        {{ end }}{{ end }}{{ end }}
`},
}

// The steps that compose a Database, with labels or other metadata of it, and with more.
const (
	composeByPatch = `
- step: compose
  functionRef: {name: function-patch-and-transform}
  input:
    apiVersion: pt.fn.crossplane.io/v1beta1
    kind: Resources
    resources:
    - name: db
      base: {apiVersion: live.example.org/v1, kind: Database, metadata: {METADATA}}
      patches:
      - fromFieldPath: metadata.name
        toFieldPath: metadata.name
        transforms: [{type: string, string: {type: Format, fmt: "%s-db"}}]
      - fromFieldPath: metadata.name
        toFieldPath: spec.writeConnectionSecretToRef.name
        transforms: [{type: string, string: {type: Format, fmt: "%s-db-details"}}]
`
	composeByTemplate = `
- step: compose
  functionRef: {name: function-go-templating}
  input:
    apiVersion: gotemplating.fn.crossplane.io/v1beta1
    kind: GoTemplate
    source: Inline
    inline:
      template: |
        {{ $name := .observed.composite.resource.metadata.name }}
        apiVersion: live.example.org/v1
        kind: Database
        metadata:
          name: {{ $name }}-db
          annotations:
            gotemplating.fn.crossplane.io/composition-resource-name: db
            gotemplating.fn.crossplane.io/ready: "True"
          METADATA
        spec: {writeConnectionSecretToRef: {name: {{ $name }}-db-details}}
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

// compositions returns the Compositions of the moves.
func (s scenario) compositions(o takeOver) (out []*unstructured.Unstructured) {
	for i, m := range moves {
		steps := strings.ReplaceAll(m.compose, "METADATA", "labels: {stage: "+o.stage+"}")

		switch {
		case o.migrated != nil:
			steps += o.migrated[i]
		case o.prune:
			steps += exportStep + "      prune: true\n"
		case o.exports:
			steps += exportStep
		default:
			steps += m.secret
		}

		out = append(out, compositionOf("takeover-"+m.name, "App", s.pipeline(steps)))
	}

	return out
}

// pipeline parses the steps of a pipeline.
func (s scenario) pipeline(steps string) []any {
	s.Helper()

	parsed, err := live.Parse("steps:" + steps)
	s.must(err)

	pipeline, _ := parsed[0].Object["steps"].([]any)

	return pipeline
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
	var text strings.Builder

	for _, o := range s.compositions(takeOver{stage: "former"}) {
		b, err := yaml.Marshal(o.Object)
		s.must(err)
		fmt.Fprintf(&text, "---\n%s", b)
	}

	file := state("former.yaml")
	s.must(os.WriteFile(file, []byte(text.String()), 0o600))

	out, err := exec.CommandContext(s.Context(), state("function-export"), "migrate", file).Output()
	s.must(err)

	steps := strings.Split("\n"+string(out), "\n---\n")
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
