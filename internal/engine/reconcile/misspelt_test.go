package reconcile_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

var database = plan.Kind{APIVersion: "example.org/v1", Kind: "DB"}

// typedRun calls as a Crossplane does that reads schemas, until all was read. Each call
// wants the same schemas.
func (s *scene) typedRun(t *testing.T, schemas map[plan.Kind]*structpb.Struct) (*reconcile.Result, error) {
	t.Helper()
	s.req.HasSchemas = true
	first, err := s.call(t)
	if err != nil {
		return nil, err
	}
	s.req.Schemas = map[plan.Kind]wire.Struct{}
	for _, k := range first.Schemas {
		s.req.Schemas[k] = wire.Of(schemas[k])
	}
	if len(first.Schemas) > 0 && !first.Unread {
		t.Error("Run(...): schemas were not read, and the result does not say so")
	}
	for _, r := range first.Requirements {
		s.req.Found[r.Key()] = s.answer(r)
	}
	second, err := s.call(t)
	if err == nil {
		if diff := cmp.Diff(first.Schemas, second.Schemas); diff != "" {
			t.Errorf("Run(...): schemas wanted by two calls of one reconcile: -first, +second:\n%s", diff)
		}
	}
	return second, err
}

func TestMisspelt(t *testing.T) {
	const dbSchema = `
type: object
properties:
  spec: {type: object, properties: {port: {type: integer}}}
  status: {type: object, properties: {endpoint: {type: string}, address: {type: string}}}
`
	const appSchema = `
type: object
properties:
  spec: {type: object, properties: {zone: {type: string}}}
  status: {type: object, properties: {endpoint: {type: string}, zone: {type: string}}}
`
	const (
		lacksStatus = "Held! | status[0].fieldPath: App of example.org/v1 has no field status.enpoint: did you mean endpoint?"

		lacks    = "secrets[0].data[0].value:1:16: DB of example.org/v1 has no field status.endpiont: did you mean endpoint?"
		waits    = `Waiting nothing | Secret "out" (team/xr-out) is not created: key "k" waits for `
		misspelt = "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpiont}]}]"
	)
	type want struct {
		schemas []plan.Kind
		shown   []string
	}
	for name, c := range map[string]struct {
		reason   string
		input    string
		overlays []string
		schemas  map[plan.Kind]string
		want     want
	}{
		"Misspelt": {
			reason:  "what waits for a field that cannot come says so",
			input:   misspelt,
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "resources.db.status.endpiont (DB db-1 is not ready)", "Waiting! | " + lacks}},
		},
		"BelowMissing": {
			reason:  "a field is looked for also below one that does not exist yet, at its own position",
			input:   "secrets: [{name: out, from: db, data: [{key: k, value: \"resource.status['provider'].hots + 'x'\"}]}]",
			schemas: map[plan.Kind]string{database: "{type: object, properties: {status: {type: object, properties: {provider: {type: object, properties: {host: {type: string}}}}}}}"},
			want: want{[]plan.Kind{database}, []string{
				waits + "resources.db.status.provider (DB db-1 is not ready)",
				"Waiting! | secrets[0].data[0].value:1:28: DB of example.org/v1 has no field status.provider.hots: did you mean host?",
			}},
		},
		"AboveMissing": {
			reason:  "the position is that of the step",
			input:   "secrets: [{name: out, from: db, data: [{key: k, value: resource.statsu.endpoint}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want: want{[]plan.Kind{database}, []string{
				waits + "resources.db.statsu (DB db-1 is not ready)",
				"Waiting! | secrets[0].data[0].value:1:9: DB of example.org/v1 has no field statsu: did you mean status?",
			}},
		},
		"NotYet": {
			reason:  "what waits for a field that may come does not",
			input:   "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.address}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "resources.db.status.address (DB db-1 is not ready)"}},
		},
		"NothingWaits": {
			reason: "while nothing waits no schema is asked for: they are large",
			input:  "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}]}]",
			want:   want{nil, []string{"Available Secret team/xr-out {data: {k: db.example.org}}"}},
		},
		"NotComposed": {
			reason: "nor while an object is not there: it has no fields at all",
			input:  "secrets: [{name: out, data: [{key: k, value: resources.cache.status.url + secrets.db.nope}]}]",
			want:   want{nil, []string{waits + "resources.cache (no earlier step composes it: use db, or compose it in an earlier step), secrets.db.nope (DB db-1 is not ready, and has the keys empty, password, username)"}},
		},
		"OptionalAbsent": {
			reason: "nor for what is optional",
			input:  "secrets: [{name: out, from: db, data: [{key: k, value: \"resource.status.?endpiont.orValue('x')\"}, {key: l, value: secret.nope}]}]",
			want:   want{nil, []string{`Waiting nothing | Secret "out" (team/xr-out) is not created: key "l" waits for secrets.db.nope (DB db-1 is not ready, and has the keys empty, password, username)`}},
		},
		"OptionalKey": {
			reason: "nor for an optional key that waits: the object is made, and stays as it is wanted",
			input:  "variables: [{name: h, value: resources.db.status.hots}]\nsecrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}, {key: l, value: resource.status.endpiont, optional: true}, {key: m, value: variables.h, optional: true}]}]",
			want:   want{nil, []string{"Available Secret team/xr-out {data: {k: db.example.org}}"}},
		},
		"Variable": {
			reason:  "through a variable as well",
			input:   "variables: [{name: s, value: resources.db.status}, {name: h, value: variables.s.hots}]\nsecrets: [{name: out, data: [{key: k, value: variables.h}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "variables.s.hots", "Waiting! | variables[1].value:1:12: DB of example.org/v1 has no field status.hots: there are address, endpoint"}},
		},
		"WrongVariable": {
			reason:  "a mistake in a variable is reported there",
			input:   "variables: [{name: s, value: resources.db.statsu}]\nsecrets: [{name: out, data: [{key: k, value: variables.s.host}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want: want{[]plan.Kind{database}, []string{
				waits + "resources.db.statsu (DB db-1 is not ready)",
				"Waiting! | variables[0].value:1:13: DB of example.org/v1 has no field statsu: did you mean status?",
			}},
		},
		"OptionalVariable": {
			reason:  "a variable is there in any case: what it waits for is waited for",
			input:   "variables: [{name: h, value: resources.db.status.hots}]\nsecrets: [{name: out, data: [{key: k, value: \"variables.?h.orValue('x')\"}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "resources.db.status.hots (DB db-1 is not ready)", "Waiting! | variables[0].value:1:20: DB of example.org/v1 has no field status.hots: there are address, endpoint"}},
		},
		"Status": {
			reason:  "a status field also waits",
			input:   "status: [{fieldPath: a, value: resources.db.status.endpiont}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{"Waiting a=nothing | status.a is not written: it waits for resources.db.status.endpiont (DB db-1 is not ready)", "Waiting! | status[0].value:1:20: DB of example.org/v1 has no field status.endpiont: did you mean endpoint?"}},
		},
		"Composite": {
			reason:  "the composite has a schema as well",
			input:   "secrets: [{name: out, data: [{key: k, value: composite.spec.regoin}]}]",
			schemas: map[plan.Kind]string{plantest.App: "{type: object, properties: {spec: {type: object, properties: {region: {type: string}}}}}"},
			want:    want{[]plan.Kind{plantest.App}, []string{waits + "composite.spec.regoin (correct it, set it in App xr, or write .?regoin.orValue('none') for a default)", "Waiting! | secrets[0].data[0].value:1:15: App of example.org/v1 has no field spec.regoin: did you mean region?"}},
		},
		"StatusOfComposite": {
			reason:  "Crossplane cannot write a status field that the composite does not have",
			input:   "status: [{fieldPath: enpoint, value: resources.db.status.endpoint}]",
			schemas: map[plan.Kind]string{plantest.App: appSchema},
			want:    want{[]plan.Kind{plantest.App}, []string{"Available enpoint=db.example.org", lacksStatus}},
		},
		"StatusObserved": {
			reason: "the composite has the field, so no schema is needed",
			input:  "status: [{fieldPath: endpoint, value: resources.db.status.endpoint}]",
			overlays: []string{
				"composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team}, status: {endpoint: x}}",
			},
			want: want{nil, []string{"Available endpoint=db.example.org"}},
		},
		"StatusOfCompositeAndWaiting": {
			reason: "the schema of the composite is required once",
			input: "status: [{fieldPath: enpoint, value: resources.db.status.endpoint}, " +
				"{fieldPath: zone, value: composite.spec.zone}]",
			schemas: map[plan.Kind]string{plantest.App: appSchema},
			want: want{[]plan.Kind{plantest.App}, []string{
				"Available enpoint=db.example.org",
				"Waiting zone=nothing | status.zone is not written: it waits for composite.spec.zone " +
					"(correct it, set it in App xr, or write .?zone.orValue('none') for a default)",
				lacksStatus,
			}},
		},
		"NoSchema": {
			reason: "a kind that the API server has no schema of is not known",
			input:  misspelt,
			want:   want{[]plan.Kind{database}, []string{waits + "resources.db.status.endpiont (DB db-1 is not ready)"}},
		},
		"BranchNotTaken": {
			reason: "nor for a branch that is not taken",
			input:  "secrets: [{name: out, from: db, data: [{key: k, value: \"resource.spec.port == 1 ? resource.status.nope : 'x'\"}]}]",
			want:   want{nil, []string{"Available Secret team/xr-out {data: {k: x}}"}},
		},
		"ManyOfOne": {
			reason:  "many fields of one kind count once among the kinds that are asked for",
			input:   "secrets: [{name: out, from: db, data: [{key: a, value: resource.status.a}, {key: b, value: resource.status.b}, {key: c, value: resource.status.c}, {key: d, value: resource.status.d}, {key: e, value: composite.spec.regoin}]}]",
			schemas: map[plan.Kind]string{plantest.App: "{type: object, properties: {spec: {type: object, properties: {region: {type: string}}}}}"},
			want: want{[]plan.Kind{database, plantest.App}, []string{
				waits[:len(waits)-len(`key "k" waits for `)] + `key "a" waits for resources.db.status.a (DB db-1 is not ready); key "b" waits for resources.db.status.b; key "c" waits for resources.db.status.c; key "d" waits for resources.db.status.d; key "e" waits for composite.spec.regoin (correct it, set it in App xr, or write .?regoin.orValue('none') for a default)`,
				"Waiting! | secrets[0].data[4].value:1:15: App of example.org/v1 has no field spec.regoin: did you mean region?",
			}},
		},
		"WarnOther": {
			reason:  "of what nothing waits for nothing is said",
			input:   "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.address}, {key: o, value: \"resource.status.?nope.orValue('x')\"}, {key: q, optional: true, value: resource.status.nope2}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "resources.db.status.address (DB db-1 is not ready)"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			schemas := map[plan.Kind]*structpb.Struct{}
			for k, text := range c.schemas {
				schemas[k] = plantest.Parse(t, text)
			}
			result, err := newScene(t, plantest.Exports(c.input), c.overlays...).typedRun(t, schemas)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.want.schemas, result.Schemas) {
				t.Errorf("%s: want schemas %v, got %v", c.reason, c.want.schemas, result.Schemas)
			}
			if diff := cmp.Diff(c.want.shown, show(result)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// Schemas are asked for of what is needed, wherever in the input it is.
func TestMisspeltNeeds(t *testing.T) {
	const out = "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}]"
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []plan.Kind
	}{
		"Namespace":     {"A namespace.", out + ", metadata: {namespaceExpression: composite.spec.nope}}]", []plan.Kind{plantest.App}},
		"Set":           {"A field of the environment.", "environment: {set: [{fieldPath: a, value: composite.spec.nope}]}", []plan.Kind{plantest.App}},
		"SetOptional":   {"One that is optional, beside another that waits.", "environment: {set: [{fieldPath: a, value: composite.spec.nope, optional: true}]}\nstatus: [{fieldPath: b, value: resources.cache.x}]", nil},
		"Keepers":       {"What a generation is renewed for.", "generators: [{name: g, password: {}, refreshPolicy: OnChange, keepersExpression: \"{'a': composite.spec.nope}\"}]\nsecrets: [{name: out, data: [{key: k, value: generated.g.password}]}]", []plan.Kind{plantest.App}},
		"VariableOfTwo": {"Of a variable only what it lacks.", "variables: [{name: v, value: resources.db.status.nope + composite.spec.region}]\nsecrets: [{name: out, data: [{key: k, value: variables.v}]}]", []plan.Kind{database}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input))
			s.req.HasSchemas = true
			if diff := cmp.Diff(c.want, s.run(t).Schemas); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A Crossplane that reads no schemas is not asked for one.
func TestMisspeltWithoutSchemas(t *testing.T) {
	s := newScene(t, plantest.Exports("secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpiont}]}]"))
	r := s.run(t)
	if len(r.Schemas) > 0 || r.Unread {
		t.Errorf("want no schemas, got %v, unread %t", r.Schemas, r.Unread)
	}
	want := []string{`Waiting nothing | Secret "out" (team/xr-out) is not created: key "k" waits for resources.db.status.endpiont (DB db-1 is not ready)`}
	if diff := cmp.Diff(want, show(r)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
