package typecheck_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/typecheck"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// Kinds as their CustomResourceDefinitions have them.
const (
	instanceSchema = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object, properties: {name: {type: string, maxLength: 63}}}
  spec:
    type: object
    properties:
      size: {type: string, enum: [small, large]}
      port: {type: integer}
      ratio: {type: number}
      public: {type: boolean}
      target: {x-kubernetes-int-or-string: true}
      tags: {type: object, additionalProperties: {type: string}}
      zones: {type: array, items: {type: string}}
      maybe: {type: string, nullable: true}
      anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
  status:
    type: object
    properties:
      atProvider:
        type: object
        properties:
          endpoint: {type: string}
          host: {type: string}
          users: {type: array, items: {type: object, properties: {name: {type: string}, role: {type: string}}}}
          port: {type: integer}
      conditions:
        type: array
        items:
          type: object
          properties:
            type: {type: string}
            status: {type: string}
`
	appSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      parameters: {type: object, properties: {stage: {type: string}, count: {type: integer}}}
      operatorSpec: {type: object, x-kubernetes-preserve-unknown-fields: true}
  status:
    type: object
    properties:
      endpoint: {type: string}
      port: {type: integer}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true}
      hosts: {type: array, items: {type: string}}
      by: {type: object, additionalProperties: {type: integer}}
`
)

var (
	instance = plan.Kind{APIVersion: "rds.example.org/v1", Kind: "Instance"}
)

// known is a composition of a database, whose kinds are known.
func known(t testing.TB) *typecheck.Known {
	t.Helper()
	schemas := map[plan.Kind]*structpb.Struct{plantest.App: plantest.Parse(t, appSchema),
		instance: plantest.Parse(t, instanceSchema)}
	return &typecheck.Known{
		Composite: plantest.App,
		Resources: map[string]plan.Kind{"db": instance, "cache": {APIVersion: "cache.example.org/v1",
			Kind: "Redis"}, "odd": {}},
		Closed:         true,
		Required:       []string{"zones"},
		ConnectionKeys: map[string][]string{"db": {"password", "username"}},
		Schema:         func(k plan.Kind) *structpb.Struct { return schemas[k] },
	}
}

// typed are the diagnostics of the types of an input that compiles.
func typed(t testing.TB, input string, k *typecheck.Known) []string {
	t.Helper()
	p, faults := plantest.Compile(t, plantest.Exports(input))
	if len(faults) > 0 {
		t.Fatalf("the input has to compile: %s", faults)
	}
	var out []string
	_, found := typecheck.Inspect(p, k)
	for _, f := range found {
		out = append(out, f.Error())
	}
	return out
}

// value is an input whose one Secret has one key, of db.
func value(expression string) string {
	return "{secrets: [{name: out, from: db, data: [{key: k, value: \"" + expression + "\"}]}]}"
}

const valueAt = "secrets[0].data[0].value:1:"

