package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// The schema and the function agree: the function accepts every input that an editor or crossplane
// resource validate accepts, and the other way round. Errors that only the function can find, for
// example in an expression, are not included, or are marked as weaker: a manifest that the schema
// does not check, and names in texts. Each rule in CEL has a case, and each keyword has one: that the
// function enforces all bounds is tested beside the reference.
func TestSchemaAgreesWithFunction(t *testing.T) {
	p := PeersForTest(t)
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	const data = `data: [{key: k, value: "'x'"}]`
	items := func(n int, format string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(all, ", ")
	}
	cases := map[string]struct {
		input   string
		refused bool
		weaker  bool // of the schema, which lets it pass
	}{
		"Secret":                {input: `secrets: [{name: a, ` + data + `}]`},
		"NoData":                {input: `secrets: [{name: a}]`, refused: true},
		"EmptyData":             {input: `secrets: [{name: a, data: []}]`, refused: true},
		"EmptyDataBeside":       {input: `secrets: [{name: a, data: [], dataFrom: [{extract: {key: db}}]}]`},
		"EmptyDataFrom":         {input: `secrets: [{name: a, dataFrom: [], ` + data + `}]`, refused: true},
		"DataFromOnly":          {input: `secrets: [{name: a, dataFrom: [{extract: {key: db}}]}]`},
		"NameOverBoth":          {input: "secrets: [{name: a, " + data + "}]\nconfigMaps: [{name: a, " + data + "}]", refused: true},
		"ValueWithoutKey":       {input: `secrets: [{name: a, data: [{value: "'x'"}]}]`, refused: true},
		"KeyWithValueMap":       {input: `secrets: [{name: a, data: [{key: k, valueMap: "{'a': 'b'}"}]}]`, refused: true},
		"BothValues":            {input: `secrets: [{name: a, data: [{key: k, value: "'x'", valueMap: "{'a': 'b'}"}]}]`, refused: true},
		"DotKey":                {input: `secrets: [{name: a, data: [{key: ".", value: "'x'"}]}]`, refused: true},
		"DotDotKey":             {input: `secrets: [{name: a, data: [{key: ..x, value: "'x'"}]}]`, refused: true},
		"DotFile":               {input: `secrets: [{name: a, data: [{key: .x, value: "'x'"}]}]`},
		"WrongType":             {input: `secrets: [{name: a, data: [{key: k, value: 5}]}]`, refused: true},
		"NameTwice":             {input: `secrets: [{name: a, metadata: {name: b, nameExpression: "'c'"}, ` + data + `}]`, refused: true},
		"BadNamespace":          {input: `secrets: [{name: a, metadata: {namespace: a.b}, ` + data + `}]`, refused: true},
		"ServiceAccount":        {input: `secrets: [{name: a, type: kubernetes.io/service-account-token, ` + data + `}]`, refused: true},
		"TTLNever":              {input: `ttl: 0s`},
		"TTLShort":              {input: `ttl: 500ms`, refused: true},
		"TTLLong":               {input: `ttl: 25h`, refused: true},
		"TTLText":               {input: `ttl: soon`, refused: true},
		"VariableName":          {input: `variables: [{name: a-b, value: "1"}]`, refused: true},
		"StatusConditions":      {input: `status: [{fieldPath: conditions, value: "1"}]`, refused: true},
		"StatusField":           {input: `status: [{fieldPath: a.b, value: "1"}]`},
		"SourceReserved":        {input: `sources: [{name: environment, apiVersion: v1, kind: ConfigMap}]`, refused: true},
		"SourceNames":           {input: `sources: [{name: a, apiVersion: v1, kind: ConfigMap, matchName: b, nameExpression: "'c'"}]`, refused: true},
		"SourceElsewhere":       {input: `sources: [{name: a, apiVersion: v1, kind: Secret, namespace: b, nameExpression: "'c'"}]`, refused: true},
		"SourceCluster":         {input: `sources: [{name: a, apiVersion: v1, kind: Secret, scope: Cluster}]`, refused: true},
		"TwoInputs":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, find: {path: b}}]}]`, refused: true},
		"NoInput":               {input: `secrets: [{name: a, dataFrom: [{optional: true}]}]`, refused: true},
		"EmptyFind":             {input: `secrets: [{name: a, dataFrom: [{find: {}}]}]`, refused: true},
		"EmptyTarget":           {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{regexp: {source: a, target: ""}}]}]}]`},
		"NoTarget":              {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{regexp: {source: a}}]}]}]`, refused: true},
		"TwoRules":              {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{regexp: {source: a, target: b}, merge: {}}]}]}]`, refused: true},
		"MergeInto":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {into: b}}]}]}]`, refused: true},
		"MergeJSON":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {strategy: JSON}}]}]}]`, refused: true},
		"MergeJSONInto":         {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {strategy: JSON, into: b}}]}]}]`},
		"TransformTwice":        {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{transform: {template: x, keyExpression: key}}]}]}]`, refused: true},
		"ConflictPolicy":        {input: `secrets: [{name: a, conflictPolicy: Nope, ` + data + `}]`, refused: true},
		"Environment":           {input: `environment: {defaultData: {a: {b: [1]}}, policy: {resolution: Optional}, environmentConfigs: [{ref: {name: a}, toFieldPath: b.c}], set: [{fieldPath: a, value: "1", optional: true, nonSensitive: [a.b]}]}`},
		"EnvironmentData":       {input: `environment: {defaultData: [1]}`, refused: true},
		"EnvironmentNoRef":      {input: `environment: {environmentConfigs: [{}]}`, refused: true},
		"EnvironmentBeside":     {input: `environment: {environmentConfigs: [{ref: {name: a}, selector: {}}]}`},
		"EnvironmentNoSelector": {input: `environment: {environmentConfigs: [{type: Selector, ref: {name: a}}]}`, refused: true},
		"EnvironmentSelector": {input: `environment: {environmentConfigs: [{type: Selector, selector: {mode: Multiple, minMatch: 0, maxMatch: 2, sortByFieldPath: data.x, matchLabels: [
  {key: a, valueFromFieldPath: spec.a, fromFieldPathPolicy: Optional}, {type: Value, key: b, value: ""}, {type: FromEnvironmentFieldPath, key: c, valueFromFieldPath: d}]}}]}`},
		"EnvironmentMinMatch":                 {input: `environment: {environmentConfigs: [{type: Selector, selector: {minMatch: -1}}]}`, refused: true},
		"EnvironmentNoValue":                  {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{type: Value, key: a}]}}]}`, refused: true},
		"EnvironmentNoPath":                   {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: a, value: b}]}}]}`, refused: true},
		"EnvironmentNoKey":                    {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{valueFromFieldPath: a}]}}]}`, refused: true},
		"FromComposite":                       {input: `fromComposite: {from: a, fieldPath: spec.a, allow: {secrets: [a, b], resources: [c], environment: true}}`},
		"FromCompositeLeast":                  {input: `fromComposite: {fieldPath: spec}`},
		"FromCompositeStatus":                 {input: `fromComposite: {fieldPath: status.a}`, refused: true},
		"FromCompositeFrom":                   {input: `fromComposite: {from: c, fieldPath: spec.a, allow: {secrets: [a, b], resources: [c]}}`, refused: true},
		"FromCompositeNothing":                {input: `fromComposite: {from: c, fieldPath: spec.a}`, refused: true},
		"FromCompositeEmpty":                  {input: `fromComposite: {fieldPath: spec.a, allow: {secrets: [""]}}`, refused: true},
		"GeneratorEmptyName":                  {input: `generators: [{name: "", password: {}}]`, refused: true},
		"GeneratorDotName":                    {input: `generators: [{name: a.b, password: {}}]`, refused: true},
		"GeneratorDashName":                   {input: `generators: [{name: a-, password: {}}]`, refused: true},
		"GeneratorDigitName":                  {input: `generators: [{name: 1a, password: {}}]`},
		"GeneratorNoKind":                     {input: `generators: [{name: a}]`, refused: true},
		"GeneratorTwoKinds":                   {input: `generators: [{name: a, password: {}, uuid: {}}]`, refused: true},
		"GeneratorUnknownKind":                {input: `generators: [{name: a, pasword: {}}]`, refused: true},
		"GeneratorUUIDField":                  {input: `generators: [{name: a, uuid: {x: 1}}]`, refused: true},
		"GeneratorPeriodicOk":                 {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1m}]`},
		"GeneratorPeriodicNoInterval":         {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic}]`, refused: true},
		"GeneratorIntervalNoPolicy":           {input: `generators: [{name: a, uuid: {}, refreshInterval: 1h}]`, refused: true},
		"GeneratorIntervalOnChange":           {input: `generators: [{name: a, uuid: {}, refreshPolicy: OnChange, refreshInterval: 1h}]`, refused: true},
		"GeneratorKeepersNoPolicy":            {input: `generators: [{name: a, uuid: {}, keepersExpression: "1"}]`, refused: true},
		"GeneratorKeepersOnce":                {input: `generators: [{name: a, uuid: {}, refreshPolicy: CreatedOnce, keepersExpression: "1"}]`, refused: true},
		"GeneratorKeepersOnChange":            {input: `generators: [{name: a, uuid: {}, refreshPolicy: OnChange, keepersExpression: "1"}]`},
		"GeneratorKeepersPeriodic":            {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1h, keepersExpression: "1"}]`},
		"GeneratorPasswordLengthFraction":     {input: `generators: [{name: a, password: {length: 1.5}}]`, refused: true},
		"GeneratorSSHBitsNoType":              {input: `generators: [{name: a, sshKey: {bits: 2048}}]`, refused: true},
		"GeneratorSSHBits25519":               {input: `generators: [{name: a, sshKey: {type: ed25519, bits: 256}}]`, refused: true},
		"GeneratorSSHBitsRSA":                 {input: `generators: [{name: a, sshKey: {type: rsa, bits: 2048}}]`},
		"GeneratorSSHBitsEC":                  {input: `generators: [{name: a, sshKey: {type: ecdsa, bits: 521}}]`},
		"GeneratorCertificateCAofCA":          {input: `generators: [{name: a, certificate: {isCA: true, subject: {commonName: x}}}, {name: b, certificate: {isCA: true, ca: a, subject: {commonName: z}}}]`, refused: true},
		"GeneratorCertificateNotCA":           {input: `generators: [{name: a, certificate: {isCA: true, subject: {commonName: x}}}, {name: b, certificate: {isCA: false, ca: a, subject: {commonName: z}}}]`},
		"GeneratorCertificateCNLong":          {input: `generators: [{name: a, certificate: {subject: {commonName: ` + strings.Repeat("a", 65) + `}}}]`, refused: true},
		"GeneratorCertificateDNSMany":         {input: `generators: [{name: a, certificate: {subject: {commonName: x}, dnsNames: [` + items(65, `a%d.b`) + `]}}]`, refused: true},
		"GeneratorSSHFormat":                  {input: `generators: [{name: a, sshKey: {type: rsa, format: PKCS1}}]`},
		"GeneratorSSHFormatNoType":            {input: `generators: [{name: a, sshKey: {format: PKCS1}}]`, refused: true},
		"GeneratorSSHFormatEC":                {input: `generators: [{name: a, sshKey: {type: ecdsa, format: PKCS1}}]`, refused: true},
		"GeneratorSSHFormatPKCS8":             {input: `generators: [{name: a, sshKey: {format: PKCS8}}]`},
		"GeneratorCertificateKeyFormat":       {input: `generators: [{name: a, certificate: {subject: {commonName: x}, keyType: rsa, keyFormat: PKCS1}}]`},
		"GeneratorCertificateKeyFormatNoType": {input: `generators: [{name: a, certificate: {subject: {commonName: x}, keyFormat: PKCS1}}]`, refused: true},
		"GeneratorJKSAlias":                   {input: `generators: [{name: a, jks: {secretExpression: "{'a': 'x'}", alias: "a b"}}]`, refused: true},
		"GeneratorResourceList":               {input: `generators: [{name: a, resource: {manifest: []}}]`, refused: true},
		"GeneratorResourceText":               {input: `generators: [{name: a, resource: {manifest: x}}]`, refused: true},
		"GeneratorResourceSecret":             {input: `generators: [{name: a, resource: {manifest: {apiVersion: v1, kind: Secret}}, readyExpression: "has(secret.a)"}]`},
		"GeneratorResourceOtherSecret":        {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: Secret, data: {a: b}}}}]`},
		"GeneratorResourceOutputsNumber":      {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, outputs: {a: 5}}}]`, refused: true},
		"GeneratorIntervalShort":              {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 59s}]`, refused: true},
		"GeneratorIntervalLong":               {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 876001h}]`, refused: true},
		"GeneratorIntervalDays":               {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1d}]`, refused: true},
		"GeneratorGraceNegative":              {input: `generators: [{name: a, uuid: {}, gracePeriod: -1s}]`, refused: true},
		"GeneratorGraceLong":                  {input: `generators: [{name: a, uuid: {}, gracePeriod: 876001h}]`, refused: true},
		"GeneratorGraceText":                  {input: `generators: [{name: a, uuid: {}, gracePeriod: soon}]`, refused: true},
		"GeneratorPasswordKeysDotDot":         {input: `generators: [{name: a, password: {secretKeys: ["..a"]}}]`, refused: true},
		"GeneratorCertificateNobody":          {input: `generators: [{name: a, certificate: {}}]`, refused: true},
		"GeneratorCertificateSelf":            {input: `generators: [{name: a, certificate: {dnsNames: [a.b]}}]`, refused: true},
		"GeneratorCertificateCADNS":           {input: `generators: [{name: a, certificate: {isCA: true, subject: {commonName: x}, dnsNames: [a.b]}}]`, refused: true},
		"GeneratorCertificateSubjectEmpty":    {input: `generators: [{name: a, certificate: {subject: {}}}]`, refused: true},
		"GeneratorCertificateDuration0":       {input: `generators: [{name: a, certificate: {subject: {commonName: x}, duration: 0s}}]`, refused: true},
		"GeneratorCertificateDurationLong":    {input: `generators: [{name: a, certificate: {subject: {commonName: x}, duration: 876001h}}]`, refused: true},
		"GeneratorCertificateDurationText":    {input: `generators: [{name: a, certificate: {subject: {commonName: x}, duration: 90d}}]`, refused: true},
		"GeneratorCertificateRenewOnce":       {input: `generators: [{name: a, certificate: {subject: {commonName: x}, renewBefore: 24h}}]`, refused: true},
		"GeneratorResourceEmpty":              {input: `generators: [{name: a, resource: {manifest: {}}}]`, refused: true},
		"GeneratorResourceKindEmpty":          {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: ""}}}]`, refused: true},
		"GeneratorResourceName":               {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, metadata: {name: x}}}}]`, refused: true},
		"GeneratorResourceSecretNoReady":      {input: `generators: [{name: a, resource: {manifest: {apiVersion: v1, kind: Secret}}}]`, refused: true},
		"GeneratorResourceConfigMapNoReady":   {input: `generators: [{name: a, resource: {manifest: {apiVersion: v1, kind: ConfigMap}}}]`, refused: true},
		"GeneratorResourceOutputsEmpty":       {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, outputs: {a: ""}}}]`, refused: true},
		"GeneratorResourceOutputsBadKey":      {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, outputs: {"a b": "'x'"}}}]`, refused: true},
		"GenerationsName":                     {input: `secrets: [{name: generated/a/1, metadata: {name: a}, ` + data + `}]`, refused: true},
		"GeneratorNamespaceOfResource":        {input: `generators: [{name: a, namespace: b, resource: {manifest: {apiVersion: a/v1, kind: K}}}]`, refused: true},
		"GeneratorGraceOverIntervals":         {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1h, gracePeriod: 16h}]`, refused: true},
		"GeneratorCertificateOwnCA":           {input: `generators: [{name: a, certificate: {ca: a, dnsNames: [a.b]}}]`, refused: true, weaker: true},
		"GeneratorGraceOfIntervals":           {input: `generators: [{name: a, uuid: {}, refreshPolicy: Periodic, refreshInterval: 1h, gracePeriod: 15h}]`},
		"GeneratorResourceVersionNumber":      {input: `generators: [{name: a, resource: {manifest: {apiVersion: 5, kind: K}}}]`, refused: true},
		"GeneratorResourceKindList":           {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: []}}}]`, refused: true},
		"GeneratorResourceVersionSlashes":     {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/b/c, kind: K}}}]`, refused: true, weaker: true},
		"GeneratorResourceMetadataText":       {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, metadata: x}}}]`, refused: true},
		"GeneratorResourceLabelsNumber":       {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, metadata: {labels: {a: 1}}}}}]`, refused: true, weaker: true},
		"GeneratorResourceLabelsList":         {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, metadata: {labels: []}}}}]`, refused: true, weaker: true},
		"GeneratorResourceNamespaceNumber":    {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, metadata: {namespace: 5}}}}]`, refused: true, weaker: true},
		"GeneratorResourceFinalizers":         {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, metadata: {finalizers: [a]}}}}]`, refused: true, weaker: true},
		"GeneratorResourceStatus":             {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K, status: {}}}}]`, refused: true, weaker: true},
		"GeneratorResourceConfigMapData":      {input: `generators: [{name: a, resource: {manifest: {apiVersion: v1, kind: ConfigMap, binaryData: {a: eA==}}}, readyExpression: "true"}]`, refused: true, weaker: true},
		"GeneratorResourceSetKind":            {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, set: [{fieldPath: kind, value: "'x'"}]}}]`, refused: true, weaker: true},
		"GeneratorResourceSetFinalizers":      {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, set: [{fieldPath: metadata.finalizers, value: "[]"}]}}]`, refused: true, weaker: true},
		"GeneratorResourceSetManagedFields":   {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, set: [{fieldPath: metadata.managedFields, value: "[]"}]}}]`, refused: true, weaker: true},
		"GeneratorResourceSetOneName":         {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, set: [{fieldPath: metadata.name, value: "'x'"}]}}]`, refused: true, weaker: true},
		"GeneratorResourceSetOfGeneration":    {input: `generators: [{name: a, resource: {manifest: {apiVersion: a/v1, kind: K}, set: [{fieldPath: a, value: "generation.x"}]}}]`, refused: true, weaker: true},
		"GenerationFrom":                      {input: "generators: [{name: a, uuid: {}}]\nsecrets: [{name: a, from: generated/a/1, data: [{key: k, value: secret.x}]}]", refused: true, weaker: true},
		"GenerationExtract":                   {input: "generators: [{name: a, uuid: {}}]\nsecrets: [{name: a, dataFrom: [{extract: {key: generated/a/1}}]}]", refused: true, weaker: true},
		"GenerationOfSecrets":                 {input: "generators: [{name: a, uuid: {}}]\nsecrets: [{name: a, data: [{key: k, value: \"secrets['generated/a/1'].x\"}]}]", refused: true, weaker: true},
		"GeneratorExtractUnknown":             {input: "generators: [{name: a, uuid: {}}]\nsecrets: [{name: a, dataFrom: [{extract: {key: generated.b}}]}]", refused: true, weaker: true},
		"GeneratorFindUnknown":                {input: "generators: [{name: a, uuid: {}}]\nsecrets: [{name: a, dataFrom: [{find: {path: generated.b/}}]}]", refused: true, weaker: true},
		"GeneratorFindPrevious":               {input: "generators: [{name: a, uuid: {}}]\nsecrets: [{name: a, dataFrom: [{find: {path: previous.a/}}]}]", refused: true, weaker: true},
		"AuthorsName":                         {input: `secrets: [{name: fromComposite/Secret/a, metadata: {name: a}, ` + data + `}]`, refused: true},
	}
	objects := map[string]*unstructured.Unstructured{}
	for name, tc := range cases {
		objects[name] = parseObjects(t, fmt.Sprintf("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nmetadata: {name: a}\n%s", tc.input))[0]
	}
	refused := validateNamed(t, p, schema, objects)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			input, err := structpb.NewStruct(objects[name].Object)
			if err != nil {
				t.Fatal(err)
			}
			_, faults := plan.Compile(context.Background(), env, input)
			if got := len(faults) > 0; got != tc.refused {
				t.Errorf("the function: want refused %v, got %v", tc.refused, faults)
			}
			if want, got := tc.refused && !tc.weaker, len(refused[name]) > 0; got != want {
				t.Errorf("the schema: want refused %v, got %v", want, refused[name])
			}
		})
	}
}
