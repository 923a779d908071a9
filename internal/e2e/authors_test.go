package e2e

import (
	"context"
	"fmt"
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
		"Key":     {entry(``), nobody},
		"Map":     {`secretExpressions: [{name: a, value: "{'k': secret.password}"}]`, nobody},
		"KeysOfOneObject": {
			`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, key: l, value: "'x'"}, ` +
				`{name: b, key: k, value: "'x'"}, {name: a, value: "{'m': 'x'}"}, {name: b, value: "{'l': 'x'}"}]`,
			nobody,
		},
		"NameOfBothKinds": {`secretExpressions: [{name: a, key: k, value: "'x'"}], ` +
			`configMapExpressions: [{name: a, key: k, value: "'x'"}]`, nobody},
		"ConfigMap": {config("self.spec.database + resources.db.status.host"), nobody},
		"ValueMap":  {export(`valueMap: "{'k': 'x'}"`), nobody},

		"NoName":      {`secretExpressions: [{key: k, value: "'x'"}]`, both},
		"UpperName":   {named(`A`), both},
		"SlashName":   {named(`other/a`), both},
		"DomainName":  {named(`a.b-c.0`), nobody},
		"TooLongName": {named(strings.Repeat("a", 254)), both},

		"SpaceKey":  {keyed(`a b`), both},
		"DotDotKey": {keyed(`..`), both},
		"DotFile":   {keyed(`.x`), nobody},

		"EmptyValue":    {`secretExpressions: [{name: a, key: k, value: ""}]`, both},
		"ValueOfNoKey":  {export(`value: "'x'"`), both},
		"ValueMapOfKey": {export(`key: k, valueMap: "{'k': 'x'}"`), both},
		"NeitherValue":  {export(`key: k`), both},
		"BothValues":    {export(`value: "'x'", valueMap: "{'k': 'x'}"`), both},
		"OneKeyTwice": {`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, key: k, value: "'x'"}]`,
			both},

		"Labels":          {entry(`labels: {app: b, example.org/a_b.C: "", app.kubernetes.io/name: x}`), nobody},
		"LabelNotAllowed": {entry(`labels: {team: x}`), both},
		"LabelValue":      {entry(`labels: {app: b c}`), function},
		"LabelReserved":   {entry(`labels: {crossplane.io/composite: a}`), both},
		"LabelsTooMany":   {entry(`labels: {` + labels(33) + `}`), both},

		"Annotations":          {entry(`annotations: {example.org/a: "any thing\n", example.org/a_b.C: ""}`), nobody},
		"AnnotationNotAllowed": {entry(`annotations: {a: b}`), both},

		"UnknownField": {entry(`kee: k`), both},
		"NoText":       {`secretExpressions: [{name: a, key: k, value: 5}]`, both},
		"NoList":       {`secretExpressions: {name: a}`, both},

		"TooManyEntries": {
			`secretExpressions: [` + many(32, "'x'") + `], dynamicConfigMaps: [` + many(33, "'x'") + `]`, both,
		},
		"TooLongExpression": {config(text(4097, "x")), both},
		"TooLongTogether": {`secretExpressions: [` + many(1, text(4096, "x")) + `], dynamicConfigMaps: [` +
			many(1, text(4096, "x")) + `{name: b, valueMap: "{}"}]`, both},

		"DoesNotCompile": {config("1 +"), function},
		"WrongType":      {config("1"), function},
		"SecretInPublic": {config("secret.password"), function},
		"NotAllowed":     {config("environment.region"), function},
		"OneKeyOfTwoLists": {
			`secretExpressions: [{name: a, key: k, value: "'x'"}], dynamicSecrets: [{name: a, key: k, value: "'x'"}]`,
			function,
		},
		"LabelsDisagree": {`secretExpressions: [{name: a, key: k, value: "'x'", labels: {app: b}}, ` +
			`{name: a, key: l, value: "'x'", labels: {app: c}}]`, function},
		"TheCompositions": {named("xr-connection"), function},
	}
	function := compileAuthorExample(t)
	composites := map[string]*unstructured.Unstructured{}
	want, got := map[string]string{}, map[string]string{}
	says := map[string][]string{}

	for name, tc := range cases {
		object := fmt.Sprintf("{apiVersion: example.org/v1alpha1, kind: Database, metadata: {namespace: team, "+
			"name: xr}, "+
			"spec: {database: x, host: db, operatorSpec: {%s}}}", tc.lists)
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
func validateNamed(
	t *testing.T, p Peers, schemas string, objects map[string]*unstructured.Unstructured,
) map[string][]string {
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