func TestTypesFind(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"ItemOfGenerator": {
			reason: "an item has the type of the elements of the list",
			input: "{generators: [{name: g, forEachExpression: resources.db.status.atProvider.users, keyExpression: " +
				"item.nmae, uuid: {}, refreshPolicy: OnChange, keepersExpression: item.rol}], secrets: [{name: " +
				"s, data: [{key: k, value: generated.g.a.uuid}]}]}",
			want: []string{
				"generators[0].keyExpression:1:5: Instance of rds.example.org/v1 has no field " +
					"status.atProvider.users[].nmae: did you mean name?",
				"generators[0].keepersExpression:1:5: Instance of rds.example.org/v1 has no field " +
					"status.atProvider.users[].rol: did you mean role?",
			},
		},
		"Misspelt": {
			reason: "a field of the status that there is not, with the one that was meant",
			input:  value("resources.db.status.atProvider.hsot"),
			want: []string{valueAt + "31: Instance of rds.example.org/v1 has no field status.atProvider.hsot: did " +
				"you mean host?"},
		},
		"Variable": {
			reason: "a variable is of the type of its value",
			input: "{variables: [{name: at, value: resources.db.status.atProvider}], secrets: [{name: out, data: " +
				"[{key: k, value: variables.at.hsot}, {key: l, value: variables.at.port}]}]}",
			want: []string{
				valueAt + "13: Instance of rds.example.org/v1 has no field status.atProvider.hsot: did you mean host?",
				"secrets[0].data[1].value:1:1: must return a string, but returns an int: wrap it in string(...)",
			},
		},
		"Composite": {
			reason: "the composite has a type as well",
			input:  value("composite.spec.paramters.stage"),
			want:   []string{valueAt + "15: App of example.org/v1 has no field spec.paramters: did you mean parameters?"},
		},
		"NoFrom": {
			reason: "from is easily forgotten in one of several exports",
			input:  "{secrets: [{name: out, data: [{key: k, value: resource.status.atProvider.host}]}]}",
			want: []string{valueAt + "16: App of example.org/v1 has no field status.atProvider: add it to the schema " +
				"in the XRD, or use one of by, endpoint, hosts, open, port"},
		},
		"NotComposed": {
			reason: "a resource that no step composes is waited for for ever",
			input: "{secrets: [{name: out, from: bd, data: [{key: k, value: secret.password}, {key: l, value: " +
				"resources.cahce.status.url}, {key: m, value: secrets.dv.password}]}]}",
			want: []string{
				"secrets[0].from: no step of the pipeline composes a resource named bd: did you mean db?",
				"secrets[0].data[1].value:1:10: no step of the pipeline composes a resource named cahce: did you mean cache?",
				"secrets[0].data[2].value:1:11: no step of the pipeline composes a resource named dv: did you mean db?",
			},
		},
		"Taken": {
			reason: "an export and another step must not compose resources of one name",
			input:  "{secrets: [{name: db, data: [{key: k, value: \"'v'\"}]}]}",
			want: []string{`secrets[0].name: another step of the pipeline also composes a resource named "db": ` +
				`rename one of them`},
		},
		"Source": {
			reason: "a source is of the kind that the input spells",
			input: "{sources: [{name: other, apiVersion: rds.example.org/v1, kind: Instance}, {name: all, " +
				"apiVersion: rds.example.org/v1, kind: Instance, matchLabels: {a: b}}], secrets: [{name: out, data: " +
				"[{key: k, value: sources.other.spec.prot}, {key: l, value: 'sources.all[0].spec.sice'}]}]}",
			want: []string{
				valueAt + "19: Instance of rds.example.org/v1 has no field spec.prot: did you mean port?",
				"secrets[0].data[1].value:1:20: Instance of rds.example.org/v1 has no field spec.sice: did you mean size?",
			},
		},
		"Manifest": {
			reason: "what a generator sets, and reads of its own generation",
			input: "{generators: [{name: g, resource: {manifest: {apiVersion: rds.example.org/v1, kind: Instance, " +
				"spec: {}}, set: [{fieldPath: spec.sise, value: \"'small'\"}, {fieldPath: spec.port, value: " +
				"\"'x'\"}], outputs: {host: resource.status.atProvider.hsot}}}]}",
			want: []string{
				"generators[0].resource.outputs[host]:1:27: Instance of rds.example.org/v1 has no field " +
					"status.atProvider.hsot: did you mean host?",
				"generators[0].resource.set[0].fieldPath: Instance of rds.example.org/v1 has no field spec.sise: did " +
					"you mean size?",
				"generators[0].resource.set[1].value: returns a string, but spec.port is an int: wrap it in int(...)",
			},
		},
		"ItemOfExport": {
			reason: "an item has the type of the list's items, and a map is no list",
			input: "{secrets: [{name: a, forEachExpression: resources.db.status.atProvider.users, keyExpression: " +
				"item.nmae, data: [{key: k, value: item.role}]}, {name: b, forEachExpression: " +
				"resources.db.spec.tags, keyExpression: item.name, data: [{key: k, value: key}]}]}",
			want: []string{
				"secrets[0].keyExpression:1:5: Instance of rds.example.org/v1 has no field " +
					"status.atProvider.users[].nmae: did you mean name?",
				"secrets[1].forEachExpression:1:1: must return a list, but returns a map(string, string): write " +
					"value.map(k, {'name': k, 'value': value[k]}) for a list of its entries",
			},
		},
		"CompositePath": {
			reason: "a literal path of the composite is held against its schema, too",
			input: "{environment: {environmentConfigs: [{type: Selector, selector: {matchLabels: [{key: stage, " +
				"valueFromFieldPath: spec.parameters.stag}]}}]}, fromComposite: {fieldPath: spec.operatorSpecs, " +
				"allow: {resources: [db]}}}",
			want: []string{
				"environment.environmentConfigs[0].selector.matchLabels[0].valueFromFieldPath: App of example.org/v1 " +
					"has no field spec.parameters.stag: did you mean stage?",
				"fromComposite.fieldPath: App of example.org/v1 has no field spec.operatorSpecs: did you mean operatorSpec?",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, typed(t, c.input, known(t))); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// An expression that can never work has a diagnostic for each cause, at its position.
func TestExpressions(t *testing.T) {
	const instance = "Instance of rds.example.org/v1 has no field "
	for text, want := range map[string][]string{
		"resource['spec']['sice']":         {"17: " + instance + "spec.sice: did you mean size?"},
		"resource.?spec.?sice.orValue('')": {"15: " + instance + "spec.sice: did you mean size?"},
		"resource.status.conditions.map(c, c.typ).join('')": {"36: " + instance +
			"status.conditions[].typ: did you mean type?"},
		"resource.spec.sice + resource.spec.prot": {
			"14: " + instance + "spec.sice: did you mean size?", "35: " + instance + "spec.prot: did you mean port?",
		},
		"resource.spec.port.map(x, string(x)).join(',')": {"14: cannot be iterated: it is an int, not a list or map"},
		"resource.spec.public && resource.spec.size ? 'a' : 'b'": {
			"38: must be true or false, but is a string: compare it with something",
		},
		"string(resource.spec.port + resource.spec.size)": {
			"27: + does not accept int and string: wrap the operand that is not a string in string(...)",
		},
		"resource.spec.zones + resource.spec.size": {
			"21: + does not accept list(string) and string: write .join(',') after the list, or [ ] around the string",
		},
		"resource.spec.size < resource.spec.port ? 'a' : 'b'": {
			"20: < does not accept string and int: wrap the string in int(...) or double(...)",
		},
		"resource.spec.port.startsWith('a') ? 'a' : 'b'": {
			"20: startsWith does not accept int and string: wrap the int in string(...)",
		},
		"resource.spec.port == 'a' ? 'a' : 'b'": {
			"20: can never be true: it compares an int with a string: leave out the quotes, or wrap the int in string(...)",
		},
		"resource.spec.size == 5432 ? 'a' : 'b'": {
			"20: can never be true: it compares a string with an int: write it in quotes, '5432'",
		},
		"resource.spec == resource.spec.size ? 'a' : 'b'": {
			"15: can never be true: it compares a map(string, dyn) with a string",
		},
		"resource.spec.port in resource.spec.zones ? 'a' : 'b'": {
			"20: can never be true: it looks for an int in a list(string): wrap the int in string(...)",
		},
		"resource.spec.public ? resource.spec.size : resource.spec.port": {
			"45: must return a string, but returns an int: wrap it in string(...)",
		},
		"resource.spec.public ? resource.spec.public : resource.spec.port": {
			"1: must return a string, but returns a bool: wrap it in string(...)",
		},
		"resource.spec.?size.or(resource.spec.?port)": {
			"24: must return a string, but returns an int: convert the optional value with .optMap(v, string(v))",
		},
		"'x' + resource.spec.ratio": {
			"5: + does not accept string and number: wrap the operand that is not a string in string(...)",
		},
		"resource.spec.ratio == '1' ? 'a' : 'b'": {
			"21: can never be true: it compares a number with a string: leave out the quotes, or wrap the number in " +
				"string(...)",
		},
		"resource.spec.ratio": {"1: must return a string, but returns a number: wrap it in string(...)"},
		"resource.spec.zones": {
			"1: must return a string, but returns a list(string): join it with .join(',') or json.encode(...)",
		},
	} {
		var at []string
		for _, w := range want {
			at = append(at, valueAt+w)
		}
		if diff := cmp.Diff(at, typed(t, value(text), known(t))); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", text, diff)
		}
	}
}

// An expression that works at run time, or that may work, has no diagnostic.
func TestTypesLetBe(t *testing.T) {
	for _, expression := range []string{
		"resource.status.atProvider.endpoint + resource.metadata.annotations['a/b'] + resource.kind",
		"resource.spec == {'size': 'small'} ? 'a' : 'b'",
		"resource.spec != composite.spec ? 'a' : 'b'",
		"resource.spec.port == null ? 'a' : 'b'",
		"resource.spec.size in [null] ? 'a' : 'b'",
		"resource.spec.port == 5432 && resource.spec.port < 5.5 ? 'a' : 'b'",
		"size(resource.spec) > 1 && 'size' in resource.spec ? 'a' : 'b'",
		"resource.spec.map(k, k)[0]",
		"resource.spec.map(k, k + 'x').join(',')",
		"resource.spec.transformList(k, v, k + string(v)).join(',')",
		"resource.spec['si' + 'ze']",
		"resource[composite.metadata.name].x.y",
		"json.encode(resource.spec.public ? resource.spec : {})",
		"resource.?spec.orValue({}).size",
		"resource.?spec.tags.orValue({}).?a.orValue('')",
		"resource.spec.tags.anything + resource.spec.zones.join('-')",
		"resource.spec.anything.at.all + resource.spec.target",
		"string(resource.spec.ratio * 2.0) + string(resource.spec.ratio * 2)",
		"string(resource.spec.ratio + 1) + string(math.round(resource.spec.ratio)) + " +
			"resource.spec.zones[resource.spec.ratio]",
		"resource.spec == {} || resource.status.conditions == [{}] ? 'a' : 'b'",
		"(resource.spec.public ? resource.spec : composite.spec).size",
		"resource.spec.maybe == null ? 'a' : resource.spec.maybe",
		"'%d of %s'.format([resource.spec.port, resource.spec.size])",
		"string(dyn(resource).status.no.such)",
		"resource.spec.?size.orValue('') == '' ? 'a' : 'b'",
		"resource.spec.size.startsWith('x') ? 'a' : 'b'",
		"resources.cache.status.what.ever + resources.odd.spec.x",
		"resources.map(n, n)[0]",
		"size(resources) > 2 ? 'a' : 'b'",
		"[resource.spec, composite.spec].map(s, json.encode(s)).join('')",
		"resource.metadata.ownerReferences.exists(o, o.controller && o.uid == composite.metadata.uid) ? 'a' : 'b'",
		"cel.bind(x, resource.spec.public ? resource.spec.size : 'none', x + x)",
		"secret.username + secret[composite.metadata.name] + secrets.cache.anything",
		"resources.out.data.x",
		"optional.of(resource.spec).value().size",
		"string(resource.spec.public ? resource.spec.port : 'none')",
		"string(resource.?spec.port.orValue('none'))",
		"string(resource.?spec.port.or(optional.of('none')).value())",
		"dyn(null)[?'a'].orValue('')",
		"resource.spec.port == 5432.0 ? 'a' : 'b'",
		"resource.spec.port != 5432u ? 'a' : 'b'",
		"resource.spec.port in [5432.0] ? 'a' : 'b'",
		"resource.spec.zones == resource.spec.zones.map(z, size(z)) ? 'a' : 'b'",
		"resource.spec.tags == {}.transformMap(k, v, 1) ? 'a' : 'b'",
		"sets.intersects(resource.spec.zones, [1]) ? 'a' : 'b'",
		"dyn(secret).nope + dyn(secrets.db).nope + dyn(secrets).db.nope",
		"dyn(resource).spec.size == 'huge' ? 'a' : 'b'",
		"resource.status.conditions.filter(c, c.type == 'Ready').map(c, c.status)[0]",
		"context['a'].b + environment.anything",
		"sets.contains(resource.spec.zones, ['a']) ? 'a' : 'b'",
		"(resource.status.conditions + composite.metadata.ownerReferences).exists(o, has(o.uid)) ? 'a' : 'b'",
		"([{'type': 'None'}] + resource.status.conditions).map(c, c.type)[0]",
	} {
		t.Run(expression, func(t *testing.T) {
			if got := typed(t, value(expression), known(t)); got != nil {
				t.Errorf("want no fault, got %s", strings.Join(got, "\n"))
			}
		})
	}
}

// Of what is not known nothing is refused.
func TestTypesUnknown(t *testing.T) {
	input := "{secrets: [{name: out, from: bd, data: [{key: k, value: secret.a + resource.b + composite.c + " +
		"resources.x.y + secrets.x.z}]}], status: [{fieldPath: a.b, value: resources.x}]}"
	for name, k := range map[string]*typecheck.Known{
		"Nothing": {},
		"Kinds":   {Composite: plantest.App, Resources: map[string]plan.Kind{"bd": instance, "x": {}}, Closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := typed(t, input, k); got != nil {
				t.Errorf("want no fault, got %s", strings.Join(got, "\n"))
			}
		})
	}
}

// A schema that is deeper than any takes no longer, and one with many values is not
// listed.
func TestTypesHostileSchema(t *testing.T) {
	s := map[string]any{"type": "string"}
	for range 2000 {
		s = map[string]any{"type": "array", "items": s}
	}
	s = map[string]any{"type": "object", "properties": map[string]any{"deep": s,
		"many": map[string]any{"type": "string"}}}
	k := known(t)
	k.Schema = func(plan.Kind) *structpb.Struct { return plantest.StructOf(t, s).Proto() }
	got := typed(t, "{secrets: [{name: out, from: db, data: [{key: k, value: json.encode(resource.deep)}, {key: l, "+
		"value: \"resource.manny\"}]}]}", k)
	if len(got) != 1 || len(strings.Join(got, "")) > 1000 {
		t.Errorf("want one short fault, got %.2000v", got)
	}
}
