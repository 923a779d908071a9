package typecheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The diagnostics depend on the schemas that are known.
func TestTypesKnown(t *testing.T) {
	configMap := plan.Kind{APIVersion: "v1", Kind: "ConfigMap"}
	schemaOf := func(k *typecheck.Known, kind plan.Kind, text string) {
		before := k.Schema
		k.Schema = func(other plan.Kind) *structpb.Struct {
			if other == kind {
				return plantest.Parse(t, text)
			}
			return before(other)
		}
	}
	const data = "{type: object, properties: {data: {type: object, additionalProperties: {type: string}}}}"
	for name, c := range map[string]struct {
		reason string
		known  func(*typecheck.Known)
		input  string
		want   []string
	}{
		"OwnConfigMap": {
			reason: "an export is of its kind",
			known:  func(k *typecheck.Known) { schemaOf(k, configMap, data) },
			input: "{configMaps: [{name: cm, data: [{key: k, value: \"'v'\"}]}], secrets: [{name: out, data: [{key: " +
				"k, value: resources.cm.dta.x}]}]}",
			want: []string{valueAt + "13: ConfigMap of v1 has no field dta: did you mean data?"},
		},
		"TakenByConfigMap": {
			reason: "a source that is no Secret may have the name of a composed resource: it is read as another variable",
			input: "{sources: [{name: db, apiVersion: v1, kind: ConfigMap}], secrets: [{name: out, data: [{key: k, " +
				"value: sources.db.data.k + secrets.db.password}]}]}",
		},
		"KeysAfter": {
			reason: "the parts after a mistake are also checked",
			input:  value("secrets.dv.x + secrets.db.pasword"),
			want: []string{
				valueAt + "11: no step of the pipeline composes a resource named dv: did you mean db?",
				valueAt + "26: the connection details of db have no key pasword: did you mean password?",
			},
		},
		"Self": {
			reason: "self is resource by another name",
			input:  value("self.status.atProvider.hsot"),
			want: []string{
				valueAt + "23: Instance of rds.example.org/v1 has no field status.atProvider.hsot: did you mean host?",
			},
		},
		"CompositePaths": {
			reason: "each label of each selector, also behind one that has none, and up to an index",
			input: "{environment: {environmentConfigs: [{type: Reference, ref: {name: a}}, {type: Selector, selector: " +
				"{matchLabels: [{key: a, type: Value, value: spec.nope}, " +
				"{key: b, type: FromCompositeFieldPath, valueFromFieldPath: spec.parameters.stag}, {key: c, " +
				"valueFromFieldPath: 'spec.operatorSpec[0].x'}, {key: d, valueFromFieldPath: 'status.hosts[0].x'}]}}]}}",
			want: []string{"environment.environmentConfigs[1].selector.matchLabels[1].valueFromFieldPath: App of " +
				"example.org/v1 has no field spec.parameters.stag: did you mean stage?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := known(t)
			if c.known != nil {
				c.known(k)
			}
			if diff := cmp.Diff(c.want, typed(t, c.input, k)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// What status and set take, of what an expression gives.
func TestTypesFit(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		field  string
		value  string
		want   string
	}{
		"String": {"a string is one", "endpoint", "composite.metadata.name", ""},
		"Number": {"nor is a number", "endpoint", "1.5 * 2.0", "returns a double, but status.endpoint is a " +
			"string: wrap it in string(...)"},
		"Object": {"nor an object", "endpoint", "resources.db.spec",
			"returns a map(string, dyn), but status.endpoint is a string: select one of its keys, or encode it as one " +
				"text with json.encode(...)"},
		"Map": {"nor a map", "endpoint", "{'a': 'b'}", "returns a map(string, string), but status.endpoint is " +
			"a string: select one of its keys, or encode it as one text with json.encode(...)"},
		"Whole":    {"a number may be a whole one", "port", "1.5 * 2.0", ""},
		"Dyn":      {"of what is not known nothing is refused", "endpoint", "dyn(1)", ""},
		"Optional": {"an optional is what it may hold", "port", "resources.db.spec.?port", ""},
		"TextForMap": {"a string may not", "by", "resources.db.spec.size", "returns a string, but status.by is a " +
			"map(string, int): leave json.encode out"},
		"List": {"a list is one of its elements", "hosts", "resources.db.spec.zones", ""},
		"ListForText": {"nor is a list", "endpoint", "resources.db.spec.zones",
			"returns a list(string), but status.endpoint is a string: join it with .join(',') or json.encode(...)"},
		"ListOther": {"one of others is none", "hosts", "[1]", "returns a list(int), but status.hosts is a list(string)"},
		"Open":      {"a field that is open takes all", "open.x", "resources.db.spec", ""},
		"MapEntry":  {"an entry of a map is of its type", "by.a", "resources.db.spec.port", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{"status[0].value: " + c.want}
			}
			if diff := cmp.Diff(want, typed(t, "{variables: [{name: ratio, value: resources.db.spec.ratio}], status: "+
				"[{fieldPath: "+c.field+", value: \""+c.value+"\"}]}", known(t))); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
