package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// authorExample has the definition whose operatorSpec users copy.
const authorExample = example + "/author-exports"

// The part that refuses a list of the composite author.
const (
	nobody   = ""
	both     = "schema and function"
	schemas  = "schema"   // It is stricter than necessary.
	function = "function" // The schema cannot express it.
)

// The schema of the example's definition and the function agree: the function accepts the exports
// of a composite author that kubectl apply accepts, except mistakes that a schema cannot express.
func TestAuthorSchemaAgreesWithFunction(t *testing.T) {
	p := PeersForTest(t)

	entry := func(more string) string { return `secretExpressions: [{name: a, key: k, value: "'x'", ` + more + `}]` }
	named := func(name string) string { return `secretExpressions: [{name: "` + name + `", key: k, value: "'x'"}]` }
	keyed := func(key string) string { return `secretExpressions: [{name: a, key: "` + key + `", value: "'x'"}]` }
	export := func(of string) string { return `dynamicSecrets: [{name: a, ` + of + `}]` }
	config := func(value string) string { return `configMapExpressions: [{name: a, key: k, value: "` + value + `"}]` }
	many := func(n int, of string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{name: a%d, key: k, value: "%s"},`, i, of)
		}
		return b.String()
	}
	labels := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "example.org/l%d: v,", i)
		}
		return b.String()
	}
	text := func(n int, of string) string { return "'" + strings.Repeat(of, n-2) + "'" } // n characters of CEL

	cases := map[string]struct {
		lists   string // below operatorSpec
		refused string
	}{
		"Nothing": {``, nobody},
		"Empty":   {`secretExpressions: [], dynamicConfigMaps: []`, nobody},
		"Key":     {entry(``), nobody},
		"Map":     {`secretExpressions: [{name: a, value: "{'k': secret.password}"}]`, nobody},
		"KeysOfOneObject": {
			`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, key: l, value: "'x'"}, {name: b, key: k, value: "'x'"}, {name: a, value: "{'m': 'x'}"}, {name: b, value: "{'l': 'x'}"}]`,
			nobody,
		},
		"NameOfBothKinds": {`secretExpressions: [{name: a, key: k, value: "'x'"}], configMapExpressions: [{name: a, key: k, value: "'x'"}]`, nobody},
		"ConfigMap":       {config("self.spec.database + resources.db.status.host"), nobody},
		"Value":           {export(`key: k, value: "'x'"`), nobody},
		"ValueMap":        {export(`valueMap: "{'k': 'x'}"`), nobody},
		"ValueMapInto":    {`dynamicConfigMaps: [{name: a, valueMap: "{'k': 'x'}"}]`, nobody},

		"NoName":         {`secretExpressions: [{key: k, value: "'x'"}]`, both},
		"EmptyName":      {named(``), both},
		"UpperName":      {named(`A`), both},
		"UnderscoreName": {named(`a_b`), both},
		"HyphenName":     {named(`-a`), both},
		"DotsName":       {named(`a..b`), both},
		"SlashName":      {named(`other/a`), both},
		"LineName":       {named(`a\n`), both},
		"CyrillicName":   {named(`а`), both},
		"DomainName":     {named(`a.b-c.0`), nobody},
		"LongName":       {named(strings.Repeat("a", 253)), nobody},
		"TooLongName":    {named(strings.Repeat("a", 254)), both},
		"NameOfDynamic":  {`dynamicConfigMaps: [{name: A, key: k, value: "'x'"}]`, both},

		"SpaceKey":     {keyed(`a b`), both},
		"SlashKey":     {keyed(`a/b`), both},
		"LineKey":      {keyed(`a\n`), both},
		"DotKey":       {keyed(`.`), both},
		"DotDotKey":    {keyed(`..`), both},
		"DotDotFile":   {keyed(`..x`), both},
		"DotFile":      {keyed(`.x`), nobody},
		"OtherKey":     {keyed(`_A-b.c..`), nobody},
		"LongKey":      {keyed(strings.Repeat("k", 253)), nobody},
		"TooLongKey":   {keyed(strings.Repeat("k", 254)), both},
		"KeyOfDynamic": {export(`key: "a b", value: "'x'"`), both},
		"EmptyKey":     {`secretExpressions: [{name: a, key: "", value: "{'k': 'x'}"}]`, schemas},

		"NoValue":             {`secretExpressions: [{name: a, key: k}]`, both},
		"EmptyValue":          {`secretExpressions: [{name: a, key: k, value: ""}]`, both},
		"ValueOfNoKey":        {export(`value: "'x'"`), both},
		"ValueMapOfKey":       {export(`key: k, valueMap: "{'k': 'x'}"`), both},
		"NeitherValue":        {export(`key: k`), both},
		"EmptyValueMap":       {export(`valueMap: ""`), both},
		"BothValuesOfKey":     {export(`key: k, value: "'x'", valueMap: "{'k': 'x'}"`), both},
		"BothValues":          {export(`value: "'x'", valueMap: "{'k': 'x'}"`), both},
		"EmptyValueBesideMap": {export(`value: "", valueMap: "{'k': 'x'}"`), schemas},
		"OneKeyTwice":         {`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, key: k, value: "'x'"}]`, both},
		"OneDynamicKeyTwice":  {`dynamicSecrets: [{name: a, key: k, value: "'x'"}, {name: b, key: k, value: "'x'"}, {name: a, key: k, value: "'y'"}]`, both},

		"Labels":          {entry(`labels: {app: b, example.org/a_b.C: "", app.kubernetes.io/name: x}`), nobody},
		"LabelNotAllowed": {entry(`labels: {team: x}`), both},
		"LabelOfHelm":     {entry(`labels: {app: x, owner: helm}`), both},
		"LabelOfOthers":   {entry(`labels: {argocd.argoproj.io/instance: x}`), both},
		"LabelPrefix":     {entry(`labels: {example.org.evil/x: x}`), both},
		"LabelName":       {entry(`labels: {"a b": c}`), both},
		"LabelNoPrefix":   {entry(`labels: {/a: c}`), both},
		"LabelNoName":     {entry(`labels: {a/: c}`), both},
		"LabelUpper":      {entry(`labels: {Example.org/a: c}`), both},
		"LabelLongName":   {entry(`labels: {example.org/` + strings.Repeat("a", 63) + `: c}`), nobody},
		"LabelTooLong":    {entry(`labels: {example.org/` + strings.Repeat("a", 64) + `: c}`), both},
		"LabelValue":      {entry(`labels: {app: b c}`), function},
		"LabelValueEnd":   {entry(`labels: {app: b-}`), function},
		"LabelLongValue":  {entry(`labels: {app: ` + strings.Repeat("a", 63) + `}`), nobody},
		"LabelValueLong":  {entry(`labels: {app: ` + strings.Repeat("a", 64) + `}`), function},
		"LabelNoText":     {entry(`labels: {a: 5}`), both},
		"LabelReserved":   {entry(`labels: {crossplane.io/composite: a}`), both},
		"LabelOfClaim":    {entry(`labels: {crossplane.io/claim-namespace: a}`), both},
		"LabelOurs":       {entry(`labels: {export.fn.crossplane.io/a: a}`), both},
		"LabelsMany":      {entry(`labels: {` + labels(32) + `}`), nobody},
		"LabelsTooMany":   {entry(`labels: {` + labels(33) + `}`), both},
		"LabelLongPrefix": {entry(`labels: {` + strings.Repeat("a", 254) + `/a: c}`), both},

		"Annotations":          {entry(`annotations: {example.org/a: "any thing\n", example.org/a_b.C: ""}`), nobody},
		"AnnotationNotAllowed": {entry(`annotations: {a: b}`), both},
		"AnnotationUpper":      {entry(`annotations: {Example.Org/a: b}`), both},
		"AnnotationName":       {entry(`annotations: {"a b": c}`), both},
		"AnnotationReserved":   {entry(`annotations: {crossplane.io/composition-resource-name: a}`), both},
		"AnnotationKubectl":    {entry(`annotations: {kubectl.kubernetes.io/last-applied-configuration: a}`), both},
		"AnnotationOurs":       {entry(`annotations: {export.fn.crossplane.io/generator: a}`), both},
		"AnnotationsTooMany":   {entry(`annotations: {` + labels(33) + `}`), both},
		"AnnotationLong":       {entry(`annotations: {example.org/a: ` + strings.Repeat("a", 4097) + `}`), schemas},

		"UnknownField":      {entry(`kee: k`), both},
		"LabelsOfDynamic":   {export(`key: k, value: "'x'", labels: {a: b}`), both},
		"ValueMapOfShipped": {`secretExpressions: [{name: a, valueMap: "{'k': 'x'}"}]`, both},
		"NoText":            {`secretExpressions: [{name: a, key: k, value: 5}]`, both},
		"NoObject":          {`secretExpressions: [5]`, both},
		"NoList":            {`secretExpressions: {name: a}`, both},
		"Strangers":         {`other: 1`, schemas},

		"ManyEntries":        {`secretExpressions: [` + many(32, "'x'") + `], dynamicConfigMaps: [` + many(32, "'x'") + `]`, nobody},
		"TooManyOfOne":       {`configMapExpressions: [` + many(65, "'x'") + `]`, both},
		"TooManyEntries":     {`secretExpressions: [` + many(32, "'x'") + `], dynamicConfigMaps: [` + many(33, "'x'") + `]`, both},
		"LongExpression":     {config(text(4096, "x")), nobody},
		"LongInOtherLetters": {config(text(4096, "ж")), nobody},
		"TooLongExpression":  {config(text(4097, "x")), both},
		"TooLongMap":         {export(`valueMap: "{'k': ` + text(4092, "x") + `}"`), both},
		"LongTogether":       {`dynamicSecrets: [` + many(2, text(4096, "x")) + `]`, nobody},
		"TooLongTogether":    {`secretExpressions: [` + many(1, text(4096, "x")) + `], dynamicConfigMaps: [` + many(1, text(4096, "x")) + `{name: b, valueMap: "{}"}]`, both},

		"DoesNotCompile":   {config("1 +"), function},
		"WrongType":        {config("1"), function},
		"MapOfKey":         {config("{'k': 'x'}"), function},
		"TextOfNoKey":      {`secretExpressions: [{name: a, value: "'x'"}]`, function},
		"SecretInPublic":   {config("secret.password"), function},
		"NotAllowed":       {config("environment.region"), function},
		"OneKeyOfTwoLists": {`secretExpressions: [{name: a, key: k, value: "'x'"}], dynamicSecrets: [{name: a, key: k, value: "'x'"}]`, function},
		"OneKeyInMap":      {`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, value: "{'k': 'x'}"}]`, function},
		"IllegalKeyInMap":  {export(`valueMap: "{'a b': 'x'}"`), function},
		"LabelsDisagree":   {`secretExpressions: [{name: a, key: k, value: "'x'", labels: {app: b}}, {name: a, key: l, value: "'x'", labels: {app: c}}]`, function},
		"TheCompositions":  {named("xr-connection"), function},
	}

	function := compileAuthorExample(t)
	composites := map[string]*unstructured.Unstructured{}
	want, got := map[string]string{}, map[string]string{}
	says := map[string][]string{}

	for name, tc := range cases {
		object := fmt.Sprintf("{apiVersion: example.org/v1alpha1, kind: Database, metadata: {namespace: team, name: xr}, spec: {database: x, host: db, operatorSpec: {%s}}}", tc.lists)
		composites[name] = parseObjects(t, object)[0]
		want[name] = tc.refused
	}

	bySchema := validateNamed(t, p, filepath.Join(authorExample, "xrd.yaml"), composites)
	for name, composite := range composites {
		byFunction := authorErrors(t, function, composite)
		says[name] = append(append(says[name], bySchema[name]...), byFunction...)

		switch schema, function := len(bySchema[name]) > 0, len(byFunction) > 0; {
		case schema && function:
			got[name] = both
		case schema:
			got[name] = schemas
		case function:
			got[name] = "function"
		default:
			got[name] = nobody
		}
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who refuses: -want, +got:\n%s", diff)
	}

	for name := range cases {
		if want[name] != got[name] {
			t.Errorf("%s: %q", name, says[name])
		}
	}
}

// compileAuthorExample compiles the input of the example's Composition.
func compileAuthorExample(t *testing.T) *plan.Plan {
	t.Helper()

	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}

	input, err := structpb.NewStruct(exportsInput(t, authorExample).Object)
	if err != nil {
		t.Fatal(err)
	}

	p, faults := plan.Compile(context.Background(), env, input)
	if len(faults) > 0 {
		t.Fatal(faults)
	}

	return p
}

// authorErrors are what the function has against what a composite's author asks
// for. The database is there, and nothing else.
func authorErrors(t *testing.T, p *plan.Plan, composite *unstructured.Unstructured) []string {
	t.Helper()

	object := func(m map[string]any) wire.Struct {
		s, err := structpb.NewStruct(m)
		if err != nil {
			t.Fatal(err)
		}

		return wire.Of(s)
	}
	at := map[string]any{"address": "db.example.org", "port": 5432}
	req := &reconcile.Request{
		Observation: observation.Observation{
			Composite: observation.Resource{Object: object(composite.Object)},
			Resources: map[string]observation.Resource{"db": {
				Object:  object(map[string]any{"status": map[string]any{"host": "db.example.org", "atProvider": at}}),
				Details: map[string][]byte{"username": []byte("u"), "password": []byte("p")},
			}},
		},
		Found: map[string][]wire.Struct{},
	}

	result, err := reconcile.Run(context.Background(), p, req)
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range result.Requirements { // As in the second call of a reconcile: nothing is in the way.
		req.Found[r.Key()] = nil
	}

	if result, err = reconcile.Run(context.Background(), p, req); err != nil {
		t.Fatal(err)
	}

	var faults []string

	for _, o := range result.Others {
		faults = append(faults, o.Message)
	}

	for _, o := range result.Objects {
		switch {
		case o.State == reconcile.Available, o.State == reconcile.Created:
		case !o.Author:
			t.Errorf("the Composition's own %q is %s: %s", o.Name, o.State, o.Message)
		default:
			faults = append(faults, o.Message)
		}
	}

	return faults
}

// validateNamed returns what crossplane resource validate has against each of
// the objects, by the name in the map, under the schemas of a file.
func validateNamed(t *testing.T, p Peers, schemas string, objects map[string]*unstructured.Unstructured) map[string][]string {
	t.Helper()

	var list []*unstructured.Unstructured

	names := map[string]string{} // of the objects in the file

	for name, o := range objects {
		named := o.DeepCopy()
		named.SetName(fmt.Sprintf("o%d", len(names)))
		names[named.GetName()] = name
		list = append(list, named)
	}

	faults := map[string][]string{}
	for _, r := range validated(t, p, schemas, list) {
		if f := r.faults(); len(f) > 0 {
			faults[names[r.Name]] = f
		}
	}

	return faults
}

// checkCRD is a program that prints the API server's errors about the CustomResourceDefinition in a
// file, one per line. It is built in the module of the peers: the product does not depend on what
// it imports.
const checkCRD = `package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

