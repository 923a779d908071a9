package migrate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate"
)

// head of a Composition, up to the fields of the input.
const pipeline = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  pipeline:
  - step: compose
    input:
      apiVersion: pt.fn.crossplane.io/v1beta1
      kind: Resources
`

const (
	external = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: e}\n"
	storage  = "apiVersion: storage.azure.com/v1\nkind: StorageAccount\nmetadata: {name: s}\n"
)

func TestDiagnostics(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Types": {
			reason: "each wrong type, with its place and without its value",
			input: pipeline + `
      writeConnectionSecretToRef: {name: [canary], patches: {}}
      resources:
      - name: 1
        connectionDetails:
        - {name: {}, type: FromValue, value: 5432}
        - {name: d, type: canary}
        - {type: FromFieldPath, fromFieldPath: ""}
        - canary
        - null
      - name: a
        base: canary
        connectionDetails: {}
`,
			want: []string{
				"f:2: spec.pipeline[0].input.resources[0].name: must be a string",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[4]: must not be null",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[0].name: must be a string",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[0].value: must be a string",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[1].type: must be " +
					"FromConnectionSecretKey, FromFieldPath or FromValue",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[2].fromFieldPath: must not be empty",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[2].name: must be set",
				"f:2: spec.pipeline[0].input.resources[0].connectionDetails[3]: must be an object",
				"f:2: spec.pipeline[0].input.resources[1].connectionDetails: must be a list",
				"f:2: spec.pipeline[0].input.writeConnectionSecretToRef.name: must be a string",
				"f:2: spec.pipeline[0].input.writeConnectionSecretToRef.patches: must be a list",
				"f:2: spec.pipeline[0].input.resources[1].base: must be an object",
			},
		},
		"External": {
			reason: "what there must be in an ExternalSecret",
			input: external + `
spec:
  target: {immutable: canary, template: {metadata: {labels: {a: 1}}}}
  dataFrom:
  - {}
  - {extract: {}}
  - {sourceRef: {generatorRef: {kind: Password}}}
`,
			want: []string{
				"f:1: spec.dataFrom[0]: must have extract, find or sourceRef.generatorRef",
				"f:1: spec.dataFrom[1].extract.key: must be set",
				"f:1: spec.dataFrom[2].sourceRef.generatorRef.name: must be set",
				"f:1: spec.target.template.metadata.labels.a: must be a string",
				"f:1: spec.target.immutable: must be true or false",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, faults := migrate.Migrate(context.Background(), env, parse(t, "f", c.input))
			if r != nil {
				t.Errorf("%s\nthere is a result:\n%s", c.reason, r.YAML)
			}
			var got []string
			for _, f := range faults {
				got = append(got, f.Error())
			}
			if strings.Contains(strings.Join(got, ""), "canary") {
				t.Error("a value is in a fault")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
