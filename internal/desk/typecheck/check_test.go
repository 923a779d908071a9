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
		"NoKind": {
			reason: "a kind that is not known has no schema, and nor has a Secret, whose data is hidden",
			known: func(k *typecheck.Known) {
				k.Resources["creds"] = plan.Kind{APIVersion: "v1", Kind: "Secret"}
				k.Schema = func(plan.Kind) *structpb.Struct { return plantest.Parse(t, "{type: object, properties: {spec: {}}}") }
			},
			input: value("resources.odd.anything + resources.creds.data.x"),
		},
		"OwnConfigMap": {
			reason: "an export is of its kind",
			known:  func(k *typecheck.Known) { schemaOf(k, configMap, data) },
			input:  "{configMaps: [{name: cm, data: [{key: k, value: \"'v'\"}]}], secrets: [{name: out, data: [{key: k, value: resources.cm.dta.x}]}]}",
			want:   []string{valueAt + "13: ConfigMap of v1 has no field dta: did you mean data?"},
		},
		"TakenByConfigMap": {
			reason: "a source that is no Secret may have the name of a composed resource: it is read as another variable",
			input:  "{sources: [{name: db, apiVersion: v1, kind: ConfigMap}], secrets: [{name: out, data: [{key: k, value: sources.db.data.k + secrets.db.password}]}]}",
		},
		"SecondTaken": {
			reason: "the name is refused where it is",
			input:  "{sources: [{name: own, apiVersion: v1, kind: Secret}, {name: db, apiVersion: v1, kind: Secret}], secrets: [{name: out, data: [{key: k, value: secrets.db.password}]}]}",
			want:   []string{`sources[1].name: "db" is also the name of a composed resource, so that secrets.db would mean two things: rename the source`},
		},
		"KeysOfComposite": {
			reason: "secret stands for the composite's connection details where there is no from",
			known:  func(k *typecheck.Known) { k.ConnectionKeys["composite"] = []string{"url"} },
			input:  "{secrets: [{name: out, data: [{key: k, value: secret.uri}, {key: l, value: secret.url}]}]}",
			want:   []string{valueAt + "7: the connection details of composite have no key uri: did you mean url?"},
		},
		"KeysOfGeneration": {
			reason: "and for those of the generation in its outputs",
			known:  func(k *typecheck.Known) { k.ConnectionKeys["composite"] = []string{"url"} },
			input:  "{generators: [{name: g, resource: {manifest: {apiVersion: rds.example.org/v1, kind: Instance}, outputs: {a: secret.uri}}}]}",
		},
		"KeysOfUnspelled": {
			reason: "keys are known of a resource that no step spells, where one may compose it",
			known:  func(k *typecheck.Known) { k.Closed, k.ConnectionKeys["dv"] = false, []string{"password"} },
			input:  value("secrets.dv.pasword"),
			want:   []string{valueAt + "11: the connection details of dv have no key pasword: did you mean password?"},
		},
		"KeysOfNone": {
			reason: "one that there is not lacks itself, and no key",
			known:  func(k *typecheck.Known) { k.ConnectionKeys["dv"] = []string{"password"} },
			input:  value("secrets.dv.pasword"),
			want:   []string{valueAt + "11: no step of the pipeline composes a resource named dv: did you mean db?"},
		},
		"KeysAfter": {
			reason: "the parts after a mistake are also checked",
			input:  value("secrets.dv.x + secrets.db.pasword"),
			want: []string{
				valueAt + "11: no step of the pipeline composes a resource named dv: did you mean db?",
				valueAt + "26: the connection details of db have no key pasword: did you mean password?",
			},
		},
		"KeysOfSource": {
			reason: "a Secret source has any keys, and no step composes it",
			known:  func(k *typecheck.Known) { k.ConnectionKeys["own"] = []string{"url"} },
			input:  "{sources: [{name: own, apiVersion: v1, kind: Secret}], secrets: [{name: out, data: [{key: k, value: secrets.own.anything}]}]}",
		},
		"KeysComputed": {
			reason: "of a name that is computed nothing is known",
			input:  value("secrets[composite.metadata.name].x + secrets.db[composite.metadata.name]"),
		},
		"Self": {
			reason: "self is resource by another name",
			input:  value("self.status.atProvider.hsot"),
			want: []string{
				valueAt + "23: Instance of rds.example.org/v1 has no field status.atProvider.hsot: did you mean host?",
			},
		},
		"Property": {
			reason: "what an extract takes of the environment is looked at where it is named",
			known:  func(k *typecheck.Known) { k.Environment = plantest.Parse(t, "{network: {vpc: v}}") },
			input:  "{configMaps: [{name: out, dataFrom: [{extract: {key: environment, property: netwrok}}]}]}",
			want:   []string{"configMaps[0].dataFrom[0].extract.property: environment has no field netwrok: did you mean network?"},
		},
		"CompositePaths": {
			reason: "each label of each selector, also behind one that has none, and up to an index",
			input: "{environment: {environmentConfigs: [{type: Reference, ref: {name: a}}, {type: Selector, selector: {matchLabels: [{key: a, type: Value, value: spec.nope}, " +
				"{key: b, type: FromCompositeFieldPath, valueFromFieldPath: spec.parameters.stag}, {key: c, valueFromFieldPath: 'spec.operatorSpec[0].x'}, {key: d, valueFromFieldPath: 'status.hosts[0].x'}]}}]}}",
			want: []string{"environment.environmentConfigs[1].selector.matchLabels[1].valueFromFieldPath: App of example.org/v1 has no field spec.parameters.stag: did you mean stage?"},
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
		"String":          {"a string is one", "endpoint", "composite.metadata.name", ""},
		"Bool":            {"a boolean is no string", "endpoint", "resources.db.spec.public", "returns a bool, but status.endpoint is a string: wrap it in string(...)"},
		"Number":          {"nor is a number", "endpoint", "1.5 * 2.0", "returns a double, but status.endpoint is a string: wrap it in string(...)"},
		"Object":          {"nor an object", "endpoint", "resources.db.spec", "returns a map(string, dyn), but status.endpoint is a string: select one of its keys, or encode it as one text with json.encode(...)"},
		"Map":             {"nor a map", "endpoint", "{'a': 'b'}", "returns a map(string, string), but status.endpoint is a string: select one of its keys, or encode it as one text with json.encode(...)"},
		"Whole":           {"a number may be a whole one", "port", "1.5 * 2.0", ""},
		"Unsigned":        {"as is one without a sign", "port", "uint(5)", ""},
		"UnsignedText":    {"which is no string", "endpoint", "uint(5)", "returns a uint, but status.endpoint is a string: wrap it in string(...)"},
		"NumberField":     {"a number is no string", "endpoint", "resources.db.spec.ratio", "returns a number, but status.endpoint is a string: wrap it in string(...)"},
		"NumberWhole":     {"a number may be a whole one", "port", "resources.db.spec.ratio", ""},
		"NumberVariable":  {"a variable keeps the type", "endpoint", "variables.ratio", "returns a number, but status.endpoint is a string: wrap it in string(...)"},
		"Null":            {"null takes a field away", "endpoint", "null", ""},
		"Dyn":             {"of what is not known nothing is refused", "endpoint", "dyn(1)", ""},
		"Optional":        {"an optional is what it may hold", "port", "resources.db.spec.?port", ""},
		"OptionalOther":   {"which may be the wrong thing", "port", "resources.db.spec.?size", "returns a string, but status.port is an int: convert the optional value with .optMap(v, int(v))"},
		"ObjectForMap":    {"an object may be a map", "by", "resources.db.spec", ""},
		"TextForMap":      {"a string may not", "by", "resources.db.spec.size", "returns a string, but status.by is a map(string, int): leave json.encode out"},
		"List":            {"a list is one of its elements", "hosts", "resources.db.spec.zones", ""},
		"ListForText":     {"nor is a list", "endpoint", "resources.db.spec.zones", "returns a list(string), but status.endpoint is a string: join it with .join(',') or json.encode(...)"},
		"ListOther":       {"one of others is none", "hosts", "[1]", "returns a list(int), but status.hosts is a list(string)"},
		"EmptyList":       {"an empty one may be of anything", "hosts", "[]", ""},
		"Open":            {"a field that is open takes all", "open.x", "resources.db.spec", ""},
		"MapEntry":        {"an entry of a map is of its type", "by.a", "resources.db.spec.port", ""},
		"MapEntryOther":   {"and of no other", "by.a", "resources.db.spec.size", "returns a string, but status.by.a is an int: wrap it in int(...)"},
		"OptionalMessage": {"an optional is called what it may hold", "endpoint", "resources.db.spec.?port", "returns an int, but status.endpoint is a string: convert the optional value with .optMap(v, string(v))"},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{"status[0].value: " + c.want}
			}
			if diff := cmp.Diff(want, typed(t, "{variables: [{name: ratio, value: resources.db.spec.ratio}], status: [{fieldPath: "+c.field+", value: \""+c.value+"\"}]}", known(t))); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The check does not change the known schemas.
func TestTypesChangeNothing(t *testing.T) {
	k := known(t)
	typed(t, "{secrets: [{name: out, data: [{key: k, value: \"'v'\"}]}]}", k)
	if _, ok := k.Resources["out"]; ok {
		t.Error("CheckTypes(...): an export was added to the resources of the other steps")
	}
}
