package e2e

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// Kubernetes' own validation and the function agree about inputs with each form of rule. That the function enforces all
// rules of the schema is tested beside the reference.
func TestSchemaAgreesWithFunction(t *testing.T) {
	const data = `data: [{key: k, value: "'x'"}]`
	accepted := map[string]string{
		"Secret":            `secrets: [{name: a, ` + data + `}]`,
		"EmptyDataBeside":   `secrets: [{name: a, data: [], dataFrom: [{extract: {key: db}}]}]`,
		"EnvironmentBeside": `environment: {environmentConfigs: [{ref: {name: a}, selector: {}}]}`,
		"GeneratorKeepersPeriodic": `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, ` +
			`refreshInterval: 1h, keepersExpression: "1"}]`,
		"MergeJSONInto": `secrets: [{name: a, dataFrom: [{extract: {key: a}, ` +
			`rewrite: [{merge: {strategy: JSON, into: b}}]}]}]`,
	}
	refused := map[string]string{
		"NoData":           `secrets: [{name: a}]`,
		"NameOverBoth":     "secrets: [{name: a, " + data + "}]\nconfigMaps: [{name: a, " + data + "}]",
		"ValueWithoutKey":  `secrets: [{name: a, data: [{value: "'x'"}]}]`,
		"KeyWithValueMap":  `secrets: [{name: a, data: [{key: k, valueMap: "{'a': 'b'}"}]}]`,
		"DotDotKey":        `secrets: [{name: a, data: [{key: ..x, value: "'x'"}]}]`,
		"WrongType":        `secrets: [{name: a, data: [{key: k, value: 5}]}]`,
		"BadNamespace":     `secrets: [{name: a, metadata: {namespace: a.b}, ` + data + `}]`,
		"TTLShort":         `ttl: 500ms`,
		"TTLText":          `ttl: soon`,
		"StatusConditions": `status: [{fieldPath: conditions, value: "1"}]`,
		"SourceReserved":   `sources: [{name: environment, apiVersion: v1, kind: ConfigMap}]`,
		"SourceElsewhere":  `sources: [{name: a, apiVersion: v1, kind: Secret, namespace: b, nameExpression: "'c'"}]`,
		"SourceCluster":    `sources: [{name: a, apiVersion: v1, kind: Secret, scope: Cluster}]`,
		"TwoInputs":        `secrets: [{name: a, dataFrom: [{extract: {key: a}, find: {path: b}}]}]`,
		"TwoRules": `secrets: [{name: a, dataFrom: [{extract: {key: a}, ` +
			`rewrite: [{regexp: {source: a, target: b}, merge: {}}]}]}]`,
		"MergeInto":      `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {into: b}}]}]}]`,
		"ConflictPolicy": `secrets: [{name: a, conflictPolicy: Nope, ` + data + `}]`,
		"EnvironmentNoValue": `environment: {environmentConfigs: [{type: Selector, ` +
			`selector: {matchLabels: [{type: Value, key: a}]}}]}`,
		"FromCompositeFrom": `fromComposite: {from: c, fieldPath: spec.a, allow: {secrets: [a, b], ` +
			`resources: [c]}}`,
		"GeneratorTwoKinds":           `generators: [{name: a, password: {}, uuid: {}}]`,
		"GeneratorPeriodicNoInterval": `generators: [{name: a, uuid: {}, refreshPolicy: Periodic}]`,
		"GeneratorKeepersOnce": `generators: [{name: a, uuid: {}, refreshPolicy: CreatedOnce, ` +
			`keepersExpression: "1"}]`,
		"GeneratorSSHBits25519": `generators: [{name: a, sshKey: {type: ed25519, bits: 256}}]`,
		"GeneratorCertificateDurationText": `generators: [{name: a, certificate: {subject: {commonName: x}, ` +
			`duration: 90d}}]`,
		"GeneratorResourceSecretNoReady": `generators: [{name: a, resource: {manifest: {apiVersion: v1, ` +
			`kind: Secret}}}]`,
		"GeneratorResourceName": `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, ` +
			`kind: K, metadata: {name: x}}}}]`,
		"GeneratorGraceOverIntervals": `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, ` +
			`refreshInterval: 1h, gracePeriod: 16h}]`,
		"AuthorsName":     `secrets: [{name: fromComposite/Secret/a, metadata: {name: a}, ` + data + `}]`,
		"GenerationsName": `secrets: [{name: generated/a/1, metadata: {name: a}, ` + data + `}]`,
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, inputs := range []map[string]string{accepted, refused} {
		for name, input := range inputs {
			objects[name] = parseObjects(t, "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+
				"metadata: {name: a}\n"+input)[0]
		}
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	bySchema := validateNamed(t, PeersForTest(t), schema, objects)
	for name := range objects {
		input, err := structpb.NewStruct(objects[name].Object)
		if err != nil {
			t.Fatal(err)
		}
		_, wrong := plan.Compile(t.Context(), env, input)
		_, want := refused[name]
		if got := len(wrong) > 0; got != want {
			t.Errorf("%s: the function: want refused %t, got %v", name, want, wrong)
		}
		if got := len(bySchema[name]) > 0; got != want {
			t.Errorf("%s: the schema: want refused %t, got %v", name, want, bySchema[name])
		}
	}
}
