package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// authorExample has the definition whose operatorSpec users copy.
const authorExample = example + "/author-exports"

// The schema of the example's definition, which users copy, refuses most mistakes of composite authors, and accepts
// everything that the function accepts.
func TestAuthorSchema(t *testing.T) {
	const accepted, refused = false, true

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
		lists string // below operatorSpec
		want  bool
	}{
		"Nothing": {``, accepted},
		"Key":     {entry(``), accepted},
		"Map":     {`secretExpressions: [{name: a, value: "{'k': secret.password}"}]`, accepted},
		"KeysOfOneObject": {
			`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, key: l, value: "'x'"}, ` +
				`{name: b, key: k, value: "'x'"}, {name: a, value: "{'m': 'x'}"}, {name: b, value: "{'l': 'x'}"}]`,
			accepted,
		},
		"NameOfBothKinds": {`secretExpressions: [{name: a, key: k, value: "'x'"}], ` +
			`configMapExpressions: [{name: a, key: k, value: "'x'"}]`, accepted},
		"ConfigMap": {config("self.spec.database + resources.db.status.host"), accepted},
		"ValueMap":  {export(`valueMap: "{'k': 'x'}"`), accepted},

		"NoName":      {`secretExpressions: [{key: k, value: "'x'"}]`, refused},
		"UpperName":   {named(`A`), refused},
		"SlashName":   {named(`other/a`), refused},
		"DomainName":  {named(`a.b-c.0`), accepted},
		"TooLongName": {named(strings.Repeat("a", 254)), refused},

		"SpaceKey":  {keyed(`a b`), refused},
		"DotDotKey": {keyed(`..`), refused},
		"DotFile":   {keyed(`.x`), accepted},

		"EmptyValue":    {`secretExpressions: [{name: a, key: k, value: ""}]`, refused},
		"ValueOfNoKey":  {export(`value: "'x'"`), refused},
		"ValueMapOfKey": {export(`key: k, valueMap: "{'k': 'x'}"`), refused},
		"NeitherValue":  {export(`key: k`), refused},
		"BothValues":    {export(`value: "'x'", valueMap: "{'k': 'x'}"`), refused},
		"OneKeyTwice": {`secretExpressions: [{name: a, key: k, value: "'x'"}, {name: a, key: k, value: "'x'"}]`,
			refused},

		"Labels":          {entry(`labels: {app: b, example.org/a_b.C: "", app.kubernetes.io/name: x}`), accepted},
		"LabelNotAllowed": {entry(`labels: {team: x}`), refused},
		"LabelReserved":   {entry(`labels: {crossplane.io/composite: a}`), refused},
		"LabelsTooMany":   {entry(`labels: {` + labels(33) + `}`), refused},

		"Annotations":          {entry(`annotations: {example.org/a: "any thing\n", example.org/a_b.C: ""}`), accepted},
		"AnnotationNotAllowed": {entry(`annotations: {a: b}`), refused},

		"UnknownField": {entry(`kee: k`), refused},
		"NoText":       {`secretExpressions: [{name: a, key: k, value: 5}]`, refused},
		"NoList":       {`secretExpressions: {name: a}`, refused},

		"TooManyEntries": {
			`secretExpressions: [` + many(32, "'x'") + `], dynamicConfigMaps: [` + many(33, "'x'") + `]`, refused,
		},
		"TooLongExpression": {config(text(4097, "x")), refused},
		"TooLongTogether": {`secretExpressions: [` + many(1, text(4096, "x")) + `], dynamicConfigMaps: [` +
			many(1, text(4096, "x")) + `{name: b, valueMap: "{}"}]`, refused},
	}
	composites := map[string]*unstructured.Unstructured{}

	for name, tc := range cases {
		object := fmt.Sprintf("{apiVersion: example.org/v1alpha1, kind: Database, "+
			"metadata: {namespace: team, name: xr}, spec: {database: x, host: db, operatorSpec: {%s}}}", tc.lists)
		composites[name] = parseObjects(t, object)[0]
	}

	for name, says := range validateNamed(t, PeersForTest(t), filepath.Join(authorExample, "xrd.yaml"), composites) {
		if cases[name].want == accepted {
			t.Errorf("%s is refused: %q", name, says)
		}

		delete(composites, name)
	}

	for name := range composites {
		if cases[name].want == refused {
			t.Errorf("%s is accepted", name)
		}
	}
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
