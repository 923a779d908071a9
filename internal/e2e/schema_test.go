package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// The schema and the function agree: what an editor or crossplane resource
// validate lets pass, the function takes, and the other way round. What only the
// function can see, the fault of an expression say, is not among these.
func TestSchemaAgreesWithFunction(t *testing.T) {
	p := buildPeers(t)
	env, err := expression.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	const data = `data: [{key: k, value: "'x'"}]`
	cases := map[string]struct {
		input   string
		refused bool
	}{
		"Nothing":               {input: ``},
		"Secret":                {input: `secrets: [{name: a, ` + data + `}]`},
		"NoName":                {input: `secrets: [{` + data + `}]`, refused: true},
		"NoData":                {input: `secrets: [{name: a}]`, refused: true},
		"EmptyData":             {input: `secrets: [{name: a, data: []}]`, refused: true},
		"EmptyDataBeside":       {input: `secrets: [{name: a, data: [], dataFrom: [{extract: {key: db}}]}]`, refused: true},
		"EmptyDataFrom":         {input: `secrets: [{name: a, dataFrom: [], ` + data + `}]`, refused: true},
		"DataFromOnly":          {input: `secrets: [{name: a, dataFrom: [{extract: {key: db}}]}]`},
		"NameOverBoth":          {input: "secrets: [{name: a, " + data + "}]\nconfigMaps: [{name: a, " + data + "}]", refused: true},
		"ValueWithoutKey":       {input: `secrets: [{name: a, data: [{value: "'x'"}]}]`, refused: true},
		"KeyWithValueMap":       {input: `secrets: [{name: a, data: [{key: k, valueMap: "{'a': 'b'}"}]}]`, refused: true},
		"BothValues":            {input: `secrets: [{name: a, data: [{key: k, value: "'x'", valueMap: "{'a': 'b'}"}]}]`, refused: true},
		"IllegalKey":            {input: `secrets: [{name: a, data: [{key: "a b", value: "'x'"}]}]`, refused: true},
		"DotKey":                {input: `secrets: [{name: a, data: [{key: ".", value: "'x'"}]}]`, refused: true},
		"DotDotKey":             {input: `secrets: [{name: a, data: [{key: ..x, value: "'x'"}]}]`, refused: true},
		"DotFile":               {input: `secrets: [{name: a, data: [{key: .x, value: "'x'"}]}]`},
		"UnknownField":          {input: `secrets: [{name: a, nope: 1, ` + data + `}]`, refused: true},
		"WrongType":             {input: `secrets: [{name: a, data: [{key: k, value: 5}]}]`, refused: true},
		"UpperName":             {input: `secrets: [{name: a, metadata: {name: A_b}, ` + data + `}]`, refused: true},
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
		"SourceScope":           {input: `sources: [{name: a, apiVersion: v1, kind: ConfigMap, scope: Nope}]`, refused: true},
		"SourceNames":           {input: `sources: [{name: a, apiVersion: v1, kind: ConfigMap, matchName: b, nameExpression: "'c'"}]`, refused: true},
		"SourceElsewhere":       {input: `sources: [{name: a, apiVersion: v1, kind: Secret, namespace: b, nameExpression: "'c'"}]`, refused: true},
		"SourceCluster":         {input: `sources: [{name: a, apiVersion: v1, kind: Secret, scope: Cluster}]`, refused: true},
		"TwoInputs":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, find: {path: b}}]}]`, refused: true},
		"NoInput":               {input: `secrets: [{name: a, dataFrom: [{optional: true}]}]`, refused: true},
		"EmptyFind":             {input: `secrets: [{name: a, dataFrom: [{find: {}}]}]`, refused: true},
		"EmptyTags":             {input: `secrets: [{name: a, dataFrom: [{find: {path: a, tags: {}}}]}]`, refused: true},
		"EmptyTarget":           {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{regexp: {source: a, target: ""}}]}]}]`},
		"NoTarget":              {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{regexp: {source: a}}]}]}]`, refused: true},
		"TwoRules":              {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{regexp: {source: a, target: b}, merge: {}}]}]}]`, refused: true},
		"MergeInto":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {into: b}}]}]}]`, refused: true},
		"MergeJSON":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {strategy: JSON}}]}]}]`, refused: true},
		"MergeJSONInto":         {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {strategy: JSON, into: b}}]}]}]`},
		"MergePriorityEmpty":    {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{merge: {priority: [""]}}]}]}]`, refused: true},
		"TransformTwice":        {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{transform: {template: x, keyExpression: key}}]}]}]`, refused: true},
		"LongTemplate":          {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [{transform: {template: ` + strings.Repeat("x", 1025) + `}}]}]}]`, refused: true},
		"ConversionStrategy":    {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, conversionStrategy: Nope}]}]`, refused: true},
		"DecodingStrategy":      {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, decodingStrategy: Nope}]}]`, refused: true},
		"ConflictPolicy":        {input: `secrets: [{name: a, conflictPolicy: Nope, ` + data + `}]`, refused: true},
		"Environment":           {input: `environment: {defaultData: {a: {b: [1]}}, policy: {resolution: Optional}, environmentConfigs: [{ref: {name: a}, toFieldPath: b.c}], set: [{fieldPath: a, value: "1", optional: true, nonSensitive: [a.b]}]}`},
		"EnvironmentEmpty":      {input: `environment: {}`},
		"EnvironmentData":       {input: `environment: {defaultData: [1]}`, refused: true},
		"EnvironmentPolicy":     {input: `environment: {policy: {resolution: Maybe}}`, refused: true},
		"EnvironmentNoRef":      {input: `environment: {environmentConfigs: [{}]}`, refused: true},
		"EnvironmentNoName":     {input: `environment: {environmentConfigs: [{ref: {}}]}`, refused: true},
		"EnvironmentType":       {input: `environment: {environmentConfigs: [{type: Nope, ref: {name: a}}]}`, refused: true},
		"EnvironmentBeside":     {input: `environment: {environmentConfigs: [{ref: {name: a}, selector: {}}]}`},
		"EnvironmentNoSelector": {input: `environment: {environmentConfigs: [{type: Selector, ref: {name: a}}]}`, refused: true},
		"EnvironmentSelector": {input: `environment: {environmentConfigs: [{type: Selector, selector: {mode: Multiple, minMatch: 0, maxMatch: 2, sortByFieldPath: data.x, matchLabels: [
  {key: a, valueFromFieldPath: spec.a, fromFieldPathPolicy: Optional}, {type: Value, key: b, value: ""}, {type: FromEnvironmentFieldPath, key: c, valueFromFieldPath: d}]}}]}`},
		"EnvironmentMode":       {input: `environment: {environmentConfigs: [{type: Selector, selector: {mode: Nope}}]}`, refused: true},
		"EnvironmentMaxMatch":   {input: `environment: {environmentConfigs: [{type: Selector, selector: {maxMatch: "1"}}]}`, refused: true},
		"EnvironmentMinMatch":   {input: `environment: {environmentConfigs: [{type: Selector, selector: {minMatch: -1}}]}`, refused: true},
		"EnvironmentNoValue":    {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{type: Value, key: a}]}}]}`, refused: true},
		"EnvironmentNoPath":     {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: a, value: b}]}}]}`, refused: true},
		"EnvironmentNoKey":      {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{valueFromFieldPath: a}]}}]}`, refused: true},
		"EnvironmentFromPolicy": {input: `environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: a, valueFromFieldPath: a, fromFieldPathPolicy: Nope}]}}]}`, refused: true},
		"EnvironmentSetNoPath":  {input: `environment: {set: [{value: "1"}]}`, refused: true},
		"EnvironmentSetNoValue": {input: `environment: {set: [{fieldPath: a}]}`, refused: true},
		"FromComposite":         {input: `fromComposite: {from: a, fieldPath: spec.a, allow: {secrets: [a, b], resources: [c], environment: true}}`},
		"FromCompositeLeast":    {input: `fromComposite: {fieldPath: spec}`},
		"FromCompositeNoPath":   {input: `fromComposite: {}`, refused: true},
		"FromCompositeStatus":   {input: `fromComposite: {fieldPath: status.a}`, refused: true},
		"FromCompositeFrom":     {input: `fromComposite: {from: c, fieldPath: spec.a, allow: {secrets: [a, b], resources: [c]}}`, refused: true},
		"FromCompositeNothing":  {input: `fromComposite: {from: c, fieldPath: spec.a}`, refused: true},
		"FromCompositeEmpty":    {input: `fromComposite: {fieldPath: spec.a, allow: {secrets: [""]}}`, refused: true},
		"TenantsName":           {input: `secrets: [{name: fromComposite/Secret/a, metadata: {name: a}, ` + data + `}]`, refused: true},
		"ManyRules":             {input: `secrets: [{name: a, dataFrom: [{extract: {key: a}, rewrite: [` + strings.Repeat(`{merge: {}}, `, 33) + `]}]}]`, refused: true},
		"ManyEntries":           {input: `secrets: [{name: a, dataFrom: [` + strings.Repeat(`{extract: {key: a}}, `, 65) + `]}]`, refused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := parseObjects(t, fmt.Sprintf("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nmetadata: {name: a}\n%s", tc.input))
			input, err := structpb.NewStruct(objects[0].Object)
			if err != nil {
				t.Fatal(err)
			}
			_, faults := plan.Compile(context.Background(), env, input)
			schema := validate(t, p, objects...)
			if got := len(faults) > 0; got != tc.refused {
				t.Errorf("the function: want refused %v, got %v", tc.refused, faults)
			}
			if got := len(schema) > 0; got != tc.refused {
				t.Errorf("the schema: want refused %v, got %v", tc.refused, schema)
			}
		})
	}
}