func main() {
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	crd, internal := &v1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(b, crd); err != nil {
		panic(err)
	}
	v1.SetDefaults_CustomResourceDefinition(crd)
	v1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		panic(err)
	}
	for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
		fmt.Println(err)
	}
}
`

// The API server takes the schema of the example's definition: its rules compile,
// and are within the cost that it allows them.
func TestAuthorSchemaCost(t *testing.T) {
	PeersForTest(t)

	tools, err := toolsDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	source, program := filepath.Join(t.TempDir(), "main.go"), filepath.Join(t.TempDir(), "check")
	if err := os.WriteFile(source, []byte(checkCRD), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := goTool(t.Context(), tools, "build", "-trimpath", "-o", program, source); err != nil {
		t.Fatal(err)
	}

	check := func(xrd *unstructured.Unstructured) string {
		path := filepath.Join(t.TempDir(), "crd.yaml")
		writeObjects(t, path, []*unstructured.Unstructured{definition(t, xrd)})

		return mustRun(t, program, path).stdout
	}

	xrd := readObjects(t, filepath.Join(authorExample, "xrd.yaml"))[0]
	if diff := cmp.Diff("", check(xrd)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	// Otherwise a check that never finds an error would pass.
	without(xrd.Object, "maxItems")

	if got := check(xrd); !strings.Contains(got, "estimated rule cost exceeds budget") {
		t.Errorf("lists without a bound are not refused: %q", got)
	}
}

// definition is the CustomResourceDefinition of a composite's definition, but for
// the fields that Crossplane adds, which have no rules.
func definition(t *testing.T, xrd *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()

	spec, _, err := unstructured.NestedMap(xrd.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}

	names, _ := spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	names["singular"], names["listKind"] = strings.ToLower(kind), kind+"List"

	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		delete(version, "referenceable")
		version["storage"] = true
	}

	crd := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(xrd.GetName())

	return crd
}

// without deletes a field wherever it is below v.
func without(v any, field string) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, field)

		for _, below := range v {
			without(below, field)
		}
	case []any:
		for _, below := range v {
			without(below, field)
		}
	}
}
